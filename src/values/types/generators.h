// SPDX-License-Identifier: BSD-3-Clause
// Generators that the trace made: Generator values whose number says which of
// the capture's suspended frames is theirs.
#pragma once

#include <cstddef>

namespace magneto::values {

// What a generator is called.
enum GeneratorSlot : size_t { kGeneratorName, kGeneratorQualifiedName };

}  // namespace magneto::values
