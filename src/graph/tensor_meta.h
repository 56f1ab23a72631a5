// SPDX-License-Identifier: BSD-3-Clause
// What is known of the tensors that a node computes, as plain data: for passes
// that ask for dtypes, sizes and shared memory without calling Python.
//
// It is read from the node's example when it is first asked for, so tracing
// pays nothing for it. What changes a tensor's metadata in place (t_(),
// resize_(), requires_grad_()) changes the example of the node that made the
// tensor: it then has what it was left with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"

namespace magneto::graph {

// A size, a stride or an offset.
struct Extent {
  // Where it isn't known: the expression that it is, of the shape environment
  // of the trace (a shapes::E, which this room doesn't know). It lives as long
  // as the node's example.
  const void* expression = nullptr;
  // The number, or the expression's value in the call that was traced; none if
  // only the graph's run tells.
  std::optional<int64_t> value;

  bool is_known() const { return expression == nullptr; }
};

struct TensorMeta {
  int8_t scalar_type = 0;    // c10::ScalarType
  int8_t device_type = 0;    // c10::DeviceType
  int8_t device_index = -1;  // -1: none
  int8_t layout = 0;         // c10::Layout
  bool requires_grad = false;
  std::vector<Extent> sizes;
  std::vector<Extent> strides;  // empty where the layout has none
  Extent storage_offset;
  uintptr_t storage = 0;  // equal for tensors that share one; 0: it has none
};

// Implemented in the room that knows tensors.
class MetadataReader {
 public:
  // False: `object` is no tensor.
  virtual bool read(PyObject* object, TensorMeta& meta) const = 0;

 protected:
  ~MetadataReader() = default;
};

// For all graphs of the process; it must outlive them. Null: nothing is known.
void set_metadata_reader(const MetadataReader* reader);

class ResultMetadata {
 public:
  ResultMetadata(const Graph& graph, const MetadataReader* reader)
      : graph_(graph), reader_(reader) {}

  // One for each tensor in the node's result, those in tuples, lists and dicts
  // one after another. Valid until the graph is edited.
  std::span<const TensorMeta> of(NodeId id);

  // The first node, in the order in which they run, with a tensor whose storage
  // one of this node's tensors shares: what a view is of, or what was written
  // in place. The node itself if its memory is its own; invalid if it has none.
  NodeId storage_owner(NodeId id);

  // The first node whose result is the very same object: what a call in place
  // gave back. The node itself if there is none before it.
  NodeId first_with_same_result(NodeId id) const;

 private:
  struct Entry {
    bool is_read = false;
    std::vector<TensorMeta> tensors;
  };
  void collect(PyObject* object, std::vector<TensorMeta>& tensors) const;
  void find_owners();

  const Graph& graph_;
  const MetadataReader* reader_;
  std::vector<Entry> entries_;  // by NodeId
  bool has_owners_ = false;
  std::unordered_map<uintptr_t, NodeId> owners_;  // by storage
};

// Of a sealed graph; kept there until it is edited.
ResultMetadata& metadata_of(const Graph& graph);

}  // namespace magneto::graph
