# SPDX-License-Identifier: BSD-3-Clause
"""Each reason for a graph break (src/values/model/reasons.def): a program that meets
it, run as in plain Python; and the page that lists them.
"""

import array
import collections
import ctypes
import decimal
import itertools
import sys
from pathlib import Path

import pytest
import torch
from torch.overrides import TorchFunctionMode

import magneto
from magneto import _C, observers
from magneto.testing import check
from support.paths import ROOT, TOOLS

sys.path.insert(0, str(TOOLS))
import write_graph_breaks  # noqa: E402

REASONS = {name: (meaning, hint) for name, meaning, hint in _C.break_reasons()}
X = torch.arange(1.0, 5.0)
W = torch.ones(4, requires_grad=True)


class Thing:
    pass


class Alike:
    """Hashes as the string "k" does, and compares in Python."""

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return hash("k")


class Counted:
    asked = 0

    def __hash__(self):
        Counted.asked += 1
        return 5


class Exact(float):
    pass


class Half:
    """Stands for a number that C code takes with a warning."""

    def __float__(self):
        return Exact(0.5)


class Subclass(torch.Tensor):
    pass


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int)]


def asked_for(x):
    y = x + 1
    magneto.graph_break("for a reason")
    return y * 2


def async_function(x):
    async def later():
        return 1

    later().close()
    return x + 1


def attribute_write(x):
    Thing.count = property(len)
    return x + 1


AUTOCAST = torch.autocast("cpu")


def autocast(x):
    with torch.autocast("cpu", enabled=False):
        y = x @ x
        AUTOCAST.__exit__(None, None, None)
    return y


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, [x * 3]

    @staticmethod
    def backward(ctx, grad, none):
        return grad * 2


@torch.compiler.assume_constant_result
def marked_constant(x):
    return 2


def c_attribute_write(x):
    d = collections.defaultdict(list)
    d.default_factory = int
    return x + d["a"]


def cannot_rebuild(x):
    numbers = [x + 1]
    going = iter(numbers)
    numbers.append(going)
    next(going)
    return going


def import_statement(x):
    import this_is_imported_late

    return x + this_is_imported_late.VALUE


@torch.compiler.disable
def disabled(x):
    return x.sin()


def recorded(x, thing):
    return x + 1


def counted():
    return 3


@torch.compiler.allow_in_graph
def boxed(x):
    box = Thing()
    box.content = x * 2
    return box


def asks_for_what_is_refused(x):
    try:
        return torch.cdist(x.int().view(2, 2), x.int().view(2, 2))
    except RuntimeError as error:
        return x + 1, str(error)


def class_body(x):
    class Inner:
        value = 1

    return x + Inner.value


def raises(x):
    y = x + 1
    raise LookupError(len(y))


def recursion(x):
    def levels(n):
        try:
            return levels(n + 1)
        except RecursionError:
            return n

    return x + (levels(0) > 100)


class Box:
    def __init__(self):
        self.count = 1


def shared_attributes(x, box, fields):
    box.count += 1
    return x + fields["count"]


BOX = Box()


def numbers_as_keys_in_a_loop(x):
    out = {}
    for i in range(12):
        magneto.graph_break()
        out[i] = x + i
    return out


class Finalized:
    def __del__(self):
        """Somebody may notice it."""


FINALIZED = Finalized()


def lets_go_of_what_has_a_finalizer(x, box):
    box[0] = None
    x = x + 1
    box[0] = FINALIZED
    return x


SCHEDULER = torch.optim.lr_scheduler.ExponentialLR(
    torch.optim.SGD([torch.ones(1)], lr=torch.tensor(0.1)), gamma=0.5
)
SCHEDULER.optimizer.step()
SCHEDULER.step()


def bookkeeping(x, scheduler):
    scheduler.step()
    return x + 1


def branches_that_differ(x):
    return torch.cond(x.sum() > 0, torch.sin, lambda a: (a.cos(),), (x,))


PROGRAMS = {
    "asked-for": (asked_for, ()),
    "async-function": (async_function, ()),
    "attribute-write": (attribute_write, ()),
    "autocast": (autocast, ()),
    "autograd-function": (lambda x, w: Doubled.apply(w)[0] + x, (W,)),
    "bookkeeping": (bookkeeping, (SCHEDULER,)),
    "c-attribute": (lambda x, a: x + a.itemsize, (array.array("i"),)),
    "c-attribute-write": (c_attribute_write, ()),
    "c-protocol": (lambda x, h: x + float(h), (Half(),)),
    "caller-iterator": (
        lambda x, i: x + next(i)[0],
        (itertools.product([1, 2, 3]),),
    ),
    "cannot-rebuild": (cannot_rebuild, ()),
    "class-item": (lambda x: (x + 1, len(dict[x, 1].__args__)), ()),
    "data-dependent": (lambda x: x + len(str(x)), ()),
    "data-dependent-branch": (lambda x: x + 1 if x.sum() > 0 else x, ()),
    "descriptor": (lambda x, p: x + p.x, (Point(3),)),
    "dict-key": (lambda x, k: len({k: x + 1}), (Counted(),)),
    "disabled-function": (lambda x: disabled(x) + 1, ()),
    "finalizer": (lets_go_of_what_has_a_finalizer, ([FINALIZED],)),
    "graph-argument": (lambda x, thing: recorded(x, thing), (Thing(),)),
    "higher-order-body": (branches_that_differ, ()),
    "import": (import_statement, ()),
    "instantiate": (lambda x: (x + 1, decimal.Decimal(2)), ()),
    "long-computation": (lambda x: (x + 1, len([0] * (1 << 21))), ()),
    "marked-constant": (lambda x: x + marked_constant(x), ()),
    "marked-gives-object": (lambda x: boxed(x).content + 1, ()),
    "marked-without-tensors": (lambda x: x + counted(), ()),
    "native-call": (lambda x: (x + 1, sys.getrefcount(x) > 0), ()),
    "new-leaf": (lambda x: torch.ones(4, requires_grad=True) * x, ()),
    "operator": (lambda x, d: x + float(d + d), (decimal.Decimal(2),)),
    "out-argument": (
        lambda x, y: x + torch.add(x, 1, out=y),
        (torch.ones(8)[::2],),
    ),
    "raised": (raises, ()),
    "recursion": (recursion, ()),
    "refused-call": (asks_for_what_is_refused, ()),
    "set-item": (lambda x, s: x + len(s), ({Alike()},)),
    "shared-attributes": (shared_attributes, (BOX, vars(BOX))),
    "tensor-as-index": (lambda x, i: x + [1, 2][i], (torch.tensor(1),)),
    "tensor-attribute": (lambda x, w: (x, (w * 2).grad_fn.name()), (W,)),
    "tensor-kind": (
        lambda x, s: (s * 2).to_dense(),
        (torch.eye(4).to_sparse(),),
    ),
    "tensor-method": (lambda x: x.clone().requires_grad_(), ()),
    "tensor-subclass": (lambda x, s: x + s, (X.as_subclass(Subclass),)),
    "torch-mode": (lambda x: x + 1, ()),
    "torch-state": (lambda x: (torch.set_num_threads(1), x + 1)[1], ()),
    "unreadable": (lambda x, d: x + d["k"], ({Alike(): 1, "k": 2},)),
    "unsupported-instruction": (class_body, ()),
    "varying-value": (numbers_as_keys_in_a_loop, ()),
}


@pytest.fixture
def late_module(tmp_path, monkeypatch):
    (tmp_path / "this_is_imported_late.py").write_text("VALUE = 3")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("this_is_imported_late", None)


@pytest.fixture(scope="module", autouse=True)
def marked():
    torch.compiler.allow_in_graph(recorded)
    torch.compiler.allow_in_graph(counted)


@pytest.fixture(autouse=True)
def entered_autocast(request):
    if "autocast" not in request.node.name:
        yield
        return
    # Each run of the program leaves it once more.
    was_on = torch.is_autocast_enabled("cpu")
    AUTOCAST.__enter__()
    yield
    torch.set_autocast_enabled("cpu", was_on)
    while torch.autocast_increment_nesting() != 1:
        if torch.autocast_decrement_nesting() > 0:
            torch.autocast_decrement_nesting()
        else:
            torch.autocast_increment_nesting()
    torch.autocast_decrement_nesting()
    torch.clear_autocast_cache()


class Mode(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        return function(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def entered_mode(request):
    if "torch-mode" not in request.node.name:
        yield
        return
    with Mode():
        yield


@pytest.mark.parametrize("name", PROGRAMS)
def test_reason_is_met_named_and_explained(name, late_module):
    fn, args = PROGRAMS[name]
    if name == "raised":
        heard = []
        observers.add(hear := lambda *report: heard.append(report))
        with pytest.raises(LookupError):
            magneto.compile(fn, backend="eager")(X, *args)
        observers.remove(hear)
        assert [(kind, d["reason"]) for kind, *_, d in heard] == [(name, name)]
        return
    found = magneto.explain(fn)(X, *args)
    first = next(b for b in found.breaks + found.skips if b.reason == name)
    assert first.meaning == REASONS[name][0]
    assert first.hint
    assert f"[{name}]" in str(first)
    assert str(first).count("\n") == 0


# Using them up, leaving a context, importing: once. Or what can't be copied.
NOT_COMPARED = {
    "autocast",
    "bookkeeping",
    "caller-iterator",
    "cannot-rebuild",
    "import",
    "tensor-kind",
    "tensor-subclass",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - NOT_COMPARED))
def test_program_with_the_break_computes_the_same(name):
    fn, args = PROGRAMS[name]
    check(fn, X, *args)


@pytest.mark.parametrize("name", ["tensor-kind", "tensor-subclass"])
def test_other_tensors_compute_the_same(name):
    fn, args = PROGRAMS[name]
    call = magneto.compile(fn, backend="eager")
    assert torch.equal(call(X, *args), fn(X, *args))


# Where nothing may break, modules are loaded while tracing and books are kept in
# the graph, and there is nothing behind a break.
@pytest.mark.parametrize(
    "name",
    sorted(
        PROGRAMS.keys() - {"raised", "import", "varying-value", "bookkeeping"}
    ),
)
def test_full_graph_names_reason_place_and_hint(name, late_module):
    fn, args = PROGRAMS[name]
    with pytest.raises(magneto.exc.Unsupported) as caught:
        magneto.compile(fn, backend="eager", fullgraph=True)(X, *args)
    error = caught.value
    assert "\n" not in str(error)
    assert (error.reason, error.meaning) == (name, REASONS[name][0])
    assert error.hint
    assert error.hint in str(error)
    assert Path(error.filename).name == Path(__file__).name
    assert error.function == fn.__qualname__
    assert error.user_stack[0].lineno == error.line


def test_each_reason_is_in_the_table_and_met_here():
    # These are about the compiled function itself; see surface/test_compiled_functions.py.
    assert REASONS.keys() == PROGRAMS.keys() | {"generator-function"}


def test_each_reason_is_used():
    """That each used one is in the table is checked while compiling."""
    sources = [
        path.read_text()
        for path in (ROOT / "src").rglob("*")
        if path.suffix in {".h", ".cpp"}
    ]
    for name in REASONS:
        assert any(f'"{name}"' in text for text in sources), name


def test_the_page_lists_them():
    assert write_graph_breaks.PAGE.read_text() == write_graph_breaks.page(
        _C.break_reasons()
    )


def test_the_table_reads_well():
    assert list(REASONS) == sorted(REASONS)
    for name, (meaning, hint) in REASONS.items():
        assert meaning[0].isupper(), name
        assert meaning.endswith("."), name
        assert hint[0].islower(), name
        assert not hint.endswith("."), name
