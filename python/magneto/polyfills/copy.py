# SPDX-License-Identifier: BSD-3-Clause
"""Of ``copy``, and of the methods of ``object`` that it calls.

Identity is compared with ``is`` instead of ``id()``: objects that a trace makes
have no address yet. So the memo is a list of pairs, kept under one key of the
dict that ``__deepcopy__`` methods pass along.
"""

from __future__ import annotations

import copy as copy_module
import copyreg
import types
from typing import Any

from magneto.polyfills import leave_to_c

_ATOMIC = (
    type(None),
    int,
    float,
    bool,
    complex,
    str,
    bytes,
    type,
    range,
    slice,
    type(Ellipsis),
    type(NotImplemented),
    types.FunctionType,
    types.BuiltinFunctionType,
    types.CodeType,
    property,
)
_PAIRS = "magneto: originals and their copies"


def copy(x: Any) -> Any:
    """A shallow copy."""
    cls = type(x)
    if cls in _ATOMIC or cls is tuple or cls is frozenset:
        return x
    if cls is list or cls is dict or cls is set:
        return x.copy()
    if issubclass(cls, type):
        return x
    copier = getattr(cls, "__copy__", None)
    if copier is not None:
        return copier(x)
    return _rebuild(x, _reduced(x, cls, "shallow"), None)


def deepcopy(
    x: Any, memo: dict[Any, Any] | None = None, _nil: Any = None
) -> Any:
    """A copy of x and of all that it consists of."""
    cls = type(x)
    if memo is not None:
        memo.get  # noqa: B018 - what it is asked for, whatever x is
    if cls in _ATOMIC and cls is not slice:
        return x
    if memo is None:
        memo = {}
        memo[_PAIRS] = []
    elif _PAIRS not in memo:
        # Whoever gave it may look into it: the addresses must be real ones.
        leave_to_c("copy.deepcopy with a memo")
        return copy_module.deepcopy(x, memo)
    pairs = memo[_PAIRS]
    for original, made in pairs:
        if original is x:
            return made
    if cls is slice:
        parts = (x.start, x.stop, x.step)
        made = slice(*[deepcopy(part, memo) for part in parts])
        pairs.append((x, made))
        return made
    if cls is list:
        made = []
        pairs.append((x, made))
        for item in x:
            made.append(deepcopy(item, memo))
        return made
    if cls is tuple:
        return _deepcopy_tuple(x, memo, pairs)
    if cls is dict:
        made = {}
        pairs.append((x, made))
        for key, value in x.items():
            made[deepcopy(key, memo)] = deepcopy(value, memo)
        return made
    if cls is types.MethodType:
        return types.MethodType(x.__func__, deepcopy(x.__self__, memo))
    if issubclass(cls, type):
        return x
    copier = getattr(x, "__deepcopy__", None)
    if copier is not None:
        made = copier(memo)
    else:
        made = _rebuild(x, _reduced(x, cls, "deep"), memo)
    if made is not x:
        pairs.append((x, made))
    return made


def _deepcopy_tuple(
    x: tuple[Any, ...], memo: dict[Any, Any], pairs: list[Any]
) -> Any:
    items = [deepcopy(item, memo) for item in x]
    # An item may have contained the tuple itself.
    for original, made in pairs:
        if original is x:
            return made
    for before, after in zip(x, items, strict=False):
        if before is not after:
            made = tuple(items)
            pairs.append((x, made))
            return made
    return x


def _reduced(x: Any, cls: type, kind: str) -> Any:
    reductor = copyreg.dispatch_table.get(cls)
    if reductor is not None:
        return reductor(x)
    reductor = getattr(x, "__reduce_ex__", None)
    if reductor is not None:
        return reductor(4)
    reductor = getattr(x, "__reduce__", None)
    if reductor:
        return reductor()
    raise copy_module.Error(f"un({kind})copyable object of type {cls}")


def _rebuild(x: Any, reduced: Any, memo: dict[Any, Any] | None) -> Any:
    if isinstance(reduced, str):
        return x
    return _reconstruct(x, memo, *reduced)


# With the names that `copy` gives, which are in the errors.
def _reconstruct(
    x: Any,
    memo: dict[Any, Any] | None,
    func: Any,
    args: Any,
    state: Any = None,
    listiter: Any = None,
    dictiter: Any = None,
) -> Any:
    deep = memo is not None
    if deep and args:
        args = [deepcopy(arg, memo) for arg in args]
    made = func(*args)
    if deep:
        memo[_PAIRS].append((x, made))
    if state is not None:
        if deep:
            state = deepcopy(state, memo)
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            slots = None
            if isinstance(state, tuple) and len(state) == 2:
                state, slots = state
            if state is not None:
                made.__dict__.update(state)
            if slots is not None:
                for name, value in slots.items():
                    setattr(made, name, value)
    if listiter is not None:
        for item in listiter:
            made.append(deepcopy(item, memo) if deep else item)
    if dictiter is not None:
        for key, value in dictiter:
            if deep:
                key = deepcopy(key, memo)
                value = deepcopy(value, memo)
            made[key] = value
    return made


def reduce_ex(self: Any, protocol: int) -> Any:
    """``object.__reduce_ex__``."""
    cls = type(self)
    reduce = getattr(self, "__reduce__", None)
    if reduce is not None and cls.__reduce__ is not object.__reduce__:
        return reduce()
    if protocol < 2:
        return copyreg._reduce_ex(self, protocol)
    args, keywords = _new_arguments(self, cls)
    if keywords:
        function, call = copyreg.__newobj_ex__, (cls, args, keywords)
    else:
        function, call = copyreg.__newobj__, (cls, *(args or ()))
    is_list, is_dict = issubclass(cls, list), issubclass(cls, dict)
    return (
        function,
        call,
        _state(self, cls, args is None and not (is_list or is_dict)),
        iter(self) if is_list else None,
        iter(self.items()) if is_dict else None,
    )


def _special(self: Any, cls: type, name: str) -> Any:
    """What C code finds under that name: never in the object itself."""
    for base in cls.__mro__:
        if name in base.__dict__:
            found = base.__dict__[name]
            if isinstance(found, types.FunctionType):
                return types.MethodType(found, self)
            if isinstance(found, classmethod):
                return types.MethodType(found.__func__, cls)
            return getattr(self, name)
    return None


def _new_arguments(self: Any, cls: type) -> Any:
    method = _special(self, cls, "__getnewargs_ex__")
    if method is not None:
        pair = method()
        if not isinstance(pair, tuple):
            raise TypeError(
                "__getnewargs_ex__ should return a tuple, "
                f"not '{type(pair).__name__}'"
            )
        if len(pair) != 2:
            raise ValueError(
                "__getnewargs_ex__ should return a tuple of length 2, "
                f"not {len(pair)}"
            )
        args, keywords = pair
        if not isinstance(args, tuple):
            raise TypeError(
                "first item of the tuple returned by __getnewargs_ex__ must "
                f"be a tuple, not '{type(args).__name__}'"
            )
        if not isinstance(keywords, dict):
            raise TypeError(
                "second item of the tuple returned by __getnewargs_ex__ must "
                f"be a dict, not '{type(keywords).__name__}'"
            )
        return args, keywords
    method = _special(self, cls, "__getnewargs__")
    if method is None:
        return None, None
    args = method()
    if not isinstance(args, tuple):
        raise TypeError(
            f"__getnewargs__ should return a tuple, not '{type(args).__name__}'"
        )
    return args, None


_HEAPTYPE = 1 << 9


def _state(self: Any, cls: type, is_all: bool) -> Any:
    """``__getstate__``; `is_all`: nothing else says what the object holds."""
    if is_all and cls.__getstate__ is object.__getstate__:
        for base in cls.__mro__[:-1]:
            if not base.__flags__ & _HEAPTYPE:
                leave_to_c("reducing an object with a state in C")
    return self.__getstate__()


def getstate(self: Any) -> Any:
    """``object.__getstate__``."""
    try:
        # Not as the class says: C code looks at the object itself.
        state = object.__getattribute__(self, "__dict__").copy()
    except AttributeError:
        state = None
    cls = type(self)
    is_known = "__slotnames__" in cls.__dict__
    names = cls.__dict__["__slotnames__"] if is_known else _slot_names(cls)
    slots: dict[str, Any] = {}
    for name in names:
        try:
            slots[name] = getattr(self, name)
        except AttributeError:
            continue
    if slots:
        return state or None, slots
    return state or None


def _slot_names(of: type) -> list[str]:
    found: list[str] = []
    for cls in of.__mro__:
        names = cls.__dict__.get("__slots__", ())
        if isinstance(names, str):
            names = (names,)
        for name in names:
            if name in ("__dict__", "__weakref__"):
                continue
            if name.startswith("__") and not name.endswith("__"):
                stripped = cls.__name__.lstrip("_")
                if stripped:
                    name = f"_{stripped}{name}"
            found.append(name)
    return found


def reduce_set(self: Any) -> Any:
    """``set.__reduce__`` and frozenset's."""
    return type(self), (list(self),), self.__getstate__()


def reduce_deque(self: Any) -> Any:
    """``deque.__reduce__``."""
    args = ((),) if self.maxlen is None else ((), self.maxlen)
    return type(self), args, self.__getstate__(), iter(self)


def reduce_ordered(self: Any) -> Any:
    """``OrderedDict.__reduce__``."""
    return type(self), (), self.__getstate__(), None, iter(self.items())


def reduce_default(self: Any) -> Any:
    """``defaultdict.__reduce__``."""
    factory = self.default_factory
    args = () if factory is None else (factory,)
    return type(self), args, None, None, iter(self.items())


def reduce_partial(self: Any) -> Any:
    """``functools.partial.__reduce__``."""
    state = (self.func, self.args, self.keywords, self.__dict__ or None)
    return type(self), (self.func,), state


def reduce_namespace(self: Any) -> Any:
    """``types.SimpleNamespace.__reduce__``."""
    return type(self), (), self.__dict__
