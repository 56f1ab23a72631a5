// SPDX-License-Identifier: BSD-3-Clause
#include "graph/graph.h"

#include "graph/graph_testing.h"
#include "graph/printer.h"
#include "graph/verify.h"

namespace magneto::graph {
namespace {

class GraphTest : public testing::Test {
 protected:
  GraphTest()
      : add(imported("operator", "add")), mul(imported("operator", "mul")) {}

  NodeId input(const char* source_name, uint32_t source = 0) {
    return graph.placeholder({.source = source, .source_name = source_name},
                             nullptr);
  }

  Journal journal;
  Graph graph{&journal};
  Ref add;
  Ref mul;
};

TEST_F(GraphTest, RecordsCallsWithNestedArguments) {
  NodeId x = input("L['x']");
  Ref one = number(1);
  Ref key = text("k");
  Ref keyword = text("out");
  const Keyword keywords[] = {{keyword, Arg(x)}};
  Arg nested = graph.list({graph.tuple({x, graph.constant(one)}),
                           graph.slice(graph.none(), x, graph.none())});
  const Arg pairs[] = {graph.constant(key), nested};
  NodeId y =
      graph.call_function(add, {x, graph.dict(pairs)}, keywords, nullptr);
  graph.output(graph.tuple({y}));
  EXPECT_EQ(print(graph),
            "l_x_ = input L['x']\n"
            "add = add(l_x_, {'k': [(l_x_, 1), slice(None, l_x_, None)]}, "
            "out=l_x_)\n"
            "return (add,)\n");
  EXPECT_EQ(graph.call_count(), 1u);
  EXPECT_EQ(verify(graph), "");
}

TEST_F(GraphTest, ConstantsOutliveTheCallersReference) {
  NodeId x = input("L['x']");
  Ref constant = evaluate("('a long string', 12345678901234567890)");
  const Py_ssize_t references = Py_REFCNT(constant.get());
  graph.call_function(add, {x, graph.constant(constant)}, {}, nullptr);
  EXPECT_EQ(Py_REFCNT(constant.get()), references + 1);
  PyObject* object = constant;
  constant = nullptr;
  EXPECT_EQ(repr(object), "('a long string', 12345678901234567890)");
}

TEST_F(GraphTest, RollbackTruncatesToTheCheckpoint) {
  NodeId x = input("L['x']");
  NodeId a = graph.call_function(add, {x, x}, {}, nullptr);
  const std::string before = print(graph);
  const auto checkpoint = journal.position();
  Ref hint = text("z");
  graph.set_name_hint(a, hint);
  NodeId y = input("L['y']");
  Ref name = text("weight");
  NodeId w = graph.get_attr(name, Py_None, nullptr);
  graph.call_method(name, {y, w}, {}, nullptr);
  graph.output(a);
  EXPECT_NE(print(graph), before);
  journal.rollback(checkpoint);
  EXPECT_EQ(print(graph), before);
  EXPECT_EQ(graph.node_count(), 2u);
  EXPECT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.call_count(), 1u);
  EXPECT_FALSE(graph.output_node().valid());
}

TEST_F(GraphTest, RollbackReleasesExamplesAndRestoresReplacedOnes) {
  Ref first = evaluate("[1]");
  Ref second = evaluate("[2]");
  NodeId x = input("L['x']");
  graph.set_example(x, first.share());
  const auto checkpoint = journal.position();
  graph.set_example(x, second.share());
  graph.call_function(add, {x, x}, {}, second.share());
  EXPECT_EQ(Py_REFCNT(second.get()), 3);
  journal.rollback(checkpoint);
  EXPECT_EQ(Py_REFCNT(second.get()), 1);
  EXPECT_EQ(graph.node(x).example.get(), first.get());
}

TEST_F(GraphTest, AnArgumentMadeBeforeACheckpointSurvivesRollback) {
  NodeId x = input("L['x']");
  Ref constant = evaluate("'made at run time'.upper()");
  Arg arg = graph.tuple({graph.constant(constant)});
  constant = nullptr;
  const auto checkpoint = journal.position();
  graph.call_function(add, {x, arg}, {}, nullptr);
  journal.rollback(checkpoint);
  graph.call_function(mul, {x, arg}, {}, nullptr);
  EXPECT_EQ(print(graph),
            "l_x_ = input L['x']\n"
            "mul = mul(l_x_, ('MADE AT RUN TIME',))\n");
}

TEST_F(GraphTest, LocationsOfOneLineAreSharedAndLinkedToCallers) {
  Ref code = evaluate("(lambda: 0).__code__");
  auto* code_object = reinterpret_cast<PyCodeObject*>(code.get());
  LocationId outer = graph.location(code_object, 4, {});
  LocationId inner = graph.location(code_object, 8, outer);
  EXPECT_EQ(graph.location(code_object, 8, outer), inner);
  EXPECT_NE(graph.location(code_object, 10, outer), inner);
  EXPECT_EQ(graph.locations()[inner.index].caller, outer);
  EXPECT_FALSE(graph.locations()[outer.index].caller.valid());
}

TEST_F(GraphTest, ErasingIsForPassesOnly) {
  NodeId x = input("L['x']");
  NodeId y = graph.call_function(add, {x, x}, {}, nullptr);
  EXPECT_THROW(graph.erase(y), InternalError);
  graph.seal();
  graph.erase(y);
  EXPECT_EQ(graph.call_count(), 0u);
  EXPECT_THROW(graph.erase(y), InternalError);
}

TEST_F(GraphTest, AMethodCallNeedsAReceiver) {
  Ref name = text("sum");
  EXPECT_THROW(graph.call_method(name, std::span<const Arg>{}, {}, nullptr),
               InternalError);
}

TEST_F(GraphTest, VerifierNamesWhatIsWrong) {
  EXPECT_EQ(verify(graph), "there is no output");
  NodeId x = input("L['x']");
  NodeId y = graph.call_function(add, {x, x}, {}, nullptr);
  Ref not_callable = number(3);
  NodeId z = graph.call_function(not_callable, {y}, {}, nullptr);
  graph.output(z);
  EXPECT_EQ(verify(graph), "node 2 calls what can't be called");
  graph.seal();
  graph.erase(y);
  EXPECT_EQ(verify(graph), "node 2 calls what can't be called");
  graph.erase(z);
  EXPECT_EQ(verify(graph), "node 3 uses node 2, which was erased");
}

TEST_F(GraphTest, VerifierSeesUseBeforeDefinition) {
  NodeId x = input("L['x']");
  graph.call_function(add, {x, Arg(NodeId{2})}, {}, nullptr);
  NodeId y = graph.call_function(add, {x, x}, {}, nullptr);
  graph.output(y);
  EXPECT_EQ(verify(graph), "node 1 uses node 2, which comes later");
}

}  // namespace
}  // namespace magneto::graph
