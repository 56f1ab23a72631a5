// SPDX-License-Identifier: BSD-3-Clause
#include "graph/passes/passes.h"

#include "graph/graph_testing.h"
#include "graph/printer.h"
#include "graph/verify.h"

namespace magneto::graph {
namespace {

// Stands in for torch._C, which pure tests don't load.
class PassesTest : public testing::Test {
 protected:
  PassesTest() {
    set_grad = evaluate(
        "__import__('sys').modules.setdefault('torch._C', "
        "type(__import__('sys'))('torch._C'))");
    Ref function = imported("operator", "truth");
    PyObject_SetAttrString(set_grad, "_set_grad_enabled", function);
    set_grad = std::move(function);
    neg = imported("operator", "neg");
    getitem = imported("operator", "getitem");
  }
  ~PassesTest() override {
    PyDict_DelItemString(PyImport_GetModuleDict(), "torch._C");
  }

  NodeId input(const char* source_name) {
    return graph.placeholder({.source = 0, .source_name = source_name},
                             nullptr);
  }
  void grad_mode(bool enabled) {
    graph.call_function(
        set_grad, {graph.constant(enabled ? Py_True : Py_False)}, {}, nullptr);
  }
  std::string finish(bool grad_enabled = true) {
    graph.seal();
    clean_up(graph, grad_enabled);
    EXPECT_EQ(verify(graph), "");
    return print(graph);
  }

  Graph graph;
  Ref set_grad;
  Ref neg;
  Ref getitem;
};

TEST_F(PassesTest, UnusedInputsAreDroppedAndTheOthersRenumbered) {
  input("L['a']");
  NodeId b = input("L['b']");
  input("L['c']");
  NodeId d = input("L['d']");
  graph.output(graph.tuple({graph.call_function(neg, {d}, {}, nullptr), b}));
  EXPECT_EQ(finish(),
            "l_b_ = input L['b']\n"
            "l_d_ = input L['d']\n"
            "neg = neg(l_d_)\n"
            "return (neg, l_b_)\n");
  ASSERT_EQ(graph.inputs().size(), 2u);
  EXPECT_EQ(graph.node(d).input, 1u);
}

TEST_F(PassesTest, ChainsOfDeadReadsGoButUnusedCallsStay) {
  NodeId x = input("L['x']");
  Ref name = text("_tensor_constant0");
  Ref size = text("size");
  NodeId attribute = graph.get_attr(name, Py_None, nullptr);
  NodeId item =
      graph.call_function(getitem, {attribute, graph.none()}, {}, nullptr);
  graph.call_method(size, {item}, {}, nullptr);
  graph.call_function(neg, {x}, {}, nullptr);
  graph.output(graph.tuple({x}));
  EXPECT_EQ(finish(),
            "l_x_ = input L['x']\n"
            "neg = neg(l_x_)\n"
            "return (l_x_,)\n");
}

TEST_F(PassesTest, AUsedReadStays) {
  NodeId x = input("L['x']");
  NodeId item = graph.call_function(getitem, {x, graph.none()}, {}, nullptr);
  graph.output(graph.tuple({item}));
  EXPECT_EQ(finish(),
            "l_x_ = input L['x']\n"
            "getitem = getitem(l_x_, None)\n"
            "return (getitem,)\n");
}

TEST_F(PassesTest, AnInputUsedOnlyByADeadReadIsDropped) {
  NodeId x = input("L['x']");
  NodeId y = input("L['y']");
  graph.call_function(getitem, {x, graph.none()}, {}, nullptr);
  graph.output(graph.tuple({y}));
  EXPECT_EQ(finish(),
            "l_y_ = input L['y']\n"
            "return (l_y_,)\n");
}

TEST_F(PassesTest, NeighbouringGradModesCancel) {
  NodeId x = input("L['x']");
  grad_mode(false);
  grad_mode(true);
  graph.call_function(neg, {x}, {}, nullptr);
  graph.output(graph.tuple({x}));
  EXPECT_EQ(finish(),
            "l_x_ = input L['x']\n"
            "neg = neg(l_x_)\n"
            "return (l_x_,)\n");
}

TEST_F(PassesTest, GradModesAroundACallStay) {
  NodeId x = input("L['x']");
  grad_mode(false);
  graph.call_function(neg, {x}, {}, nullptr);
  grad_mode(true);
  graph.output(graph.tuple({x}));
  finish();
  EXPECT_EQ(graph.call_count(), 3u);
}

TEST_F(PassesTest, APairThatEndsInAnotherModeStays) {
  NodeId x = input("L['x']");
  grad_mode(false);
  grad_mode(true);
  graph.call_function(neg, {x}, {}, nullptr);
  graph.output(graph.tuple({x}));
  // The graph starts without grad mode: the first call changes nothing, the
  // second one does.
  finish(/*grad_enabled=*/false);
  EXPECT_EQ(graph.call_count(), 3u);
}

TEST_F(PassesTest, SeveralPairsInARowCancel) {
  NodeId x = input("L['x']");
  grad_mode(false);
  grad_mode(true);
  grad_mode(false);
  grad_mode(true);
  graph.output(graph.tuple({x}));
  EXPECT_EQ(finish(),
            "l_x_ = input L['x']\n"
            "return (l_x_,)\n");
}

}  // namespace
}  // namespace magneto::graph
