# SPDX-License-Identifier: BSD-3-Clause
"""Tries a wheel as a user would, and says how long that took.

    python tools/try_wheel.py WHEEL [--torch 2.15.0]

In a fresh environment that has that PyTorch, and with no compiler in reach, the
wheel is installed and the README's example is run. Where PyTorch says that it
is 2.12 or 2.16, the import must say in one line what to do, and the process
must live.
"""

import argparse
import re
import subprocess
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFUSED = ("2.12.0", "2.16.0")
IMPORT = """\
import torch
torch.__version__ = {version!r}
try:
    import magneto
except ImportError as error:
    print(error)
print("alive")
"""


def example() -> str:
    """The README's program."""
    text = (ROOT / "README.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return program


def run_python(python: Path, program: str, nowhere: str) -> str:
    """What a program prints, where no other program is found."""
    return subprocess.run(
        [python, "-c", program],
        check=True,
        cwd=nowhere,
        env={"PATH": nowhere, "HOME": nowhere},
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def main() -> None:
    """Tries the wheel that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--torch", default="2.15.0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="magneto-try-") as folder:
        environment = Path(folder, "environment")
        venv.create(environment, with_pip=True)
        python = environment / "bin" / "python"
        pip = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, f"torch=={options.torch}"], check=True)
        nowhere = Path(folder, "nowhere")
        nowhere.mkdir()
        start = time.monotonic()
        subprocess.run([*pip, options.wheel], check=True)
        installed = time.monotonic()
        program = example() + "\nassert history == [8], history\n"
        run_python(python, program, str(nowhere))
        done = time.monotonic()
        for version in REFUSED:
            text = IMPORT.format(version=version)
            said, alive = run_python(python, text, str(nowhere)).splitlines()
            assert version in said, said
            assert alive == "alive"
            print(said)
    print(
        f"PyTorch {options.torch}: installed in {installed - start:.1f} s, "
        f"the example took {done - installed:.1f} s"
    )


if __name__ == "__main__":
    main()
