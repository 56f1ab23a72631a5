// SPDX-License-Identifier: BSD-3-Clause
// The expected names were read off torch.compile's graphs.
#include "graph/names.h"

#include "graph/graph_testing.h"

namespace magneto::graph {
namespace {

class NamesTest : public testing::Test {
 protected:
  NodeId input(const char* source_name) {
    return graph.placeholder({.source = 0, .source_name = source_name},
                             nullptr);
  }
  NodeId call(const char* module, const char* name, NodeId x) {
    return graph.call_function(keep(imported(module, name)), {x}, {}, nullptr);
  }
  NodeId method(const char* name, NodeId x) {
    return graph.call_method(keep(text(name)), {x}, {}, nullptr);
  }
  void hint(NodeId node, const char* name) {
    graph.set_name_hint(node, keep(text(name)));
  }
  std::string name(NodeId node) {
    return assign_names(graph).nodes[node.index];
  }

  Kept keep;
  Graph graph;
};

TEST_F(NamesTest, InputsAreNamedAfterTheirSource) {
  NodeId x = input("L['x']");
  NodeId weight =
      input("L['self']._modules['layers']._modules['0']._parameters['weight']");
  NodeId hidden = input("L['self']._buffers['_c']");
  NodeId key = input("L['cfg']['a b'][0]");
  NodeId camel = input("L['inputIds']");
  const Names names = assign_names(graph);
  EXPECT_EQ(names.parameters[0], "L_x_");
  EXPECT_EQ(names.nodes[x.index], "l_x_");
  EXPECT_EQ(names.nodes[weight.index],
            "l_self_modules_layers_modules_0_parameters_weight_");
  EXPECT_EQ(names.nodes[hidden.index], "l_self_buffers_c_");
  EXPECT_EQ(names.nodes[key.index], "l_cfg_a_b_0_");
  EXPECT_EQ(names.parameters[4], "L_inputIds_");
  EXPECT_EQ(names.nodes[camel.index], "l_input_ids_");
}

TEST_F(NamesTest, SourcesThatDifferOnlyInPunctuationGetDistinctParameters) {
  input("L['a_b']");
  input("L['a']['b']");
  input("L['a.b']");
  const Names names = assign_names(graph);
  EXPECT_EQ(names.parameters,
            (std::vector<std::string>{"L_a_b_", "L_a_b__0", "L_a_b__1"}));
}

TEST_F(NamesTest, RepeatedCallsAreNumbered) {
  NodeId x = input("L['x']");
  EXPECT_EQ(name(call("operator", "neg", x)), "neg");
  EXPECT_EQ(name(call("operator", "neg", x)), "neg_1");
  EXPECT_EQ(name(method("__neg__", x)), "neg_2");
}

TEST_F(NamesTest, BuiltinsAndKeywordsAreNotShadowed) {
  NodeId x = input("L['x']");
  EXPECT_EQ(name(method("sum", x)), "sum_1");
  EXPECT_EQ(name(method("sum", x)), "sum_2");
  EXPECT_EQ(name(call("operator", "not_", x)), "not_");
  EXPECT_EQ(name(method("float", x)), "float_1");
  EXPECT_EQ(name(method("lambda", x)), "lambda_1");
  EXPECT_EQ(name(method("device", x)), "device_1");
}

TEST_F(NamesTest, TheFirstVariableNamesTheValueAndBothNamesAreTaken) {
  NodeId x = input("L['x']");
  NodeId first = call("operator", "neg", x);
  hint(first, "x");
  NodeId second = call("operator", "neg", first);
  hint(second, "x");
  hint(second, "y");
  NodeId third = call("operator", "neg", second);
  EXPECT_EQ(name(first), "x");
  EXPECT_EQ(name(second), "x_1");
  EXPECT_EQ(name(third), "neg_2");
}

TEST_F(NamesTest, ALateHintDoesNotRenumberEarlierNodes) {
  NodeId x = input("L['x']");
  NodeId first = call("operator", "neg", x);
  NodeId second = call("operator", "pos", first);
  hint(first, "pos");
  EXPECT_EQ(name(second), "pos");
  EXPECT_EQ(name(first), "pos_1");
}

TEST_F(NamesTest, InputsIgnoreHints) {
  NodeId x = input("L['x']");
  hint(x, "y");
  EXPECT_EQ(name(x), "l_x_");
}

TEST_F(NamesTest, ErasedCallsKeepTheirNames) {
  NodeId x = input("L['x']");
  NodeId first = call("operator", "neg", x);
  NodeId second = call("operator", "neg", x);
  graph.seal();
  graph.erase(first);
  EXPECT_EQ(name(second), "neg_1");
}

}  // namespace
}  // namespace magneto::graph
