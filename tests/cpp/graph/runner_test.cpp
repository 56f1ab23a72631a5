// SPDX-License-Identifier: BSD-3-Clause
#include "graph/runner.h"

#include <vector>

#include "graph/compiled_graph.h"
#include "graph/function_object.h"
#include "graph/graph_testing.h"

namespace magneto::graph {
namespace {

class RunnerTest : public testing::Test {
 protected:
  NodeId input(const char* source_name) {
    return graph.placeholder({.source = 0, .source_name = source_name},
                             nullptr);
  }
  NodeId call(const char* name, std::initializer_list<Arg> args) {
    return graph.call_function(keep(imported("operator", name)), args, {},
                               nullptr);
  }
  std::string run(std::initializer_list<PyObject*> inputs) {
    GraphRunner runner(graph);
    Ref result = runner.run(inputs.begin());
    return repr(result);
  }

  Kept keep;
  Graph graph;
};

TEST_F(RunnerTest, ComputesInOrder) {
  NodeId x = input("x");
  NodeId y = input("y");
  NodeId sum = call("add", {x, y});
  graph.output(graph.tuple({call("mul", {sum, x}), sum}));
  EXPECT_EQ(run({keep(number(3)), keep(number(4))}), "(21, 7)");
}

TEST_F(RunnerTest, CallsMethodsWithKeywords) {
  NodeId x = input("x");
  Ref name = text("split");
  Ref keyword = text("maxsplit");
  Ref comma = text(",");
  Ref one = number(1);
  const Keyword keywords[] = {{keyword, graph.constant(one)}};
  graph.output(
      graph.call_method(name, {x, graph.constant(comma)}, keywords, nullptr));
  EXPECT_EQ(run({keep(text("a,b,c"))}), "['a', 'b,c']");
}

TEST_F(RunnerTest, BuildsNestedContainers) {
  NodeId x = input("x");
  Ref key = text("k");
  const Arg pairs[] = {graph.constant(key),
                       graph.slice(graph.none(), x, graph.none())};
  graph.output(graph.list({graph.tuple({x}), graph.dict(pairs),
                           graph.tuple({graph.none(), graph.tuple({})})}));
  EXPECT_EQ(run({keep(number(5))}),
            "[(5,), {'k': slice(None, 5, None)}, (None, ())]");
}

TEST_F(RunnerTest, ListsAreNewAtEveryRun) {
  Ref one = number(1);
  graph.output(graph.tuple(
      {graph.list({graph.constant(one)}), graph.tuple({graph.none()})}));
  GraphRunner runner(graph);
  Ref first = runner.run(nullptr);
  Ref second = runner.run(nullptr);
  EXPECT_NE(PyTuple_GET_ITEM(first.get(), 0),
            PyTuple_GET_ITEM(second.get(), 0));
  EXPECT_EQ(PyTuple_GET_ITEM(first.get(), 1),
            PyTuple_GET_ITEM(second.get(), 1));
}

TEST_F(RunnerTest, ReadsAttributes) {
  Ref name = text("offset");
  Ref value = number(10);
  NodeId offset = graph.get_attr(name, value, nullptr);
  graph.output(call("add", {input("x"), offset}));
  EXPECT_EQ(run({keep(number(2))}), "12");
}

TEST_F(RunnerTest, PassesAnInputThrough) {
  NodeId x = input("x");
  graph.output(x);
  Ref value = evaluate("object()");
  GraphRunner runner(graph);
  PyObject* inputs[] = {value};
  Ref result = runner.run(inputs);
  EXPECT_EQ(result.get(), value.get());
}

TEST_F(RunnerTest, AnErrorPropagatesAndNothingLeaks) {
  NodeId x = input("x");
  NodeId kept = call("add", {x, x});
  NodeId failing = call("truediv", {kept, input("y")});
  graph.output(graph.tuple({failing, kept}));
  GraphRunner runner(graph);
  Ref big = evaluate("10 ** 50");
  Ref zero = number(0);
  PyObject* inputs[] = {big, zero};
  const Py_ssize_t references = Py_REFCNT(big.get());
  EXPECT_FALSE(runner.run(inputs));
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ZeroDivisionError));
  PyErr_Clear();
  EXPECT_EQ(Py_REFCNT(big.get()), references);
}

// Values that are used no more die before later calls run.
TEST_F(RunnerTest, ValuesDieAfterTheirLastUse) {
  Ref globals = Ref::steal(PyDict_New());
  ASSERT_TRUE(Ref::steal(
      PyRun_String("log = []\n"
                   "class Value:\n"
                   "  def __init__(self, name): self.name = name\n"
                   "  def __del__(self): log.append('dies ' + self.name)\n"
                   "def make(name, *used):\n"
                   "  log.append('makes ' + name)\n"
                   "  return Value(name)\n",
                   Py_file_input, globals, globals)));
  PyObject* make = PyDict_GetItemString(globals, "make");
  auto value = [&](const char* name, std::initializer_list<Arg> used) {
    std::vector<Arg> args{graph.constant(keep(text(name)))};
    args.insert(args.end(), used);
    return graph.call_function(make, args, {}, nullptr);
  };
  NodeId a = value("a", {});
  NodeId b = value("b", {a});
  value("unused", {});
  NodeId c = value("c", {graph.list({b, graph.tuple({b})})});
  graph.output(graph.tuple({c}));
  GraphRunner runner(graph);
  ASSERT_TRUE(runner.run(nullptr));
  EXPECT_EQ(repr(PyDict_GetItemString(globals, "log")),
            "['makes a', 'makes b', 'dies a', 'makes unused', 'dies unused', "
            "'makes c', 'dies b', 'dies c']");
}

TEST_F(RunnerTest, TheGraphMayDieFirst) {
  auto owned = std::make_unique<Graph>();
  NodeId x = owned->placeholder({.source = 0, .source_name = "x"}, nullptr);
  Ref constant = evaluate("'a' * 30");
  Ref add = imported("operator", "add");
  owned->output(owned->tuple({owned->call_function(
      add, {x, owned->constant(constant)}, {}, nullptr)}));
  GraphRunner runner(*owned);
  owned.reset();
  constant = nullptr;
  Ref b = text("b");
  PyObject* inputs[] = {b};
  EXPECT_EQ(repr(keep(runner.run(inputs))),
            "('baaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',)");
}

TEST_F(RunnerTest, LargeGraphsNeedFewSlotsAndRunDeep) {
  NodeId x = input("x");
  NodeId value = x;
  for (int i = 0; i < 5000; ++i) value = call("add", {value, x});
  graph.output(value);
  EXPECT_EQ(run({keep(number(2))}), "10002");
}

TEST_F(RunnerTest, ManyLiveValuesAndOperandsFit) {
  NodeId x = input("x");
  std::vector<Arg> values;
  for (int i = 0; i < 200; ++i) values.push_back(call("neg", {x}));
  Ref sum = evaluate("sum");
  graph.output(graph.call_function(sum, {graph.tuple(values)}, {}, nullptr));
  EXPECT_EQ(run({keep(number(2))}), "-400");
}

TEST_F(RunnerTest, AClearedRunnerRefusesToRun) {
  graph.output(input("x"));
  GraphRunner runner(graph);
  runner.clear();
  PyObject* inputs[] = {Py_None};
  EXPECT_FALSE(runner.run(inputs));
  EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_RuntimeError));
  PyErr_Clear();
}

// -- CompiledGraph

class CompiledGraphTest : public RunnerTest {
 protected:
  // What comes out, one text for each output, or the error.
  std::vector<std::string> outputs_of(Ref callable, size_t count,
                                      std::vector<PyObject*> inputs) {
    const auto compiled = compiled_graph_of(std::move(callable));
    inputs.insert(inputs.begin(), nullptr);  // the place in front
    std::vector<PyObject*> outputs(count, nullptr);
    if (!compiled->run(std::span(inputs).subspan(1), outputs)) {
      for (PyObject* output : outputs) EXPECT_EQ(output, nullptr);
      return {take_error()};
    }
    std::vector<std::string> texts;
    for (PyObject* output : outputs) {
      const Ref owned = Ref::steal(output);
      texts.push_back(repr(owned));
    }
    return texts;
  }
  static std::string take_error() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    const Ref kind = Ref::steal(type), error = Ref::steal(value);
    const Ref trace = Ref::steal(traceback);
    const Ref text = Ref::steal(PyObject_Str(error));
    return PyUnicode_AsUTF8(text);
  }
  Ref evaluated(const char* code) {
    const Ref names = Ref::steal(PyDict_New());
    return Ref::steal(PyRun_String(code, Py_eval_input, names, names));
  }
};

TEST_F(CompiledGraphTest, ACapturedGraphGivesItsOutputsOneByOne) {
  ASSERT_TRUE(init_function_type(nullptr));
  NodeId x = input("x");
  Ref one = number(1);
  graph.output(
      graph.tuple({call("add", {x, x}), x, graph.list({x, graph.constant(one)}),
                   graph.constant(one)}));
  using Texts = std::vector<std::string>;
  EXPECT_EQ(outputs_of(make_function(graph), 4, {keep(number(4))}),
            (Texts{"8", "4", "[4, 1]", "1"}));
  // The same through Python.
  Ref function = make_function(graph);
  Ref result = Ref::steal(PyObject_CallOneArg(function, keep(number(4))));
  EXPECT_EQ(repr(result), "(8, 4, [4, 1], 1)");
}

TEST_F(CompiledGraphTest, ACallThatRaisesWritesNothing) {
  ASSERT_TRUE(init_function_type(nullptr));
  NodeId x = input("x");
  graph.output(graph.tuple({x, call("add", {x, graph.none()})}));
  EXPECT_EQ(outputs_of(make_function(graph), 2, {keep(number(4))}),
            (std::vector<std::string>{
                "unsupported operand type(s) for +: 'int' and 'NoneType'"}));
}

TEST_F(CompiledGraphTest, APythonBackendGivesATupleOrAList) {
  using Texts = std::vector<std::string>;
  const std::vector<PyObject*> inputs = {keep(number(4))};
  EXPECT_EQ(outputs_of(evaluated("lambda x: (x, x + 1)"), 2, inputs),
            (Texts{"4", "5"}));
  EXPECT_EQ(outputs_of(evaluated("lambda x: [x]"), 1, inputs), (Texts{"4"}));
  EXPECT_EQ(outputs_of(evaluated("lambda x: (x,)"), 2, inputs),
            (Texts{"the compiled graph must return a tuple of 2 values, but it "
                   "returned 1"}));
  EXPECT_EQ(outputs_of(evaluated("lambda x: x"), 1, inputs),
            (Texts{"the compiled graph must return a tuple of 1 values, but it "
                   "returned a int"}));
}

}  // namespace
}  // namespace magneto::graph
