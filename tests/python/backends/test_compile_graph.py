# SPDX-License-Identifier: BSD-3-Clause
"""From a graph through a backend to a callable."""

import operator
import os
import random
import subprocess
import sys

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

# Names ------------------------------------------------------------------------

NAMES = [
    "eager",
    "eager_noexcept",
    "eager_debug",
    "pre_dispatch_eager",
    "aot_eager",
    "aot_eager_default_partitioner",
    "aot_eager_decomp_partition",
    "inductor",
]


@pytest.mark.parametrize("name", NAMES)
def test_registered_backend_trains_as_eager(name):
    handle, inputs = linear_relu()
    compiled = compile_with(name, handle, inputs)
    assert_training_step_equal(compiled, linear_relu_eager, inputs)


@pytest.mark.parametrize("name", ["aot_eager", "inductor"])
def test_registered_backend_infers_as_eager(name):
    handle, inputs = linear_relu()
    with torch.no_grad():
        compiled = compile_with(name, handle, inputs)
        actual = compiled(*inputs)
        expected = linear_relu_eager(*inputs)
    torch.testing.assert_close(tuple(actual), expected)
    assert not actual[0].requires_grad


@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
def test_written_inputs_are_written(name):
    handle, inputs = mutating()
    compiled = compile_with(name, handle, inputs)
    assert_training_step_equal(compiled, mutating_eager, inputs)


def written_and_added():
    """x.add_(1); return x + y"""
    recorder = Recorder()
    x = recorder.input("L['x']", torch.zeros(2))
    y = recorder.input("L['y']", torch.zeros(2))
    recorder.call("add_", x, 1)
    return recorder.finish(
        (recorder.call(operator.add, x, y),)
    ), recorder.inputs


def written_and_added_eager(x, y):
    x.add_(1)
    return (x + y,)


def apart():
    return torch.zeros(4)[:2], torch.zeros(4)[:2]


def same_memory():
    base = torch.zeros(4)
    return base[:2], base[:2]


def overlapping():
    base = torch.zeros(4)
    return base[:2], base[1:3]


def neighbours():
    base = torch.zeros(4)
    return base[:2], base[2:]


def same_object():
    x = torch.zeros(2)
    return x, x


RELATIONS = [apart, same_memory, overlapping, neighbours, same_object]


# A trace makes one input of each object, so only later calls may repeat one.
@pytest.mark.parametrize("first", RELATIONS[:-1])
@pytest.mark.parametrize("name", ["eager", "aot_eager"])
def test_inputs_may_share_memory_in_any_way(name, first, caplog):
    """Whatever they shared when the graph was compiled; torch.compile's results
    are wrong here."""
    handle, _ = written_and_added()
    compiled = compile_with(name, handle, list(first()))
    for second in [first, *RELATIONS]:
        inputs, expected_inputs = second(), second()
        actual = compiled(*inputs)
        torch.testing.assert_close(
            tuple(actual), written_and_added_eager(*expected_inputs)
        )
        torch.testing.assert_close(inputs, expected_inputs)
    warnings = caplog.text.count("share memory in another way")
    assert warnings == (1 if name == "aot_eager" else 0)


def test_graphs_that_write_nothing_are_not_checked():
    from magneto.backends.aliasing import AliasChecked

    handle, inputs = linear_relu()
    assert not isinstance(
        compile_with("aot_eager", handle, inputs), AliasChecked
    )
    handle, inputs = mutating()
    assert isinstance(compile_with("aot_eager", handle, inputs), AliasChecked)


def without_grad_inside():
    """x.sin() with grad, then x.cos() under no_grad()."""
    set_grad = torch._C._set_grad_enabled
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(3, requires_grad=True))
    y = recorder.call(torch.sin, x)
    recorder.call(set_grad, False)
    z = recorder.call(torch.cos, x)
    recorder.call(set_grad, True)
    return recorder.finish((y, z)), recorder.inputs


@pytest.mark.parametrize("name", ["eager", "aot_eager"])
def test_grad_modes_inside_the_graph_hold(name):
    handle, inputs = without_grad_inside()
    assert handle.call_count == 4
    compiled = compile_with(name, handle, inputs)
    y, z = compiled(*inputs)
    assert (y.requires_grad, z.requires_grad) == (True, False)
    assert torch.is_grad_enabled()


def test_static_inputs_are_known_to_the_compilers():
    """Parameters and buffers, whose addresses stay, are told from inputs."""
    from torch._dynamo.backends.common import aot_autograd

    seen = []

    def compiler(gm, _):
        context = torch._guards.TracingContext.get()
        seen.append(context.fw_metadata.static_input_indices)
        return gm

    handle, inputs = linear_relu()
    compiled = backends.compile_graph(
        aot_autograd(fw_compiler=compiler), handle, inputs
    )
    compiled(*inputs)
    assert seen[0] == [1, 2]


def test_inductor_mode_and_options_are_used():
    backend = backends.lookup_backend(
        "inductor", options={"max-autotune": True}
    )
    assert backend.resolve().config == {"max_autotune": True}
    mode = backends.lookup_backend(
        "inductor", mode="max-autotune-no-cudagraphs"
    )
    assert mode.resolve().config["max_autotune"] is True


def test_callable_gets_mode_and_options():
    seen = []

    def backend(gm, inputs, mode=None, options=None):
        seen.append((mode, options))
        return gm

    handle, inputs = linear_relu()
    for kwargs in ({"mode": "fast"}, {"options": {"level": 3}}, {}):
        chosen = backends.lookup_backend(backend, **kwargs)
        backends.compile_graph(chosen, handle, inputs)
    assert seen == [("fast", None), (None, {"level": 3}), (None, None)]
    assert backends.lookup_backend(backend) is backend


def test_backends_compare_by_name_and_options():
    look_up = backends.lookup_backend
    assert look_up("inductor") is look_up("inductor", mode="default")
    one = look_up("inductor", options={"max_autotune": True})
    assert one == look_up("inductor", options={"max_autotune": True})
    assert one != look_up("inductor")
    assert look_up("eager") != look_up("aot_eager")


def test_every_listed_name_is_known():
    for name in backends.list_backends(()):
        assert callable(backends.lookup_backend(name))
    assert set(NAMES) <= set(backends.list_backends(()))


def test_own_registered_name_is_found():
    from torch._dynamo.backends import registry

    def magneto_test_backend(gm, _):
        return gm.forward

    registry.register_backend(magneto_test_backend)
    try:
        handle, inputs = linear_relu()
        compiled = compile_with("magneto_test_backend", handle, inputs)
        torch.testing.assert_close(
            compiled(*inputs), linear_relu_eager(*inputs)
        )
    finally:
        del registry._COMPILER_FNS["magneto_test_backend"]
        del registry._BACKENDS["magneto_test_backend"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("inducter",), exc.InvalidBackend, "did you mean 'inductor'"),
        ((3,), exc.InvalidBackend, "a name or a callable, not int"),
        (("inductor", 3), exc.InvalidOptions, "mode must be a str"),
        (("inductor", None, [1]), exc.InvalidOptions, "options must be a dict"),
        (("inductor", "fast"), exc.InvalidOptions, "no mode 'fast'; its modes"),
        (
            ("inductor", None, {"max_autotunes": True}),
            exc.InvalidOptions,
            "did you mean 'max_autotune'",
        ),
        (
            ("inductor", None, {"max_autotune": 3}),
            exc.InvalidOptions,
            "Unexpected type of attr max_autotune",
        ),
        (
            ("inductor", "max-autotune", {"max_autotune": True}),
            exc.InvalidOptions,
            "either mode or options",
        ),
    ],
)
def test_wrong_arguments_are_one_line_errors(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        backends.lookup_backend(*arguments)
    assert "\n" not in str(caught.value)


# What a backend gets ----------------------------------------------------------


def test_backend_gets_module_and_real_inputs():
    seen = []

    def backend(gm, example_inputs):
        seen.append((gm, example_inputs))
        return gm.forward

    handle, inputs = linear_relu()
    reason = {"reason": "call", "line": 3, "filename": "f.py", "function": "f"}
    compiled = backends.compile_graph(
        backend, handle, inputs, reason={**reason, "graph_break": True}
    )
    gm, example_inputs = seen[0]
    assert isinstance(gm, torch.fx.GraphModule)
    assert type(example_inputs) is list
    assert all(a is b for a, b in zip(example_inputs, inputs))
    assert gm.compile_subgraph_reason.reason == "call"
    assert gm.compile_subgraph_reason.graph_break
    (frame,) = gm.compile_subgraph_reason.user_stack
    assert (frame.filename, frame.lineno, frame.name) == ("f.py", 3, "f")
    assert str(gm.meta["dynamo_compile_id"]) == "0/0"
    assert gm.meta["dynamo_flat_name_to_original_fqn"] == {
        "L__self___layer_weight": "layer.weight",
        "L__self___layer_bias": "layer.bias",
    }
    assert not gm.has_fx_graph
    torch.testing.assert_close(compiled(*inputs), linear_relu_eager(*inputs))


def test_backend_sees_torchs_tracing_context():
    def backend(gm, example_inputs):
        context = torch._guards.TracingContext.get()
        mode = torch._guards.detect_fake_mode(example_inputs)
        assert context.fake_mode is mode
        assert mode.shape_env is not None
        fakes = [mode.from_tensor(x) for x in example_inputs]
        assert all(type(size) is int for fake in fakes for size in fake.shape)
        assert str(torch._guards.CompileContext.current_compile_id()) == "7/2"
        return gm

    handle, inputs = linear_relu()
    backends.compile_graph(backend, handle, inputs, frame_id=7, compile_id=2)
    assert torch._guards.TracingContext.try_get() is None
    assert torch._guards.CompileContext.try_get() is None


def test_global_state_is_restored_after_the_backend():
    def backend(gm, _):
        torch.set_grad_enabled(False)
        random.random()
        torch.rand(3)
        return gm

    handle, inputs = linear_relu()
    states = random.getstate(), torch.get_rng_state()
    backends.compile_graph(backend, handle, inputs)
    assert torch.is_grad_enabled()
    assert random.getstate() == states[0]
    assert torch.equal(torch.get_rng_state(), states[1])


def test_edited_module_is_what_runs():
    def backend(gm, _):
        for node in gm.graph.nodes:
            if node.target is torch.relu:
                node.target = torch.sigmoid
        gm.recompile()
        return gm

    handle, inputs = linear_relu()
    compiled = backends.compile_graph(backend, handle, inputs)
    y = torch.nn.functional.linear(*inputs)
    torch.testing.assert_close(
        compiled(*inputs), (torch.sigmoid(y).sum(-1, keepdim=True), y)
    )


def test_untouched_module_is_run_by_the_runner_alone():
    handle, inputs = linear_relu()
    compiled = backends.compile_graph(lambda gm, _: gm, handle, inputs)
    assert type(compiled) is type(handle.function())


@pytest.mark.parametrize("copied", [False, True])
def test_users_own_aot_backend_works(copied):
    """As people write it: with aot_module_simplified, perhaps on a copy."""
    import copy

    from functorch.compile import make_boxed_func
    from torch._functorch.aot_autograd import aot_module_simplified

    def backend(gm, example_inputs):
        gm = copy.deepcopy(gm) if copied else gm

        def compiler(graph, _):
            return make_boxed_func(graph.forward)

        return aot_module_simplified(gm, example_inputs, compiler)

    handle, inputs = linear_relu()
    compiled = backends.compile_graph(backend, handle, inputs)
    assert_training_step_equal(compiled, linear_relu_eager, inputs)


# Failures ---------------------------------------------------------------------


def test_exception_of_a_backend_is_wrapped_with_its_cause():
    handle, inputs = linear_relu()
    cause = ValueError("no such instruction")
    with pytest.raises(exc.BackendCompilerFailed) as caught:
        backends.compile_graph(failing(cause), handle, inputs)
    error = caught.value
    assert error.__cause__ is cause
    assert error.inner_exception is cause
    assert str(error) == (
        "backend 'broken_backend' failed: ValueError: no such instruction"
    )


def test_programs_that_catch_pytorchs_exception_catch_ours():
    import torch._dynamo

    handle, inputs = linear_relu()
    with pytest.raises(
        torch._dynamo.exc.BackendCompilerFailed, match="ValueError"
    ):
        backends.compile_graph(failing(ValueError("x")), handle, inputs)


def test_failing_registered_backend_is_named():
    handle, inputs = linear_relu()
    with pytest.raises(exc.BackendCompilerFailed) as caught:
        compile_with("relu_compile_error_TESTING_ONLY", handle, inputs)
    assert caught.value.backend_name == "relu_compile_error_TESTING_ONLY"


def test_keyboard_interrupt_passes_and_cleans_up():
    handle, inputs = linear_relu()
    with pytest.raises(KeyboardInterrupt):
        backends.compile_graph(failing(KeyboardInterrupt()), handle, inputs)
    assert torch._guards.TracingContext.try_get() is None


def test_backend_may_ask_to_skip_the_frame():
    import torch._dynamo

    handle, inputs = linear_relu()
    for error in (
        exc.SkipFrame("not me"),
        torch._dynamo.exc.SkipFrame("not me"),
    ):
        with pytest.raises(exc.SkipFrame, match="not me"):
            backends.compile_graph(failing(error), handle, inputs)


def test_data_dependent_failure_skips_the_frame(caplog):
    handle, inputs = linear_relu()
    error = torch._subclasses.fake_tensor.DataDependentOutputException(
        torch.ops.aten._local_scalar_dense.default
    )
    with pytest.raises(exc.SkipFrame, match="_local_scalar_dense"):
        backends.compile_graph(failing(error), handle, inputs)
    assert "the frame runs as plain Python" in caplog.text


@pytest.mark.parametrize(
    ("result", "text"), [(None, "NoneType"), (3, r"3 \(int\)")]
)
def test_a_result_that_cannot_be_called_is_an_error(result, text):
    def forgetful_backend(gm, _):
        return result

    handle, inputs = linear_relu()
    message = (
        f"backend 'forgetful_backend' returned {text}; a backend must return"
    )
    with pytest.raises(exc.InvalidBackendResult, match=message) as caught:
        backends.compile_graph(forgetful_backend, handle, inputs)
    assert "\n" not in str(caught.value)


def test_missing_compiler_is_explained():
    class InvalidCxxCompiler(RuntimeError):
        pass

    def backend(gm, _):
        try:
            raise InvalidCxxCompiler("none")
        except InvalidCxxCompiler as error:
            raise RuntimeError("inductor failed") from error

    handle, inputs = linear_relu()
    with pytest.raises(exc.BackendCompilerFailed, match="apt-get install g"):
        backends.compile_graph(backend, handle, inputs)


def test_compiling_does_not_import_torchs_compilers():
    """With a backend that ignores the graph, from import to result."""
    code = (
        "import sys, torch\n"
        "from magneto import backends\n"
        "from support.graph_recorder import linear_relu\n"
        "handle, inputs = linear_relu()\n"
        "for name in ('eager', 'inductor', 'aot_eager'):\n"
        "    backends.lookup_backend(name)\n"
        "eager = backends.lookup_backend('eager')\n"
        "backends.compile_graph(eager, handle, inputs)(*inputs)\n"
        "backends.compile_graph(lambda gm, _: gm, handle, inputs)(*inputs)\n"
        "loaded = {'torch._dynamo', 'torch._inductor', 'sympy'} & set(sys.modules)\n"
        "assert not loaded, loaded\n"
    )
    path = ":".join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
