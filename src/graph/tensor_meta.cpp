// SPDX-License-Identifier: BSD-3-Clause
#include "graph/tensor_meta.h"

namespace magneto::graph {

namespace {

const MetadataReader* metadata_reader = nullptr;

}  // namespace

void set_metadata_reader(const MetadataReader* reader) {
  metadata_reader = reader;
}

std::span<const TensorMeta> ResultMetadata::of(NodeId id) {
  if (entries_.size() < graph_.node_count()) {
    entries_.resize(graph_.node_count());
  }
  Entry& entry = entries_[id.index];
  if (!entry.is_read) {
    entry.is_read = true;
    if (PyObject* example = graph_.node(id).example) {
      collect(example, entry.tensors);
    }
  }
  return entry.tensors;
}

void ResultMetadata::collect(PyObject* object,
                             std::vector<TensorMeta>& tensors) const {
  TensorMeta meta;
  if (reader_ != nullptr && reader_->read(object, meta)) {
    tensors.push_back(std::move(meta));
  } else if (PyTuple_Check(object) || PyList_CheckExact(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i) {
      collect(PySequence_Fast_GET_ITEM(object, i), tensors);
    }
  } else if (PyDict_CheckExact(object)) {
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value) != 0;) {
      collect(value, tensors);
    }
  }
}

NodeId ResultMetadata::storage_owner(NodeId id) {
  find_owners();
  for (const TensorMeta& tensor : of(id)) {
    const auto owner = owners_.find(tensor.storage);
    if (owner != owners_.end()) return owner->second;
  }
  return {};
}

void ResultMetadata::find_owners() {
  if (has_owners_) return;
  has_owners_ = true;
  // Inputs are there before every call, wherever they stand.
  const auto add = [this](NodeId id) {
    for (const TensorMeta& tensor : of(id)) {
      if (tensor.storage != 0) owners_.try_emplace(tensor.storage, id);
    }
  };
  for (const Input& input : graph_.inputs()) add(input.node);
  for (NodeId id : graph_.live()) add(id);
}

NodeId ResultMetadata::first_with_same_result(NodeId id) const {
  PyObject* result = graph_.node(id).example;
  if (result == nullptr) return id;
  for (const Input& input : graph_.inputs()) {
    if (graph_.node(input.node).example.get() == result) return input.node;
  }
  for (NodeId other : graph_.live()) {
    if (graph_.node(other).example.get() == result) return other;
  }
  return id;
}

ResultMetadata& metadata_of(const Graph& graph) {
  MG_CHECK(graph.is_sealed(), "what is still traced changes");
  if (!graph.metadata_) {
    graph.metadata_ = std::make_unique<ResultMetadata>(graph, metadata_reader);
  }
  return *graph.metadata_;
}

}  // namespace magneto::graph
