// SPDX-License-Identifier: BSD-3-Clause
#include "python/code_functions.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "bytecode/decode.h"
#include "bytecode/encode.h"
#include "python/code_object.h"
#include "support/check.h"

namespace magneto::python {
namespace {

using bytecode::Code;
using bytecode::EncodedCode;

EncodedCode encode_again(const Code& code) {
  return bytecode::encode(bytecode::running_version(), code.instructions,
                          code.position_table(), code.handlers,
                          code.first_line);
}

bool same_bytes(const std::vector<uint8_t>& ours, PyObject* theirs) {
  const auto* data =
      reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(theirs));
  return std::equal(ours.begin(), ours.end(), data,
                    data + PyBytes_GET_SIZE(theirs));
}

// The first thing that differs; empty when nothing does.
std::string roundtrip_difference(PyCodeObject* code) {
  const Code& before = decoded(code);
  const EncodedCode encoded = encode_again(before);
  bytecode::RawCode raw;
  raw.bytecode = encoded.bytecode;
  raw.exception_table = encoded.exception_table;
  raw.line_table = encoded.line_table;
  raw.first_line = encoded.first_line;
  raw.local_count = before.local_count;
  const Code after = bytecode::decode(bytecode::running_version(), raw);
  if (before.instructions != after.instructions) return "instructions";
  if (before.position_table() != after.position_table()) return "positions";
  if (before.handlers != after.handlers) return "handlers";
  // co_code: as compiled, whatever the interpreter has specialised since.
  Ref plain = Ref::steal(PyCode_GetCode(code));
  if (!plain) return "co_code";
  if (!same_bytes(encoded.bytecode, plain)) return "bytecode";
  if (!same_bytes(encoded.exception_table, code->co_exceptiontable)) {
    return "exception table";
  }
  if (!same_bytes(encoded.line_table, code->co_linetable)) return "line table";
  // CPython counts what can't be reached as well.
  if (encoded.stack_size > code->co_stacksize) return "stack size";
  return {};
}

Ref to_str(const std::string& text) {
  return Ref::steal(PyUnicode_FromStringAndSize(
      text.data(), static_cast<Py_ssize_t>(text.size())));
}

// Runs `function` on a code object; C++ exceptions become Python's.
template <class Function>
PyObject* on_code(PyObject* argument, Function function) noexcept {
  if (!PyCode_Check(argument)) {
    PyErr_Format(PyExc_TypeError, "expected a code object, got %.200s",
                 Py_TYPE(argument)->tp_name);
    return nullptr;
  }
  try {
    Ref result = function(reinterpret_cast<PyCodeObject*>(argument));
    return result.release();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
    return nullptr;
  }
}

PyObject* roundtrip_code(PyObject*, PyObject* argument) noexcept {
  return on_code(argument, [](PyCodeObject* code) -> Ref {
    const std::string difference = roundtrip_difference(code);
    if (PyErr_Occurred()) return nullptr;
    return difference.empty() ? Ref::share(Py_None) : to_str(difference);
  });
}

PyObject* rebuild_code(PyObject*, PyObject* argument) noexcept {
  return on_code(argument, [](PyCodeObject* code) {
    return make_code(code, encode_again(decoded(code)), {});
  });
}

PyObject* disassemble_code(PyObject*, PyObject* argument) noexcept {
  return on_code(argument,
                 [](PyCodeObject* code) { return to_str(disassembly(code)); });
}

}  // namespace

PyMethodDef* code_functions() {
  static PyMethodDef functions[] = {
      {"roundtrip_code", roundtrip_code, METH_O,
       "roundtrip_code(code, /)\n--\n\nWhat decoding and encoding a code "
       "object changes; None: nothing."},
      {"rebuild_code", rebuild_code, METH_O,
       "rebuild_code(code, /)\n--\n\nThe code object, decoded and encoded."},
      {"disassemble_code", disassemble_code, METH_O,
       "disassemble_code(code, /)\n--\n\nThe canonical instructions of a code "
       "object, as text."},
      {nullptr, nullptr, 0, nullptr}};
  return functions;
}

}  // namespace magneto::python
