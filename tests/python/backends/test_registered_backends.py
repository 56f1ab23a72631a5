# SPDX-License-Identifier: BSD-3-Clause
"""Backends through `magneto.compile`, on a small model: every registered name,
options and modes, verification, failing and skipping backends, passes, unsafe
operators.
"""

import gc

import pytest
import torch
import torch._dynamo

import magneto
from magneto.testing import check, compare
from support.releases import since

X = torch.randn(3, 4)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.second = torch.nn.Linear(8, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.second(torch.relu(self.first(x)))


@pytest.fixture
def net():
    torch.manual_seed(0)
    return Net()


@pytest.fixture
def setting(monkeypatch):
    return lambda name, value: monkeypatch.setattr(magneto.config, name, value)


# -- names ---------------------------------------------------------------------

# Those that another package has to be installed for, and what is said then.
NOT_INSTALLED = {
    "openxla": "torch_xla",
    "openxla_eval": "torch_xla",
    "tvm": "apache-tvm",
}
# Parts of torch.compile's own minifier, which take further arguments.
INCOMPLETE = {
    "aot_eager_decomp_partition_with_mode": "'mode'",
    "dynamo_accuracy_minifier_backend": "'compiler_name'",
    "dynamo_minifier_backend": "'compiler_name'",
}
# Made to fail where there is a relu.
FAILING = {
    "relu_compile_error_TESTING_ONLY": "ReluCompileError",
    "non_leaf_compile_error_TESTING_ONLY": "TestingOnlyCompileError",
}
WRONG = {"relu_accuracy_error_TESTING_ONLY", "relu_runtime_error_TESTING_ONLY"}
NAMES = sorted(magneto.list_backends(()))
SOUND = [
    name
    for name in NAMES
    if name not in NOT_INSTALLED.keys() | INCOMPLETE.keys() | FAILING.keys()
    and name not in WRONG
]


@pytest.mark.parametrize("name", SOUND)
@pytest.mark.filterwarnings("ignore")  # torch.jit's, and cudagraphs' on a CPU
def test_each_name_trains_and_infers_as_eager(name, net):
    def step(module, x):
        module.zero_grad()
        loss = module(x).square().sum()
        loss.backward()
        return loss, [p.grad.clone() for p in module.parameters()]

    compiled = magneto.compile(net, backend=name, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(X), net(X))
    torch.testing.assert_close(step(compiled, X), step(net, X))
    # The buffer was written once a call; pre_dispatch_eager runs the graph for
    # real while it compiles, under torch.compile too.
    assert net.calls == (6 if name == "pre_dispatch_eager" else 4)


@pytest.mark.parametrize("name", [*NOT_INSTALLED, *INCOMPLETE])
def test_names_that_need_more_say_what(name, net):
    call = magneto.compile(net, backend=name)
    missing = {**NOT_INSTALLED, **INCOMPLETE}[name]
    with pytest.raises(magneto.exc.BackendCompilerFailed, match=missing) as e:
        call(X)
    assert "\n" not in str(e.value)
    assert repr(name) in str(e.value)


# -- options and modes ---------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"mode": "default"},
        {"mode": "reduce-overhead"},
        {"options": {"trace.enabled": False, "epilogue_fusion": False}},
        {"options": {}},
        {"dynamic": False},
    ],
    ids=str,
)
def test_inductor_takes_modes_and_options(arguments, net):
    call = magneto.compile(net.eval(), **arguments)
    with torch.no_grad():
        torch.testing.assert_close(call(X), net(X))


@since(15, "gc_gen2_threshold_during_compile is a setting of 2.15")
@torch._dynamo.config.patch(gc_gen2_threshold_during_compile=4321)
def test_full_collections_wait_while_a_backend_compiles():
    seen = []

    def backend(gm, inputs):
        seen.append(gc.get_threshold())
        return gm

    before = gc.get_threshold()
    magneto.compile(lambda x: x + 1, backend=backend)(X)
    assert seen == [(*before[:2], 4321)]
    assert gc.get_threshold() == before


def test_callables_get_mode_and_options():
    seen = []

    def backend(gm, inputs, **keywords):
        seen.append(keywords)
        return gm.forward

    def f(x):
        return x + 1

    for arguments in ({"mode": "fast"}, {"options": {"level": 3}}, {}):
        call = magneto.compile(f, backend=backend, **arguments)
        assert torch.equal(call(X), X + 1)
    assert seen == [{"mode": "fast"}, {"options": {"level": 3}}, {}]


# -- verification --------------------------------------------------------------


def wrong(gm, inputs):
    return lambda *args: tuple(out + 1 for out in gm.forward(*args))


def forgetful(gm, inputs):
    """Leaves the buffer as it was."""
    return lambda *args: gm.forward(*(a.clone() for a in args))


def unlike(gm, inputs):
    return lambda *args: tuple(out.detach() for out in gm.forward(*args))


@pytest.mark.parametrize("backend", [wrong, forgetful, unlike])
def test_verification_refuses_wrong_backends(backend, net, setting):
    setting("verify_correctness", True)
    call = magneto.compile(net, backend=backend)
    with pytest.raises(magneto.exc.VerificationFailed) as caught:
        call(X)
    assert repr(backend.__name__) in str(caught.value)
    assert net.calls == 0  # it ran on copies


@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
def test_verification_accepts_right_backends(name, setting):
    setting("verify_correctness", True)
    check(Net(), X, backend=magneto.backends.lookup_backend(name), atol=1e-6)


def test_the_runner_of_a_verified_graph_runs_once_a_call(net, setting):
    setting("verify_correctness", True)
    runs = []

    def backend(gm, inputs):
        def run(*args):
            runs.append(1)
            return gm.forward(*args)

        return run

    call = magneto.compile(net, backend=backend)
    for _ in range(3):
        call(X)
    assert len(runs) == 1 + 3
    assert net.calls == 3


# -- what a backend may do -----------------------------------------------------


def test_a_backend_may_skip_one_frame_of_several():
    compiled = []

    def backend(gm, inputs):
        if any(n.target is torch.relu for n in gm.graph.nodes):
            raise magneto.SkipFrame("no relu")
        compiled.append(gm)
        return gm.forward

    def f(x):
        y = x + 1
        magneto.graph_break()
        return torch.relu(y)

    check(f, X, backend=backend, calls=3)
    assert len(compiled) == 1


def test_pytorchs_skip_means_the_same():
    from torch._dynamo.exc import SkipFrame

    asked = []

    def backend(gm, inputs):
        asked.append(gm)
        raise SkipFrame("not mine")

    call = magneto.compile(lambda x: x + 1, backend=backend)
    for _ in range(2):
        assert torch.equal(call(X), X + 1)
    assert len(asked) == 1


def test_why_each_graph_ends_can_be_read_from_the_module():
    reasons = []

    def backend(gm, inputs):
        reasons.append(gm.compile_subgraph_reason)
        return gm.forward

    def f(x):
        y = x + 1
        magneto.graph_break("on purpose")
        return y * 2

    magneto.compile(f, backend=backend)(X)
    assert [r.graph_break for r in reasons] == [True, False]
    assert reasons[0].reason == "asked-for"
    assert reasons[0].detail == "on purpose"
    (frame,) = reasons[0].user_stack
    assert frame.line == 'magneto.graph_break("on purpose")'


# -- passes --------------------------------------------------------------------


def sin_to_cos(gm, inputs):
    for node in gm.graph.nodes:
        if node.target == "sin":
            node.target = "cos"
    gm.recompile()


@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
def test_a_registered_pass_runs_on_each_finished_graph(name):
    def f(x):
        y = x.sin()
        magneto.graph_break()
        return y + x.sin()

    with magneto.register_pass(sin_to_cos):
        call = magneto.compile(f, backend=name)
        torch.testing.assert_close(call(X), X.cos() * 2)
    magneto.reset()
    torch.testing.assert_close(call(X), X.sin() * 2)


def test_a_failing_pass_is_named():
    def breaks(gm, inputs):
        raise ValueError("in the pass")

    call = magneto.compile(lambda x: x + 1, backend="eager")
    with magneto.register_pass(breaks):
        with pytest.raises(
            magneto.exc.BackendCompilerFailed, match="'breaks' failed"
        ) as caught:
            call(X)
    assert isinstance(caught.value.__cause__, ValueError)
    assert torch.equal(call(X), X + 1)


# -- operators that aren't known to be safe ------------------------------------


@pytest.fixture(scope="module")
def library():
    library = torch.library.Library("magneto_edges", "DEF")
    library.define("double(Tensor x) -> Tensor")
    library.define(
        "tagged(Tensor x) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,)
    )
    for name in ("double", "tagged"):
        library.impl(name, lambda x: x * 2, "CompositeExplicitAutograd")
        library.impl(name, lambda x: torch.empty_like(x), "Meta")
    yield torch.ops.magneto_edges
    library._destroy()


def test_unknown_operators_are_compiled_logged_or_refused(
    library, setting, caplog
):
    def f(x):
        return library.double(x) + 1

    def g(x):
        return library.tagged(x) + 1

    check(f, X)
    assert "magneto_edges" not in caplog.text
    magneto.reset()
    setting("unsafe_operators", "log")
    for _ in range(2):
        magneto.reset()
        check(f, X)
        check(g, X)
    assert caplog.text.count("magneto_edges.double") == 1
    assert "magneto_edges.tagged" not in caplog.text
    setting("unsafe_operators", "refuse")
    magneto.reset()
    check(g, X)
    for fullgraph in (False, True):
        call = magneto.compile(f, backend="eager", fullgraph=fullgraph)
        with pytest.raises(magneto.exc.UnsafeOperator, match="double") as e:
            call(X)
        assert "\n" not in str(e.value)
        assert "unsafe_operators" in str(e.value)
    setting("unsafe_operators", "maybe")
    with pytest.raises(ValueError, match="'allow', 'log', 'refuse'"):
        magneto.compile(f, backend="eager")(X)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_size_that_varies_comes_to_be_known(backend):
    """The graph has an input for it all the same."""

    def program(x, y):
        z = x.broadcast_to(2, *y.shape)
        return z * torch.ones(2, 4), z.new_zeros(y.shape[0])

    compiled = magneto.compile(program, backend=backend)
    for rows, columns in ((1, 4), (2, 4), (3, 4)):
        x, y = torch.ones(rows, columns), torch.ones(rows, columns)
        if rows == 3:
            with pytest.raises(RuntimeError, match="must match"):
                compiled(x, y)
            continue
        for ours, eagers in zip(compiled(x, y), program(x, y), strict=True):
            assert torch.equal(ours, eagers)
    compiled = magneto.compile(program, backend=backend, dynamic=True)
    assert torch.equal(compiled(x[:2], y[:2])[0], program(x[:2], y[:2])[0])


NUMBERS_OF_TENSORS = {
    "that the operator looks at": lambda x, n: torch.cov(
        x, correction=torch.tensor(1) * n
    ),
    "in an assertion": lambda x, n: torch.linalg.tensorinv(
        x.reshape(2, 2, 4), n + 1
    ),
    "of data": lambda x, n: x.narrow(0, 0, int(x[0, 1])) * n,
}


@pytest.mark.parametrize(
    "program", NUMBERS_OF_TENSORS.values(), ids=NUMBERS_OF_TENSORS
)
def test_numbers_of_tensors_under_a_compiler(program):
    compiled = magneto.compile(program, backend="aot_eager")
    x = torch.eye(4) + torch.arange(16.0).reshape(4, 4)
    for n in (1, 1, 0, 2):
        told = []
        for call in (program, compiled):
            try:
                told.append(call(x, n))
            except RuntimeError as error:
                told.append(str(error))
        compare(*told)


def view_of_another(x, y):
    return x.movedim(0, -1), y + 1


def written_and_viewed(x, y):
    y.mul_(2)
    return x.view(-1), y[1:]


def with_gradients(x, y):
    with torch.enable_grad():
        return x * 2, y.view(-1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize(
    "program", [view_of_another, written_and_viewed, with_gradients]
)
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("is_made_inside", [False, True])
def test_inference_mode(program, backend, dynamic, is_made_inside):
    """What a view of a tensor of the outside is, and what a computed one."""

    def outcome(call):
        around = torch.inference_mode if is_made_inside else torch.enable_grad
        with around():
            x = torch.zeros(3, 4, requires_grad=True)
            y = torch.ones(5)
        with torch.inference_mode():
            results = call(x, y)
        return [
            (r.tolist(), r.requires_grad, r.is_inference(), r._is_view())
            for r in (*results, x, y)
        ]

    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for _ in range(2):
        assert outcome(compiled) == outcome(program)


def test_backend_that_fails_in_an_inference_mode_of_the_graph():
    """AOTAutograd can't compile this; what it had entered is left."""

    def program(x):
        x.add_(1)
        with torch.inference_mode():
            y = x.narrow(0, 0, 1)
        return y

    compiled = magneto.compile(program, backend="aot_eager")
    for _ in range(2):
        with pytest.raises(magneto.exc.BackendCompilerFailed):
            compiled(torch.ones(2, 3))
        assert not torch.is_inference_mode_enabled()
        assert torch.ones(2).sum() == 2


def refused(x, mask):
    try:
        return x + 1, -mask
    except RuntimeError as error:
        return x, str(error)


def changed_before_the_backward(x, mask):
    y = x.tanh()
    y.mul_(2)
    return y, mask


@pytest.mark.filterwarnings("ignore::magneto.exc.GraphFailedWarning")
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", [refused, changed_before_the_backward])
def test_errors_of_the_programs_that_a_backend_meets(program, backend, dynamic):
    """They come where they come in plain Python."""

    def outcome(call):
        x = torch.zeros(2, 3, requires_grad=True)
        y, other = call(x, torch.ones(2, 3) > 0)
        try:
            y.sum().backward()
        except RuntimeError as error:
            other = str(error)[:60]
        return y.tolist(), str(other), x.grad

    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for _ in range(2):
        assert str(outcome(compiled)) == str(outcome(program))


def view_behind_a_break(x):
    with torch.no_grad():
        magneto.graph_break()
        scale = x.sum()
    return x.t(), x * scale


def gradients_inside(x):
    with torch.no_grad():
        magneto.graph_break()
        with torch.enable_grad():
            y = x.view(-1)
        return y, x * 2


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("program", [view_behind_a_break, gradients_inside])
def test_graph_that_turns_gradients_on(program, backend, dynamic):
    """What it makes from there on has a history, views as well."""

    def outcome(call):
        x = torch.ones(2, 3, requires_grad=True)
        results = call(x)
        about = [(r.tolist(), r.requires_grad, r.is_leaf) for r in results]
        for each in results:
            if each.requires_grad:
                (each * 2).sum().backward()
        return about, x.grad.tolist(), torch.is_grad_enabled()

    compiled = magneto.compile(program, backend=backend, dynamic=dynamic)
    for _ in range(2):
        assert outcome(compiled) == outcome(program)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
def test_recurrent_layers_are_trained(kind, backend):
    """PyTorch's compilers fail at the backward of an LSTM on a CPU."""

    def outcome(compiles):
        torch.manual_seed(0)
        layer = kind(4, 3, num_layers=2, bidirectional=True)

        def program(x):
            return layer(x * 2)[0].sum(0) + 1

        call = (
            magneto.compile(program, backend=backend) if compiles else program
        )
        results = []
        for _ in range(2):
            y = call(torch.ones(2, 5, 4))
            y.sum().backward()
            with torch.no_grad():
                results += [y, call(torch.ones(2, 5, 4))]
        return results + [p.grad for p in layer.parameters()]

    for mine, plain in zip(outcome(True), outcome(False), strict=True):
        torch.testing.assert_close(mine, plain)
