# SPDX-License-Identifier: BSD-3-Clause
"""Which extension is loaded, and what is said where there is none."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

import magneto
from magneto import _load

SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
RELEASE = ".".join(torch.__version__.split(".")[:2])


def package_for(folder, *releases):
    """Extensions for these releases; nothing is loaded of them."""
    for release in releases:
        (folder / f"_C_t{release.replace('.', '')}{SUFFIX}").touch()
    return folder


def import_magneto_with(version, **environment):
    """What happens where PyTorch has that version, and whether the process
    goes on."""
    code = (
        f"import torch; torch.__version__ = {version!r}\n"
        "try:\n"
        "    import magneto\n"
        "except ImportError as error:\n"
        "    print(error)\n"
        "print(torch.ones(2).sum().item())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout.splitlines()


def test_the_installed_release_has_an_extension():
    assert RELEASE in _load.releases()
    path = _load.extension_for(torch.__version__)
    assert Path(magneto._C.__file__) == path


def test_the_extension_of_the_release_is_chosen(tmp_path):
    package = package_for(tmp_path, "2.15", "2.13", "2.14")
    assert _load.releases(package) == ["2.13", "2.14", "2.15"]
    for version, tag in [
        ("2.13.0+cpu", "t213"),
        ("2.14.1", "t214"),
        ("2.15.0a0+git12", "t215"),
    ]:
        path = _load.extension_for(version, package)
        assert path.name == f"_C_{tag}{SUFFIX}"


@pytest.mark.parametrize("version", ["2.12.0", "2.16.0", "2.16.0a0+git"])
def test_another_release_is_refused_in_one_line(version, tmp_path):
    package = package_for(tmp_path, "2.13", "2.14", "2.15")
    with pytest.raises(ImportError) as caught:
        _load.extension_for(version, package)
    assert str(caught.value) == (
        f"PyTorch {version} is installed, and this magneto is for PyTorch "
        "2.13, 2.14 and 2.15: run `pip install 'torch==2.15.*'`, or install "
        "magneto for this PyTorch from its sources"
    )


@pytest.mark.parametrize("version", ["2.12.1", "2.16.0"])
def test_the_process_lives_on_with_another_release(version):
    error, total = import_magneto_with(version)
    assert error.startswith(f"PyTorch {version} is installed, and this magneto")
    assert total == "2.0"


def test_a_package_without_an_extension_says_how_to_build_it(tmp_path):
    package = Path(magneto.__file__).parent
    for path in package.rglob("*.py"):
        copy = tmp_path / "magneto" / path.relative_to(package)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    error, total = import_magneto_with(
        torch.__version__, PYTHONPATH=str(tmp_path)
    )
    assert error.startswith("magneto isn't built: run `make build`")
    assert "pip install" in error
    assert total == "2.0"


def test_an_extension_that_cannot_be_loaded_is_told(tmp_path):
    package_for(tmp_path, RELEASE)
    with pytest.raises(ImportError, match="can't be loaded") as caught:
        _load.load(_load.extension_for(torch.__version__, tmp_path))
    assert "make build" in str(caught.value)
