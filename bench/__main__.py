# SPDX-License-Identifier: BSD-3-Clause
"""Measures the whole table and prints it.

    python -m bench [--rounds N] [--rows KEY...] [--clock wall|cpu] [--json F]

Each round runs each row once with each compiler, every time in a process of its
own; what is printed is the median over the rounds. The JSON holds every single
value, and bench.markdown turns it into a table for the README.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from bench.compilers import MODULES
from bench.rows import BY_KEY, QUOTIENTS, ROWS, Quotient, Row, formatted

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "latest.json"
TIMEOUT = 300  # seconds that one process may take


def measure_once(row: Row, compiler: str) -> tuple[float | None, str]:
    """One value from a fresh process, or None and the reason."""
    command = [sys.executable, "-m", "bench.measure", row.key, compiler]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.environ.get("MAGNETO_PACKAGE", str(ROOT / "python")),
        "TRANSFORMERS_VERBOSITY": "error",
    }
    # An installed package's modules are compiled once, as torch's are here.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
    except subprocess.TimeoutExpired:
        return None, f"took over {TIMEOUT} s"
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        return None, lines[-1]
    return json.loads(done.stdout.splitlines()[-1])["value"], ""


def measure_row(row: Row, rounds: int) -> dict[str, Any]:
    """All values of a row, the two compilers taking turns."""
    values: dict[str, list[float]] = {name: [] for name in MODULES}
    faults: dict[str, str] = {}
    for _ in range(rounds):
        for name in MODULES:
            if name in faults:
                continue
            value, fault = measure_once(row, name)
            if value is None:
                faults[name] = fault
            else:
                values[name].append(value)
    return {"values": values, "faults": faults, **summary(row, values)}


def summary(row: Row, values: dict[str, list[float]]) -> dict[str, Any]:
    """Medians, their ratio, and whether that reaches the target."""
    medians = {
        name: statistics.median(numbers) if numbers else None
        for name, numbers in values.items()
    }
    ratio = None
    if medians["torch"] is not None and medians["magneto"]:
        ratio = medians["torch"] / medians["magneto"]
    return {
        "median": medians,
        "ratio": ratio,
        "target": row.target,
        "reached": ratio is not None and ratio >= row.target,
    }


def table_line(row: Row, result: dict[str, Any]) -> str:
    """The printed line of a row."""
    median, ratio = result["median"], result["ratio"]
    cells = [
        f"{row.work:60}",
        f"{formatted(median['torch'], row.unit):>11}",
        f"{formatted(median['magneto'], row.unit):>11}",
        f"{f'{ratio:.1f}x' if ratio else '-':>9}",
        f"{f'{row.target:.1f}x':>8}",
        " yes" if result["reached"] else " no",
    ]
    return "".join(cells)


def quotients(results: dict[str, Any]) -> list[tuple[Quotient, list[float]]]:
    """What torch's and magneto's are, where both rows were measured."""
    found = []
    for quotient in QUOTIENTS:
        rows = [results.get(quotient.above), results.get(quotient.below)]
        medians = [row["median"] for row in rows if row and row["ratio"]]
        if len(medians) == 2:
            above, below = medians
            values = [above[name] / below[name] for name in MODULES]
            found.append((quotient, values))
    return found


def quotient_line(quotient: Quotient, values: list[float]) -> str:
    """The printed line of a quotient."""
    torch_value, value = values
    return (
        f"{quotient.work:60}{torch_value:>10.2f}x{value:>10.2f}x{'':9}"
        f"{f'<={quotient.most:.1f}x':>8}"
        + (" yes" if value <= quotient.most else " no")
    )


def main() -> int:
    """Measure, print and write; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", nargs="+", choices=BY_KEY, metavar="KEY")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    os.environ["BENCH_CLOCK"] = options.clock
    chosen = [BY_KEY[key] for key in options.rows] if options.rows else ROWS
    header = f"{'work':60}{'torch':>11}{'magneto':>11}{'ratio':>9}{'aim':>8}"
    print(header + "  reached", flush=True)
    results = {}
    for row in chosen:
        results[row.key] = result = measure_row(row, options.rounds)
        print(table_line(row, result), flush=True)
        for name, fault in result["faults"].items():
            print(f"    {name}: {fault}", flush=True)
    for quotient, values in quotients(results):
        print(quotient_line(quotient, values), flush=True)
    document = {
        "machine": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "rounds": options.rounds,
        "clock": options.clock,
        "rows": results,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(document, indent=2) + "\n")
    print(f"written: {options.json}")
    return 1 if any(result["faults"] for result in results.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
