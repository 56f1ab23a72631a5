// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/island.h"

#include "python/code_object.h"
#include "python/frame.h"
#include "python_testing.h"

namespace magneto::artifact {
namespace {

using bytecode::Op;
using magneto::testing::Program;
using magneto::testing::take_error;

int32_t find(PyCodeObject* code, Op op, int skip = 0) {
  const bytecode::Code& decoded = python::decoded(code);
  for (int32_t i = 0; i < decoded.size(); ++i)
    if (decoded[i].op == op && skip-- == 0) return i;
  ADD_FAILURE() << "no such instruction";
  return -1;
}

struct Outcome {
  Ref stack;          // a tuple, None for NULL; null: raised
  int32_t next = -1;  // instruction
};

// Runs the island of an instruction with these operands (None: NULL).
Outcome run(Program& python, const char* function, int32_t index,
            const std::string& operands,
            const std::vector<std::pair<int, std::string>>& locals = {}) {
  PyCodeObject* code = python.code(function);
  std::optional<Island> island = make_island(code, index);
  EXPECT_TRUE(island);
  if (!island) return {};
  Ref given = python.eval(operands);
  EXPECT_EQ(PyTuple_GET_SIZE(given.get()), island->operands);
  const auto slots = static_cast<size_t>(code->co_nlocalsplus);
  std::vector<PyObject*> values(slots + static_cast<size_t>(island->operands));
  for (const auto& [slot, text] : locals)
    values[static_cast<size_t>(slot)] = python.eval(text).release();
  for (Py_ssize_t i = 0; i < island->operands; ++i) {
    PyObject* item = PyTuple_GET_ITEM(given.get(), i);
    if (item != Py_None)
      values[slots + static_cast<size_t>(i)] = Ref::share(item).release();
  }
  given = nullptr;
  Ref returned = Ref::steal(python::run_from_middle(
      {island->code, island->unit, python.globals(), {}, values}));
  for (PyObject* value : values) EXPECT_EQ(value, nullptr);
  if (!returned) return {};
  const Branch& branch = branch_taken(*island, returned);
  std::vector<PyObject*> pushed(branch.pushes.size());
  take_results(branch, std::move(returned), pushed);
  Outcome outcome;
  outcome.next = branch.next;
  outcome.stack =
      Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(pushed.size())));
  for (size_t i = 0; i < pushed.size(); ++i)
    PyTuple_SET_ITEM(outcome.stack.get(), static_cast<Py_ssize_t>(i),
                     pushed[i] ? pushed[i] : Ref::share(Py_None).release());
  return outcome;
}

void expect_stack(Program& python, const Outcome& outcome,
                  const std::string& expected) {
  ASSERT_TRUE(outcome.stack) << take_error();
  python.set("stack", outcome.stack);
  EXPECT_TRUE(python.check("stack == " + expected)) << expected;
}

TEST(Island, CallReturnsItsResult) {
  Program python(
      "def f(g, x):\n  return g(x, k=3)\n"
      "def g(*a, **k): return (a, k)\n");
  const int32_t call = find(python.code("f"), Op::Call);
  Outcome outcome = run(python, "f", call, "(None, g, 7, 3)");
  expect_stack(python, outcome, "(((7,), {'k': 3}),)");
  EXPECT_EQ(outcome.next, call + 1);
}

TEST(Island, FrameIsTheFunctionsOwn) {
  Program python(
      "import sys\n"
      "def f(g, x):\n"
      "  y = x\n"
      "  return g(x)\n"
      "def g(x):\n"
      "  frame = sys._getframe(1)\n"
      "  return (frame.f_code.co_name, frame.f_lineno, frame.f_locals)\n");
  Outcome outcome = run(python, "f", find(python.code("f"), Op::Call),
                        "(None, g, 7)", {{1, "7"}, {2, "8"}});
  expect_stack(python, outcome, "(('f', 4, {'x': 7, 'y': 8}),)");
}

TEST(Island, ErrorsHaveTheUsersTraceback) {
  Program python(
      "import traceback\n"
      "def f(g):\n"
      "  return g(1)\n"
      "def g(x):\n"
      "  raise ValueError(x)\n");
  Outcome outcome =
      run(python, "f", find(python.code("f"), Op::Call), "(None, g, 1)");
  EXPECT_FALSE(outcome.stack);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  python.set("tb", traceback);
  EXPECT_TRUE(
      python.check("[(s.name, s.lineno) for s in "
                   "traceback.extract_tb(tb)] == [('f', 3), "
                   "('g', 5)]"));
  Ref kind = Ref::steal(type), error = Ref::steal(value),
      trace = Ref::steal(traceback);
}

TEST(Island, JumpsSayWhichWay) {
  Program python(
      "def f(x):\n  if x: return 1\n  return 2\n"
      "def either(x, y):\n  return x or y\n"
      "class Odd:\n  def __bool__(self): raise ValueError('neither')\n");
  const int32_t jump = find(python.code("f"), Op::PopJumpIfFalse);
  const int32_t target = python::decoded(python.code("f"))[jump].arg;
  Outcome taken = run(python, "f", jump, "(0,)");
  expect_stack(python, taken, "()");
  EXPECT_EQ(taken.next, target);
  Outcome through = run(python, "f", jump, "(5,)");
  expect_stack(python, through, "()");
  EXPECT_EQ(through.next, jump + 1);
  EXPECT_FALSE(run(python, "f", jump, "(Odd(),)").stack);
  EXPECT_EQ(take_error(), "ValueError: neither");

  const int32_t either = find(python.code("either"), Op::JumpIfTrueOrPop);
  expect_stack(python, run(python, "either", either, "(3,)"), "(3,)");
  Outcome popped = run(python, "either", either, "(0,)");
  expect_stack(python, popped, "()");
  EXPECT_EQ(popped.next, either + 1);
}

TEST(Island, ForIterGoesOnOrEnds) {
  Program python("def f(xs):\n  for x in xs: g(x)\nit = iter([4])\n");
  const int32_t loop = find(python.code("f"), Op::ForIter);
  expect_stack(python, run(python, "f", loop, "(it,)"), "(it, 4)");
  Outcome end = run(python, "f", loop, "(it,)");
  expect_stack(python, end, "()");
  EXPECT_EQ(end.next, python::decoded(python.code("f"))[loop].arg);
}

TEST(Island, StatementsPushNothing) {
  Program python(
      "class O: pass\no = O()\n"
      "def f(o):\n  o.a = 1\n  o[2] = 3\n  del o.a\n"
      "d = {}\n");
  expect_stack(
      python, run(python, "f", find(python.code("f"), Op::StoreAttr), "(5, o)"),
      "()");
  EXPECT_TRUE(python.check("o.a == 5"));
  expect_stack(
      python,
      run(python, "f", find(python.code("f"), Op::StoreSubscr), "(6, d, 'k')"),
      "()");
  EXPECT_TRUE(python.check("d == {'k': 6}"));
  expect_stack(python,
               run(python, "f", find(python.code("f"), Op::DeleteAttr), "(o,)"),
               "()");
  EXPECT_TRUE(python.check("not hasattr(o, 'a')"));
}

TEST(Island, MethodsAndGlobalsComeWithNull) {
  Program python("def f(o):\n  return o.upper() + g(1)\ng = 8\n");
  Outcome method =
      run(python, "f", find(python.code("f"), Op::LoadMethod), "('ab',)");
  ASSERT_TRUE(method.stack) << take_error();
  python.set("stack", method.stack);
  EXPECT_TRUE(python.check("stack[0] is None and stack[1]() == 'AB'"));
  expect_stack(
      python,
      run(python, "f", find(python.code("f"), Op::LoadGlobalNull), "()"),
      "(None, 8)");
}

TEST(Island, ImportsAndUnpacking) {
  Program python(
      "def f(x):\n  from os import path as p, sep\n  a, b = x\n"
      "  c, *d = x\n  return [*x, 1]\n");
  Outcome imported = run(python, "f", find(python.code("f"), Op::ImportName),
                         "(0, ('path', 'sep'))");
  ASSERT_TRUE(imported.stack) << take_error();
  python.set("stack", imported.stack);
  EXPECT_TRUE(python.check("stack[0].__name__ == 'os'"));
  expect_stack(python,
               run(python, "f", find(python.code("f"), Op::ImportFrom),
                   "(__import__('os'),)"),
               "(__import__('os'), __import__('os').path)");
  expect_stack(
      python,
      run(python, "f", find(python.code("f"), Op::UnpackSequence), "((1, 2),)"),
      "(2, 1)");
  expect_stack(
      python,
      run(python, "f", find(python.code("f"), Op::UnpackEx), "((1, 2, 3),)"),
      "([2, 3], 1)");
  expect_stack(
      python,
      run(python, "f", find(python.code("f"), Op::ListExtend), "([1], (2, 3))"),
      "([1, 2, 3],)");
}

TEST(Island, LocalsOfAFunctionWithCellsAreSeen) {
  Program python(
      "def f(x, g):\n"
      "  y = 1\n"
      "  h = lambda: (x, y)\n"
      "  return g()\n"
      "def cell(v): return (lambda: v).__closure__[0]\n"
      "import sys\n"
      "def g(): return sys._getframe(1).f_locals['x']\n");
  PyCodeObject* code = python.code("f");
  Outcome outcome =
      run(python, "f", find(code, Op::Call), "(None, g)", {{0, "cell(5)"}});
  expect_stack(python, outcome, "(5,)");
}

TEST(Island, RaiseHasNoWayOn) {
  Program python("def f(e):\n  raise e\n");
  const int32_t raise = find(python.code("f"), Op::RaiseVarargs);
  std::optional<Island> island = make_island(python.code("f"), raise);
  ASSERT_TRUE(island);
  EXPECT_FALSE(island->through);
  EXPECT_FALSE(island->jump);
  EXPECT_FALSE(run(python, "f", raise, "(KeyError(3),)").stack);
  EXPECT_EQ(take_error(), "KeyError: 3");
}

TEST(Island, LocalVariablesCantStandAlone) {
  Program python("def f(x):\n  return x\n");
  EXPECT_FALSE(
      make_island(python.code("f"), find(python.code("f"), Op::LoadFast)));
}

}  // namespace
}  // namespace magneto::artifact
