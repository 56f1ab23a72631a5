# SPDX-License-Identifier: BSD-3-Clause
"""Classes derived from builtin ones with one special method each, which returns
what it should not, in what may call it: results, and errors with CPython's
messages.
"""

import collections
import copy
import math
import operator

import pytest
import torch

import magneto
from support.expressions import telling


def named(**given):
    return sorted(given)


def one_method(base, name, returns, parameters="*args"):
    """A class whose method gives what an expression says."""
    source = f"""
class Odd({base}):
    def {name}(self, {parameters}):
        {returns}
"""
    namespace = {"collections": collections, "torch": torch}
    exec(source, namespace)
    return namespace["Odd"]


KEY_ERROR = "raise KeyError(4)"
# The base, what an instance is made of, the method with what it does, and what
# calls it.
ROWS = [
    ("object", "", "__reduce_ex__", "return None", "copy.copy(v)"),
    ("list", "[1]", "__reduce_ex__", "return iter([1])", "copy.deepcopy(v)"),
    ("dict", "{}", "__reduce_ex__", "return [int] * 9", "copy.copy(v)"),
    ("collections.deque", "[1]", "__delitem__", KEY_ERROR, "v.append(v['k'])"),
    ("collections.deque", "[1]", "__delitem__", KEY_ERROR, "put(v, 'k')"),
    ("collections.deque", "[1]", "__delitem__", KEY_ERROR, "put(v, 7)"),
    ("collections.deque", "[1]", "__delitem__", KEY_ERROR, "put(v, 1.5)"),
    ("collections.deque", "[1]", "__len__", "return 1", "put(v, 1.5)"),
    ("torch.nn.Module", "", "__index__", "return None", "bytes(v)"),
    ("set", "[1, 2]", "__index__", "return None", "bytes(v)"),
    ("dict", "{'a': 1}", "__index__", "return ()", "bytes(v)"),
    ("float", "1.5", "__index__", KEY_ERROR, "bytes(v)"),
    ("object", "", "__bytes__", "return self", "bytes(v)"),
    ("tuple", "[1]", "__bytes__", "return 'text'", "bytes(v)"),
    ("Exception", "", "__getattribute__", KEY_ERROR, "named(**v)"),
    ("Exception", "", "__getattribute__", KEY_ERROR, "collections.Counter(v)"),
    ("int", "1", "__getattribute__", "return 6", "collections.Counter(v)"),
    ("str", "'ab'", "__getattribute__", "return 6", "collections.Counter(v)"),
    ("str", "'ab'", "__getattribute__", "return dict", "isinstance(v, Shape)"),
    ("object", "", "keys", KEY_ERROR, "named(**v)"),
    ("object", "", "keys", "return {}[4]", "named(**v)"),
    ("object", "", "keys", "return None", "dict(v)"),
    ("object", "", "keys", "return 1", "{**v}"),
    ("object", "", "keys", "return 1", "named(**v)"),
    ("object", "", "keys", "return 1", "{}.update(v)"),
    ("collections.OrderedDict", "a=1", "keys", "return 1", "dict(v)"),
    ("list", "[1, 2]", "__getattr__", "return None", "torch.tensor(v)"),
    ("list", "[1, 2]", "__getattr__", "return None", "torch.ones(v)"),
    ("tuple", "[2, 1]", "__getattr__", "return None", "x.view(v)"),
    ("tuple", "[2, 1]", "__getattr__", KEY_ERROR, "x.expand(v)"),
    ("dict", "", "__torch_function__", "return self", "x == v"),
    ("list", "[1, 2]", "__torch_function__", "return 'taken'", "x.view(v)"),
    ("set", "[1]", "__len__", KEY_ERROR, "str(v)"),
    ("frozenset", "[1]", "__len__", KEY_ERROR, "f'{v}'"),
    ("set", "[1]", "__iter__", "return iter('ab')", "repr(v)"),
    ("set", "[1]", "__len__", KEY_ERROR, "torch.Size(v)"),
    ("tuple", "[1]", "__float__", "return iter([1])", "math.sqrt(v)"),
    ("set", "[1]", "__float__", "return [5]", "math.log(v, 2)"),
    ("str", "'ab'", "__float__", "return 1.5", "'%d' % v"),
    ("str", "'ab'", "__float__", "return 1.5", "'%x' % v"),
    ("str", "'ab'", "__float__", "return 1.5", "'%e' % v"),
    ("tuple", "[int, str]", "__iter__", "return 1", "isinstance(1, v)"),
    ("tuple", "[int, str]", "__len__", "return 0", "issubclass(bool, v)"),
    ("tuple", "[1]", "__iter__", "return iter([int])", "isinstance(1, v)"),
    ("collections.deque", "[1]", "__iter__", "return iter('ab')", "repr(v)"),
    ("collections.deque", "[1]", "__len__", KEY_ERROR, "repr(v)"),
    ("collections.deque", "[1, 2]", "__iter__", "return iter('ab')", "1 in v"),
    (
        "collections.deque",
        "[1, 2]",
        "__iter__",
        "return iter('ab')",
        "[*(v*2)]",
    ),
    (
        "collections.deque",
        "[1, 2]",
        "__iter__",
        "return iter([3])",
        "len(v + v)",
    ),
    ("collections.deque", "[1, 2]", "__iter__", "return iter([3])", "v < v"),
    (
        "collections.deque",
        "[1, 2]",
        "__iter__",
        "return iter([3])",
        "len(v * 3)",
    ),
    ("collections.deque", "[1, 2], 3", "__init__", "pass", "len(v * 3)"),
    ("collections.deque", "[1, 2], 3", "__init__", "pass", "v.copy()"),
    ("collections.deque", "[1, 2], 3", "__str__", "return 's'", "copy.copy(v)"),
    (
        "collections.deque",
        "[1, 2]",
        "__iter__",
        "return iter([3])",
        "add(v, v)",
    ),
    (
        "collections.OrderedDict",
        "a=1",
        "__getattribute__",
        "return 1",
        "repr(v)",
    ),
    (
        "collections.OrderedDict",
        "a=1",
        "__getattribute__",
        "return 1",
        "dict(v)",
    ),
    ("collections.OrderedDict", "a=1", "__getattribute__", "return 1", "v | v"),
    ("collections.OrderedDict", "a=1", "__getattribute__", "return 1", "{**v}"),
    ("collections.OrderedDict", "a=1", "keys", "return None", "v | v"),
    ("collections.OrderedDict", "a=1", "keys", "return None", "type(v)(v)"),
    ("dict", "a=1", "__getattribute__", KEY_ERROR, "v | v"),
    ("dict", "a=1", "__getattribute__", KEY_ERROR, "unite(v, v)"),
    ("list", "[1]", "__iter__", "return 1", "add(v, v)"),
    ("list", "[1]", "__iter__", "return iter([2, 3])", "add(v, v)"),
    ("list", "[1]", "__iter__", "return 1", "v.extend(v)"),
    ("collections.deque", "[1]", "__mul__", "return 5", "operator.imul(v, 2)"),
    ("object", "", "__rmul__", "return 5", "collections.deque([1]) * v"),
    ("object", "", "__radd__", "return 5", "collections.deque([1]) + v"),
    (
        "object",
        "",
        "__rmul__",
        "return 5",
        "operator.imul(collections.deque(), v)",
    ),
    ("ValueError", "", "__new__", "return int", "raised_from(v)"),
    ("str", "'ab'", "__radd__", "return NotImplemented", "'a' + v"),
    (
        "str",
        "'ab'",
        "__radd__",
        "return NotImplemented",
        "operator.iadd('a', v)",
    ),
    ("str", "'ab'", "__add__", "return NotImplemented", "v + 'a'"),
    ("bytes", "b'a'", "__radd__", "return NotImplemented", "b'a' + v"),
    ("bytes", "b'a'", "__rmul__", "return NotImplemented", "2 * v"),
    ("set", "[1]", "__ior__", "return NotImplemented", "unite(v, {2})"),
    ("set", "[1]", "__isub__", "return NotImplemented", "unite(v, {2})"),
    ("list", "[1]", "__iadd__", "return NotImplemented", "add(v, [2])"),
    ("list", "[1]", "__imul__", "return NotImplemented", "operator.imul(v, 2)"),
    ("dict", "a=1", "__ior__", "return NotImplemented", "unite(v, {'b': 2})"),
    ("dict", "", "__mul__", "return NotImplemented", "v * x"),
    ("bytes", "b'ab'", "__bytes__", "return 1", "type(v)(v)"),
]


class Shape(collections.abc.Mapping):
    """An abstract class of the program's."""

    def __getitem__(self, key):
        return key

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


def put(container, key):
    container[key] = 1
    return container


def add(value, other):
    value += other
    return type(value), len(value)


def unite(value, other):
    value |= other
    return type(value), len(value)


def raised_from(cause):
    raise ValueError(1) from cause


# What the calls name.
KNOWN = {
    "Shape": Shape,
    "add": add,
    "collections": collections,
    "copy": copy,
    "math": math,
    "named": named,
    "operator": operator,
    "put": put,
    "raised_from": raised_from,
    "torch": torch,
    "unite": unite,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row[::2]))
@pytest.mark.parametrize("is_made", [False, True], ids=["given", "made"])
def test_one_special_method(row, is_made):
    base, made_of, method, does, call = row
    known = {**KNOWN, "Odd": one_method(base, method, does)}
    made = f"Odd({made_of})"
    program = telling(call, known, first=f"v = {made if is_made else 'value'}")
    compiled = magneto.compile(program, backend="eager")
    for _ in range(2):
        expected = program(torch.ones(2), eval(made, known))
        found = compiled(torch.ones(2), eval(made, known))
        assert found[1] == expected[1]
