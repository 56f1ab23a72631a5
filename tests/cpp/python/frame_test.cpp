// SPDX-License-Identifier: BSD-3-Clause
#include "python/frame.h"

#include "python/code_object.h"
#include "python_testing.h"

namespace magneto::python {
namespace {

using magneto::testing::Program;
using magneto::testing::take_error;

int32_t unit_of(PyCodeObject* code, bytecode::Op op) {
  for (const auto& instruction : decoded(code).instructions)
    if (instruction.op == op) return instruction.offset;
  ADD_FAILURE() << "no such instruction";
  return 0;
}

TEST(Frame, RunsFromTheMiddleWithLocalsAndStack) {
  Program python(
      "def f(a, *rest, b=1, **more):\n  c = a * 2\n"
      "  return c + b\n");
  PyCodeObject* code = python.code("f");
  // c and b, with c on the stack; then the addition.
  std::vector<PyObject*> values(static_cast<size_t>(code->co_nlocalsplus));
  values.push_back(PyLong_FromLong(40));
  values.push_back(PyLong_FromLong(2));
  const auto& instructions = decoded(code).instructions;
  int32_t unit = 0;
  for (const auto& instruction : instructions)
    if (instruction.op == bytecode::Op::BinaryOp) unit = instruction.offset;
  Ref result =
      Ref::steal(run_from_middle({code, unit, python.globals(), {}, values}));
  ASSERT_TRUE(result) << take_error();
  EXPECT_EQ(PyLong_AsLong(result), 42);
  for (PyObject* value : values) EXPECT_EQ(value, nullptr);
}

TEST(Frame, FromTheMiddleItIsAFrameOfTheUsersCode) {
  Program python(
      "import sys\n"
      "def f(a):\n"
      "  g = sys._getframe\n"
      "  return g()\n");
  PyCodeObject* code = python.code("f");
  std::vector<PyObject*> values(static_cast<size_t>(code->co_nlocalsplus));
  values[0] = PyLong_FromLong(5);
  values.push_back(nullptr);
  values.push_back(python.eval("sys._getframe").release());
  Ref frame = Ref::steal(run_from_middle(
      {code, unit_of(code, bytecode::Op::Call), python.globals(), {}, values}));
  ASSERT_TRUE(frame) << take_error();
  python.set("frame", frame);
  EXPECT_TRUE(python.check("frame.f_code is f.__code__"));
  EXPECT_TRUE(python.check("frame.f_lineno == 4"));
  EXPECT_TRUE(python.check("frame.f_locals == {'a': 5}"));
}

TEST(Frame, FreeVariablesAreThere) {
  Program python(
      "def outer():\n"
      "  v = 7\n"
      "  def f(x):\n"
      "    return x + v\n"
      "  return f\n"
      "f = outer()\n");
  PyCodeObject* code = python.code("f");
  PyObject* closure = PyFunction_GetClosure(python.get("f"));
  PyObject* cells[] = {PyTuple_GET_ITEM(closure, 0)};
  std::vector<PyObject*> values(static_cast<size_t>(code->co_nlocalsplus));
  values[0] = PyLong_FromLong(3);
  Ref result =
      Ref::steal(run_from_middle({code, unit_of(code, bytecode::Op::LoadFast),
                                  python.globals(), cells, values}));
  ASSERT_TRUE(result) << take_error();
  EXPECT_EQ(PyLong_AsLong(result), 10);
}

// What the handlers saw and are to do.
struct Seen {
  std::vector<std::string> names;
  FrameAction action = FrameAction::Handle;
  PyObject* result = nullptr;
  FrameAnswer otherwise = FrameAnswer::Evaluate;
};
Seen* seen = nullptr;

FrameAction classify(PyCodeObject*) noexcept { return seen->action; }

FrameAnswer handle(const FrameRequest& request, PyObject** result) noexcept {
  seen->names.push_back(PyUnicode_AsUTF8(request.code->co_name));
  if (!seen->result) return seen->otherwise;
  *result = Ref::share(seen->result).release();
  return FrameAnswer::Ran;
}

class Hook : public ::testing::Test {
 protected:
  Hook() {
    seen = &seen_;
    set_frame_handlers({classify, handle});
  }
  ~Hook() override {
    set_frame_handlers({});
    seen = nullptr;
  }
  Seen seen_;
};

TEST_F(Hook, SeesFunctionsWhileSomebodyLooks) {
  Program python(
      "def inner(): return 1\n"
      "def f(): return inner() + 1\n"
      "def generator(): yield 1\n");
  Ref plain = python.eval("f()");
  EXPECT_TRUE(seen_.names.empty());
  {
    FrameHookScope looking(true);
    EXPECT_TRUE(python.check("f() == 2"));
    EXPECT_TRUE(python.check("list(generator()) == [1]"));
    FrameHookScope pause(false);
    EXPECT_TRUE(python.check("f() == 2"));
  }
  EXPECT_TRUE(python.check("f() == 2"));
  EXPECT_EQ(seen_.names, (std::vector<std::string>{"f", "inner"}));
  EXPECT_FALSE(foreign_frame_hook());
}

TEST_F(Hook, HandlersResultIsTheFrames) {
  Program python("def f(a, *, b): raise AssertionError\n");
  Ref result = Ref::steal(PyLong_FromLong(9));
  seen_.result = result;
  FrameHookScope looking(true);
  EXPECT_TRUE(python.check("f(1, b=2) == 9"));
}

TEST_F(Hook, HandlersCanLeaveWhatAFrameCallsAlone) {
  Program python("def inner(): return 1\ndef f(): return inner()\n");
  FrameHookScope looking(true);
  seen_.otherwise = FrameAnswer::Pause;
  EXPECT_TRUE(python.check("f() == 1"));
  EXPECT_EQ(seen_.names, std::vector<std::string>{"f"});
  EXPECT_TRUE(frames_are_looked_at());
}

TEST_F(Hook, ActionsAreAskedOnceAndCanBeOverridden) {
  Program python("def inner(): return 1\ndef f(): return inner()\n");
  seen_.action = FrameAction::Evaluate;
  FrameHookScope looking(true);
  EXPECT_TRUE(python.check("f() == 1"));
  EXPECT_TRUE(seen_.names.empty());
  set_frame_action(python.code("inner"), FrameAction::Handle);
  EXPECT_TRUE(python.check("f() == 1"));
  EXPECT_EQ(seen_.names, std::vector<std::string>{"inner"});
  set_frame_action(python.code("f"), FrameAction::Pause);
  EXPECT_TRUE(python.check("f() == 1"));
  EXPECT_EQ(seen_.names.size(), 1u);
}

TEST_F(Hook, CallPlainlyLooksAtWhatIsCalled) {
  Program python("def inner(a): return a\ndef f(a): return inner(a)\n");
  Ref argument = Ref::steal(PyLong_FromLong(4));
  PyObject* args[] = {argument};
  Ref result = Ref::steal(call_plainly(python.get("f"), args, 1, nullptr));
  EXPECT_EQ(result.get(), argument.get());
  EXPECT_EQ(seen_.names, std::vector<std::string>{"inner"});
  EXPECT_FALSE(frames_are_looked_at());
}

// A hook of somebody else's, as torch.compile's: it keeps what was there and
// passes frames on.
_PyFrameEvalFunction others_next = nullptr;
int others_frames = 0;
PyObject* others_hook(PyThreadState* state, _PyInterpreterFrame* frame,
                      int throwing) {
  ++others_frames;
  return others_next(state, frame, throwing);
}

TEST_F(Hook, LivesBesideAnotherHook) {
  Program python("def inner(): return 1\ndef f(): return inner()\n");
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  others_next = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, others_hook);
  others_frames = 0;
  {
    FrameHookScope looking(true);
    EXPECT_TRUE(foreign_frame_hook());
    EXPECT_TRUE(python.check("f() == 1"));
    EXPECT_EQ(seen_.names.size(), 2u);
    EXPECT_GT(others_frames, 0);
  }
  EXPECT_EQ(_PyInterpreterState_GetEvalFrameFunc(interpreter), others_hook);
  {
    // The other one is put on top of ours, and has ours as its next one.
    FrameHookScope looking(true);
    others_next = _PyInterpreterState_GetEvalFrameFunc(interpreter);
    _PyInterpreterState_SetEvalFrameFunc(interpreter, others_hook);
    FrameHookScope again(true);
    EXPECT_TRUE(python.check("f() == 1"));
    EXPECT_EQ(seen_.names.size(), 4u);
  }
  EXPECT_TRUE(python.check("f() == 1"));
  EXPECT_EQ(seen_.names.size(), 4u);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
}

// Calls through a hook use the C stack; where it ends, those that are left to
// plain Python use none, whatever other hooks there are.
TEST_F(Hook, DeepCallsLeaveRoomBesideAnotherHook) {
  Program python(
      "import sys\n"
      "def depth(n): return 0 if n == 0 else depth(n - 1) + 1\n"
      "def deep(n):\n"
      "  limit = sys.getrecursionlimit()\n"
      "  sys.setrecursionlimit(n + 1000)\n"
      "  try:\n"
      "    return depth(n)\n"
      "  finally:\n"
      "    sys.setrecursionlimit(limit)\n");
  seen_.action = FrameAction::Evaluate;
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  {
    FrameHookScope looking(true);
    const _PyFrameEvalFunction ours =
        _PyInterpreterState_GetEvalFrameFunc(interpreter);
    others_next = ours;
    _PyInterpreterState_SetEvalFrameFunc(interpreter, others_hook);
    EXPECT_TRUE(python.check("deep(150_000) == 150_000"));
    EXPECT_EQ(_PyInterpreterState_GetEvalFrameFunc(interpreter), others_hook);
    FrameHookScope again(true);
    EXPECT_TRUE(python.check("deep(150_000) == 150_000"));
    EXPECT_EQ(_PyInterpreterState_GetEvalFrameFunc(interpreter), ours);
  }
  _PyInterpreterState_SetEvalFrameFunc(interpreter, _PyEval_EvalFrameDefault);
}

}  // namespace
}  // namespace magneto::python
