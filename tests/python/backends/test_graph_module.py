# SPDX-License-Identifier: BSD-3-Clause
"""A captured graph is a torch.fx.GraphModule, made late and run from C++."""

import copy
import gc
import io
import operator
import pickle
import weakref

import pytest
import torch
from torch.fx.passes.shape_prop import ShapeProp

from magneto.graph_module import (
    CapturedGraphModule,
    capture_module,
    fast_forward,
)
from support.graph_recorder import Recorder, linear_relu, linear_relu_eager


def module(**kwargs):
    handle, inputs = linear_relu(**kwargs)
    return capture_module(handle, inputs), inputs


def assert_same(actual, expected):
    torch.testing.assert_close(tuple(actual), tuple(expected), rtol=0, atol=0)


def replace_relu(gm):
    """An edit as people write it: relu becomes sigmoid."""
    for node in gm.graph.nodes:
        if node.target is torch.relu:
            node.target = torch.sigmoid


def sigmoid_variant(x, weight, bias):
    y = torch.nn.functional.linear(x, weight, bias)
    return torch.sigmoid(y).sum(-1, keepdim=True), y


def test_module_is_a_graph_module_without_an_fx_graph():
    gm, inputs = module()
    assert isinstance(gm, torch.fx.GraphModule)
    assert_same(gm(*inputs), linear_relu_eager(*inputs))
    assert_same(gm.forward(*inputs), linear_relu_eager(*inputs))
    assert not gm.has_fx_graph


def test_gradients_flow_through_the_runner():
    gm, (x, weight, bias) = module()
    total, y = gm(x, weight, bias)
    (total.sum() + y.sum()).backward()
    actual = weight.grad, bias.grad
    weight.grad = bias.grad = None
    total, y = linear_relu_eager(x, weight, bias)
    (total.sum() + y.sum()).backward()
    assert_same(actual, (weight.grad, bias.grad))


def test_graph_has_the_recorded_nodes():
    gm, _ = module()
    nodes = [(node.op, node.name, node.target) for node in gm.graph.nodes]
    weight = "self_modules_layer_parameters_weight_"
    assert nodes == [
        ("placeholder", "l_x_", "L_x_"),
        ("placeholder", f"l_{weight}", f"L_{weight}"),
        (
            "placeholder",
            f"l_{weight.replace('weight', 'bias')}",
            f"L_{weight.replace('weight', 'bias')}",
        ),
        ("call_function", "y", torch.nn.functional.linear),
        ("call_function", "relu", torch.relu),
        ("call_method", "sum_1", "sum"),
        ("output", "output", "output"),
    ]
    assert gm.graph is gm.graph
    gm.graph.lint()
    assert list(gm.graph.nodes)[5].kwargs == {"keepdim": True}


def test_code_is_generated_and_means_the_same():
    gm, inputs = module()
    assert "relu = torch.relu(y)" in gm.code
    assert "class GraphModule" in gm.print_readable(print_output=False)
    assert "relu" in str(gm)
    namespace = {}
    exec("import torch\n" + gm.code, namespace)
    assert_same(namespace["forward"](None, *inputs), gm(*inputs))


def test_reading_graph_and_code_keeps_the_runner():
    gm, inputs = module()
    runner = gm.forward
    gm.graph, gm.code, gm.print_readable(print_output=False)
    assert gm.forward is runner
    assert_same(gm(*inputs), linear_relu_eager(*inputs))


def test_an_edit_takes_effect_at_recompile():
    gm, inputs = module()
    replace_relu(gm)
    assert_same(gm(*inputs), linear_relu_eager(*inputs))
    gm.recompile()
    assert_same(gm(*inputs), sigmoid_variant(*inputs))
    assert "torch.sigmoid" in gm.code


def test_edits_of_one_module_leave_others_alone():
    edited, inputs = module()
    other, other_inputs = module()
    replace_relu(edited)
    edited.recompile()
    edited(*inputs)
    assert_same(other(*other_inputs), linear_relu_eager(*other_inputs))
    other.recompile()
    assert_same(other(*other_inputs), linear_relu_eager(*other_inputs))
    assert "forward" not in vars(CapturedGraphModule)


def test_assigning_a_graph_replaces_the_computation():
    gm, inputs = module()
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.placeholder("weight")
    graph.placeholder("bias")
    graph.output((graph.call_function(operator.neg, (x,)),))
    gm.graph = graph
    assert_same(gm(*inputs), (-inputs[0],))


def test_subgraph_rewriter_and_dead_code_elimination_work():
    gm, inputs = module()

    def pattern(x):
        return torch.relu(x)

    def replacement(x):
        return torch.sigmoid(x)

    matches = torch.fx.replace_pattern(gm, pattern, replacement)
    assert len(matches) == 1
    with gm.graph.inserting_before(
        next(iter(gm.graph.find_nodes(op="output")))
    ):
        gm.graph.call_function(torch.neg, (next(iter(gm.graph.nodes)),))
    assert gm.graph.eliminate_dead_code()
    gm.recompile()
    assert_same(gm(*inputs), sigmoid_variant(*inputs))


def test_interpreter_and_shape_propagation_run():
    gm, inputs = module()
    result = torch.fx.Interpreter(gm).run(*inputs)
    assert_same(result, linear_relu_eager(*inputs))
    ShapeProp(gm).propagate(*inputs)
    shapes = {
        node.name: tuple(node.meta["tensor_meta"].shape)
        for node in gm.graph.nodes
        if node.op.startswith("call")
    }
    assert shapes == {"y": (2, 4), "relu": (2, 4), "sum_1": (2, 1)}


def test_symbolic_trace_and_make_fx_see_the_computation():
    gm, inputs = module()
    traced = torch.fx.symbolic_trace(gm)
    assert_same(traced(*inputs), linear_relu_eager(*inputs))
    lowered = torch.fx.experimental.proxy_tensor.make_fx(gm)(*inputs)
    assert torch.ops.aten.relu.default in [
        n.target for n in lowered.graph.nodes
    ]


@pytest.mark.parametrize("edit", [False, True])
def test_deepcopy_is_independent(edit):
    gm, inputs = module()
    if edit:
        replace_relu(gm)
        gm.recompile()
    expected = gm(*inputs)
    copied = copy.deepcopy(gm)
    assert isinstance(copied, torch.fx.GraphModule)
    assert_same(copied(*inputs), expected)
    for node in list(copied.graph.nodes):
        if node.target in (torch.relu, torch.sigmoid):
            node.target = torch.tanh
    copied.recompile()
    assert_same(gm(*inputs), expected)
    y = torch.nn.functional.linear(*inputs)
    assert_same(copied(*inputs), (torch.tanh(y).sum(-1, keepdim=True), y))


def test_deepcopy_copies_what_the_graph_reads():
    gm, constant = with_constant()
    copied = copy.deepcopy(gm)
    constant.fill_(100.0)
    x = torch.zeros(2)
    assert_same(gm(x), (torch.full((2,), 100.0),))
    assert_same(copied(x), (torch.full((2,), 3.0),))


def test_shallow_copy_runs():
    gm, inputs = module()
    gm.meta["mark"] = 1
    copied = copy.copy(gm)
    assert_same(copied(*inputs), linear_relu_eager(*inputs))
    assert copied.meta["mark"] == 1


def test_pickle_round_trip():
    gm, inputs = module()
    restored = pickle.loads(pickle.dumps(gm))
    assert isinstance(restored, torch.fx.GraphModule)
    assert_same(restored(*inputs), linear_relu_eager(*inputs))
    assert_same(gm(*inputs), linear_relu_eager(*inputs))
    buffer = io.BytesIO()
    torch.save(gm, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert_same(loaded(*inputs), linear_relu_eager(*inputs))


def with_constant():
    recorder = Recorder()
    x = recorder.input("L['x']", torch.zeros(2))
    constant = torch.full((2,), 3.0)
    node = recorder.attribute("_tensor_constant0", constant)
    handle = recorder.finish((recorder.call(torch.add, x, node),))
    return capture_module(handle, recorder.inputs), constant


def test_attributes_are_buffers_of_the_module():
    gm, constant = with_constant()
    assert gm._tensor_constant0 is constant
    assert dict(gm.named_buffers()) == {"_tensor_constant0": constant}
    assert_same(gm(torch.zeros(2)), (constant,))
    assert "get_attr" in [node.op for node in gm.graph.nodes]


def test_replacing_an_attribute_takes_effect():
    gm, _ = with_constant()
    gm._tensor_constant0 = torch.full((2,), 7.0)
    assert_same(gm(torch.zeros(2)), (torch.full((2,), 7.0),))


def test_moving_the_module_takes_effect():
    gm, _ = with_constant()
    gm.double()
    (result,) = gm(torch.zeros(2, dtype=torch.float64))
    assert result.dtype is torch.float64


def test_wrong_number_of_inputs_is_an_error():
    gm, inputs = module()
    with pytest.raises(TypeError, match="takes 3 inputs, but 1 were given"):
        gm(inputs[0])
    with pytest.raises(TypeError, match="by position only"):
        gm(*inputs[:2], L_bias_=inputs[2])


def test_an_error_of_a_call_propagates_unchanged():
    gm, (x, weight, bias) = module()
    with pytest.raises(RuntimeError) as compiled:
        gm(x, weight.T, bias)
    with pytest.raises(RuntimeError) as eager:
        linear_relu_eager(x, weight.T, bias)
    assert str(compiled.value) == str(eager.value)


def test_fast_forward_unwraps_what_is_untouched():
    gm, inputs = module()
    assert fast_forward(gm) is gm.forward
    handle = gm.register_forward_hook(lambda *_: None)
    assert fast_forward(gm) is gm
    handle.remove()
    assert fast_forward(gm) is gm.forward
    gm.recompile()
    assert fast_forward(gm) is gm
    assert fast_forward(inputs) is inputs


def test_module_and_inputs_die_with_their_last_reference():
    gm, inputs = module()
    gm.graph, gm.code
    gone = weakref.ref(gm), weakref.ref(inputs[0]), weakref.ref(gm.forward)
    del inputs
    gc.collect()
    assert gone[1]() is None
    del gm
    gc.collect()
    assert [ref() for ref in gone] == [None, None, None]


def test_capturing_many_modules_leaves_memory_flat():
    handle, inputs = linear_relu()

    def live():
        gc.collect()
        return sum(
            CapturedGraphModule in type(o).__mro__ for o in gc.get_objects()
        )

    before = live()
    for _ in range(20):
        gm = capture_module(handle, inputs)
        replace_relu(gm)
        gm.recompile()
        gm(*inputs)
    del gm
    assert live() == before


# Metadata ---------------------------------------------------------------------


def test_example_values_are_fake_tensors():
    gm, inputs = module()
    values = {n.name: n.meta.get("example_value") for n in gm.graph.nodes}
    fake = torch._subclasses.FakeTensor
    tensors = {
        name: value for name, value in values.items() if value is not None
    }
    assert all(isinstance(value, fake) for value in tensors.values())
    assert tuple(values["sum_1"].shape) == (2, 1)
    assert values["sum_1"].requires_grad
    weight = values["l_self_modules_layer_parameters_weight_"]
    assert isinstance(weight, torch.nn.Parameter)
    assert weight.stride() == inputs[1].stride()
    assert len({value.fake_mode for value in tensors.values()}) == 1


def test_nested_example_values_keep_their_structure():
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(4, 3))
    parts = recorder.call("split", x, 2)
    best = recorder.call(torch.max, x, 1)
    out = recorder.finish(
        (
            recorder.call(operator.getitem, parts, 0),
            recorder.call(operator.getitem, best, 1),
        )
    )
    gm = capture_module(out, recorder.inputs)
    values = {n.name: n.meta.get("example_value") for n in gm.graph.nodes}
    assert [tuple(part.shape) for part in values["split"]] == [(2, 3), (2, 3)]
    assert values["max_1"].indices.dtype is torch.int64
    assert values["getitem_1"].dtype is torch.int64


def test_inputs_say_where_they_come_from():
    gm, inputs = module()
    x, weight, _ = gm.graph.find_nodes(op="placeholder")
    assert x.meta["tensor_dict"] == {}
    assert weight.meta["tensor_dict"] == {
        "_dynamo_static_input_type": "unguarded"
    }
    assert x._dynamo_source.name == "L['x']"
    assert x.meta["grapharg"].source == x._dynamo_source
    assert x.meta["grapharg"].example is inputs[0]
    assert weight._dynamo_source.name == (
        "L['self']._modules['layer']._parameters['weight']"
    )
    assert x._dynamo_source != weight._dynamo_source


def call_site(function, name):
    """The byte offset of the instruction at which `function` calls `name`."""
    import dis

    found = False
    for instruction in dis.get_instructions(function):
        found = found or instruction.argval == name
        if found and instruction.opname == "CALL":
            return instruction.offset
    raise AssertionError(name)


def outer(x):
    return inner(x)  # the outer frame


def inner(x):
    return torch.sin(x)  # the inner frame


def without_carets(trace):
    """torch.compile's carets run on to the end of the line."""
    return [line for line in trace.splitlines() if set(line) - set(" ^")]


def test_stack_traces_show_the_users_lines():
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(3))
    caller = recorder.at(outer.__code__, call_site(outer, "inner"))
    recorder.at(inner.__code__, call_site(inner, "sin"), caller)
    handle = recorder.finish((recorder.call(torch.sin, x),))
    gm = capture_module(handle, recorder.inputs)
    (sin,) = gm.graph.find_nodes(op="call_function", target=torch.sin)

    captured = []
    torch.compile(outer, backend=lambda g, _: captured.append(g) or g)(
        torch.randn(3)
    )
    (expected,) = captured[0].graph.find_nodes(
        op="call_function", target=torch.sin
    )
    trace = sin.meta["stack_trace"]
    assert without_carets(trace) == without_carets(expected.meta["stack_trace"])
    assert (
        "    return torch.sin(x)  # the inner frame\n           ^^^^^^^^^^^^\n"
        in trace
    )
    assert "the outer frame" in sin.stack_trace


def test_frames_of_torch_nn_are_left_out_of_stack_traces():
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(3))
    caller = recorder.at(outer.__code__, call_site(outer, "inner"))
    forward = torch.nn.ReLU.forward
    recorder.at(forward.__code__, 0, caller)
    handle = recorder.finish((recorder.call(torch.relu, x),))
    gm = capture_module(handle, recorder.inputs)
    (relu,) = gm.graph.find_nodes(op="call_function", target=torch.relu)
    assert relu.stack_trace.count("File ") == 1
    assert "in outer" in relu.stack_trace


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.block = torch.nn.Sequential(torch.nn.Linear(3, 3))


def test_module_stacks_name_path_and_class():
    model = Model()
    recorder = Recorder()
    x = recorder.input("L['x']", torch.randn(3))
    root = recorder.inside(model, "L['self']")
    first = recorder.call(torch.sin, x, hint="a")
    block = recorder.inside(model.block, "L['self'].block", root)
    recorder.inside(model.block[0], "L['self'].block.0", block)
    second = recorder.call(torch.cos, first, hint="b")
    handle = recorder.finish((second,))
    gm = capture_module(handle, recorder.inputs)
    sin, cos = gm.graph.find_nodes(op="call_function", target=torch.sin) + (
        gm.graph.find_nodes(op="call_function", target=torch.cos)
    )
    assert list(sin.meta["nn_module_stack"].values()) == [("L['self']", Model)]
    assert cos.meta["nn_module_stack"] == {
        str(id(model)): ("L['self']", Model),
        str(id(model.block)): ("L['self'].block", torch.nn.Sequential),
        str(id(model.block[0])): ("L['self'].block.0", torch.nn.Linear),
    }
    # Named as when recorded, and after PyTorch's own module where one called.
    assert sin.name == "a"
    assert sin.meta["source_fn_stack"] == [("sin", torch.sin)]
    assert cos.meta["source_fn_stack"] == [("cos", torch.nn.Linear)]


def test_a_name_hint_names_the_node_as_torch_compile_does():
    def function(x):
        a = torch.sin(x)
        a = torch.cos(a)
        b = a + torch.cos(x)
        return b.sum(), x.float()

    captured = []
    x = torch.randn(3, dtype=torch.float64)
    torch.compile(function, backend=lambda g, _: captured.append(g) or g)(x)
    recorder = Recorder()
    node = recorder.input("L['x']", x)
    a = recorder.call(torch.sin, node, hint="a")
    a = recorder.call(torch.cos, a, hint="a")
    cos = recorder.call(torch.cos, node)
    b = recorder.call(operator.add, a, cos, hint="b")
    total = recorder.call("sum", b)
    handle = recorder.finish((total, recorder.call("float", node)))
    gm = capture_module(handle, recorder.inputs)
    expected = [(n.op, n.name, n.target) for n in captured[0].graph.nodes]
    assert [(n.op, n.name, n.target) for n in gm.graph.nodes] == expected
