# SPDX-License-Identifier: BSD-3-Clause
"""Which of the caller's objects are one: calls with other identities than those
that were seen when the function was compiled.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import magneto
from magneto.testing import compare

X = torch.arange(2.0)


class Thing:
    def __init__(self):
        self.value = 1


def things() -> list[Any]:
    return [Thing() for _ in range(4)]


def linears() -> list[Any]:
    torch.manual_seed(0)
    return [torch.nn.Linear(2, 2) for _ in range(4)]


def tensors() -> list[Any]:
    return [torch.ones(2) for _ in range(4)]


def parameters() -> list[Any]:
    return [torch.nn.Parameter(torch.ones(2)) for _ in range(4)]


def functions() -> list[Any]:
    return [lambda: 1 for _ in range(4)]


def lists() -> list[Any]:
    return [[1] for _ in range(4)]


def dicts() -> list[Any]:
    return [{"n": 1} for _ in range(4)]


def sets() -> list[Any]:
    return [{1} for _ in range(4)]


def deques() -> list[Any]:
    from collections import deque

    return [deque([1]) for _ in range(4)]


# -- two arguments that may be one object ---------------------------------------


def is_same(x, a, b):
    return x + 1 if a is b else x - 1


def is_other(x, a, b):
    return x + 1 if a is not b else x - 1


def is_in_a_list(x, a, b):
    return x + any(each is a for each in [b, 3])


def keys_of_a_dict(x, a, b):
    return x + len({a: 1, b: 2})


def key_that_is_set(x, a, b):
    seen = {}
    seen[a] = 1
    return x + 1 if b in seen else x - 1


def items_of_a_set(x, a, b):
    seen = set()
    seen.add(a)
    if b not in seen:
        seen.add(b)
    return x + len(seen)


def from_keys(x, a, b):
    return x + len(dict.fromkeys([a, b]))


def parts_of_keys(x, a, b):
    return x + len({(a, 1), (b, 1)})


def frozen(x, a, b):
    return x + len(frozenset([a, b]))


def identities(x, a, b):
    return x + len({id(a), id(b)})


HASHABLE = [
    is_same,
    is_other,
    is_in_a_list,
    keys_of_a_dict,
    key_that_is_set,
    items_of_a_set,
    from_keys,
    parts_of_keys,
    frozen,
    identities,
]


def attribute_is_set(x, a, b):
    a.value = 5
    return x * b.value


def attribute_is_set_after_a_read(x, a, b):
    read = b.value
    a.value = read + 1
    return x * a.value + b.value


def attribute_is_deleted(x, a, b):
    del a.value
    return x * getattr(b, "value", 7)


def written_through_its_namespace(x, a, b):
    vars(a)["value"] = 9
    return x * b.value


def list_grows(x, a, b):
    a.append(3)
    return x + len(b)


def list_item_is_set(x, a, b):
    b[0] = 7
    return x + a[0]


def dict_grows(x, a, b):
    a["m"] = 3
    return x + len(b), b.get("m")


def dict_item_is_deleted(x, a, b):
    a.pop("n")
    return x + b.get("n", 6)


def set_grows(x, a, b):
    a.add(5)
    return x + len(b)


def attribute_of_a_tensor(x, a, b):
    a.mark = 3
    return x + getattr(b, "mark", 1)


def data_of_a_tensor(x, a, b):
    a.add_(1)
    return x + b * 2


ARGUMENTS = {
    **{(p, m): None for p in HASHABLE for m in (things, linears, tensors)},
    **{(p, m): None for p in HASHABLE for m in (parameters, functions)},
    (is_same, lists): None,
    (is_same, dicts): None,
    (attribute_is_set, things): None,
    (attribute_is_set_after_a_read, things): None,
    (attribute_is_deleted, things): None,
    (written_through_its_namespace, things): None,
    (list_grows, lists): None,
    (list_grows, deques): None,
    (list_item_is_set, lists): None,
    (dict_grows, dicts): None,
    (dict_item_is_deleted, dicts): None,
    (set_grows, sets): None,
    (attribute_of_a_tensor, tensors): None,
    (data_of_a_tensor, tensors): None,
}


def outcome(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize(
    ("program", "make"),
    ARGUMENTS,
    ids=lambda each: each.__name__,
)
def test_arguments_may_be_one_object(program, make) -> None:
    compiled = magneto.compile(program, backend="eager")
    for pattern in ("01", "00", "11", "10", "23", "01"):
        results = []
        for call in (program, compiled):
            made = make()
            one, other = (made[int(number)] for number in pattern)
            results.append(outcome(call, X, one, other))
        compare(*results)


def items_are_one(x, items, other):
    return x + 1, items[0] is items[1], items[1] is other[0]


def inner_items_are_one(x, items, other):
    (first, name), (second, same) = items
    return x + 1, first is second, name is same, items[0] is other


def is_the_programs_own(x, items, other):
    return x + 1, items[0] is NAME, items[1] is NAME


NAME = "a name, and not a short one"
# Equal, and not one object.
NUMBERS = [float("1.5"), float("1.5")]
NAMES = [NAME, "".join(["a name, ", "and not a short one"])]
PAIRS = [(number, name) for number in NUMBERS for name in NAMES]


@pytest.mark.parametrize(
    ("program", "equal"),
    [
        (items_are_one, NUMBERS),
        (items_are_one, NAMES),
        (items_are_one, [float("nan"), float("nan")]),
        (inner_items_are_one, PAIRS),
        (is_the_programs_own, NAMES),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_constants_in_tuples_may_be_one_object(program, equal, seed) -> None:
    compiled = magneto.compile(program, backend="eager")
    calls = [((a, b), (c,)) for a in equal for b in equal for c in equal[:2]]
    random.Random(seed).shuffle(calls)
    for items, other in calls:
        compare(program(X, items, other), compiled(X, items, other))


def test_what_is_written_may_be_found_in_two_places() -> None:
    def program(x, model):
        model.first["count"] = model.first.get("count", 0) + 1
        return x + model.second.get("count", 10)

    class Model:
        pass

    compiled = magneto.compile(program, backend="eager")
    for shares in (False, True, False, True):
        results = []
        for call in (program, compiled):
            model = Model()
            model.first = {}
            model.second = model.first if shares else {}
            results.append([call(X, model) for _ in range(3)])
        compare(*results)


# -- keys of the caller's dicts ----------------------------------------------------


def item(x, known, key):
    return x + known[key]


def item_or_none(x, known, key):
    return x, known.get(key)


def presence(x, known, key):
    return x + 1 if key in known else x - 1


def insertion(x, known, key):
    if key in known:
        del known[key]
    else:
        known[key] = x
    return x + len(known)


def insertion_only(x, known, key):
    known[key] = 7
    return x


def default(x, known, key):
    return x + known.setdefault(key, 5)


def key_of_two_parts(x, known, key):
    known[key, 1] = 3
    return x + known.get((key, 1), 0) + known.get((key, 2), 0)


def all_keys(x, known, key):
    return x + len(known), [each is key for each in known]


def all_items(x, known, key):
    return [x + value for each, value in known.items() if each is not key]


KEYS = [
    item,
    item_or_none,
    presence,
    insertion,
    insertion_only,
    default,
    key_of_two_parts,
    all_keys,
    all_items,
]


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize(
    "make", [things, linears, tensors, parameters, functions]
)
@pytest.mark.parametrize("program", KEYS, ids=lambda each: each.__name__)
def test_objects_are_keys_of_the_callers_dicts(program, make) -> None:
    compiled = magneto.compile(program, backend="eager")
    keys = make()
    results = []
    for call in (program, compiled):
        known = {key: i for i, key in enumerate(keys[:3])}
        results.append(
            [
                (outcome(call, X, known, key), list(known.values()))
                for key in keys * 2 + keys[::-1] + keys[:2]
            ]
        )
    compare(*results)


def holds(x, known, key):
    return x + 1 if key in known else x - 1


def grows(x, known, key):
    known.add(key)
    return x + len(known)


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("make", [things, tensors, functions])
@pytest.mark.parametrize("program", [holds, grows], ids=lambda p: p.__name__)
def test_objects_are_items_of_the_callers_sets(program, make) -> None:
    compiled = magneto.compile(program, backend="eager")
    keys = make()
    results = []
    for call in (program, compiled):
        known = set(keys[:2])
        results.append(
            [(outcome(call, X, known, k), len(known)) for k in keys * 2]
        )
    compare(*results)


def state_of_parameters(x, state, parameter):
    own = state[parameter]
    if not own:
        own["sum"] = torch.zeros_like(parameter)
    own["sum"].add_(x)
    return own["sum"] * 2


def test_state_of_parameters_is_found_again() -> None:
    from collections import defaultdict

    compiled = magneto.compile(state_of_parameters, backend="eager")
    state = defaultdict(dict)
    parameter = torch.nn.Parameter(torch.zeros(2))
    with torch.no_grad():
        for count in range(1, 6):
            compare(compiled(X, state, parameter), X * count * 2)
    assert magneto.stats()["graphs"] >= 2
    before = magneto.stats()["compilations"]
    with torch.no_grad():
        compiled(X, state, parameter)
    assert magneto.stats()["compilations"] == before


def test_keys_are_not_kept_alive() -> None:
    import weakref

    compiled = magneto.compile(presence, backend="eager")
    key, known = Thing(), {}
    compare(compiled(X, known, key), X - 1)
    known[key] = 1
    compare(compiled(X, known, key), X + 1)
    gone = weakref.ref(key)
    del key
    known.clear()
    assert gone() is None


class Counter:
    def __init__(self):
        self.count = 1


def writes_attribute(x, thing, fields):
    thing.count += 1
    return x + fields["count"]


def writes_item(x, thing, fields):
    fields["count"] += 1
    return x + thing.count


def writes_behind_a_break(x, thing, fields):
    fields = vars(thing)
    magneto.graph_break()
    fields["count"] = 5
    thing.other = fields["count"]
    return x + thing.count, dict(fields)


@pytest.mark.parametrize(
    "program", [writes_attribute, writes_item, writes_behind_a_break]
)
@pytest.mark.parametrize("kinds", ["aa", "oa", "ao", "oao", "moa", "aom"])
def test_dict_may_be_the_attributes_of_an_object(program, kinds):
    """Of the same one, of another one, or of one that had none so far."""
    compiled = magneto.compile(program, backend="eager")
    x = torch.ones(2)
    for kind in kinds:
        found = []
        for call in (program, compiled):
            thing = Counter()
            fields = {"count": 7} if kind == "m" else vars(Counter())
            if kind == "o":
                vars(thing)
            if kind == "a":
                fields = vars(thing)
            result = call(x, thing, fields)
            found.append((str(result), vars(thing), fields))
        assert found[0] == found[1], kind


def transposed_in_place(x, a, b):
    b.t_()
    return a * 2, x + a.shape[0]


def squeezed_in_place(x, a, b):
    b.unsqueeze_(0)
    return a.sum(0), x + a.dim()


@pytest.mark.parametrize("program", [transposed_in_place, squeezed_in_place])
@pytest.mark.parametrize("size", [(2, 3), (3, 3)])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("patterns", [("01", "00", "01"), ("00", "01", "00")])
def test_tensor_that_is_reshaped_may_be_another_one(
    program, size, dynamic, patterns
):
    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    for pattern in patterns:
        results = []
        for call in (program, compiled):
            made = [
                torch.rand(size, generator=torch.manual_seed(0)) for _ in "01"
            ]
            one, other = (made[int(number)] for number in pattern)
            results.append((call(torch.zeros(1), one, other), made))
        compare(*results)


class Slotted:
    """Can't be referred to weakly."""

    __slots__ = ("value",)
    died = 0

    def __del__(self):
        Slotted.died += 1


def test_ids_ask_nothing_of_the_objects():
    def program(x):
        thing = Slotted()
        number = id(thing)
        return x + 1, number == id(thing)

    Slotted.died = 0
    magneto.reset()
    before = magneto.stats()
    compiled = magneto.compile(program, backend="eager")
    for _ in range(20):
        assert compiled(X)[1] is True
    assert Slotted.died == 20
    assert magneto.stats()["recompiles"] == before["recompiles"]


def numbers_of_ids(x, a, b):
    return (
        x + 1,
        id(a),
        [id(b)],
        id(a) == id(b),
        id(a) < id(b),
        (id(a) + 1) % 16,
    )


def texts_of_ids(x, a, b):
    return x + 1, f"{id(a):x}", hex(id(b)), str(id(a)), "%d" % id(b)


def ids_as_keys(x, a, b):
    memo = {id(a): "a"}
    return x + 1, memo.get(id(b)), memo[id(a)], id(b) in memo


def ids_in_tensors(x, a, b):
    return x + (id(a) - id(b)).bit_length()


@pytest.mark.parametrize("dynamic", [None, False, True])
@pytest.mark.parametrize(
    "program", [numbers_of_ids, texts_of_ids, ids_as_keys, ids_in_tensors]
)
def test_what_is_done_with_ids(program, dynamic):
    magneto.reset()
    compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
    objects = [Thing(), Thing(), [1], {}, X, torch.nn.Linear(1, 1), "text", 7]
    for a in objects:
        for b in (a, objects[0], objects[-1]):
            expected, found = program(X, a, b), compiled(X, a, b)
            assert repr(found) == repr(expected)
