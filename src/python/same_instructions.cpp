// SPDX-License-Identifier: BSD-3-Clause
#include "python/same_instructions.h"

#include "bytecode/version.h"
#include "python/code_units.h"
#include "python/raw_code.h"

namespace magneto::python {

bool same_instructions(PyCodeObject* a, PyCodeObject* b) noexcept {
  const auto x = raw_code(a).bytecode;
  const auto y = raw_code(b).bytecode;
  if (x.size() != y.size()) return false;
  const auto& opcodes = bytecode::running_version().opcodes;
  for (size_t i = 0; i < x.size(); i += kBytesOfUnit) {
    const bytecode::RawInfo& info = opcodes[x[i]];
    if (info.base != opcodes[y[i]].base || x[i + 1] != y[i + 1]) return false;
    i += static_cast<size_t>(byte_of(info.caches));
  }
  return true;
}

}  // namespace magneto::python
