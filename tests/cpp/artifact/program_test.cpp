// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/program.h"

#include "python_testing.h"

namespace magneto::artifact {
namespace {

using magneto::testing::Program;
using magneto::testing::take_error;

Ref number(long value) { return Ref::steal(PyLong_FromLong(value)); }

// Runs a program on inputs; the results as a tuple, or null.
Ref run(const DirectProgram& program, std::vector<PyObject*> inputs) {
  std::vector<PyObject*> slots(program.slot_count() + 1);
  std::copy(inputs.begin(), inputs.end(), slots.begin() + 1);
  std::vector<PyObject*> results(program.result_count());
  if (program.run(slots.data() + 1, results.data()) != RunEnd::Done)
    return nullptr;
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(results.size())));
  for (size_t i = 0; i < results.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), results[i]);
  return tuple;
}

TEST(DirectProgram, CallsTheGraphAndReturnsItsOutput) {
  Program python("def graph(a, b):\n  return (a + b, a * b)\n");
  DirectProgramBuilder builder;
  builder.call_graph();
  builder.result(builder.graph_output(1));
  builder.result(builder.graph_output(0));
  DirectProgram program = builder.finish(2, true);
  program.set_graph(graph::compiled_graph_of(Ref::share(python.get("graph"))));
  Ref two = number(2), five = number(5);
  Ref result = run(program, {two, five});
  python.set("result", result);
  EXPECT_TRUE(python.check("result == (10, 7)"));
}

TEST(DirectProgram, GraphWithoutCallsIsNotCalled) {
  DirectProgramBuilder builder;
  builder.call_graph();
  builder.result(builder.input(0));
  DirectProgram program = builder.finish(0, false);
  EXPECT_FALSE(program.calls_graph());
  Ref list = Ref::steal(PyList_New(0));
  Ref result = run(program, {list});
  EXPECT_EQ(PyTuple_GET_ITEM(result.get(), 0), list.get());
}

TEST(DirectProgram, ErrorsOfTheGraphAreRaised) {
  Program python("def graph():\n  raise ValueError('no')\n");
  DirectProgramBuilder builder;
  builder.call_graph();
  builder.result(builder.graph_output(0));
  DirectProgram program = builder.finish(0, true);
  program.set_graph(graph::compiled_graph_of(Ref::share(python.get("graph"))));
  EXPECT_FALSE(run(program, {}));
  EXPECT_EQ(take_error(), "ValueError: no");
}

TEST(DirectProgram, GraphThatReturnsSomethingElseIsAnError) {
  Program python("def one():\n  return 1\ndef two():\n  return (1, 2)\n");
  for (const char* name : {"one", "two"}) {
    DirectProgramBuilder builder;
    builder.call_graph();
    builder.result(builder.graph_output(0));
    DirectProgram program = builder.finish(0, true);
    program.set_graph(graph::compiled_graph_of(Ref::share(python.get(name))));
    EXPECT_FALSE(run(program, {}));
    EXPECT_NE(take_error().find("must return a tuple of 1 values"),
              std::string::npos);
  }
}

TEST(DirectProgram, ContainersMayContainThemselves) {
  DirectProgramBuilder builder;
  Operand list = builder.make(StepOp::MakeList, {});
  Operand tuple = builder.make(StepOp::MakeTuple, {list});
  builder.act(StepOp::AssignList, {list, tuple, builder.input(0)});
  builder.result(tuple);
  DirectProgram program = builder.finish(0, false);
  Ref one = number(1);
  Ref result = run(program, {one});
  Program python("");
  python.set("t", PyTuple_GET_ITEM(result.get(), 0));
  EXPECT_TRUE(python.check("t[0][0] is t and t[0][1] == 1"));
}

TEST(DirectProgram, MakesEveryKindOfObject) {
  Program python(
      "import collections\n"
      "P = collections.namedtuple('P', 'x y')\n"
      "class Thing:\n"
      "  def __new__(cls, *a): raise AssertionError('not called')\n"
      "  def __init__(self): raise AssertionError('not called')\n"
      "  def __setattr__(self, n, v): raise AssertionError('not called')\n"
      "class Slotted:\n"
      "  __slots__ = ('a',)\n"
      "class D(dict):\n"
      "  def __setitem__(self, k, v): raise AssertionError('not called')\n"
      "class F(frozenset): pass\n"
      "def f(): return c\n"
      "def g():\n"
      "  c = 1\n"
      "  def inner(a=0, *, b=1): return (a, b, c)\n"
      "  return inner\n"
      "inner = g().__code__\n");
  DirectProgramBuilder b;
  auto named = [&](const char* name) { return b.constant(python.get(name)); };
  auto text = [&](const char* chars) {
    return b.constant(Ref::steal(PyUnicode_InternFromString(chars)));
  };
  Operand one = b.constant(number(1)), two = b.constant(number(2));
  b.result(b.make(StepOp::MakeTupleOf, {named("P"), one, two}));
  b.result(b.make(StepOp::MakeTupleOf, {named("F"), one, two}));
  b.result(b.make(StepOp::MakeSet, {one, two}));
  b.result(b.make(StepOp::MakeFrozenSet, {one}));
  b.result(b.make(StepOp::MakeSlice, {one, two, b.constant(Py_None)}));
  Operand thing = b.make(StepOp::MakeInstance, {named("Thing")});
  b.act(StepOp::SetAttribute, {thing, text("a"), one});
  b.result(thing);
  Operand slotted = b.make(StepOp::MakeInstance, {named("Slotted")});
  b.act(StepOp::SetAttribute, {slotted, text("a"), two});
  b.result(slotted);
  Operand dict = b.make(StepOp::MakeInstance, {named("D")});
  b.act(StepOp::SetItem, {dict, text("k"), one});
  b.result(dict);
  Operand cell = b.make(StepOp::MakeCell, {});
  b.act(StepOp::SetCell, {cell, two});
  Operand function =
      b.make(StepOp::MakeFunction,
             {named("inner"), b.constant(python.globals()), text("inner")});
  b.act(StepOp::SetClosure, {function, cell});
  Operand defaults = b.make(StepOp::MakeTuple, {two});
  b.act(StepOp::SetDefaults, {function, defaults});
  Operand kwdefaults = b.make(StepOp::MakeDict, {});
  b.act(StepOp::SetItem, {kwdefaults, text("b"), one});
  b.act(StepOp::SetKwDefaults, {function, kwdefaults});
  b.result(function);
  b.result(b.make(StepOp::MakeMethod, {function, one}));
  b.result(b.make(StepOp::MakeIterator, {defaults, b.constant(number(0))}));
  Ref result = run(b.finish(0, false), {});
  ASSERT_TRUE(result) << take_error();
  python.set("r", result);
  EXPECT_TRUE(python.check("type(r[0]) is P and r[0] == (1, 2)"));
  EXPECT_TRUE(python.check("type(r[1]) is F and r[1] == {1, 2}"));
  EXPECT_TRUE(python.check("r[2] == {1, 2} and type(r[2]) is set"));
  EXPECT_TRUE(python.check("r[3] == {1} and type(r[3]) is frozenset"));
  EXPECT_TRUE(python.check("r[4] == slice(1, 2, None)"));
  EXPECT_TRUE(python.check("type(r[5]) is Thing and r[5].a == 1"));
  EXPECT_TRUE(python.check("type(r[6]) is Slotted and r[6].a == 2"));
  EXPECT_TRUE(python.check("type(r[7]) is D and r[7] == {'k': 1}"));
  EXPECT_TRUE(python.check("r[8]() == (2, 1, 2)"));
  EXPECT_TRUE(python.check("r[9]() == (1, 1, 2)"));
  EXPECT_TRUE(python.check("list(r[10]) == [2]"));
}

TEST(DirectProgram, EffectsReachTheCallersObjects) {
  Program python(
      "import collections\n"
      "class O:\n"
      "  p = property(lambda s: 0)\n"
      "o = O(); o.gone = 1; o.kept = 2\n"
      "l = [1, 2, 3, 4]\n"
      "d = collections.OrderedDict(a=1, b=2)\n"
      "s = {1}\n"
      "q = collections.deque([1, 2], maxlen=5)\n"
      "def f():\n"
      "  c = 1\n"
      "  return lambda: c\n"
      "cell = f().__closure__[0]\n");
  DirectProgramBuilder b;
  auto named = [&](const char* name) { return b.constant(python.get(name)); };
  auto text = [&](const char* chars) {
    return b.constant(Ref::steal(PyUnicode_InternFromString(chars)));
  };
  Operand one = b.constant(number(1)), nine = b.constant(number(9));
  b.act(StepOp::SetAttribute, {named("o"), text("new"), nine});
  b.act(StepOp::SetAttribute, {named("o"), text("p"), nine});
  b.act(StepOp::DropAttribute, {named("o"), text("gone")});
  b.act(StepOp::DropAttribute, {named("o"), text("never")});
  b.act(StepOp::SpliceList, {named("l"), one, b.constant(number(3)), nine});
  b.act(StepOp::SetItem, {named("d"), text("a"), nine});
  b.act(StepOp::DropItem, {named("d"), text("b")});
  b.act(StepOp::DropItem, {named("d"), text("never")});
  b.act(StepOp::SetItem, {named("d"), text("c"), one});
  b.act(StepOp::ClearSet, {named("s")});
  b.act(StepOp::AddItems, {named("s"), one, text("gone")});
  b.act(StepOp::AddItems, {named("s"), nine, text("gone")});
  b.act(StepOp::DiscardItems, {named("s"), one, text("gone"), text("never")});
  b.act(StepOp::AssignList, {named("q"), nine, one});
  b.act(StepOp::SetCell, {named("cell"), nine});
  ASSERT_TRUE(run(b.finish(0, false), {})) << take_error();
  EXPECT_TRUE(
      python.check("vars(o) == {'kept': 2, 'new': 9, 'p': 9} and o.p == 0"));
  EXPECT_TRUE(python.check("l == [1, 9, 4]"));
  EXPECT_TRUE(python.check("list(d.items()) == [('a', 9), ('c', 1)]"));
  EXPECT_TRUE(python.check("s == {9}"));
  EXPECT_TRUE(python.check("list(q) == [9, 1] and q.maxlen == 5"));
  EXPECT_TRUE(python.check("cell.cell_contents == 9"));
}

TEST(DirectProgram, ClearAttributesDeletesAll) {
  Program python("class O: pass\no = O(); o.a = 1; o.b = 2\n");
  DirectProgramBuilder b;
  b.act(StepOp::ClearAttributes, {b.constant(python.get("o"))});
  ASSERT_TRUE(run(b.finish(0, false), {})) << take_error();
  EXPECT_TRUE(python.check("vars(o) == {}"));
}

TEST(DirectProgram, LeavesNoReferencesBehind) {
  Program python("def graph(a):\n  return [a]\n");
  Ref object = Ref::steal(PyList_New(0));
  const Py_ssize_t before = Py_REFCNT(object.get());
  {
    DirectProgramBuilder b;
    b.call_graph();
    Operand list = b.make(StepOp::MakeList, {});
    b.act(StepOp::AssignList, {list, b.graph_output(0), b.input(0)});
    b.result(list);
    DirectProgram program = b.finish(1, true);
    program.set_graph(
        graph::compiled_graph_of(Ref::share(python.get("graph"))));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(run(program, {object, object}));
  }
  EXPECT_EQ(Py_REFCNT(object.get()), before);
}

TEST(DirectProgram, PrintsItsSteps) {
  DirectProgramBuilder b;
  b.call_graph();
  Operand list = b.make(StepOp::MakeList, {});
  b.act(StepOp::AssignList, {list, b.graph_output(0), b.constant(Py_None)});
  b.result(list);
  b.result(b.input(0));
  EXPECT_EQ(b.finish(2, true).print(),
            "CallGraph()\n"
            "t0 = MakeList()\n"
            "AssignList(t0, output0, None)\n"
            "results t0 input0\n");
}

}  // namespace
}  // namespace magneto::artifact
