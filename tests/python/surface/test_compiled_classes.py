# SPDX-License-Identifier: BSD-3-Clause
"""Classes that are compiled or disabled as a whole."""

import abc
import copy
import dataclasses
import enum
import inspect
import pickle
import typing

import pytest
import torch

import magneto
from support.compiled_calls import compiled, moved

X = torch.arange(3.0)
BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(params=["magneto", "torch"])
def disable(request):
    if request.param == "magneto":
        yield magneto.disable
        return
    magneto.install()
    yield torch.compiler.disable
    magneto.uninstall()


def is_compiling():
    return torch.compiler.is_compiling()


# -- disabled classes: each makes one, and says what it saw while it was made ---


class Plain:
    def __init__(self, y):
        self.y, self.saw = y + 1, is_compiling()


class Called(Plain):
    def __call__(self, x):
        return self.y * x, self.saw, is_compiling()


class Slotted:
    __slots__ = ("saw", "y")

    def __init__(self, y):
        self.y, self.saw = y + 1, is_compiling()


class Made:
    def __new__(cls, y):
        self = super().__new__(cls)
        self.y, self.saw = y + 1, is_compiling()
        return self


@dataclasses.dataclass
class Data:
    y: torch.Tensor
    saw: bool = False

    def __post_init__(self):
        self.y, self.saw = self.y + 1, is_compiling()


class Abstract(abc.ABC):
    @abc.abstractmethod
    def nothing(self): ...


class Concrete(Abstract):
    def __init__(self, y):
        self.y, self.saw = y + 1, is_compiling()

    def nothing(self):
        pass


class Meta(type):
    def __call__(cls, y):
        return super().__call__(y)


class WithMeta(metaclass=Meta):
    def __init__(self, y):
        self.y, self.saw = y + 1, is_compiling()


T = typing.TypeVar("T")


class Generic(typing.Generic[T]):
    def __init__(self, y):
        self.y, self.saw = y + 1, is_compiling()


class Listed(list):
    def __init__(self, y):
        super().__init__([y + 1])
        self.y, self.saw = self[0], is_compiling()


KINDS = [
    Plain,
    Called,
    Slotted,
    Made,
    Data,
    Concrete,
    WithMeta,
    Generic,
    Listed,
]


def derived(cls):
    """A class of its own to change, as others use the one above."""
    if dataclasses.is_dataclass(cls):
        return dataclasses.dataclass(type(cls.__name__, (cls,), {}))
    slots = {"__slots__": ()} if cls is Slotted else {}
    return type(cls)(cls.__name__, (cls,), slots)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_disabled_class_is_a_class_that_is_made_in_plain_python(
    kind, backend, disable
):
    cls = derived(kind)
    assert disable(cls) is cls

    def make(x):
        made = cls(x.sin())
        return made, made.y.cos() * 2

    made, result = magneto.compile(make, backend=backend)(X)
    assert type(made) is cls
    assert isinstance(made, kind)
    assert made.saw is False
    assert torch.equal(made.y, X.sin() + 1)
    assert torch.allclose(result, (X.sin() + 1).cos() * 2)


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_its_instances_run_in_plain_python(backend, disable):
    cls = disable(derived(Called))
    made = cls(X)
    call = magneto.compile(lambda x: made(x.sin()), backend=backend)
    result, saw_made, saw_called = call(X)
    assert torch.equal(result, (X + 1) * X.sin())
    assert (saw_made, saw_called) == (False, False)
    assert compiled(made)(X)[2] is False


@pytest.mark.parametrize("backend", BACKENDS)
def test_modules_of_a_disabled_class(backend, disable):
    @disable
    class Layer(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) * (2 if is_compiling() else 1)

    layer = Layer(3, 3)
    net = torch.nn.Sequential(layer, torch.nn.ReLU())
    assert isinstance(layer, torch.nn.Linear)
    for module in (layer, net):
        call = magneto.compile(module, backend=backend)
        assert torch.allclose(call(X), module(X))
    with pytest.raises(magneto.exc.Unsupported, match="is disabled"):
        magneto.compile(net, backend=backend, fullgraph=True)(X)
    copied = copy.deepcopy(layer)
    assert torch.equal(copied(X), layer(X))


def test_other_methods_are_compiled(disable):
    class Off:
        def __init__(self):
            self.y = X

        def other(self, x):
            return self.y + x, is_compiling()

    cls = disable(Off)
    made = cls()
    result, saw = compiled(lambda x: made.other(x), fullgraph=True)(X)
    assert torch.equal(result, X + X)
    assert saw is True


def test_what_derives_from_it_makes_its_part_of_it_in_plain_python(disable):
    base = disable(derived(Plain))

    class Derived(base):
        def __init__(self, y):
            super().__init__(y * 2)
            self.z = self.y + 1

    made = compiled(lambda x: Derived(x))(X)
    assert made.saw is False
    assert torch.equal(made.z, X * 2 + 2)


def test_a_disabled_class_is_used_as_ever(disable):
    cls = disable(derived(Data))
    assert inspect.signature(cls) == inspect.signature(Data)
    assert dataclasses.replace(cls(X), saw=True).saw is False
    assert [field.name for field in dataclasses.fields(cls)] == ["y", "saw"]
    assert torch.equal(copy.deepcopy(cls(X)).y, X + 1)
    assert disable(cls) is cls


@magneto.disable(reason="it is read from a file")
class Pickled(Plain):
    pass


def test_instances_of_it_are_pickled():
    again = pickle.loads(pickle.dumps(Pickled(X)))
    assert type(again) is Pickled
    assert torch.equal(again.y, X + 1)


def test_the_reason_is_told():
    with pytest.raises(magneto.exc.Unsupported, match="read from a file"):
        compiled(lambda x: Pickled(x).y, fullgraph=True)(X)


def test_nothing_else_of_a_class_is_changed(disable):
    class Bare:
        y = 3

    assert disable(Bare) is Bare
    assert "__call__" not in Bare.__dict__
    assert "__init__" not in Bare.__dict__
    with pytest.raises(TypeError, match="takes no arguments"):
        Bare(1)
    with pytest.raises(TypeError, match="not callable"):
        Bare()()
    number = compiled(lambda x: x + Bare().y, fullgraph=True)(X)
    assert torch.equal(number, X + 3)


def test_classes_of_the_interpreters_are_called_in_plain_python(disable):
    call = disable(int)
    assert call("12") == 12
    assert torch.equal(compiled(lambda x: x + call("2"))(X), X + 2)


# -- compiled classes ----------------------------------------------------------


class Kind(enum.Enum):
    ONE = 1


class Pair(typing.NamedTuple):
    a: torch.Tensor
    b: int = 2


UNCALLED = [
    (Plain, (X,)),
    (Made, (X,)),
    (Data, (X,)),
    (Pair, (X,)),
    (Kind, (1,)),
    (Listed, (X,)),
    (ValueError, ("text",)),
]


@pytest.mark.parametrize(("kind", "args"), UNCALLED)
def test_a_class_whose_instances_cant_be_called_stays_what_it_is(kind, args):
    cls = compiled(kind)
    if kind is ValueError:
        assert cls(*args).args == kind(*args).args
        return
    assert cls is kind
    assert "__call__" not in kind.__dict__
    assert type(cls(*args)) is kind


@pytest.mark.parametrize("backend", BACKENDS)
def test_calls_of_a_compiled_classs_instances_are_compiled(backend):
    cls = derived(Called)
    assert magneto.compile(cls, backend=backend) is cls
    made = cls(X)
    result, saw_made, saw_called = made(X)
    assert torch.equal(result, (X + 1) * X)
    assert (saw_made, saw_called) == (False, True)


def test_a_compiled_class_can_be_disabled_and_a_disabled_one_stays_so():
    cls = derived(Called)
    compiled(cls)
    magneto.disable(cls)
    assert cls(X)(X)[2] is False
    compiled(cls)
    assert moved(lambda: cls(X)(X)) == {}


BUILTINS = [
    (bool, (X.sum(),)),
    (int, (X.sum(),)),
    (float, (X.sum(),)),
    (complex, (1.5, 2)),
    (str, (12,)),
    (list, (X,)),
    (tuple, ([X, X],)),
    (dict, ([("a", X)],)),
    (set, ([1, 2],)),
    (range, (3,)),
    (slice, (1, 2)),
    (type, (X,)),
    (torch.Size, ([1, 2],)),
    (torch.device, ("cpu",)),
    (zip, ([X], [X])),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("kind", "args"), BUILTINS)
def test_classes_of_the_interpreters_are_called(kind, args, backend):
    result = magneto.compile(kind, backend=backend)(*args)
    expected = kind(*args)
    assert type(result) is type(expected)
    if kind is zip:
        result, expected = list(result), list(expected)
    assert repr(result) == repr(expected)
