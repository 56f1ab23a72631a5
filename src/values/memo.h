// SPDX-License-Identifier: BSD-3-Clause
// What the Context remembers of this trace so that one object is one value.
// Journaled through the Context: rollback forgets what was learnt since.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "values/context.h"

namespace magneto::values {

struct Context::Memo {
  enum What : uint64_t { kSeen, kLooked, kFake, kToken, kNumber, kOwnKey };

  std::unordered_map<PyObject*, V> seen;  // caller's objects with identity
  // Instances' own dictionaries -> whose. Not undone: what is too much here can
  // only be in the way of a dictionary that is an instance's.
  std::unordered_map<PyObject*, PyObject*> instance_dicts;
  // Classes' dictionaries that the program asked for -> whose. Not undone.
  std::unordered_map<PyObject*, PyTypeObject*> class_dicts;
  std::unordered_map<V, V> looked;          // lazy -> looked at
  std::unordered_map<PyObject*, V> fakes;   // fake tensor -> its value
  std::unordered_map<V, PyObject*> tokens;  // identity tokens
  std::unordered_map<shapes::E, graph::NodeId> numbers;  // those in the graph
  // Keys in the order of insertion, for undo.
  std::vector<PyObject*> objects;
  std::vector<V> values;
  std::vector<shapes::E> expressions;
  V integers[262] = {};  // -5 .. 256; never undone
};

}  // namespace magneto::values
