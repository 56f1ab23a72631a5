# SPDX-License-Identifier: BSD-3-Clause
"""Builds the wheel: one for this CPython, with an extension for each PyTorch.

    python tools/build_wheel.py [--torch 2.13.0 --torch 2.14.1 ...] [--out dist]

What is built is what is committed. An extension is built in the environment
and build folder of `make build TORCH=...` where these are there, else against
what `pip install --no-deps torch==...` brings, in an environment that is
deleted afterwards. It is kept in build-extensions/ until its sources change,
so that no two environments (several GB each) need to be there at once.
auditwheel then checks which symbols of the system the extensions need, and
gives the wheel its platform tag.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from importlib import metadata
from pathlib import Path

from torch_releases import releases

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
KEPT = ROOT / "build-extensions"
# What an extension is made from.
SOURCES = ("src", "cmake", "CMakeLists.txt", "CMakePresets.json")
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


def committed_sources() -> str:
    """A name for the sources of HEAD. Exits if the files differ from HEAD's."""
    git = ["git", "-C", str(ROOT)]
    if subprocess.run([*git, "diff", "--quiet", "HEAD"]).returncode:
        raise SystemExit("there are changes that are not committed")
    trees = [f"HEAD:{path}" for path in SOURCES]
    found = subprocess.check_output([*git, "rev-parse", *trees])
    return hashlib.sha256(found).hexdigest()[:16]


def developed(release: str) -> tuple[Path, Path] | None:
    """The interpreter and the build folder of `make build TORCH=release`."""
    installed = {each.name: each.version for each in metadata.distributions()}
    if installed.get("torch", "").split("+")[0] == release:
        return Path(sys.executable), ROOT / "build"
    python = ROOT / f".venv-torch-{release}" / "bin" / "python"
    return (python, ROOT / f"build-torch-{release}") if python.exists() else None


def compile_extension(python: Path, build: Path, jobs: int) -> Path:
    """Builds the extension for the PyTorch of an interpreter."""
    run(
        *("cmake", "--preset", "release", "-S", ROOT, "-B", build),
        *(f"-DPython_EXECUTABLE={python}", "--log-level=NOTICE"),
    )
    run("cmake", "--build", build, "-j", jobs, "-t", "_C")
    (extension,) = (build / "lib").glob("_C_t*.so")
    return extension


def build_extension(release: str, kept: Path, jobs: int) -> Path:
    """The extension for one release, stripped, in the folder `kept`."""
    tag = "t" + "".join(release.split(".")[:2])
    if found := [*kept.glob(f"_C_{tag}.*.so")]:
        return found[0]
    here = developed(release)
    with tempfile.TemporaryDirectory(prefix="magneto-wheel-") as folder:
        if here is None:
            environment = Path(folder, "environment")
            venv.create(environment, with_pip=True)
            here = environment / "bin" / "python", Path(folder, "build")
            pip = [here[0], "-m", "pip", "install", "-q", "--no-deps"]
            run(*pip, f"torch=={release}")
        built = compile_extension(*here, jobs)
        extension = shutil.copy(built, folder)
        run("strip", "--strip-unneeded", extension)
        kept.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(extension, kept))


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
    kept = KEPT / committed_sources()
    extensions = [
        build_extension(release, kept, options.jobs)
        for release in options.torch or releases()
    ]
    with tempfile.TemporaryDirectory(prefix="magneto-wheel-") as folder:
        assemble(extensions, Path(folder), options.out)


if __name__ == "__main__":
    main()
