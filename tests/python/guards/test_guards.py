# SPDX-License-Identifier: BSD-3-Clause
"""When a compiled entry is used again, and when the program is traced anew.

Each case changes one thing that the trace looked at, or one that it did not,
and counts the graphs. Results are compared with eager's every time.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import types
import weakref

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, check_calls
from support.compiled_calls import compiled


class Harness:
    """A compiled function beside the plain one."""

    def __init__(self, fn):
        self.fn = fn
        self.backend = RecordingBackend()
        self.compiled = magneto.compile(fn, backend=self.backend)

    def call(self, *args, **kwargs):
        """Call both; the results must be equal. Gives the number of graphs."""
        expected = self.fn(*args, **kwargs)
        torch.testing.assert_close(self.compiled(*args, **kwargs), expected)
        return len(self.backend.graphs)


def recompiles(harness, args, change, undo=None):
    """Whether `change` makes the next call trace anew."""
    before = harness.call(*args)
    assert harness.call(*args) == before
    change()
    after = harness.call(*args)
    assert harness.call(*args) == after
    if undo is not None:
        # The first entry fits again.
        undo()
        assert harness.call(*args) == after
    return after > before


# -- tensors ------------------------------------------------------------------

TENSOR_CHANGES = {
    "size": lambda: torch.ones(4, 3),
    "rank": lambda: torch.ones(2, 3, 1),
    "stride": lambda: torch.ones(3, 2).t(),
    "dtype": lambda: torch.ones(2, 3, dtype=torch.float64),
    "requires_grad": lambda: torch.ones(2, 3, requires_grad=True),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2, 3)),
}


@pytest.mark.parametrize("change", TENSOR_CHANGES)
def test_tensor_argument_when_its_metadata_differs_recompiles(change):
    harness = Harness(lambda x: x * 2)
    assert harness.call(torch.ones(2, 3)) == 1
    assert harness.call(torch.randn(2, 3)) == 1
    assert harness.call(TENSOR_CHANGES[change]()) == 2
    assert harness.call(torch.ones(2, 3)) == 2


def test_tensor_when_changed_in_place_recompiles():
    harness = Harness(lambda x: x * 2)
    x = torch.ones(2, 3)
    assert recompiles(harness, [x], lambda: x.t_(), lambda: x.t_())
    assert recompiles(harness, [x], lambda: x.unsqueeze_(0))
    assert recompiles(harness, [x], lambda: x.requires_grad_())


def test_aliases_when_they_become_two_tensors_recompile():
    def f(x, y):
        x.add_(1)
        return y * 2

    compiled = magneto.compile(f, backend="eager")
    for same in (True, False, True):
        x = torch.ones(3)
        y = x if same else torch.ones(3)
        assert compiled(x, y).tolist() == [4.0 if same else 2.0] * 3


# -- plain values -------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second"),
    [(1, 2), (1, True), (1, 1.0), (0.0, -0.0), ("a", "b"), (None, 0)],
)
def test_constant_when_it_differs_recompiles(first, second):
    def f(x, c):
        return x + 1 if c is None else x + (len(c) if type(c) is str else c)

    harness = Harness(f)
    x = torch.ones(2)
    assert harness.call(x, first) == 1
    assert harness.call(x, second) == 2
    assert harness.call(x, first) == 2


def test_containers_when_they_are_equal_are_used_again():
    harness = Harness(lambda x, d: x * d["a"] + sum(d["b"]))
    x = torch.ones(2)
    assert harness.call(x, {"a": 2, "b": [1, 2]}) == 1
    assert harness.call(x, {"a": 2, "b": [1, 2]}) == 1
    assert harness.call(x, {"a": 2, "b": [1, 3]}) == 2
    assert harness.call(x, {"a": 2, "b": [1, 2, 3]}) == 3
    assert harness.call(x, {"a": 2, "b": [1, 2]}) == 3


def test_what_is_only_passed_on_is_not_looked_at():
    harness = Harness(lambda x, unused: x + 1)
    assert harness.call(torch.ones(2), 1) == 1
    assert harness.call(torch.ones(2), "anything") == 1


# -- objects ------------------------------------------------------------------


class Config:
    def __init__(self, scale):
        self.scale = scale


class Slotted:
    __slots__ = ("scale",)

    def __init__(self, scale):
        self.scale = scale


@pytest.mark.parametrize("kind", [Config, Slotted])
def test_attribute_when_written_recompiles(kind):
    harness = Harness(lambda x, c: x * c.scale)
    c = kind(2.0)
    args = [torch.ones(2), c]
    assert recompiles(
        harness,
        args,
        lambda: setattr(c, "scale", 3.0),
        lambda: setattr(c, "scale", 2.0),
    )
    assert not recompiles(harness, [torch.ones(2), kind(2.0)], lambda: None)


def test_attribute_when_another_is_written_is_used_again():
    c = Config(2.0)
    harness = Harness(lambda x: x * c.scale)
    assert not recompiles(
        harness, [torch.ones(2)], lambda: setattr(c, "other", 1)
    )
    c.__dict__["more"] = 1
    assert harness.call(torch.ones(2)) == 1


def test_class_when_written_to_recompiles_only_for_what_was_looked_up():
    class C:
        factor = 2.0

    c = C()
    harness = Harness(lambda x: x * c.factor)
    args = [torch.ones(2)]
    assert not recompiles(harness, args, lambda: setattr(C, "unrelated", 1))
    assert recompiles(
        harness,
        args,
        lambda: setattr(C, "factor", 3.0),
        lambda: setattr(C, "factor", 2.0),
    )
    assert recompiles(harness, args, lambda: setattr(c, "factor", 4.0))


def test_instance_when_its_class_changes_recompiles():
    class A:
        def scale(self):
            return 2.0

    class B(A):
        def scale(self):
            return 3.0

    c = A()
    harness = Harness(lambda x: x * c.scale())
    assert recompiles(
        harness,
        [torch.ones(2)],
        lambda: setattr(c, "__class__", B),
        lambda: setattr(c, "__class__", A),
    )


def test_global_and_closure_when_written_recompile():
    module = types.ModuleType("test_guards_module")
    exec(
        "scale = 2.0\nother = 0\n"
        "def f(x):\n  return x * scale\n"
        "def outer(v):\n"
        "  def g(x):\n    return x * v\n"
        "  def put(n):\n    nonlocal v; v = n\n"
        "  return g, put\n",
        module.__dict__,
    )
    harness = Harness(module.f)
    args = [torch.ones(2)]
    assert not recompiles(harness, args, lambda: setattr(module, "other", 1))
    assert recompiles(
        harness,
        args,
        lambda: setattr(module, "scale", 3.0),
        lambda: setattr(module, "scale", 2.0),
    )
    inner, put = module.outer(2.0)
    harness = Harness(inner)
    assert recompiles(harness, args, lambda: put(3.0), lambda: put(2.0))


def test_function_when_its_code_or_defaults_change_recompiles():
    def helper(x, n=2.0):
        return x * n

    def other(x, n=2.0):
        return x + n

    harness = Harness(lambda x: helper(x))
    args = [torch.ones(2)]
    code = helper.__code__
    assert recompiles(
        harness,
        args,
        lambda: setattr(helper, "__defaults__", (3.0,)),
        lambda: setattr(helper, "__defaults__", (2.0,)),
    )
    assert recompiles(
        harness,
        args,
        lambda: setattr(helper, "__code__", other.__code__),
        lambda: setattr(helper, "__code__", code),
    )


# -- modules ------------------------------------------------------------------


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            torch.nn.Linear(4, 4) for _ in range(3)
        )
        self.drop = torch.nn.Dropout(0.0)

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return self.drop(x)


def test_module_when_its_mode_or_structure_changes_recompiles():
    net = Net()
    harness = Harness(net)
    args = [torch.ones(2, 4)]
    assert not recompiles(harness, args, lambda: setattr(net, "note", "x"))
    assert recompiles(harness, args, lambda: net.eval(), lambda: net.train())
    assert recompiles(
        harness, args, lambda: net.layers.append(torch.nn.Linear(4, 4))
    )


def test_module_when_a_parameter_is_replaced_or_updated_uses_the_new_values():
    net = Net()
    harness = Harness(net)
    args = [torch.ones(2, 4)]
    assert harness.call(*args) == 1
    with torch.no_grad():
        net.layers[1].weight.mul_(2)
    assert harness.call(*args) == 1
    net.layers[1].weight = torch.nn.Parameter(torch.randn(4, 4))
    assert harness.call(*args) == 1
    net.layers[2] = torch.nn.Linear(4, 4)
    assert harness.call(*args) == 1
    net.layers[1].weight = torch.nn.Parameter(torch.randn(4, 4).double())
    net.double()
    assert harness.call(torch.ones(2, 4).double()) == 2


def swap(tensor, other):
    """Exchange the data of two tensors."""
    tensor.data, other.data = other.data, tensor.data


def widen(tensor):
    tensor.data = tensor.data.double()


def narrow(tensor):
    tensor.data = tensor.data.float()


IN_PLACE = {
    # What is done to a weight, what undoes it, whether a guard must notice.
    "values": (lambda w: w.data.mul_(2), lambda w: w.data.div_(2), False),
    "data": (lambda w: swap(w, torch.randn(4, 4)), lambda w: None, False),
    "requires_grad": (
        lambda w: w.requires_grad_(False),
        lambda w: w.requires_grad_(True),
        True,
    ),
    "strides": (lambda w: w.data.t_(), lambda w: w.data.t_(), False),
    "own strides": (
        lambda w: swap(w, torch.randn(4, 4).t()),
        lambda w: swap(w, torch.randn(4, 4)),
        True,
    ),
    "dtype": (widen, narrow, True),
    "rank": (
        lambda w: swap(w, w.data.unsqueeze(0)),
        lambda w: swap(w, w.data.squeeze(0)),
        True,
    ),
    "grad": (
        lambda w: setattr(w, "grad", torch.zeros(4, 4)),
        lambda w: setattr(w, "grad", None),
        False,
    ),
}


@pytest.mark.parametrize("change", IN_PLACE)
def test_parameter_when_changed_in_place_recompiles_if_its_metadata_did(change):
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(4, 4))

        def forward(self, x):
            return x * self.weight.to(x.dtype)

    net = Scale()
    harness = Harness(net)
    do, undo, noticed = IN_PLACE[change]
    assert (
        recompiles(
            harness,
            [torch.ones(4, 4)],
            lambda: do(net.weight),
            lambda: undo(net.weight),
        )
        == noticed
    )


@pytest.mark.parametrize("dims", [0, 1, 5, 6, 7])
def test_buffers_of_any_rank_when_changed_recompile(dims):
    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones([2] * dims))

        def forward(self, x):
            return x + self.b.sum()

    net = Holder()
    harness = Harness(net)
    args = [torch.ones(2)]

    def widen_last():
        net.b.data = torch.ones([2] * (dims - 1) + [3] if dims else [1])

    def back():
        net.b.data = torch.ones([2] * dims)

    assert recompiles(harness, args, widen_last, back)


def test_view_buffer_when_its_base_requires_grad_recompiles():
    base = torch.zeros(4)
    view = base[:2]

    def f(x):
        return x + view

    harness = Harness(f)
    assert recompiles(harness, [torch.ones(2)], base.requires_grad_)


def test_module_when_a_hook_is_added_recompiles():
    net = Net()
    harness = Harness(net)
    args = [torch.ones(2, 4)]
    handles = []

    def add():
        handle = net.layers[0].register_forward_hook(
            lambda module, inputs, output: output * 2
        )
        handles.append(handle)

    assert recompiles(harness, args, add, lambda: handles[0].remove())


def test_ambient_state_when_it_differs_recompiles():
    harness = Harness(lambda x: x * 2)
    x = torch.ones(2, requires_grad=True)
    assert harness.call(x) == 1
    with torch.no_grad():
        assert harness.call(x) == 2
    with torch.autocast("cpu", torch.bfloat16):
        assert harness.call(x) == 3
    assert harness.call(x) == 3


def test_autocast_of_any_device_is_guarded_and_named():
    harness = Harness(lambda x: x * 2)
    x = torch.ones(2)
    assert harness.call(x) == 1
    assert "autocast state of other devices is off" in explained(x)
    try:
        for dtype in (torch.float16, torch.bfloat16):
            torch.set_autocast_dtype("xpu", dtype)
            torch.set_autocast_enabled("xpu", True)
            torch.set_autocast_enabled("mtia", True)
            before = harness.call(x)
            assert f"on for mtia with torch.float16, xpu with {dtype}" in (
                explained(x)
            )
            assert harness.call(x) == before
    finally:
        for device in ("xpu", "mtia"):
            torch.set_autocast_enabled(device, False)
            torch.set_autocast_dtype(device, torch.float16)
    assert before == 3
    assert harness.call(x) == 3


def explained(x):
    return str(magneto.explain(lambda x: x * 2)(x))


# -- no user code, no object kept ---------------------------------------------


def test_users_code_when_guards_are_checked_does_not_run():
    calls = []

    class Spy:
        def __init__(self):
            self.scale = 2.0

        def __eq__(self, other):
            calls.append("eq")
            return True

        def __hash__(self):
            calls.append("hash")
            return 1

        def __bool__(self):
            calls.append("bool")
            return True

    spy = Spy()
    harness = Harness(lambda x, s: x * s.scale)
    harness.call(torch.ones(2), spy)
    calls.clear()
    harness.call(torch.ones(2), spy)
    harness.call(torch.ones(3), spy)
    assert calls == []


def test_arguments_and_model_when_the_caller_drops_them_are_freed():
    net = Net()
    compiled = magneto.compile(
        lambda module, x: module(x), backend=RecordingBackend()
    )
    x = torch.ones(2, 4)
    compiled(net, x)
    compiled(net, x)
    refs = [weakref.ref(net), weakref.ref(net.layers[0].weight)]
    refs.append(weakref.ref(x))
    del net, x
    gc.collect()
    assert [r() for r in refs] == [None] * 3
    # Another model of the same kind is what the entry was compiled for.
    net, x = Net(), torch.ones(2, 4)
    torch.testing.assert_close(compiled(net, x), net(x))


def test_models_when_they_take_turns_at_one_address_are_told_apart():
    compiled = magneto.compile(lambda net, x: net(x), backend="eager")
    for i in range(12):
        net = Net()
        net.train(i % 3 != 0)
        if i % 2:
            net.layers[0].weight.data.mul_(3)
        x = torch.ones(2, 4)
        torch.testing.assert_close(compiled(net, x), net(x))
        del net


def set_if_missing(x, table):
    table.setdefault("key", 1)
    return x + 1


def test_key_that_was_found_is_guarded_even_if_its_value_is_not_used():
    check_calls(
        set_if_missing,
        [
            ((torch.ones(2), {"key": 3}), {}),
            ((torch.ones(2), {}), {}),
            ((torch.ones(2), {"key": 5}), {}),
        ],
    )


def test_attribute_that_was_found_is_guarded_even_if_its_value_is_not_used():
    def program(x, thing):
        return x + 1, hasattr(thing, "name"), getattr(thing, "name", x) is x

    class Thing:
        pass

    named, plain = Thing(), Thing()
    named.name = 1
    check_calls(
        program,
        [((torch.ones(2), t), {}) for t in (named, plain, named)],
    )


def test_cell_that_was_bound_is_guarded_even_if_its_value_is_not_used():
    def make(bound):
        if bound:
            value = 1

        def program(x):
            try:
                value  # noqa: B018
            except NameError:
                return x - 1
            return x + 1

        return program

    harness = [
        magneto.compile(make(bound), backend="eager") for bound in (1, 0)
    ]
    x = torch.ones(2)
    assert torch.equal(harness[0](x), x + 1)
    assert torch.equal(harness[1](x), x - 1)


def test_modules_that_the_trace_itself_imports_are_no_change():
    program = """
import functools, heapq, sys, types
import magneto
def first():
    names = list(sys.modules)
    heapq.heapify([2, 1])
    return len(names) > 10
magneto.config.raise_internal_errors = True
assert "magneto.polyfills.heapq" not in sys.modules
assert magneto.compile(first, backend="eager")()
assert "magneto.polyfills.heapq" in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


# -- what a class says of itself -------------------------------------------------


class Base:
    pass


class OtherBase:
    pass


OF_CLASSES = {
    "__module__": "elsewhere",
    "__doc__": "another text",
    "__bases__": (OtherBase,),
}


def said_by_the_class(cls):
    names = [base.__name__ for base in cls.__bases__]
    return cls.__module__, cls.__doc__, names, len(cls.__mro__)


def said_by_an_instance(cls):
    value = cls()
    return value.__module__, type(value).__doc__, cls.__base__.__name__


@pytest.mark.parametrize("field", OF_CLASSES)
@pytest.mark.parametrize("read", [said_by_the_class, said_by_an_instance])
def test_class_whose_field_is_written_recompiles(read, field):
    def steps(run):
        cls = type("Written", (Base,), {"__doc__": "a text"})
        before = [run(cls) for _ in range(2)]
        setattr(cls, field, OF_CLASSES[field])
        after = [run(cls) for _ in range(2)]
        assert before != after
        return before + after

    assert steps(compiled(read)) == steps(read)


def test_a_written_tensor_is_told_from_others_that_are_looked_at():
    """An in-place operation gives its tensor a history, or another shape: who
    reads that of another tensor must not be given the same one.
    """

    def history(x, y, other):
        x[1:3] = y[:2]
        return (torch.ones(4) + other).requires_grad, other.is_leaf

    def shape(x, y, other):
        x.unsqueeze_(0)
        return other.shape

    y = torch.linspace(0.5, 2.0, 4).requires_grad_()
    for program in (history, shape):
        calls = []
        for is_same in (False, True, False):
            x = torch.arange(4.0)
            calls.append(((x, y, x if is_same else x.clone()), {}))
        check_calls(program, calls)


# Two tensors that share memory, or don't, as autograd sees it.
RELATIONS = {
    "not": lambda base, other: (base, other),
    "the second is a view": lambda base, other: (base, base[:]),
    "the first is a view": lambda base, other: (base[:], base),
    "views of one": lambda base, other: (base[:], base[:]),
    "views of two": lambda base, other: (base[:], other[:]),
    "a view and another": lambda base, other: (base[:], other),
    "another and a view": lambda base, other: (base, other[:]),
    "one memory": lambda base, other: (base, base.data),
    "a constant view": lambda base, other: (base, base.detach()),
}


def related(how):
    return RELATIONS[how](torch.arange(2.0), torch.arange(2.0))


@pytest.mark.parametrize("first", RELATIONS)
def test_a_view_of_a_written_tensor_is_told_from_others(first):
    """What an in-place operation does to the history of a tensor, it does to
    that of its base and of the other views of that.
    """

    def program(x, y, weight):
        x.mul_(weight)
        return y.requires_grad, y.is_leaf, (y * 2).requires_grad

    weight = torch.ones((), requires_grad=True)
    for second in RELATIONS:
        traced = magneto.compile(program, backend="eager")
        for how in (first, second, first):
            expected = program(*related(how), weight)
            assert traced(*related(how), weight) == expected, (second, how)
