// SPDX-License-Identifier: BSD-3-Clause
#include "python/code_object.h"

#include <memory>
#include <new>
#include <string>

#include "support/check.h"

namespace magneto::python {
namespace {

using bytecode::Code;
using bytecode::EncodedCode;
using bytecode::Handler;
using bytecode::RawCode;

std::span<const uint8_t> bytes_of(PyObject* bytes) {
  return {reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)),
          static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

RawCode raw_code(PyCodeObject* code) {
  RawCode raw;
  // The buffer that the interpreter runs and specialises: decode() reads
  // through that, and so needs no copy as co_code is one.
  raw.bytecode = {reinterpret_cast<const uint8_t*>(_PyCode_CODE(code)),
                  static_cast<size_t>(_PyCode_NBYTES(code))};
  raw.exception_table = bytes_of(code->co_exceptiontable);
  raw.line_table = bytes_of(code->co_linetable);
  raw.first_line = code->co_firstlineno;
  raw.stack_size = code->co_stacksize;
  raw.local_count = code->co_nlocalsplus;
  return raw;
}

void free_decoded(void* extra) noexcept { delete static_cast<Code*>(extra); }

// The place in every code object's co_extra that is ours.
Py_ssize_t extra_index() {
  static const Py_ssize_t index = _PyEval_RequestCodeExtraIndex(free_decoded);
  MG_CHECK(index >= 0, "CPython must have a place left in co_extra");
  return index;
}

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

EncodedCode encode_again(const Code& code) {
  return bytecode::encode(code.instructions, code.position_table(),
                          code.handlers, code.first_line);
}

bool same_instructions(const Code& a, const Code& b) {
  return std::equal(a.instructions.begin(), a.instructions.end(),
                    b.instructions.begin(), b.instructions.end(),
                    [](const auto& x, const auto& y) {
                      return x.op == y.op && x.arg == y.arg && x.aux == y.aux &&
                             x.offset == y.offset;
                    });
}

// The first thing that differs; empty when nothing does.
std::string roundtrip_difference(PyCodeObject* code) {
  const Code& before = decoded(code);
  const EncodedCode encoded = encode_again(before);
  RawCode raw;
  raw.bytecode = encoded.bytecode;
  raw.exception_table = encoded.exception_table;
  raw.line_table = encoded.line_table;
  raw.first_line = encoded.first_line;
  raw.local_count = before.local_count;
  const Code after = bytecode::decode(raw);
  if (!same_instructions(before, after)) return "instructions";
  if (before.position_table() != after.position_table()) return "positions";
  if (before.handlers != after.handlers) return "handlers";
  Ref plain = Ref::steal(PyCode_GetCode(code));
  if (!plain) return "co_code";
  auto same = [](const std::vector<uint8_t>& ours, PyObject* theirs) {
    const auto expected = bytes_of(theirs);
    return std::equal(ours.begin(), ours.end(), expected.begin(),
                      expected.end());
  };
  if (!same(encoded.bytecode, plain)) return "bytecode";
  if (!same(encoded.exception_table, code->co_exceptiontable)) {
    return "exception table";
  }
  if (!same(encoded.line_table, code->co_linetable)) return "line table";
  if (encoded.stack_size != code->co_stacksize) {
    return "stack size " + std::to_string(encoded.stack_size) + " for " +
           std::to_string(code->co_stacksize);
  }
  return {};
}

}  // namespace

const Code& decoded(PyCodeObject* code) {
  auto* object = reinterpret_cast<PyObject*>(code);
  void* extra = nullptr;
  MG_CHECK(_PyCode_GetExtra(object, extra_index(), &extra) == 0,
           "co_extra must be readable");
  if (extra == nullptr) {
    auto made = std::make_unique<Code>(bytecode::decode(raw_code(code)));
    MG_CHECK(_PyCode_SetExtra(object, extra_index(), made.get()) == 0,
             "co_extra must be writable");
    extra = made.release();
  }
  return *static_cast<const Code*>(extra);
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

PyObject* roundtrip_code(PyObject* code) noexcept {
  if (!PyCode_Check(code)) {
    PyErr_SetString(PyExc_TypeError, "roundtrip_code() takes a code object");
    return nullptr;
  }
  std::string difference;
  try {
    difference = roundtrip_difference(reinterpret_cast<PyCodeObject*>(code));
  } catch (const InternalError& error) {
    difference = error.what();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  if (PyErr_Occurred()) return nullptr;
  if (difference.empty()) Py_RETURN_NONE;
  return PyUnicode_FromStringAndSize(
      difference.data(), static_cast<Py_ssize_t>(difference.size()));
}

}  // namespace magneto::python
