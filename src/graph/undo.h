// SPDX-License-Identifier: BSD-3-Clause
// What the records say that a graph leaves in the journal. Included only by the
// graph's own .cpp files.
#pragma once

#include <cstdint>

namespace magneto::graph {

enum Undo : uint64_t {
  kUndoNode,
  kUndoHint,     // of the node given
  kUndoExample,  // of the node given
  kUndoNested,   // a nested graph was added
  kUndoAdopted,  // this nested graph was, by the one around its parent
  kUndoName,     // this nested graph was installed
  kUndoOrder,    // of the inputs
};

}  // namespace magneto::graph
