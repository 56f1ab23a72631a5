# SPDX-License-Identifier: BSD-3-Clause
"""Programs that write to attributes of their classes, modules and functions: in
one graph, and everybody sees what they have written.
"""

import types
import warnings

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, check, compare


class Plain(type):
    """A metaclass with nothing of its own."""


class Watched(type):
    """Takes a name, and notes what else is written."""

    @property
    def taken(cls):
        return cls.__dict__.get("hidden", 0)

    @taken.setter
    def taken(cls, value):
        type.__setattr__(cls, "hidden", value)


class Noting(type):
    def __setattr__(cls, name, value):
        super().__setattr__(name, (value, "noted"))


def world():
    class Base:
        state = 0
        other = "base"

    class Derived(Base):
        ratio = 0.5

        def read(self):
            return self.state, super().state

        @classmethod
        def count(cls):
            cls.calls = getattr(cls, "calls", 0) + 1
            return cls.calls

    class Hidden(Derived):
        state = 7

    class Meta(Base, metaclass=Plain):
        pass

    class WithProperty(metaclass=Watched):
        pass

    class Noted(metaclass=Noting):
        pass

    class Switch:
        """As settings do it: a state that a block sets and resets."""

        on = False

        def __init__(self, value):
            self.value = value

        def __enter__(self):
            self.before = type(self).on
            type(self).on = self.value

        def __exit__(self, *error):
            type(self).on = self.before
            return False

    class Layer(torch.nn.Module):
        calls = 0

        def forward(self, x):
            type(self).calls += 1
            return x * self.calls

    def helper(x):
        return x + helper.offset

    helper.offset = 1
    module = types.ModuleType("settings")
    module.state = 1
    exec("def read():\n    return state", module.__dict__)
    return types.SimpleNamespace(
        Base=Base,
        Derived=Derived,
        Hidden=Hidden,
        Meta=Meta,
        WithProperty=WithProperty,
        Noted=Noted,
        Switch=Switch,
        layer=Layer(),
        helper=helper,
        module=module,
        derived=Derived(),
    )


def state(w):
    """What the classes have in the end."""
    found = {}
    for name, value in vars(w).items():
        if isinstance(value, (type, types.ModuleType, types.FunctionType)):
            found[name] = {
                key: item
                for key, item in vars(value).items()
                if not key.startswith("_")
                and not callable(item)
                and not isinstance(item, (classmethod, property))
            }
    found["layer"] = type(w.layer).calls
    found["derived"] = vars(w.derived)
    return found


def counts(x, w):
    w.Base.state += 1
    return x + w.Base.state


def sees_it_everywhere(x, w):
    w.Base.state = x.shape[0] + 5
    d = w.derived
    read = (
        d.state,
        w.Derived.state,
        w.Hidden.state,
        w.Hidden().state,
        w.Meta.state,
        getattr(d, "state"),
        hasattr(w.Derived, "state"),
        d.read(),
    )
    return x + d.state, read


def hides_what_a_base_has(x, w):
    w.Derived.state = "mine"
    return x + 1, w.derived.state, w.Base.state, w.Hidden().read()


def instance_hides(x, w):
    w.Base.state = 4
    w.derived.state = 5
    w.Base.state += 1
    return x * w.derived.state, w.Base.state


def adds_and_deletes(x, w):
    w.Derived.fresh = [x]
    before = hasattr(w.derived, "fresh"), w.Derived.fresh[0] is x
    del w.Derived.fresh
    return x + 1, before, hasattr(w.derived, "fresh"), hasattr(w.Base, "fresh")


def deletes_its_own(x, w):
    del w.Derived.ratio
    return x + 1, hasattr(w.derived, "ratio")


def deletes_twice(x, w):
    del w.Derived.ratio
    try:
        del w.Derived.ratio
    except AttributeError as error:
        return x + 1, str(error)


def deletes_an_inherited_one(x, w):
    try:
        del w.Derived.state
    except AttributeError as error:
        return x + 1, str(error)


def uncovers(x, w):
    w.Derived.state = 3
    del w.Derived.state
    return x + w.derived.state


def keeps_tensors(x, w):
    w.Base.cache = x * 2
    return w.derived.cache + 1


def keeps_objects(x, w):
    w.Base.last = made = types.SimpleNamespace()
    made.result = x + 1
    return w.Base.last.result, w.Base.last is made


def by_a_class_method(x, w):
    return x + w.Derived.count() + w.derived.count()


def within_a_block(x, w):
    y = x * w.Switch.on
    with w.Switch(True):
        y = y + w.Switch.on
        with w.Switch(3):
            y = y + w.Switch.on
    return y + w.Switch.on


def left_by_an_error(x, w):
    try:
        with w.Switch(True):
            raise ValueError(w.Switch.on)
    except ValueError as error:
        return x + 1, error.args, w.Switch.on


def of_a_module_object(x, w):
    return w.layer(x) + w.layer(x)


def of_a_namespace(x, w):
    w.module.state += 1
    return x + w.module.state + w.module.read()


def of_a_function(x, w):
    w.helper.offset += 1
    return w.helper(x)


def deletes_from_a_namespace(x, w):
    w.module.fresh = 1
    del w.module.fresh, w.helper.offset
    return x + 1, hasattr(w.module, "fresh"), hasattr(w.helper, "offset")


def behind_a_break(x, w):
    w.Base.state += 1
    magneto.graph_break()
    w.Base.state += 1
    return x + w.derived.state


def setattr_and_vars(x, w):
    setattr(w.Base, "state", 9)
    return x + vars(w.Base)["state"]


def vars_in_hand(x, w):
    namespace = vars(w.Base)
    before = namespace["state"]
    w.Base.state = 11
    return x + namespace["state"], before


def metaclass_takes_it(x, w):
    w.WithProperty.taken = 4
    return x + w.WithProperty.taken, "taken" in vars(w.WithProperty)


def metaclass_writes(x, w):
    w.Noted.state = 4
    return x + 1, w.Noted.state


def becomes_a_property(x, w):
    w.Base.state = property(lambda self: 17)
    return x + w.derived.state


def becomes_a_method(x, w):
    w.Base.method = lambda self, y: y + 1
    return w.derived.method(x)


def replaces_a_method(x, w):
    w.Derived.read = 3
    return x + w.derived.read


def of_a_builtin(x, w):
    try:
        int.state = 4
    except TypeError as error:
        return x + 1, str(error)


def swaps(x, w):
    w.Base.state, w.Base.other = w.Base.other, w.Base.state
    return x + 1, w.derived.other, w.Hidden.state


ONE_GRAPH = [
    counts,
    sees_it_everywhere,
    hides_what_a_base_has,
    instance_hides,
    adds_and_deletes,
    deletes_its_own,
    deletes_twice,
    deletes_an_inherited_one,
    keeps_tensors,
    keeps_objects,
    by_a_class_method,
    within_a_block,
    left_by_an_error,
    of_a_module_object,
    of_a_namespace,
    of_a_function,
    deletes_from_a_namespace,
    swaps,
]
WITH_BREAKS = [
    behind_a_break,
    setattr_and_vars,
    vars_in_hand,
    metaclass_takes_it,
    metaclass_writes,
    becomes_a_property,
    becomes_a_method,
    replaces_a_method,
    of_a_builtin,
    uncovers,
]


def run(program, call):
    w = world()
    seen = []
    for _ in range(3):
        try:
            seen.append(call(torch.ones(2, 3), w))
        except AttributeError as error:
            seen.append(str(error))
        seen.append(state(w))
    return seen


@pytest.mark.parametrize(
    "program", ONE_GRAPH + WITH_BREAKS, ids=lambda p: p.__name__
)
def test_programs(program):
    backend = RecordingBackend()
    compiled = magneto.compile(
        program, backend=backend, fullgraph=program in ONE_GRAPH
    )
    compare(run(program, program), run(program, compiled))
    assert backend.graphs


def test_counters_are_compiled_twice():
    """Once for the first number, once for any."""

    class Counted:
        calls = 1000
        time = 0.5

    def program(x, instance):
        Counted.calls += 1
        Counted.time *= 2.0
        return x + instance.calls, instance.time

    backend = RecordingBackend()
    compiled = magneto.compile(program, backend=backend, fullgraph=True)
    for i in range(6):
        y, time = compiled(torch.ones(2), Counted())
        assert y[0] == 1002 + i
        assert time == 0.5 * 2.0 ** (i + 1)
    assert Counted.calls == 1006
    assert len(backend.graphs) <= 3


def test_a_number_that_becomes_something_else():
    class Holder:
        value = 3

    def program(x, holder):
        return x + 1, holder.value, Holder.value

    compiled = magneto.compile(program, backend="eager")
    holder = Holder()
    x = torch.ones(2)
    for value in (3, 4, 5, "text", True, 2.5, None, property(lambda self: 8)):
        Holder.value = value
        compare(program(x, holder)[1:], compiled(x, holder)[1:])
    vars(holder)["value"] = "hidden"
    compare(program(x, holder)[1:], compiled(x, holder)[1:])
    Holder.value = 6
    compare(program(x, holder)[1:], compiled(x, holder)[1:])


def test_errors_leave_nothing_behind():
    """What a piece that fails has written is what plain Python has written."""

    class Counted:
        calls = 0

    def program(x):
        Counted.calls += 1
        if Counted.calls > 1:
            raise ValueError(Counted.calls)
        return x + 1

    compiled = magneto.compile(program, backend="eager")
    compiled(torch.ones(2))
    for i in (2, 3):
        with pytest.raises(ValueError, match=str(i)):
            compiled(torch.ones(2))
        assert Counted.calls == i


def test_modules_with_a_dict_of_their_own():
    class Strange(types.ModuleType):
        @property
        def __dict__(self):
            raise TypeError("nobody may see it")

    def program(x, module):
        module.state = 2
        try:
            return x + module.state, module.__dict__
        except TypeError as error:
            return x + module.state, str(error)

    eager, mine = Strange("eager"), Strange("mine")
    compiled = magneto.compile(program, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error", magneto.exc.InternalErrorWarning)
        for _ in range(2):
            compare(
                program(torch.ones(2), eager), compiled(torch.ones(2), mine)
            )
            assert mine.state == 2


def test_a_slot_of_another_class():
    class Slotted:
        __slots__ = ("value",)

    class Holder:
        value = Slotted.value

    def program(x, holder):
        try:
            return x + holder.value
        except TypeError as error:
            return x + 1, str(error)

    check(program, torch.ones(2), Holder())
