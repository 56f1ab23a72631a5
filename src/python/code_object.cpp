// SPDX-License-Identifier: BSD-3-Clause
#include "python/code_object.h"

#include <memory>

#include "bytecode/disassemble.h"
#include "python/code_extra.h"
#include "python/raw_code.h"
#include "support/check.h"

namespace magneto::python {
namespace {

using bytecode::Code;
using bytecode::EncodedCode;
using bytecode::RawCode;

Ref bytes(const std::vector<uint8_t>& data) {
  return Ref::steal(
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(data.data()),
                                static_cast<Py_ssize_t>(data.size())));
}

PyObject* or_else(PyObject* changed, PyObject* original) {
  return changed ? changed : original;
}
int or_else(int changed, int original) {
  return changed >= 0 ? changed : original;
}

// Borrowed; null when there is none.
PyObject* item(PyObject* tuple, int32_t index) {
  return index < PyTuple_GET_SIZE(tuple) ? PyTuple_GET_ITEM(tuple, index)
                                         : nullptr;
}

std::string text(PyObject* str) {
  if (str == nullptr) return "?";
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(str, &size);
  if (data == nullptr) PyErr_Clear();  // a lone surrogate in a name
  return data ? std::string(data, static_cast<size_t>(size)) : "?";
}

bool has_plain_repr(PyObject* object) {
  if (PyTuple_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
      if (!has_plain_repr(PyTuple_GET_ITEM(object, i))) return false;
    }
    return true;
  }
  return object == Py_None || object == Py_Ellipsis || PyBool_Check(object) ||
         PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
         PyComplex_CheckExact(object) || PyUnicode_CheckExact(object) ||
         PyBytes_CheckExact(object);
}

std::string constant_text(PyObject* object) {
  if (object == nullptr) return "?";
  if (PyCode_Check(object)) {
    auto* code = reinterpret_cast<PyCodeObject*>(object);
    return "<code " + text(code->co_qualname) + ">";
  }
  if (!has_plain_repr(object)) {
    return "<" + std::string(Py_TYPE(object)->tp_name) + ">";
  }
  Ref repr = Ref::steal(PyObject_Repr(object));
  if (!repr) PyErr_Clear();
  return repr ? text(repr) : "?";
}

}  // namespace

const Code& decoded(PyCodeObject* code) {
  return code_extra<Code>(code, [code] {
    return std::make_unique<Code>(
        bytecode::decode(bytecode::running_version(), raw_code(code)));
  });
}

Ref make_code(PyCodeObject* like, const EncodedCode& encoded,
              const CodeChanges& changes) {
  Ref code_bytes = bytes(encoded.bytecode);
  Ref line_table = bytes(encoded.line_table);
  Ref exception_table = bytes(encoded.exception_table);
  Ref varnames = Ref::steal(PyCode_GetVarnames(like));
  Ref cellvars = Ref::steal(PyCode_GetCellvars(like));
  Ref freevars = Ref::steal(PyCode_GetFreevars(like));
  if (!code_bytes || !line_table || !exception_table || !varnames ||
      !cellvars || !freevars) {
    return nullptr;
  }
  PyObject* new_varnames = or_else(changes.varnames, varnames);
  return Ref::steal(reinterpret_cast<PyObject*>(PyCode_NewWithPosOnlyArgs(
      or_else(changes.argcount, like->co_argcount),
      or_else(changes.posonly_argcount, like->co_posonlyargcount),
      or_else(changes.kwonly_argcount, like->co_kwonlyargcount),
      static_cast<int>(PyTuple_GET_SIZE(new_varnames)), encoded.stack_size,
      or_else(changes.flags, like->co_flags), code_bytes,
      or_else(changes.consts, like->co_consts),
      or_else(changes.names, like->co_names), new_varnames,
      or_else(changes.freevars, freevars), or_else(changes.cellvars, cellvars),
      like->co_filename, or_else(changes.name, like->co_name),
      or_else(changes.qualname, like->co_qualname), encoded.first_line,
      line_table, exception_table)));
}

EncodedCode join(PyCodeObject* code, const EncodedCode& more) {
  const Ref bytecode = Ref::steal(PyCode_GetCode(code));
  MG_CHECK(bytecode, "co_code must be readable");
  RawCode raw = raw_code(code);
  raw.bytecode = {
      reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytecode.get())),
      static_cast<size_t>(PyBytes_GET_SIZE(bytecode.get()))};
  return bytecode::join(bytecode::running_version(), raw, more);
}

std::string disassembly(PyCodeObject* code) {
  bytecode::Symbols symbols;
  symbols.constant = [code](int32_t index) {
    return constant_text(item(code->co_consts, index));
  };
  symbols.name = [code](int32_t index) {
    return text(item(code->co_names, index));
  };
  symbols.local = [code](int32_t index) {
    return text(item(code->co_localsplusnames, index));
  };
  return bytecode::disassemble(decoded(code), symbols);
}

}  // namespace magneto::python
