// SPDX-License-Identifier: BSD-3-Clause
// Nested graphs as torch.fx.GraphModules, and torch.ops.higher_order.cond run
// with them. Needs the package magneto, which takes handles as they come.
#include "graph/edit.h"
#include "graph/graph_testing.h"
#include "graph/passes/passes.h"
#include "graph/python_handle.h"
#include "graph/tracer.h"
#include "graph/verify.h"
#include "python_testing.h"

namespace magneto::graph {
namespace {

constexpr const char* kSetUp = R"(
import copy, operator
import torch
from magneto.graph_module import capture_module, graph_function
from torch._higher_order_ops.wrap import tag_activation_checkpoint

cond = torch.ops.higher_order.cond
x = torch.tensor([1.0, -2.0, 3.0])
w = torch.nn.Parameter(torch.tensor([2.0, 2.0, 0.5]), requires_grad=False)
inputs = [(torch.tensor(value), x, w) for value in (True, False)]

def eager(p, x, w):
    z = x + w
    inner = z.sum() > 0
    if p:
        value = z * x if inner else z - x
        result = value.sin() + w
    else:
        result = x.cos()
    return (result + z,)

expected = [eager(*each) for each in inputs]

def is_right(function):
    return all(
        torch.equal(function(*each)[0], result[0])
        for each, result in zip(inputs, expected)
    )
)";

class NestedModuleTest : public ::testing::Test {
 protected:
  NestedModuleTest() : program("") {}

  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the package that is imported isn't this build's";
#endif
    Ref package = Ref::steal(PyImport_ImportModule("magneto"));
    if (!package) PyErr_Print();
    ASSERT_TRUE(package) << "`make build` puts the package where it is found";
    ASSERT_TRUE(init_types(nullptr));
    program.run(kSetUp);
    record();
  }

  NodeId input(const char* name, InputKind kind, const char* example) {
    return root->placeholder({.source = 0, .source_name = name, .kind = kind},
                             Ref::share(program.get(example)));
  }
  Ref value(const char* expression) { return program.eval(expression); }
  NodeId call(const char* target, std::initializer_list<Arg> args,
              const char* example) {
    Ref function = value(target);
    return tracer->graph().call_function(function, args, {}, value(example));
  }
  NodeId method(const char* name, NodeId of, const char* example) {
    Ref str = text(name);
    return tracer->graph().call_method(str, {of}, {}, value(example));
  }
  NodeId lift(NodeId outer) { return tracer->lift({root->id(), outer}); }
  NodeId call_cond(NodeId pred, Graph& yes, Graph& no) {
    Graph& graph = tracer->graph();
    Graph* const bodies[] = {&yes, &no};
    const std::vector<NodeId> operands = share_operands(bodies);
    const std::vector<Arg> args(operands.begin(), operands.end());
    const NodeId yes_node = graph.install(yes, "cond_true");
    const NodeId no_node = graph.install(no, "cond_false");
    const NodeId result =
        call("cond", {pred, yes_node, no_node, graph.tuple(args)}, "(x,)");
    Ref zero = number(0);
    return call("operator.getitem", {result, graph.constant(zero)}, "x");
  }
  void finish(NodeId value) {
    Graph& graph = tracer->graph();
    graph.output(graph.tuple({value}));
    if (tracer->depth() > 0) tracer->end();
  }

  void record() {
    root = std::make_unique<Graph>();
    tracer = std::make_unique<Tracer>(*root, nullptr);
    NodeId p = input("L['p']", InputKind::Tensor, "x");
    root->set_example(p, value("torch.tensor(True)"));
    NodeId x = input("L['x']", InputKind::Tensor, "x");
    NodeId w = input("L['self'].w", InputKind::Parameter, "w");
    NodeId z = call("operator.add", {x, w}, "x + w");
    Ref name = text("z");
    root->set_name_hint(z, name);
    Ref zero = number(0);

    Graph& yes = tracer->begin();
    NodeId sum = method("sum", lift(z), "x.sum()");
    NodeId inner = call("operator.gt", {sum, root->constant(zero)}, "x[0] > 0");
    Graph& first = tracer->begin();
    finish(call("operator.mul", {lift(z), lift(x)}, "x"));
    Graph& second = tracer->begin();
    finish(call("operator.sub", {lift(z), lift(x)}, "x"));
    NodeId sine = method("sin", call_cond(inner, first, second), "x");
    finish(call("operator.add", {sine, lift(w)}, "x"));
    Graph& no = tracer->begin();
    finish(method("cos", lift(x), "x"));

    NodeId result = call_cond(p, yes, no);
    finish(call("operator.add", {result, z}, "x"));
    root->seal();
    clean_up(*root, true);
    EXPECT_EQ(verify(*root), "");
    Ref handle = make_handle(std::move(root));
    program.set("handle", handle);
  }

  testing::Program program;
  std::unique_ptr<Graph> root;
  std::unique_ptr<Tracer> tracer;
};

TEST_F(NestedModuleTest, TheRunnerGivesOperatorsCallables) {
  EXPECT_TRUE(program.check("is_right(handle.function())"));
  EXPECT_TRUE(program.check("is_right(graph_function(handle))"));
  EXPECT_TRUE(program.check("cond in handle.targets()"));
  EXPECT_TRUE(program.check("operator.mul in handle.targets()"));
}

TEST_F(NestedModuleTest, SubmodulesAreGraphModules) {
  program.run(R"(
gm = capture_module(handle, list(inputs[0]))
names = [(n.op, n.name, str(n.target)) for n in gm.graph.nodes]
modules = [name for name, _ in gm.named_modules()]
code = gm.print_readable(print_output=False)
gm.graph.lint()
)");
  EXPECT_EQ(repr(program.get("modules")),
            "['', 'cond_true_1', 'cond_true_1.cond_true_0', "
            "'cond_true_1.cond_false_0', 'cond_false_1']");
  EXPECT_TRUE(
      program.check("('get_attr', 'cond_true_1', 'cond_true_1') in "
                    "names"));
  EXPECT_TRUE(
      program.check("all(isinstance(m, torch.fx.GraphModule) for m in "
                    "gm.modules())"));
  EXPECT_TRUE(
      program.check("[n.name for n in gm.cond_true_1.graph.nodes][:3] "
                    "== ['l_x_', 'z', 'l_self_w']"));
  EXPECT_TRUE(program.check("'class cond_true_0(torch.nn.Module)' in code"));
  EXPECT_TRUE(program.check("'class cond_false_1(torch.nn.Module)' in code"));
  EXPECT_TRUE(program.check("is_right(gm)"));
  program.run("gm.recompile()");
  EXPECT_TRUE(program.check("is_right(gm)"));
}

TEST_F(NestedModuleTest, ALiftedValueIsOneFakeTensorInsideAndOutside) {
  program.run(R"(
gm = capture_module(handle, list(inputs[0]))
inner = {n.name: n for n in gm.cond_true_1.graph.nodes}
outer = {n.name: n for n in gm.graph.nodes}
same = [
    inner[name].meta["example_value"] is outer[name].meta["example_value"]
    for name in ("z", "l_x_", "l_self_w")
]
)");
  EXPECT_EQ(repr(program.get("same")), "[True, True, True]");
  EXPECT_TRUE(program.check("'grapharg' not in inner['l_x_'].meta"));
  EXPECT_TRUE(
      program.check("isinstance(inner['l_self_w'].meta["
                    "'example_value'], torch.nn.Parameter)"));
}

TEST_F(NestedModuleTest, CopiesAreWholeAndNeedNoCapturedGraph) {
  program.run(R"(
gm = capture_module(handle, list(inputs[0]))
copies = [copy.deepcopy(gm), torch.fx.GraphModule(gm, gm.graph)]
)");
  EXPECT_TRUE(program.check("all(map(is_right, copies))"));
}

TEST_F(NestedModuleTest, EditsOfANestedGraphTakeEffect) {
  program.run(R"(
gm = capture_module(handle, list(inputs[0]))
nested = gm.cond_false_1
for node in nested.graph.nodes:
    if node.target == "cos":
        node.target = "sin"
assert is_right(gm)
nested.recompile()
got = gm(*inputs[1])[0]
class Other(torch.nn.Module):
    def forward(self, x, z, w):
        return (x.clone(),)
gm.cond_false_1 = Other()
replaced = gm(*inputs[1])[0]
)");
  EXPECT_TRUE(program.check("torch.equal(replaced, x + (x + w))"));
  EXPECT_TRUE(program.check("torch.equal(got, x.sin() + (x + w))"));
}

TEST_F(NestedModuleTest, PyTorchsCompilersTakeThem) {
  program.run(R"(
from magneto.backends import lookup_backend
from magneto.backends.compile import compile_graph
compiled = [
    compile_graph(lookup_backend(name), handle, list(inputs[0]))
    for name in ("eager", "aot_eager")
]
)");
  EXPECT_TRUE(program.check("all(map(is_right, compiled))"));
}

TEST_F(NestedModuleTest, ACheckpointedBodyRunsAndIsDifferentiated) {
  Graph graph;
  Tracer stack(graph, nullptr);
  Ref example = value("x");
  NodeId x = graph.placeholder({.source = 0, .source_name = "L['x']"},
                               example.share());
  Graph& body = stack.begin();
  Ref sin = text("sin");
  body.output(body.tuple({body.call_method(sin, {stack.lift({graph.id(), x})},
                                           {}, example.share())}));
  stack.end();
  NodeId read = graph.install(body, "wrap_body");
  Ref checkpoint = value("tag_activation_checkpoint");
  Ref use_reentrant = text("use_reentrant");
  const Keyword keywords[] = {{use_reentrant, graph.constant(Py_False)}};
  graph.output(graph.call_function(checkpoint, {read, x}, keywords, nullptr));
  auto copy = [&] {
    graph.seal();
    return clone(graph);
  }();
  Ref handle = make_handle(std::move(copy));
  program.set("handle", handle);
  program.run(R"(
leaf = x.clone().requires_grad_()
result, = graph_function(handle)(leaf)
result.sum().backward()
)");
  EXPECT_TRUE(program.check("torch.equal(leaf.grad, x.cos())"));
}

}  // namespace
}  // namespace magneto::graph
