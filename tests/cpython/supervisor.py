# SPDX-License-Identifier: BSD-3-Clause
"""Runs a module's tests in a process of their own. A test that crashes or hangs
takes its process with it; another one goes on behind that test.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.cpython.outcome import ModuleRun, Outcome

ROOT = Path(__file__).resolve().parents[2]
_LOOK_EVERY = 0.2
# Until the first test begins; importing takes its time on a busy machine.
_START_LIMIT = 300.0


def run_module(module: str, mode: str, limit: float = 120.0) -> ModuleRun:
    """Runs `test_<module>`; `mode` is plain or compiled, `limit` the seconds
    that one test may take.
    """
    run = ModuleRun()
    with tempfile.TemporaryDirectory(prefix="magneto-cpython-") as folder:
        while _run_rest(module, mode, limit, Path(folder), run):
            pass
    return run


def _path() -> str:
    """Where the worker finds the tests, and magneto: where this one did."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join(
        filter(None, [str(ROOT), *given, str(ROOT / "python")])
    )


def _run_rest(
    module: str, mode: str, limit: float, folder: Path, run: ModuleRun
) -> bool:
    """One process for the tests that aren't done. True if some are left."""
    lines, done = folder / "lines", folder / "done.json"
    lines.write_text("")
    done.write_text(json.dumps([outcome.test for outcome in run.outcomes]))
    with open(folder / "stderr", "w+") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cpython.worker"]
            + [f"test_{module}", mode, str(lines), str(done)],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": _path()},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        hung = _wait(process, lines, limit)
        stderr.seek(0)
        said = stderr.read()[-4000:]
    return _read(lines, run, process.returncode, hung, said)


def _wait(process: subprocess.Popen, lines: Path, limit: float) -> bool:
    """Waits for the end. True if nothing happened for longer than `limit`."""
    size, since = 0, time.monotonic()
    while process.poll() is None:
        time.sleep(_LOOK_EVERY)
        if lines.stat().st_size != size:
            size, since = lines.stat().st_size, time.monotonic()
        if time.monotonic() - since > (limit if size else _START_LIMIT):
            # faulthandler says where each thread is.
            os.killpg(process.pid, signal.SIGABRT)
            time.sleep(1)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
    return False


def _read(
    lines: Path, run: ModuleRun, code: int, hung: bool, said: str
) -> bool:
    started, began_with, ended = "", len(run.outcomes), False
    for line in lines.read_text().splitlines():
        entry = json.loads(line)
        if "start" in entry:
            started = entry["start"]
        elif "leaks" in entry:
            run.leaks, ended = entry["leaks"], True
        elif "failure" in entry:
            run.failure += entry["failure"] + "\n"
        else:
            run.outcomes.append(Outcome(**entry))
            started = ""
    if started:
        kind = "hang" if hung else "crash"
        text = said if hung else f"exit status {code}\n{said}"
        run.outcomes.append(Outcome(started, kind, 0.0, text))
        return True
    if not ended:
        run.failure += f"exit status {code} after the tests\n{said}"
    # What the tests do to the whole process may end it between two of them.
    return not ended and len(run.outcomes) > began_with
