// SPDX-License-Identifier: BSD-3-Clause
#include "python/raw_code.h"

#include "python/v311/only.h"

namespace magneto::python {
namespace {

std::span<const uint8_t> bytes_of(PyObject* bytes) {
  return {reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes)),
          static_cast<size_t>(PyBytes_GET_SIZE(bytes))};
}

}  // namespace

bytecode::RawCode raw_code(PyCodeObject* code) noexcept {
  bytecode::RawCode raw;
  raw.bytecode = {reinterpret_cast<const uint8_t*>(_PyCode_CODE(code)),
                  static_cast<size_t>(_PyCode_NBYTES(code))};
  raw.exception_table = bytes_of(code->co_exceptiontable);
  raw.line_table = bytes_of(code->co_linetable);
  raw.first_line = code->co_firstlineno;
  raw.stack_size = code->co_stacksize;
  raw.local_count = code->co_nlocalsplus;
  return raw;
}

}  // namespace magneto::python
