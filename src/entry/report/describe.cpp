// SPDX-License-Identifier: BSD-3-Clause
#include "entry/report/describe.h"

#include "bytecode/disassemble.h"
#include "python/code_object.h"
#include "support/check.h"

namespace magneto::entry {
namespace {

std::string text_or(Ref object, const char* otherwise) {
  const char* text = object ? PyUnicode_AsUTF8(object) : nullptr;
  if (text) return text;
  PyErr_Clear();
  return otherwise;
}

// A constant's repr, which is C code for all that compilers make. Code objects
// are shown without their address.
std::string constant_text(PyObject* constant) {
  if (PyCode_Check(constant))
    return "code of " +
           text_or(Ref::share(
                       reinterpret_cast<PyCodeObject*>(constant)->co_qualname),
                   "?");
  Py_ssize_t size = PyTuple_Check(constant) ? PyTuple_GET_SIZE(constant) : 0;
  for (Py_ssize_t i = 0; i < size; ++i)
    if (PyCode_Check(PyTuple_GET_ITEM(constant, i))) return "constants";
  if (Py_IS_TYPE(constant, &PyBaseObject_Type)) return "jump token";
  return text_or(Ref::steal(PyObject_Repr(constant)), "?");
}

// A list of (text, stack).
Ref shape_guards(const guards::GuardProgram& guards) {
  Ref list = Ref::steal(PyList_New(0));
  for (const auto& [text, stack] : guards.describe_numbers()) {
    const Ref places = stack_object(stack);
    Ref pair = Ref::steal(
        places ? Py_BuildValue("(sO)", text.c_str(), places.get()) : nullptr);
    if (!list || !pair || PyList_Append(list, pair) != 0) return nullptr;
  }
  return list;
}

}  // namespace

std::string bytecode_text(PyCodeObject* code) {
  auto item = [](PyObject* tuple, int32_t index) {
    return PyTuple_GET_ITEM(tuple, index);
  };
  const bytecode::Symbols symbols{
      .constant =
          [&](int32_t i) { return constant_text(item(code->co_consts, i)); },
      .name =
          [&](int32_t i) {
            return text_or(Ref::share(item(code->co_names, i)), "?");
          },
      .local =
          [&](int32_t i) {
            return text_or(Ref::share(item(code->co_localsplusnames, i)), "?");
          },
  };
  return bytecode::disassemble(python::decoded(code), symbols);
}

void report_entry(const CodeCache& cache, const Entry& entry,
                  const values::BreakInfo& info, const Ref& symbols) {
  MG_CHECK(entry.program, "only entries with a program are reported");
  PyCodeObject* code = cache.point().code;
  const Ref numbers = shape_guards(*entry.guards);
  Details details;
  details.add_place(code, cache.point().start)
      .add("start", static_cast<int64_t>(cache.point().start))
      .add("guards", entry.guards->describe())
      .add("shape_guards", numbers.get())
      .add("symbols", symbols.get())
      .add("bytecode", bytecode_text(code))
      .add("program", entry.program->print());
  const graph::CompiledGraph* graph = entry.program->graph();
  if (graph && graph->callable()) details.add("graph", graph->callable());
  if (entry.rest)
    details.add("island", bytecode_text(entry.rest->island->code));
  report("compiled", cache, details);
  if (!entry.rest) return;
  Details where;
  where.add_break(info).add_place(code, entry.rest->index);
  report("graph_break", cache, where);
}

}  // namespace magneto::entry
