// SPDX-License-Identifier: BSD-3-Clause
// What a guard program is made of: one node per source that is read, in the
// preorder of the source tree, each with the checks on its value.
#pragma once

#include <cstdint>
#include <span>

#include "guards/guard.h"
#include "guards/source.h"

namespace magneto::guards {

// Objects are watched or held by the program.
using KeyList = std::span<PyObject* const>;

struct Check {
  GuardKind kind;
  int64_t number = 0;  // the guard's
  // What the kind keeps (see Keeps); the others are null or empty.
  PyObject* object = nullptr;
  const void* snapshot = nullptr;
  KeyList keys;
};

// A node's number is its slot. Its subtree is [node, end).
struct Node {
  Source source;  // base is the number of a node
  uint32_t end;
  uint32_t first_check;
  uint32_t last_check;  // one past
  bool must_be_absent;
};

}  // namespace magneto::guards
