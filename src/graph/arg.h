// SPDX-License-Identifier: BSD-3-Clause
// Arguments of a node: a tree whose leaves are nodes and constants. An Arg is a
// plain 16-byte value; what it points to (nested arrays, constant objects) is
// owned by the Graph that made it and lives as long as that graph, rollbacks
// included.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>

#include "support/strong_id.h"

namespace magneto::graph {

using NodeId = StrongId<struct NodeTag>;

enum class ArgTag : uint8_t {
  Constant,  // object
  Node,      // the value that node() computes
  Tuple,     // items()
  List,      // items()
  Dict,      // items(): key, value, key, value, ...
  Slice,     // items(): start, stop, step
};

class Arg {
 public:
  // An Arg that was not given; only Graph makes meaningful constants.
  constexpr Arg() : tag_(ArgTag::Constant), size_(0), object_(nullptr) {}
  constexpr Arg(NodeId node)
      : tag_(ArgTag::Node), size_(node.index), object_(nullptr) {}

  ArgTag tag() const { return tag_; }
  bool is_node() const { return tag_ == ArgTag::Node; }
  bool is_constant() const { return tag_ == ArgTag::Constant; }
  NodeId node() const { return NodeId{size_}; }
  PyObject* constant() const { return object_; }
  // The parts of a Tuple, List, Dict or Slice; empty for leaves.
  std::span<const Arg> items() const {
    if (tag_ == ArgTag::Node || tag_ == ArgTag::Constant) return {};
    return {items_, size_};
  }

 private:
  friend class Graph;
  constexpr Arg(ArgTag tag, const Arg* items, uint32_t size)
      : tag_(tag), size_(size), items_(items) {}
  explicit constexpr Arg(PyObject* constant)
      : tag_(ArgTag::Constant), size_(0), object_(constant) {}

  ArgTag tag_;
  uint32_t size_;  // a NodeId for Node, else the number of items
  union {
    PyObject* object_;
    const Arg* items_;
  };
};
static_assert(sizeof(Arg) == 16);

struct Keyword {
  PyObject* name;  // str, borrowed by callers, kept alive by the graph
  Arg value;
};

}  // namespace magneto::graph
