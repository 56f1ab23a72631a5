// SPDX-License-Identifier: BSD-3-Clause
#include "graph/edit.h"

#include "graph/function_object.h"
#include "graph/graph_testing.h"
#include "graph/names.h"
#include "graph/printer.h"
#include "graph/runner.h"
#include "graph/tracer.h"

namespace magneto::graph {
namespace {

class EditTest : public testing::Test {
 protected:
  NodeId input(const char* source_name) {
    return graph.placeholder({.source = 3, .source_name = source_name},
                             nullptr);
  }
  NodeId call(const char* name, std::initializer_list<Arg> args) {
    return call_in(graph, name, args);
  }
  NodeId call_in(Graph& to, const char* name, std::initializer_list<Arg> args) {
    return to.call_function(keep(imported("operator", name)), args, {},
                            nullptr);
  }
  static std::string run(const Graph& graph,
                         std::initializer_list<PyObject*> inputs) {
    GraphRunner runner(graph);
    Ref result = runner.run(inputs.begin());
    return repr(result);
  }

  Kept keep;
  Graph graph;
};

TEST_F(EditTest, UsesAreReplacedInContainersAndKeywords) {
  NodeId x = input("L['x']");
  NodeId y = call("neg", {x});
  Ref out = text("out");
  Ref key = text("k");
  const Arg pairs[] = {graph.constant(key), graph.slice(y, x, y)};
  const Keyword keywords[] = {{out, graph.list({y})}};
  graph.call_function(keep(imported("operator", "add")),
                      {graph.tuple({y, graph.dict(pairs)}), x}, keywords,
                      nullptr);
  graph.output(graph.tuple({y}));
  graph.seal();
  EXPECT_EQ(replace_uses(graph, y, x), 5u);
  EXPECT_EQ(replace_uses(graph, y, x), 0u);
  erase(graph, y);
  EXPECT_EQ(verify(graph), "");
  EXPECT_EQ(print(graph),
            "l_x_ = input L['x']\n"
            "add = add((l_x_, {'k': slice(l_x_, l_x_, l_x_)}), l_x_, "
            "out=[l_x_])\n"
            "return (l_x_,)\n");
}

TEST_F(EditTest, AConstantMayTakeANodesPlace) {
  NodeId x = input("L['x']");
  NodeId y = call("neg", {x});
  graph.output(call("add", {x, y}));
  graph.seal();
  replace_uses(graph, y, graph.constant(keep(number(5))));
  erase(graph, y);
  EXPECT_EQ(run(graph, {keep(number(1))}), "6");
}

TEST_F(EditTest, InsertedNodesRunWhereTheyStandAndRenameNothing) {
  NodeId x = input("L['x']");
  NodeId y = call("neg", {x});
  NodeId z = call("neg", {y});
  graph.output(z);
  graph.seal();
  const NodeId inserted =
      insert_before(graph, z, [&](Graph& g) { return call_in(g, "neg", {y}); });
  const NodeId second = insert_before(graph, z, [&](Graph& g) {
    return call_in(g, "add", {inserted, inserted});
  });
  graph.set_operands(z, std::vector<Arg>{second}, {});
  EXPECT_EQ(verify(graph), "");
  EXPECT_GT(inserted.index, graph.output_node().index);
  EXPECT_EQ(print(graph),
            "l_x_ = input L['x']\n"
            "neg = neg(l_x_)\n"
            "neg_2 = neg(neg)\n"
            "add = add(neg_2, neg_2)\n"
            "neg_1 = neg(add)\n"
            "return neg_1\n");
  EXPECT_EQ(run(graph, {keep(number(3))}), "-6");
  EXPECT_EQ(graph.call_count(), 4u);
}

TEST_F(EditTest, AnInsertedNodeMustNotUseWhatComesLater) {
  NodeId x = input("L['x']");
  NodeId y = call("neg", {x});
  graph.output(y);
  graph.seal();
  auto insert = [&] {
    insert_before(graph, y, [&](Graph& g) { return call_in(g, "neg", {y}); });
  };
#ifdef MAGNETO_DEBUG
  EXPECT_THROW(insert(), InternalError);
#else
  insert();
#endif
  EXPECT_EQ(verify(graph), "node 3 uses node 1, which comes later");
}

TEST_F(EditTest, ErasedPlaceholdersAreNoInputsAnyMore) {
  NodeId x = input("L['x']");
  NodeId y = input("L['y']");
  NodeId z = call("neg", {x});
  graph.output(y);
  graph.seal();
  const NodeId dead[] = {x, z};
  erase(graph, dead);
  EXPECT_EQ(verify(graph), "");
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.inputs()[0].node, y);
}

TEST_F(EditTest, EditsAreForSealedGraphs) {
  Journal journal;
  Graph traced(&journal);
  EXPECT_THROW(traced.set_insertion_point({}), InternalError);
  EXPECT_THROW(clone(traced), InternalError);
}

class NestedEditTest : public EditTest {
 protected:
  NestedEditTest() {
    init_function_type(nullptr);
    x = input("L['x']");
    y = call("neg", {x});
    graph.set_name_hint(y, keep(text("y")));
    nested = &tracer.begin();
    nested->output(
        call_in(*nested, "add",
                {tracer.lift({graph.id(), y}), tracer.lift({graph.id(), x})}));
    tracer.end();
    body = graph.install(*nested, "wrap_body");
    wrap = graph.call_function(
        keep(evaluate("lambda body, *operands: body(*operands)")), {body, y, x},
        {}, nullptr);
    last = call("mul", {wrap, y});
    graph.output(graph.tuple({last, y}));
    graph.seal();
  }

  Tracer tracer{graph, nullptr};
  Graph* nested;
  NodeId x, y, body, wrap, last;
};

TEST_F(NestedEditTest, ACopyIsTheSameAndStaysWhenTheOriginalChanges) {
  const std::string text = print(graph);
  const std::unique_ptr<Graph> copy = clone(graph);
  EXPECT_EQ(print(*copy), text);
  EXPECT_EQ(verify(*copy), "");
  replace_uses(graph, y, x);
  EXPECT_EQ(print(*copy), text);
  EXPECT_EQ(run(*copy, {keep(number(3))}), "(0, -3)");
  EXPECT_EQ(run(graph, {keep(number(3))}), "(18, 3)");
  EXPECT_EQ(copy->node(last).op, Op::CallFunction);
  EXPECT_EQ(lifted_operands(*copy->nested()[0]), (std::vector{y, x}));
}

TEST_F(NestedEditTest, ACopyKeepsTheOrderOfInsertedAndErasedNodes) {
  const NodeId inserted = insert_before(
      graph, last, [&](Graph& g) { return call_in(g, "neg", {wrap}); });
  graph.set_operands(last, std::vector<Arg>{inserted, y}, {});
  replace_uses(graph, y, x);
  erase(graph, y);
  const std::unique_ptr<Graph> copy = clone(graph);
  EXPECT_EQ(print(*copy), print(graph));
  EXPECT_EQ(verify(*copy), "");
  EXPECT_EQ(copy->call_count(), graph.call_count());
}

TEST_F(NestedEditTest, TheCopyOfANestedGraphIsARoot) {
  const std::unique_ptr<Graph> copy = clone(*nested);
  EXPECT_EQ(copy->parent(), nullptr);
  EXPECT_EQ(print(*copy),
            "y = input y\n"
            "l_x_ = input l_x_\n"
            "add = add(y, l_x_)\n"
            "return add\n");
}

TEST_F(NestedEditTest, ASpanBecomesAGraphOfItsOwn) {
  const Extracted part = extract(graph, body, last);
  EXPECT_EQ(part.inputs, (std::vector{y, x}));
  EXPECT_EQ(part.outputs, std::vector{last});
  EXPECT_EQ(verify(*part.graph), "");
  EXPECT_EQ(part.graph->inputs()[1].source_name, "L['x']");
  EXPECT_EQ(part.graph->inputs()[1].source, 3u);
  EXPECT_EQ(run(*part.graph, {keep(number(2)), keep(number(5))}), "(14,)");
  EXPECT_EQ(verify(graph), "");
}

TEST_F(NestedEditTest, GraphsThatASpanReadsFromBeforeItComeAlong) {
  const Extracted part = extract(graph, wrap, wrap);
  EXPECT_EQ(part.inputs, (std::vector{y, x}));
  EXPECT_EQ(part.outputs, std::vector{wrap});
  EXPECT_EQ(run(*part.graph, {keep(number(2)), keep(number(5))}), "(7,)");
}

TEST_F(NestedEditTest, ValuesThatOnlyTheSpanUsesAreNoOutputs) {
  const Extracted part = extract(graph, y, wrap);
  EXPECT_EQ(part.inputs, std::vector{x});
  EXPECT_EQ(part.outputs, (std::vector{y, wrap}));
  const Extracted all = extract(graph, y, last);
  EXPECT_EQ(all.outputs, (std::vector{y, last}));
  EXPECT_EQ(assign_names(*all.graph).nodes[all.graph->node_count() - 2], "mul");
  EXPECT_THROW(extract(graph, last, y), InternalError);
}

}  // namespace
}  // namespace magneto::graph
