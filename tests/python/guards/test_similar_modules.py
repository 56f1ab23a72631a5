# SPDX-License-Identifier: BSD-3-Clause
"""Modules that are alike share what was compiled, hooks and all: a called
function is identified by its code and cells where the same piece of code has
made others, and a dict with numbers of a counter for keys (as that of hooks) by
its items in their order, unless the program asks for keys.
"""

import collections
import functools
import itertools

import pytest
import torch
from torch import nn

import magneto
from magneto.testing import compare
from support.compiled_calls import Recorder, moved

X = torch.ones(2, 4)
BACKENDS = ["eager", "aot_eager"]
COUNT = 10


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x, factor=1):
        return torch.relu(self.linear(x)) * factor


def halved(module, args, output):
    return output / 2


def lambdas_in_a_row(count):
    return [lambda module, args, output: output + 1 for _ in range(count)]


# At the top of a module there is no function around these.
TOP_LAMBDAS = []
for _ in range(COUNT):
    TOP_LAMBDAS.append(lambda module, args: None)  # noqa: PERF401

TOP_FUNCTIONS = []
for _ in range(COUNT):

    def with_more(module, args):
        return (args[0] + 1, *args[1:])

    TOP_FUNCTIONS.append(with_more)


def top_lambda(block, i):
    block.register_forward_pre_hook(TOP_LAMBDAS[i])


def top_function(block, i):
    block.register_forward_pre_hook(TOP_FUNCTIONS[i])


def local_lambda(block, i):
    block.register_forward_hook(lambda module, args, output: output + 1)


def one_function(block, i):
    block.register_forward_hook(halved)


def several(block, i):
    block.register_forward_pre_hook(lambda module, args: args)
    block.register_forward_hook(halved)
    block.register_forward_hook(lambda module, args, output: output - 1)


def with_a_cell(block, i):
    three = 3
    block.register_forward_hook(lambda module, args, output: output * three)


def with_a_default(block, i):
    block.register_forward_hook(lambda module, args, output, k=3: output * k)


def of_one_module_only(block, i):
    if i == 2:
        block.register_forward_hook(halved)


def in_a_partial(block, i):
    block.register_forward_hook(
        functools.partial(lambda k, module, args, output: output * k, 2)
    )


# Graphs: one for a plain input, and one for an input with a history.
ALIKE = [
    top_lambda,
    top_function,
    local_lambda,
    one_function,
    several,
    with_a_cell,
    with_a_default,
    in_a_partial,
]


def blocks_with(hook):
    torch.manual_seed(0)
    blocks = [Block() for _ in range(COUNT)]
    for i, block in enumerate(blocks):
        hook(block, i)
    return blocks


def in_turn(calls, x=X):
    for call in calls:
        x = call(x)
    return x


def compilations(compiler, blocks):
    torch._dynamo.reset()
    magneto.reset()
    recorder = Recorder()
    calls = [compiler(block, backend=recorder) for block in blocks]
    for _ in range(2):
        compare(in_turn(blocks), in_turn(calls))
    return recorder.graphs


@pytest.mark.parametrize("hook", ALIKE, ids=lambda f: f.__name__)
def test_as_many_compilations_as_there_are_kinds(hook):
    blocks = blocks_with(hook)
    before = magneto.stats()
    assert compilations(magneto.compile, blocks) == 2
    after = magneto.stats()
    assert after["compilations"] - before["compilations"] == 2
    assert compilations(torch.compile, blocks) >= 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("hook", [*ALIKE, of_one_module_only])
def test_hooks_do_the_same(hook, backend):
    magneto.reset()
    blocks = blocks_with(hook)
    calls = [magneto.compile(block, backend=backend) for block in blocks]
    for _ in range(2):
        compare(in_turn(blocks), in_turn(calls))


def test_hooks_do_the_same_with_inductor():
    magneto.reset()
    blocks = blocks_with(several)[:3]
    calls = [magneto.compile(block, backend="inductor") for block in blocks]
    compare(in_turn(blocks), in_turn(calls))


# -- what differs is noticed --------------------------------------------------


def hooks_with_keywords(block, i):
    def hook(module, args, kwargs):
        return args, {"factor": i}

    block.register_forward_pre_hook(hook, with_kwargs=True)


def always_called(block, i):
    block.register_forward_hook(halved, always_call=True)


def other_cells(block, i):
    block.register_forward_hook(lambda module, args, output: output * i)


def other_defaults(block, i):
    block.register_forward_hook(lambda module, args, output, k=i: output * k)


def other_order(block, i):
    hooks = [halved, lambda module, args, output: output + 1]
    for hook in hooks if i % 2 else reversed(hooks):
        block.register_forward_hook(hook)


def other_code(block, i):
    hooks = [
        lambda module, args, output: output + 1,
        lambda module, args, output: output + 2,
    ]
    block.register_forward_hook(hooks[i % 2])


def other_numbers(block, i):
    for _ in range(i % 3):
        block.register_forward_hook(halved)


def backward_too(block, i):
    block.register_full_backward_hook(lambda *args: None)
    block.register_forward_hook(halved)


UNLIKE = [
    hooks_with_keywords,
    always_called,
    other_cells,
    other_defaults,
    other_order,
    other_code,
    other_numbers,
    backward_too,
]


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("hook", UNLIKE, ids=lambda f: f.__name__)
def test_other_hooks_do_something_else(hook, backend):
    magneto.reset()
    blocks = blocks_with(hook)
    calls = [magneto.compile(block, backend=backend) for block in blocks]
    for _ in range(2):
        compare(in_turn(blocks), in_turn(calls))


def test_hooks_that_come_and_go():
    magneto.reset()
    block = blocks_with(one_function)[0]
    call = magneto.compile(block, backend="eager")
    compare(block(X), call(X))
    for hook in (
        halved,
        lambda module, args, output: output - 1,
        lambda module, args, output: output - 2,
    ):
        handle = block.register_forward_hook(hook)
        compare(block(X), call(X))
        handle.remove()
        compare(block(X), call(X))

    def again():
        handle = block.register_forward_hook(halved)
        compare(block(X), call(X))
        handle.remove()

    assert moved(again) == {}


def new_code(function):
    before = function.__code__
    function.__code__ = (lambda module, args: (args[0] * 3,)).__code__
    return before


def test_code_that_is_replaced_is_noticed():
    magneto.reset()
    block = blocks_with(top_lambda)[0]
    call = magneto.compile(block, backend="eager")
    compare(block(X), call(X))
    before = new_code(TOP_LAMBDAS[0])
    compare(block(X), call(X))
    TOP_LAMBDAS[0].__code__ = before
    compare(block(X), call(X))


def which(x, functions, wanted):
    for i, function in enumerate(functions):
        if function is wanted:
            return function(x, i)
    return x


def test_who_asks_which_function_it_is_gets_an_answer():
    magneto.reset()
    functions = [*lambdas_of_two(3), *TWINS]
    call = magneto.compile(which, backend="eager")
    for order in itertools.permutations(functions, 3):
        for wanted in order:
            compare(which(X, order, wanted), call(X, order, wanted))


def lambdas_of_two(count):
    return [lambda x, i: x + i for _ in range(count)]


TWINS = []
for _ in range(2):
    TWINS.append(lambda x, i: x - i)  # noqa: PERF401


# -- dicts with numbers as keys -----------------------------------------------


def values(x, d):
    for value in d.values():
        x = x * 2 + value
    return x


def items(x, d):
    for _key, value in d.items():
        x = x * 2 + value
    return x


def unpacked(x, d):
    for _key, value in (*d.items(),):
        x = x * 2 + value
    return x


def keys(x, d):
    for _key in d:
        x = x * 2
    return x


def counted(x, d):
    return x * len(d) if d else x


def keys_used(x, d):
    for key, value in d.items():
        x = x * key + value
    return x


def one_key_used(x, d):
    all_items = [*d.items()]
    return x * all_items[0][0] + all_items[-1][1]


def looked_up(x, d):
    for key in d:
        x = x + d[key]
    return x


def another_looked_up(x, d):
    for value in d.values():
        x = x + value
    return x * 2 if 3 in d else x + d.get(5, 7)


def looked_up_first(x, d):
    x = x + d.get(3, 9)
    for value in d.values():
        x = x + value
    return x


def asked_elsewhere(x, d):
    empty, full = {}, {3: 1, 4: 2}
    for key, value in d.items():
        x = x + value if key in empty else x - value
        if key in full:
            x = x * 2
    return x


def compared(x, d):
    for value in d.values():
        x = x + value
    return x * 2 if d == {3: 1.0, 4: 2.0} else x


def written(x, d):
    for value in d.values():
        x = x + value
    d[3] = 8.0
    d[100] = 9.0
    return x


def deleted(x, d):
    last = [key for key in d][-1]
    del d[last]
    for value in d.values():
        x = x + value
    return x


def popped(x, d):
    for value in d.values():
        x = x + value
    return x * d.popitem()[1]


def moved_to_the_end(x, d):
    first = next(iter(d))
    d.move_to_end(first)
    for value in d.values():
        x = x * 2 + value
    return x


def cleared(x, d):
    for value in d.values():
        x = x + value
    d.clear()
    return x


def copied(x, d):
    for value in d.copy().values():
        x = x + value
    return x, list(d), dict(d)


def given_back(x, d):
    return x + 1, [key for key in d], [*d.items()]


def changed_meanwhile(x, d):
    try:
        for key in d:
            d[key + 50] = 0.0
            x = x + 1
    except RuntimeError:
        return x * 2
    return x


def across_a_break(x, d):
    found = []
    for key, value in d.items():
        print(end="")
        found.append(key)
        x = x + value
    return x, found


def sorted_keys(x, d):
    for key in sorted(d):
        x = x * 2 + d[key]
    return x


def truth_of_keys(x, d):
    for key in d:
        x = x + 1 if key else x * 2
    return x


BY_VALUE = [values, items, unpacked, keys, counted]
BY_KEY = [
    keys_used,
    one_key_used,
    looked_up,
    another_looked_up,
    looked_up_first,
    asked_elsewhere,
    compared,
    written,
    deleted,
    popped,
    moved_to_the_end,
    cleared,
    copied,
    given_back,
    changed_meanwhile,
    across_a_break,
    sorted_keys,
    truth_of_keys,
]
DICTS = [
    {3: 1.0, 4: 2.0},
    {4: 1.0, 3: 2.0},
    {13: 1.0, 14: 2.0},
    {0: 1.0, 5: 2.0},
    {5: 1.0, 0: 2.0},
    {3: 1.0, 4: 2.0, 5: 3.0},
    {3: 5.0},
    {},
    {True: 1.0, 4: 2.0},
    {3.0: 1.0, 4: 2.0},
    {"3": 1.0, 4: 2.0},
    {2**70: 1.0, -1: 2.0},
    {3: 1.0, 4: 2.0},
]


ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    StopIteration,
    TypeError,
)


def both(program, call, make, contents):
    outcomes = []
    for function in (program, call):
        given = make(contents)
        try:
            result = function(X, given)
        except ERRORS as error:
            result = type(error).__name__
        outcomes.append((result, list(given.items())))
    return outcomes


@pytest.mark.filterwarnings("ignore::magneto.exc.RecompileLimitWarning")
@pytest.mark.parametrize("dynamic", [None, False, True])
@pytest.mark.parametrize("make", [collections.OrderedDict, dict])
@pytest.mark.parametrize(
    "program", [*BY_VALUE, *BY_KEY], ids=lambda f: f.__name__
)
def test_dicts_of_numbers(program, make, dynamic):
    magneto.reset()
    call = magneto.compile(program, backend="eager", dynamic=dynamic)
    for order in (DICTS, DICTS[::-1]):
        for contents in order:
            compare(*both(program, call, make, contents))


@pytest.mark.parametrize(
    "program", [*BY_VALUE, *BY_KEY], ids=lambda f: f.__name__
)
def test_dicts_of_numbers_with_aot_autograd(program):
    magneto.reset()
    call = magneto.compile(program, backend="aot_eager")
    for contents in DICTS[:4]:
        compare(*both(program, call, collections.OrderedDict, contents))


@pytest.mark.parametrize("program", BY_VALUE, ids=lambda f: f.__name__)
def test_keys_that_nobody_asks_for_cost_no_compilation(program):
    magneto.reset()
    recorder = Recorder()
    call = magneto.compile(program, backend=recorder)
    for first in range(0, 60, 3):
        given = collections.OrderedDict({first: X, first + 1: X * 2})
        compare(program(X, given), call(X, given))
    assert recorder.graphs == 1
