// SPDX-License-Identifier: BSD-3-Clause
#include "python/code_object.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <string>
#include <vector>

#include "bytecode/builder.h"
#include "bytecode/liveness.h"
#include "bytecode/stack_effect.h"
#include "python/code_functions.h"

namespace magneto::python {
namespace {

using bytecode::Code;
using bytecode::CodeBuilder;
using bytecode::EncodedCode;
using bytecode::Label;
using bytecode::Op;

PyCodeObject* as_code(PyObject* object) {
  return reinterpret_cast<PyCodeObject*>(object);
}

// A namespace in which Python source has been run.
class Program {
 public:
  explicit Program(const char* source) : globals_(Ref::steal(PyDict_New())) {
    PyDict_SetItemString(globals_, "__builtins__", PyEval_GetBuiltins());
    Ref result =
        Ref::steal(PyRun_String(source, Py_file_input, globals_, globals_));
    if (!result) PyErr_Print();
    EXPECT_TRUE(result);
  }
  PyCodeObject* code(const char* name) const {
    PyObject* function = PyDict_GetItemString(globals_, name);
    return as_code(PyFunction_GET_CODE(function));
  }
  Ref function(PyObject* code) const {
    return Ref::steal(PyFunction_New(code, globals_));
  }
  Ref evaluate(const char* source) const {
    return Ref::steal(PyRun_String(source, Py_eval_input, globals_, globals_));
  }

 private:
  Ref globals_;
};

Ref tuple_of(const std::vector<std::string>& names) {
  Ref tuple = Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
  for (size_t i = 0; i < names.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                     PyUnicode_FromString(names[i].c_str()));
  }
  return tuple;
}

int32_t find(const Code& code, Op op, int32_t nth = 0) {
  for (int32_t i = 0; i < code.size(); ++i) {
    if (code[i].op == op && nth-- == 0) return i;
  }
  ADD_FAILURE() << "no " << bytecode::info(op).name;
  return 0;
}

std::string text(PyObject* object) {
  Ref repr = Ref::steal(object ? PyObject_Repr(object) : nullptr);
  if (!repr) {
    PyErr_Print();
    return "<error>";
  }
  return PyUnicode_AsUTF8(repr);
}

std::string call(PyObject* function, PyObject* arguments) {
  Ref result = Ref::steal(PyObject_Call(function, arguments, nullptr));
  return text(result);
}

TEST(CodeObject, IsDecodedOnce) {
  const Program program("def f(x): return x + 1");
  PyCodeObject* code = program.code("f");
  const Code& first = decoded(code);
  EXPECT_EQ(&first, &decoded(code));
  EXPECT_EQ(first.local_count, 1);
  EXPECT_EQ(first[find(first, Op::BinaryOp)].arg, 0);
  EXPECT_EQ(first.position(find(first, Op::BinaryOp)).line, 1);
}

TEST(CodeObject, SpecialisedCodeReadsTheSame) {
  const Program program(
      "def f(x):\n"
      "  total = 0\n"
      "  for i in range(x): total = total + len(str(i)) * i\n"
      "  return total\n"
      "from types import FunctionType\n"
      "fresh = FunctionType(f.__code__.replace(), globals())\n"
      "for _ in range(50): f(50)\n");
  EXPECT_EQ(decoded(program.code("f")).instructions,
            decoded(program.code("fresh")).instructions);
}

TEST(CodeObject, TheDecodedFormDiesWithIt) {
  auto round = [] {
    const Program program("def f(x): return [x, x, x, x]");
    decoded(program.code("f")).positions();
  };
  for (int i = 0; i < 20; ++i) round();
  PyGC_Collect();
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 500; ++i) round();
  PyGC_Collect();
  const size_t after = mallinfo2().uordblks;
  // A decoded form is at least 100 bytes.
  EXPECT_LT(after, before + 500 * 20);
}

TEST(MakeCode, WithoutChangesIsEqual) {
  const Program program(
      "def outer(a, /, b, *args, c=1, **kw):\n"
      "  d = a\n"
      "  def inner(): return a, d\n"
      "  try: return inner, b\n"
      "  except ValueError as e: return e\n");
  PyCodeObject* code = program.code("outer");
  const Code& before = decoded(code);
  const EncodedCode encoded = bytecode::encode(
      bytecode::running_version(), before.instructions, before.position_table(),
      before.handlers, before.first_line);
  Ref made = make_code(code, encoded, {});
  ASSERT_TRUE(made) << (PyErr_Print(), "");
  EXPECT_EQ(
      PyObject_RichCompareBool(made, reinterpret_cast<PyObject*>(code), Py_EQ),
      1);
}

// What artifact does at a graph break: a function that takes what was on the
// stack and the live locals, and goes on behind the call.
TEST(MakeCode, AResumeFunctionGoesOnInTheMiddle) {
  const Program program(
      "def g(x): return x * 10\n"
      "def f(items, bias):\n"
      "  total = 0\n"
      "  unused = 5\n"
      "  for item in items:\n"
      "    total = total + g(item)\n"
      "  return total + bias\n");
  PyCodeObject* code = program.code("f");
  const Code& original = decoded(code);
  const int32_t behind_call = find(original, Op::Call) + 1;
  // Behind the call the stack is: iterator, total, result.
  EXPECT_EQ(bytecode::stack_depths(original.instructions,
                                   original.handlers)[behind_call],
            3);
  const auto live = bytecode::Liveness(original).live_at(behind_call);
  ASSERT_EQ(live, (std::vector<int32_t>{1}));  // bias alone

  CodeBuilder builder;
  const Label resume = builder.label();
  builder.emit(Op::Resume);
  for (int32_t slot = 0; slot < 3; ++slot) builder.emit(Op::LoadFast, slot);
  builder.jump(Op::Jump, resume);
  const CodeBuilder::Anchor anchors[] = {{behind_call, resume}};
  // items, bias, total, unused, item
  const int32_t locals[] = {4, 3, 5, 6, 7};
  builder.append(original, {.anchors = anchors, .locals = locals});
  const EncodedCode encoded =
      builder.finish(bytecode::running_version(), code->co_firstlineno);

  CodeChanges changes;
  const Ref varnames = tuple_of({"stack0", "stack1", "stack2", "bias", "items",
                                 "total", "unused", "item"});
  const Ref name = Ref::steal(PyUnicode_FromString("resume_f"));
  changes.varnames = varnames;
  changes.name = changes.qualname = name;
  changes.argcount = 4;
  Ref made = make_code(code, encoded, changes);
  ASSERT_TRUE(made) << (PyErr_Print(), "");
  Ref function = program.function(made);
  Ref arguments = program.evaluate("(iter([2, 3]), 100, 10, 7)");
  EXPECT_EQ(call(function, arguments), "167");  // 100 + 10 + 20 + 30 + 7
  EXPECT_EQ(text(as_code(made)->co_qualname), "'resume_f'");
}

TEST(MakeCode, AResumeFunctionInsideTryCatches) {
  const Program program(
      "def f(x, items):\n"
      "  try:\n"
      "    x = items[x]\n"
      "    return x\n"
      "  except IndexError as e:\n"
      "    return str(e)\n");
  PyCodeObject* code = program.code("f");
  const Code& original = decoded(code);
  const int32_t middle = find(original, Op::BinarySubscr);
  CodeBuilder builder;
  const Label resume = builder.label();
  builder.emit(Op::Resume);
  builder.emit(Op::LoadFast, 1);
  builder.emit(Op::LoadFast, 0);
  builder.jump(Op::Jump, resume);
  const CodeBuilder::Anchor anchors[] = {{middle, resume}};
  builder.append(original, {.anchors = anchors});
  const EncodedCode encoded =
      builder.finish(bytecode::running_version(), code->co_firstlineno);
  Ref made = make_code(code, encoded, {});
  ASSERT_TRUE(made) << (PyErr_Print(), "");
  Ref function = program.function(made);
  Ref good = program.evaluate("(1, 'abc')");
  Ref bad = program.evaluate("(3, 'abc')");
  EXPECT_EQ(call(function, good), "'b'");
  EXPECT_EQ(call(function, bad), "'string index out of range'");
}

TEST(Disassembly, NamesConstantsWithoutRunningTheirCode) {
  const Program program(
      "class Loud:\n"
      "  def __repr__(self): raise RuntimeError('not to be called')\n"
      "def f(x): return x.attr + 'text'\n"
      "f.__code__ = f.__code__.replace(co_consts=(Loud(), ('a', 1.5)))\n");
  const std::string printed = disassembly(program.code("f"));
  EXPECT_NE(printed.find("(attr)"), std::string::npos) << printed;
  EXPECT_NE(printed.find("(x)"), std::string::npos) << printed;
  EXPECT_NE(printed.find("(('a', 1.5))"), std::string::npos) << printed;
}

TEST(CodeFunctions, RefuseWhatIsNoCode) {
  for (PyMethodDef* function = code_functions(); function->ml_name;
       ++function) {
    Ref result = Ref::steal(function->ml_meth(nullptr, Py_None));
    EXPECT_FALSE(result);
    EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_TypeError));
    PyErr_Clear();
  }
}

TEST(CodeFunctions, MalformedCodeIsAValueError) {
  const Program program(
      "def f(): pass\n"
      "f.__code__ = f.__code__.replace(co_code=b'\\x64\\0\\x6e\\x30')\n");
  for (PyMethodDef* function = code_functions(); function->ml_name;
       ++function) {
    Ref result = Ref::steal(function->ml_meth(
        nullptr, reinterpret_cast<PyObject*>(program.code("f"))));
    EXPECT_FALSE(result) << function->ml_name;
    EXPECT_TRUE(PyErr_ExceptionMatches(PyExc_ValueError));
    PyErr_Clear();
  }
}

}  // namespace
}  // namespace magneto::python
