# SPDX-License-Identifier: BSD-3-Clause
"""Structural comparison of what two runs of one program left behind.

Two results are the same if their types, values and *shape* agree, shape meaning
which parts are one object: where the first run returned its own input, or one
list twice, so must the second.
"""

from __future__ import annotations

import dis
import enum
import functools
import itertools
import math
import random
import struct
import sys
import threading
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

# Values of these types are compared by value alone; whether two equal ones are
# one object is CPython's own affair.
ATOMS = (
    int, str, bytes, bool, type(None), type(Ellipsis),
    torch.dtype, torch.device, torch.layout, torch.memory_format,
)  # fmt: skip

# Rebuilt or shared as CPython and the compiler like: their parts count.
VALUES = (tuple, frozenset)

# Compared by identity: both runs share them.
SHARED = (
    type,
    types.BuiltinFunctionType,
    types.ModuleType,
    types.CodeType,
    enum.Enum,
)

# What C code keeps of an object, besides items and attributes.
FIELDS: dict[type, tuple[str, ...]] = {
    deque: ("maxlen",),
    defaultdict: ("default_factory",),
    functools.partial: ("func", "args", "keywords"),
    property: ("fget", "fset", "fdel", "__doc__"),
}

PACKAGE = str(Path(__file__).parent.parent)


class Difference(AssertionError):
    """Two results differ; the message says where and how."""


@dataclass
class Comparison:
    """Tolerances, and the pairs of objects met so far."""

    rtol: float = 0.0
    atol: float = 0.0
    pairs: dict[int, int] = field(default_factory=dict)
    reverse: dict[int, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)

    def met(self, a: Any, b: Any, where: str) -> bool:
        """Whether the pair was met before; an unequal pairing raises."""
        if id(a) in self.pairs or id(b) in self.reverse:
            if self.pairs.get(id(a)) != id(b):
                raise Difference(
                    f"{where}: what is one object in one run is two in the "
                    f"other ({type(a).__name__})"
                )
            return True
        self.pairs[id(a)] = id(b)
        self.reverse[id(b)] = id(a)
        self.kept += (a, b)  # ids must stay taken
        return False


class _DeepRecursion:
    """Within it there may be many calls inside of each other, of which a level
    of what is compared takes a few. The limit is that of all threads: the first
    one raises it, and the last one puts it back.
    """

    _LIMIT = 200_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._outside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._outside = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._outside, self._LIMIT))
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                sys.setrecursionlimit(self._outside)


_deep_recursion = _DeepRecursion()


def compare(
    a: Any, b: Any, *, rtol: float = 0.0, atol: float = 0.0, where: str = "it"
) -> None:
    """Raise `Difference` unless two nested results are the same.

    Tensors must agree in Python type, dtype, device, shape, strides,
    `requires_grad` and values; values bit by bit unless `rtol` or `atol` is
    given (then as `torch.testing.assert_close`). NaN equals NaN.
    """
    with _deep_recursion:
        _compare(a, b, where, Comparison(rtol, atol))


def _compare(a: Any, b: Any, where: str, state: Comparison) -> None:
    if type(a) is not type(b):
        raise Difference(
            f"{where}: {type(a).__name__} in eager, {type(b).__name__} "
            f"compiled ({a!r:.80} and {b!r:.80})"
        )
    if isinstance(a, float):
        _compare_floats(a, b, where, state)
    elif isinstance(a, complex):
        for name in ("real", "imag"):
            x, y = getattr(a, name), getattr(b, name)
            _compare_floats(x, y, f"{where}.{name}", state)
    elif isinstance(a, (range, slice)):
        # Ranges are equal where their numbers are.
        for name in ("start", "stop", "step"):
            x, y = getattr(a, name), getattr(b, name)
            _compare(x, y, f"{where}.{name}", state)
    elif isinstance(a, ATOMS):
        _expect(a == b, where, a, b)
    elif isinstance(a, SHARED):
        _expect(a is b, where, a, b)
    elif type(a) in VALUES or not state.met(a, b, where):
        _compare_new(a, b, where, state)


def _compare_new(a: Any, b: Any, where: str, state: Comparison) -> None:
    fields = next((FIELDS[cls] for cls in FIELDS if isinstance(a, cls)), ())
    for name in fields:
        x, y = getattr(a, name), getattr(b, name)
        _compare(x, y, f"{where}.{name}", state)
    x, y = _random_state(a), _random_state(b)
    _compare(x, y, f"random state of {where}", state)
    if isinstance(a, torch.Tensor):
        _compare_tensors(a, b, where, state)
    elif isinstance(a, (list, tuple, deque)):
        _compare_items(a, b, where, state)
        _compare_attributes(a, b, where, state)
    elif isinstance(a, Mapping):
        _compare_items(list(a), list(b), f"keys of {where}", state)
        if isinstance(a, OrderedDict):
            x, y = list(dict.keys(a)), list(dict.keys(b))
            _compare(x, y, f"keys of the dict beneath {where}", state)
        # Looked up by no key: its class may have an __eq__ that fails.
        for (key, x), (_, y) in zip(a.items(), b.items(), strict=True):
            _compare(x, y, f"{where}[{key!r}]", state)
        _compare_attributes(a, b, where, state)
    elif isinstance(a, Set):
        _expect(len(a) == len(b), f"length of {where}", len(a), len(b))
        for x, y in zip(_in_order(a), _in_order(b), strict=True):
            _compare(x, y, f"an item of {where}", state)
    elif isinstance(a, types.FunctionType):
        _compare_functions(a, b, where, state)
    elif isinstance(a, weakref.ref):
        _compare(a(), b(), f"{where}()", state)
    elif isinstance(a, types.MethodType):
        _compare(a.__func__, b.__func__, f"{where}.__func__", state)
        _compare(a.__self__, b.__self__, f"{where}.__self__", state)
    elif isinstance(a, BaseException):
        compare_exceptions(a, b, where, state)
    elif type(a).__module__ == "numpy":
        _compare(a.tobytes(), b.tobytes(), where, state)
        _expect((a.shape, a.dtype) == (b.shape, b.dtype), where, a, b)
    elif (
        not _compare_attributes(a, b, where, state) and not fields and x is None
    ):
        # Without attributes to look at, an object is what it says it is.
        _expect(a == b or repr(a) == repr(b), where, a, b)


def _random_state(value: Any) -> Any:
    """Where a random generator is; None for everything else."""
    if isinstance(value, torch.Generator):
        return value.get_state().tolist()
    if type(value) is random.Random:
        return value.getstate()
    if numpy := sys.modules.get("numpy.random"):
        if isinstance(value, numpy.RandomState):
            return value.get_state(legacy=False)
        if isinstance(value, numpy.Generator):
            return value.bit_generator.state
    return None


def _in_order(items: Set[Any]) -> list[Any]:
    """The order of a set is compared, too, unless addresses decide about it."""
    if all(type(item) in (int, float, str, bytes, bool) for item in items):
        return list(items)
    return sorted(items, key=repr)


def _compare_floats(a: float, b: float, where: str, state: Comparison) -> None:
    if state.rtol or state.atol:
        close = math.isclose(a, b, rel_tol=state.rtol, abs_tol=state.atol)
        _expect(close or (a != a and b != b), where, a, b)
    else:
        _expect(struct.pack("d", a) == struct.pack("d", b), where, a, b)


def _compare_tensors(
    a: torch.Tensor, b: torch.Tensor, where: str, state: Comparison
) -> None:
    for name in ("dtype", "device", "layout", "shape", "requires_grad"):
        x, y = getattr(a, name), getattr(b, name)
        _expect(x == y, f"{where}.{name}", x, y)
    if a.layout is torch.strided:
        _expect(
            a.stride() == b.stride(),
            f"{where}.stride()",
            a.stride(),
            b.stride(),
        )
    _expect(a.is_leaf == b.is_leaf, f"{where}.is_leaf", a.is_leaf, b.is_leaf)
    x, y = a.detach(), b.detach()
    if a.is_meta:
        return
    if state.rtol or state.atol:
        try:
            torch.testing.assert_close(
                y, x, rtol=state.rtol, atol=state.atol, equal_nan=True
            )
        except AssertionError as error:
            raise Difference(f"{where}: {error}") from None
    elif not (torch.equal(x, y) or torch.allclose(x, y, 0, 0, equal_nan=True)):
        off = (x != y).sum().item()
        raise Difference(
            f"{where}: {off} of {x.numel()} elements differ, e.g. eager "
            f"{x[x != y][0].item()!r}, compiled {y[x != y][0].item()!r}"
        )
    if (a.is_leaf and a.grad is not None) or (b.is_leaf and b.grad is not None):
        _compare(a.grad, b.grad, f"{where}.grad", state)


def _compare_items(a: Any, b: Any, where: str, state: Comparison) -> None:
    _expect(len(a) == len(b), f"length of {where}", len(a), len(b))
    for index, (x, y) in enumerate(zip(a, b, strict=True)):
        _compare(x, y, f"{where}[{index}]", state)


def _compare_functions(a: Any, b: Any, where: str, state: Comparison) -> None:
    if a is b:
        return
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__dict__"):
        x, y = getattr(a, name), getattr(b, name)
        _compare(x, y, f"{where}.{name}", state)
    for name in a.__code__.co_freevars:
        index = a.__code__.co_freevars.index(name)
        x, y = a.__closure__[index], b.__closure__[index]
        if not state.met(x, y, where):
            _compare(x.cell_contents, y.cell_contents, name, state)


def _compare_attributes(a: Any, b: Any, where: str, state: Comparison) -> bool:
    """Compare instance dictionaries and slots; False if there are none."""
    found = False
    if hasattr(a, "__dict__"):
        found = True
        mine, theirs = vars(a), vars(b)
        _expect(
            list(mine) == list(theirs),
            f"attributes of {where}",
            list(mine),
            list(theirs),
        )
        for name in mine:
            _compare(mine[name], theirs[name], f"{where}.{name}", state)
    for cls in type(a).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            found = True
            if name.startswith("__"):
                name = f"_{cls.__name__.lstrip('_')}{name}"
            missing = object()
            x, y = getattr(a, name, missing), getattr(b, name, missing)
            _expect((x is missing) == (y is missing), f"{where}.{name}", x, y)
            if x is not missing:
                _compare(x, y, f"{where}.{name}", state)
    return found


def compare_exceptions(
    a: BaseException, b: BaseException, where: str, state: Comparison
) -> None:
    """Compare type, arguments, text, traceback and the chain behind it."""
    _expect(str(a) == str(b), f"text of {where}", str(a), str(b))
    _compare(a.args, b.args, f"{where}.args", state)
    x, y = user_frames(a), user_frames(b)
    _expect(x == y, f"traceback of {where}", x, y)
    for name in ("__cause__", "__context__", "__suppress_context__"):
        _compare(getattr(a, name), getattr(b, name), f"{where}.{name}", state)


def user_frames(error: BaseException) -> list[tuple[str, int]]:
    """The traceback as (function, line), without magneto's own frames."""
    frames = []
    entry = error.__traceback__
    while entry is not None:
        if not entry.tb_frame.f_code.co_filename.startswith(PACKAGE):
            code = entry.tb_frame.f_code
            line = unbound_line(error, entry) or entry.tb_lineno
            frames.append((code.co_name, line))
        entry = entry.tb_next
    return frames


def unbound_line(
    error: BaseException, entry: types.TracebackType
) -> int | None:
    """The line of the variable without a value, if that was raised here.

    Once a function is warm, CPython 3.11 runs two instructions as one where the
    second reads a local variable, and its traceback has the first one's line.
    """
    if entry.tb_next is not None or not isinstance(error, UnboundLocalError):
        return None
    instructions = dis.get_instructions(entry.tb_frame.f_code)
    at_and_behind = itertools.dropwhile(
        lambda instruction: instruction.offset < entry.tb_lasti, instructions
    )
    for each in itertools.islice(at_and_behind, 2):
        if each.opname == "LOAD_FAST" and f"'{each.argval}'" in str(error):
            return each.positions.lineno
    return None


def _expect(holds: bool, where: str, a: Any, b: Any) -> None:
    if not holds:
        raise Difference(f"{where}: eager {a!r:.200}, compiled {b!r:.200}")
