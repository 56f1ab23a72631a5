# SPDX-License-Identifier: BSD-3-Clause
"""What is between a graph and its backend: verification of results, passes, and
operators that are not known to be safe.
"""

import pytest
import torch

from magneto import backends, exc
from support.backend_checks import (
    assert_training_step_equal,
    compile_with,
    failing,
)
from support.graph_recorder import (
    Recorder,
    linear_relu,
    linear_relu_eager,
    mutating,
    mutating_eager,
)

# Verification -----------------------------------------------------------------


def test_verification_accepts_a_right_backend(settings):
    settings(verify_correctness=True)
    for maker, eager in (
        (linear_relu, linear_relu_eager),
        (mutating, mutating_eager),
    ):
        handle, inputs = maker()
        before = [x.detach().clone() for x in inputs]
        compiled = compile_with("aot_eager", handle, inputs)
        torch.testing.assert_close([x.detach() for x in inputs], before)
        assert_training_step_equal(compiled, eager, inputs)


@pytest.mark.parametrize("edits_module", [False, True])
def test_verification_finds_wrong_results(settings, edits_module):
    settings(verify_correctness=True)

    def wrong_backend(gm, _):
        if edits_module:
            for node in gm.graph.nodes:
                if node.target is torch.relu:
                    node.target = torch.neg
            gm.recompile()
            return gm
        return lambda *args: [value + 1 for value in gm(*args)]

    handle, inputs = linear_relu()
    with pytest.raises(
        exc.VerificationFailed,
        match="backend 'wrong_backend' returned a wrong value at index 0: .*not close",
    ):
        backends.compile_graph(wrong_backend, handle, inputs)


def test_verification_finds_a_forgotten_write(settings):
    settings(verify_correctness=True)

    def forgetful(gm, _):
        def run(x, weight, running):
            return gm(x, weight, running.clone())

        return run

    handle, inputs = mutating()
    with pytest.raises(
        exc.VerificationFailed,
        match="left in its inputs a wrong value at index 2",
    ):
        backends.compile_graph(forgetful, handle, inputs)


def test_verification_compares_random_results_from_one_state(settings):
    settings(verify_correctness=True)
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(100))
    dropped = recorder.call(torch.dropout, x, 0.5, True)
    handle = recorder.finish((dropped,))
    state = torch.get_rng_state()
    compiled = compile_with("aot_eager", handle, recorder.inputs)
    assert torch.equal(torch.get_rng_state(), state)
    assert compiled(*recorder.inputs)[0].shape == (100,)


# Passes -----------------------------------------------------------------------


def use_sigmoid(gm, _):
    for node in gm.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.sigmoid
    gm.recompile()


@pytest.mark.parametrize("name", ["eager", "aot_eager"])
def test_registered_pass_runs_before_the_backend(name):
    handle, inputs = linear_relu()
    y = torch.nn.functional.linear(*inputs)
    with backends.register_pass(use_sigmoid):
        assert backends.registered_passes() == (use_sigmoid,)
        compiled = compile_with(name, handle, inputs)
    assert backends.registered_passes() == ()
    torch.testing.assert_close(
        tuple(compiled(*inputs)), (torch.sigmoid(y).sum(-1, keepdim=True), y)
    )


def test_passes_run_in_order_and_may_replace_the_module():
    order = []

    def first(gm, inputs):
        order.append(("first", len(inputs)))

    def second(gm, inputs):
        order.append("second")
        replacement = torch.fx.GraphModule(gm, gm.graph)
        return replacement

    seen = []
    handle, inputs = linear_relu()
    with backends.register_pass(first), backends.register_pass(second):
        backends.compile_graph(
            lambda gm, _: seen.append(gm) or gm, handle, inputs
        )
    assert order == [("first", 3), "second"]
    assert type(seen[0]).__mro__[1] is torch.fx.GraphModule


def test_wrong_passes_are_errors():
    handle, inputs = linear_relu()
    with pytest.raises(TypeError, match="a pass must be callable, not int"):
        backends.register_pass(3)
    with (
        backends.register_pass(lambda gm, _: 3),
        pytest.raises(
            exc.InvalidBackendResult, match="returned int; a pass must"
        ),
    ):
        compile_with("eager", handle, inputs)
    with (
        backends.register_pass(failing(KeyError("k"))),
        pytest.raises(
            exc.BackendCompilerFailed, match="'broken_backend' failed"
        ),
    ):
        compile_with("eager", handle, inputs)


# Operators --------------------------------------------------------------------


@pytest.fixture
def custom_operator():
    library = torch.library.Library("magneto_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    yield torch.ops.magneto_test.twice.default
    library._destroy()


def with_operator(target):
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(3))
    return recorder.finish((recorder.call(target, x),)), recorder.inputs


def test_unknown_operators_are_allowed_logged_or_refused(
    custom_operator, settings, caplog
):
    handle, inputs = with_operator(custom_operator)
    compile_with("eager", handle, inputs)
    assert caplog.text == ""
    settings(unsafe_operators="log")
    compile_with("eager", handle, inputs)
    compile_with("eager", handle, inputs)
    assert caplog.text.count("magneto_test.twice") == 1
    settings(unsafe_operators="refuse")
    with pytest.raises(exc.UnsafeOperator, match="magneto_test.twice"):
        compile_with("eager", handle, inputs)
    settings(unsafe_operators="forbid")
    with pytest.raises(
        ValueError, match="must be one of 'allow', 'log', 'refuse'"
    ):
        compile_with("eager", handle, inputs)


def test_pytorchs_own_and_tagged_operators_are_safe(settings):
    settings(unsafe_operators="refuse")
    library = torch.library.Library("magneto_safe", "FRAGMENT")
    library.define(
        "thrice(Tensor x) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,)
    )
    library.impl("thrice", lambda x: x * 3, "CompositeImplicitAutograd")
    try:
        targets = (
            torch.sin,
            torch.ops.aten.sin.default,
            torch.ops.aten.sin,
            torch.ops.magneto_safe.thrice,
        )
        for target in targets:
            handle, inputs = with_operator(target)
            assert compile_with("eager", handle, inputs)(*inputs)
    finally:
        library._destroy()
