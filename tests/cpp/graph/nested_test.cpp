// SPDX-License-Identifier: BSD-3-Clause
// Names were read off torch.compile's graphs of nested torch.cond calls.
#include "graph/edit.h"
#include "graph/function_object.h"
#include "graph/graph_testing.h"
#include "graph/names.h"
#include "graph/passes/passes.h"
#include "graph/printer.h"
#include "graph/tracer.h"
#include "graph/verify.h"

namespace magneto::graph {
namespace {

// Stands in for torch.ops.higher_order.cond.
constexpr const char* kCond =
    "lambda pred, yes, no, operands: (yes if pred else no)(*operands)";

class NestedTest : public testing::Test {
 protected:
  NestedTest() {
    cond = keep(evaluate(kCond));
    Ref name = text("cond");
    PyObject_SetAttrString(cond, "__name__", name);
    init_function_type(nullptr);
  }

  NodeId input(const char* source_name) {
    return root.placeholder({.source = 7, .source_name = source_name}, nullptr);
  }
  NodeRef at_root(NodeId id) { return {root.id(), id}; }
  NodeId call(const char* name, std::initializer_list<Arg> args) {
    return tracer.graph().call_function(keep(imported("operator", name)), args,
                                        {}, nullptr);
  }
  // A body that does one operation on outer values.
  Graph& body(const char* name, std::initializer_list<NodeRef> values) {
    Graph& graph = tracer.begin();
    std::vector<Arg> args;
    for (NodeRef value : values) args.push_back(tracer.lift(value));
    graph.output(graph.tuple({graph.call_function(
        keep(imported("operator", name)), args, {}, nullptr)}));
    tracer.end();
    return graph;
  }
  NodeId call_cond(NodeId pred, Graph& yes, Graph& no) {
    Graph& graph = tracer.graph();
    Graph* const bodies[] = {&yes, &no};
    const std::vector<NodeId> operands = share_operands(bodies);
    const std::vector<Arg> args(operands.begin(), operands.end());
    const NodeId yes_node = graph.install(yes, "cond_true");
    const NodeId no_node = graph.install(no, "cond_false");
    return graph.call_function(
        cond, {pred, yes_node, no_node, graph.tuple(args)}, {}, nullptr);
  }
  std::string run(std::initializer_list<PyObject*> inputs) {
    Ref function = make_function(root);
    Ref result = Ref::steal(
        PyObject_Vectorcall(function, inputs.begin(), inputs.size(), nullptr));
    return repr(result);
  }

  Kept keep;
  PyObject* cond;
  Journal journal;
  Graph root{&journal};
  Tracer tracer{root, &journal};
};

TEST_F(NestedTest, BodiesGetTheOuterValuesThatAnyOfThemUses) {
  NodeId p = input("L['p']");
  NodeId x = input("L['x']");
  NodeId y = input("L['y']");
  Graph& yes = body("neg", {at_root(x)});
  Graph& no = body("add", {at_root(y), at_root(x)});
  root.output(root.tuple({call_cond(p, yes, no)}));
  EXPECT_EQ(verify(root), "");
  EXPECT_EQ(print(root),
            "l_p_ = input L['p']\n"
            "l_x_ = input L['x']\n"
            "l_y_ = input L['y']\n"
            "cond_true_0 = graph cond_true_0\n"
            "  l_x_ = lifted l_x_\n"
            "  l_y_ = lifted l_y_\n"
            "  neg = neg(l_x_)\n"
            "  return (neg,)\n"
            "cond_false_0 = graph cond_false_0\n"
            "  l_x_ = lifted l_x_\n"
            "  l_y_ = lifted l_y_\n"
            "  add = add(l_y_, l_x_)\n"
            "  return (add,)\n"
            "cond = cond(l_p_, cond_true_0, cond_false_0, (l_x_, l_y_))\n"
            "return (cond,)\n");
  EXPECT_EQ(run({keep(number(1)), keep(number(3)), keep(number(4))}),
            "((-3,),)");
  EXPECT_EQ(run({keep(number(0)), keep(number(3)), keep(number(4))}),
            "((7,),)");
}

TEST_F(NestedTest, ValuesAreLiftedThroughEveryLevelOnce) {
  NodeId p = input("L['p']");
  NodeId x = input("L['x']");
  NodeId z = call("pos", {x});
  Graph& outer = tracer.begin();
  const NodeId w = call("neg", {tracer.lift(at_root(x))});
  const NodeRef outer_w = tracer.ref(w);
  Graph& inner = body("add", {outer_w, at_root(z)});
  Graph& other = body("sub", {at_root(z), at_root(z)});
  const NodeId result = call_cond(tracer.lift(at_root(p)), inner, other);
  outer.output(outer.tuple({result}));
  tracer.end();
  EXPECT_EQ(tracer.depth(), 0u);
  Graph& no = body("neg", {at_root(x)});
  root.output(root.tuple({call_cond(p, outer, no)}));
  EXPECT_EQ(verify(root), "");
  // Graphs that are nested deeper have the lower numbers.
  EXPECT_EQ(inner.name(), "cond_true_0");
  EXPECT_EQ(other.name(), "cond_false_0");
  EXPECT_EQ(outer.name(), "cond_true_1");
  EXPECT_EQ(no.name(), "cond_false_1");
  EXPECT_EQ(lifted_operands(inner), (std::vector{outer.lift(z), w}));
  EXPECT_EQ(outer.inputs().size(), 3u);
  EXPECT_EQ(run({keep(number(1)), keep(number(3))}), "(((0,),),)");
}

TEST_F(NestedTest, RollbackUndoesBodiesLiftsAndNames) {
  NodeId p = input("L['p']");
  NodeId x = input("L['x']");
  const std::string before = print(root);
  const auto start = journal.position();
  Graph& yes = tracer.begin();
  const NodeId lifted = tracer.lift(at_root(x));
  const auto in_body = journal.position();
  EXPECT_EQ(tracer.lift(at_root(x)), lifted);
  tracer.lift(at_root(p));
  EXPECT_EQ(yes.inputs().size(), 2u);
  journal.rollback(in_body);
  EXPECT_EQ(yes.inputs().size(), 1u);
  EXPECT_EQ(tracer.lift(at_root(p)), NodeId{1});
  yes.output(yes.tuple({lifted}));
  tracer.end();
  const auto after_body = journal.position();
  Graph& no = body("neg", {at_root(x)});
  call_cond(p, yes, no);
  EXPECT_EQ(no.name(), "cond_false_0");
  EXPECT_EQ(no.inputs().size(), 2u);

  journal.rollback(after_body);
  EXPECT_EQ(root.nested().size(), 1u);
  EXPECT_FALSE(yes.is_installed());
  Graph& again = body("pos", {at_root(p)});
  call_cond(p, yes, again);
  EXPECT_EQ(yes.name(), "cond_true_0");
  EXPECT_EQ(again.name(), "cond_false_0");

  journal.rollback(in_body);
  EXPECT_EQ(tracer.depth(), 1u);
  EXPECT_EQ(&tracer.graph(), &yes);
  EXPECT_FALSE(yes.output_node().valid());
  journal.rollback(start);
  EXPECT_EQ(tracer.depth(), 0u);
  EXPECT_EQ(root.graph_count(), 1u);
  EXPECT_EQ(print(root), before);
}

// As the backward of a function is, which reads what the forward computes.
TEST_F(NestedTest, AGraphIsAdoptedAndStandsBesideTheOneWhoseValuesItReads) {
  NodeId x = input("L['x']");
  const Journal::Position begin = journal.position();
  for (int round = 0; round < 2; ++round) {
    Graph& forward = tracer.begin();
    const NodeId product =
        call("mul", {tracer.lift(at_root(x)), root.constant(keep(number(2)))});
    Ref hint = text("product");
    forward.set_name_hint(product, hint);
    Graph& backward = body("add", {{forward.id(), product}, at_root(x)});
    const std::vector<NodeId> saved = lifted_operands(backward);
    EXPECT_EQ(saved, (std::vector{product, forward.lift(x)}));
    forward.output(forward.tuple({product}));
    tracer.end();
    root.adopt(backward);
    EXPECT_EQ(backward.parent(), &root);
    EXPECT_EQ(backward.outer(), &forward);
    EXPECT_EQ(root.nested().size(), 2u);
    EXPECT_EQ(forward.nested().size(), 0u);
    const NodeId reads[] = {root.install(forward, "fwd_body"),
                            root.install(backward, "bwd_body")};
    if (round == 0) {
      journal.rollback(begin);
      EXPECT_EQ(root.graph_count(), 1u);
      EXPECT_EQ(root.nested().size(), 0u);
      continue;
    }
    root.output(root.tuple({reads[0], reads[1]}));
  }
  EXPECT_EQ(verify(root), "");
  const std::string expected =
      "l_x_ = input L['x']\n"
      "fwd_body_0 = graph fwd_body_0\n"
      "  l_x_ = lifted l_x_\n"
      "  product = mul(l_x_, 2)\n"
      "  return (product,)\n"
      "bwd_body_0 = graph bwd_body_0\n"
      "  product = lifted product\n"
      "  l_x_ = lifted l_x_\n"
      "  add = add(product, l_x_)\n"
      "  return (add,)\n"
      "return (fwd_body_0, bwd_body_0)\n";
  EXPECT_EQ(print(root), expected);
  root.seal();
  EXPECT_EQ(print(*clone(root)), expected);
}

TEST_F(NestedTest, AValueOfAGraphThatIsNotAroundIsADefect) {
  NodeId x = input("L['x']");
  Graph& first = tracer.begin();
  const NodeRef inside = tracer.ref(tracer.lift(at_root(x)));
  first.output(inside.node);
  tracer.end();
  tracer.begin();
  EXPECT_THROW(tracer.lift(inside), InternalError);
  tracer.end();
  EXPECT_THROW(tracer.lift(inside), InternalError);
  EXPECT_THROW(tracer.end(), InternalError);
  EXPECT_THROW(root.lift(x), InternalError);
}

TEST_F(NestedTest, ConstantsAndPlacesAreSharedByTheTree) {
  NodeId x = input("L['x']");
  Ref code = evaluate("(lambda: 0).__code__");
  auto* code_object = reinterpret_cast<PyCodeObject*>(code.get());
  const LocationId place = root.location(code_object, 4, {});
  const Arg pair = root.tuple({root.constant(keep(number(5)))});
  Graph& nested = tracer.begin();
  EXPECT_EQ(nested.location(code_object, 4, {}), place);
  NodeId both = call("add", {tracer.lift(at_root(x)), pair});
  nested.output(both);
  tracer.end();
  NodeId read = root.install(nested, "wrap_body");
  NodeId function = root.call_function(
      keep(evaluate("lambda body, x: body(x)")), {read, x}, {}, nullptr);
  root.output(function);
  EXPECT_EQ(run({keep(evaluate("(4,)"))}), "(4, 5)");
}

TEST_F(NestedTest, LiftedValuesAreCalledWhatTheyWereCalledThen) {
  NodeId x = input("L['x']");
  NodeId early = call("neg", {x});
  root.set_name_hint(early, keep(text("z")));
  NodeId late = call("neg", {x});
  Graph& nested = body("add", {at_root(early), at_root(late)});
  root.install(nested, "wrap_body");
  root.set_name_hint(late, keep(text("late")));
  const Names names = assign_names(nested);
  EXPECT_EQ(names.parameters, (std::vector<std::string>{"z", "neg_1"}));
  EXPECT_EQ(assign_names(root).nodes[late.index], "late");
}

TEST_F(NestedTest, CleanUpReachesBodiesButKeepsTheirInputs) {
  NodeId p = input("L['p']");
  NodeId x = input("L['x']");
  NodeId unused = input("L['unused']");
  Graph& yes = tracer.begin();
  NodeId value = tracer.lift(at_root(x));
  tracer.lift(at_root(unused));
  call("getitem", {value, root.none()});
  yes.output(yes.tuple({value}));
  tracer.end();
  Graph& no = body("neg", {at_root(x)});
  tracer.begin();  // given up
  tracer.end();
  NodeId result = call_cond(p, yes, no);
  root.get_nested(no);  // nobody uses it
  root.output(result);
  root.seal();
  EXPECT_TRUE(yes.is_sealed());
  clean_up(root, true);
  EXPECT_EQ(verify(root), "");
  EXPECT_EQ(print(root),
            "l_p_ = input L['p']\n"
            "l_x_ = input L['x']\n"
            "l_unused_ = input L['unused']\n"
            "cond_true_0 = graph cond_true_0\n"
            "  l_x_ = lifted l_x_\n"
            "  l_unused_ = lifted l_unused_\n"
            "  return (l_x_,)\n"
            "cond_false_0 = graph cond_false_0\n"
            "  l_x_ = lifted l_x_\n"
            "  l_unused_ = lifted l_unused_\n"
            "  neg = neg(l_x_)\n"
            "  return (neg,)\n"
            "cond = cond(l_p_, cond_true_0, cond_false_0, (l_x_, l_unused_))\n"
            "return cond\n");
}

TEST_F(NestedTest, VerifierLooksIntoBodies) {
  NodeId x = input("L['x']");
  Graph& nested = tracer.begin();
  NodeId lifted = tracer.lift(at_root(x));
  call("add", {lifted, Arg(NodeId{9})});
  nested.output(lifted);
  tracer.end();
  root.output(root.install(nested, "wrap_body"));
  EXPECT_EQ(verify(root),
            "wrap_body_0: node 1 uses node 9, which doesn't exist");
}

TEST_F(NestedTest, ARunnerMayBeGivenOtherCallables) {
  NodeId x = input("L['x']");
  Graph& nested = body("neg", {at_root(x)});
  NodeId read = root.install(nested, "wrap_body");
  root.output(root.call_function(keep(evaluate("lambda body, x: body(x)")),
                                 {read, x}, {}, nullptr));
  Ref callables = evaluate("{'wrap_body_0': lambda x: ('other', x)}");
  Ref function = make_function(root, callables);
  PyObject* inputs[] = {keep(number(3))};
  Ref result = Ref::steal(PyObject_Vectorcall(function, inputs, 1, nullptr));
  EXPECT_EQ(repr(result), "('other', 3)");
  EXPECT_EQ(run({inputs[0]}), "(-3,)");
}

}  // namespace
}  // namespace magneto::graph
