# SPDX-License-Identifier: BSD-3-Clause
"""What all Python tests share: the package's path, seeds, and a clean state."""

import ctypes
import functools
import importlib
import importlib.util
import logging
import os
import sys
from pathlib import Path

import pytest
import torch

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# tools/with_asan.sh names a package of its own; subprocesses use the same.
PACKAGE = os.environ.get("MAGNETO_PACKAGE", str(ROOT / "python"))
sys.path[:0] = [PACKAGE, str(HERE), str(ROOT)]
os.environ["PYTHONPATH"] = PACKAGE

torch.set_num_threads(1)


def pytest_addoption(parser):
    parser.addoption(
        "--all-models",
        action="store_true",
        help="run the models that are not captured yet, too",
    )
    parser.addoption(
        "--behind",
        metavar="BACKEND",
        help="compile with that backend where a test says 'eager' or nothing",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="leave out the files that take long (support/slow_files.py)",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the texts of golden/ anew instead of comparing them",
    )


def pytest_configure(config):
    if not has_extension():
        return
    # Say at once that the extension doesn't load, and why.
    import magneto

    if config.option.behind:
        put_behind(magneto, config.option.behind)


def put_behind(magneto, backend):
    """What is right as it was captured may be wrong behind that."""
    from magneto.testing import oracle

    # Tests that put sys.modules back don't expect them to be loaded meanwhile.
    importlib.import_module("torch._dynamo.backends.debugging")
    importlib.import_module("torch._functorch.aot_autograd")
    oracle.behind = backend
    compile = magneto.compile

    @functools.wraps(compile)
    def compile_behind(*args, **kwargs):
        if kwargs.get("backend") == "eager":
            kwargs["backend"] = backend
        return compile(*args, **kwargs)

    magneto.compile = compile_behind


def pytest_ignore_collect(collection_path, config):
    """With `--quick`, files that take long aren't even imported."""
    from support.slow_files import SLOW

    if config.option.quick and collection_path.is_relative_to(HERE):
        name = collection_path.relative_to(HERE).as_posix()
        return name in SLOW or None
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Leaves out what is slow or needs a GPU, unless `-m` asks for something,
    and skips what says nothing behind another backend.
    """
    look_up_eager_only(config, items)
    if config.option.markexpr:
        return
    left_out = {
        item
        for item in items
        for marker in ("slow", "cuda")
        if item.get_closest_marker(marker)
    }
    if left_out:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def look_up_eager_only(config, items):
    from support import eager_only

    names = {item: item.nodeid.rpartition("tests/python/")[2] for item in items}
    # Where whole files are run; single tests may be named, too.
    if not any("::" in argument for argument in config.args):
        unknown = eager_only.without_test(list(names.values()))
        if unknown:
            raise pytest.UsageError(
                "tests/python/support/eager_only.py names no test: "
                + ", ".join(unknown)
            )
    if config.option.behind:
        for item, name in names.items():
            reason = eager_only.reason_for(name)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


def has_extension():
    return any(Path(PACKAGE, "magneto").glob("_C_t*")) and bool(
        importlib.util.find_spec("magneto").origin
    )


@pytest.fixture
def no_frame_hook():
    """Takes off a frame evaluation hook that somebody has left behind, as
    torch.compile does with a stance: while there is one, CPython's callers hold
    the arguments of Python functions to the end of the call.
    """
    api = ctypes.pythonapi
    get, put = (
        getattr(api, f"_PyInterpreterState_{do}EvalFrameFunc")
        for do in ("Get", "Set")
    )
    api.PyInterpreterState_Get.restype = get.restype = ctypes.c_void_p
    interpreter = ctypes.c_void_p(api.PyInterpreterState_Get())
    left = ctypes.c_void_p(get(interpreter))
    put(interpreter, api._PyEval_EvalFrameDefault)
    yield
    put(interpreter, left)


@pytest.fixture(autouse=True)
def clean_state():
    """Seeds torch; whatever a test compiled is dropped after it."""
    torch.manual_seed(0)
    yield
    magneto = sys.modules.get("magneto")
    if magneto is not None and hasattr(magneto, "reset"):
        magneto.reset()
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()


@pytest.fixture
def defect(monkeypatch):
    """Compilations fail a check inside magneto."""
    from magneto import backends

    original = backends.compile_graph

    def compile_graph(*args, guards=None, **kwargs):
        result = original(*args, guards=guards, **kwargs)
        guards.append(("nonsense", 0, 0))
        return result

    monkeypatch.setattr(backends, "compile_graph", compile_graph)


@pytest.fixture
def settings(monkeypatch):
    """Sets fields of magneto.config for the length of a test."""
    from magneto import config

    def set_fields(**fields):
        for name, value in fields.items():
            monkeypatch.setattr(config, name, value)

    return set_fields


class Records(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    def named(self, name):
        """The data of the records of one log."""
        return [r.magneto for r in self.records if r.name == f"magneto.{name}"]


@pytest.fixture
def heard():
    """What magneto logs; the logs that the test turns on are off after it."""
    from magneto import logs

    handler = Records()
    logger = logging.getLogger("magneto")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logs.set_logs()
    logger.removeHandler(handler)
    logger.setLevel(level)
    logger.propagate = propagate
