# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheel: one for this CPython, with an extension for each PyTorch.

    python tools/build_wheel.py [--torch 2.13.0 --torch 2.14.1 ...] [--out dist]

Each release is built against what `pip install --no-deps torch==...` brings,
in an environment that is deleted afterwards; the one of this interpreter is
used as it is. auditwheel then checks which symbols of the system the
extensions need, and gives the wheel its platform tag.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
RELEASES = ROOT / "tools" / "torch_releases.txt"
# PyTorch's own libraries are there when the extension is loaded.
NOT_OURS = ("libtorch*.so", "libc10.so")


def run(*command: object, **options: object) -> None:
    """Runs a command with this environment's tools before all others."""
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [str(each) for each in command],
        check=True,
        env={**os.environ, "PATH": path},
        **options,  # type: ignore[call-overload]
    )


def releases() -> list[str]:
    """Those of torch_releases.txt."""
    lines = RELEASES.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def python_with(release: str, folder: Path) -> Path:
    """An interpreter that has this PyTorch's headers and libraries."""
    installed = {each.name: each.version for each in metadata.distributions()}
    if installed.get("torch", "").split("+")[0] == release:
        return Path(sys.executable)
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--no-deps", f"torch=={release}")
    return python


def build_extension(release: str, work: Path, jobs: int) -> Path:
    """The extension for one release, stripped."""
    environment = work / "environment"
    try:
        python = python_with(release, environment)
        build = work / "build"
        run(
            *("cmake", "-S", ROOT, "-B", build, "-G", "Ninja"),
            "-DCMAKE_BUILD_TYPE=Release",
            "-DMAGNETO_BUILD_TESTS=OFF",
            f"-DPython_EXECUTABLE={python}",
        )
        run("cmake", "--build", build, "-j", jobs, "-t", "_C")
    finally:
        shutil.rmtree(environment, ignore_errors=True)
    (extension,) = (build / "lib").glob("_C_t*.so")
    run("strip", "--strip-unneeded", extension)
    return extension


def build_package(out: Path) -> Path:
    """A wheel of the tracked files, without an extension."""
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder, "source.tar")
        run("git", "archive", "-o", archive, "HEAD", cwd=ROOT)
        shutil.unpack_archive(archive, folder)
        archive.unlink()
        run(
            *(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"),
            *("--no-build-isolation", "-w", out),
            *("-C", "wheel.cmake=false", "-C", "wheel.platlib=true"),
            folder,
        )
    (wheel,) = out.glob("magneto-*.whl")
    return wheel


def assemble(extensions: list[Path], work: Path, out: Path) -> None:
    """Puts the extensions into the wheel, and gives it its platform tag."""
    package = build_package(work / "package")
    run(*(sys.executable, "-m", "wheel", "unpack", package, "-d", work))
    (unpacked,) = (each for each in work.glob("magneto-*") if each.is_dir())
    for extension in extensions:
        shutil.copy(extension, unpacked / "magneto")
    fat = work / "fat"
    fat.mkdir()
    run(sys.executable, "-m", "wheel", "pack", unpacked, "-d", fat)
    (wheel,) = fat.glob("*.whl")
    excludes = [f"--exclude={pattern}" for pattern in NOT_OURS]
    run("auditwheel", "repair", *excludes, "-w", out, wheel)


def main() -> None:
    """Builds what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch", action="append", metavar="RELEASE")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="magneto-wheel-") as folder:
        extensions = []
        for release in options.torch or releases():
            work = Path(folder, release)
            work.mkdir()
            extensions.append(build_extension(release, work, options.jobs))
        assemble(extensions, Path(folder), options.out)


if __name__ == "__main__":
    main()
