# SPDX-License-Identifier: BSD-3-Clause
"""Loads the extension for the installed PyTorch, or says why that can't be.

The sizes of PyTorch's C++ classes differ from release to release, so each has
an extension of its own: `_C_t213.<suffix>` is for PyTorch 2.13. Whichever is
loaded is the module `magneto._C`.
"""

import importlib.machinery
import importlib.util
import re
import sys
import sysconfig
from pathlib import Path

import torch

PACKAGE = Path(__file__).parent
NAME = re.compile(r"_C_t(\d)(\d+)")


def releases(package: Path = PACKAGE) -> list[str]:
    """The releases of PyTorch that have an extension here, as "2.13"."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    names = (NAME.match(path.name) for path in package.glob(f"_C_t*{suffix}"))
    found = [(int(name[1]), int(name[2])) for name in names if name]
    return [f"{major}.{minor}" for major, minor in sorted(found)]


def extension_for(version: str, package: Path = PACKAGE) -> Path:
    """The extension for that PyTorch. Raises ImportError if there is none."""
    known = releases(package)
    if not known:
        raise ImportError(
            "magneto isn't built: run `make build`, or `pip install "
            "--no-build-isolation .` in the environment that has this PyTorch"
        )
    found = re.match(r"(\d+)\.(\d+)", version)
    if not found or found[0] not in known:
        several = f"{', '.join(known[:-1])} and " if known[1:] else ""
        raise ImportError(
            f"PyTorch {version} is installed, and this magneto is for PyTorch "
            f"{several}{known[-1]}: run `pip install 'torch=={known[-1]}.*'`, "
            "or install magneto for this PyTorch from its sources"
        )
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    return package / f"_C_t{found[1]}{found[2]}{suffix}"


def load(path: Path) -> None:
    """Loads an extension as `magneto._C`. Raises ImportError."""
    name = "magneto._C"
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise ImportError(f"magneto's extension {path} is none")
    try:
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
    except ImportError as error:
        raise ImportError(
            f"magneto's extension can't be loaded ({error}); build it with "
            "`make build`, or with `pip install --no-build-isolation .` in the "
            "environment that has this PyTorch"
        ) from error
    sys.modules[name] = module
    sys.modules["magneto"]._C = module  # type: ignore[attr-defined]


load(extension_for(torch.__version__))
