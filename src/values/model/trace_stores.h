// SPDX-License-Identifier: BSD-3-Clause
// The stores of one trace: all that changes while tracing, each write of which
// the journal takes back. What is only ever added to, and would mean the same
// after a rollback (sources, the arena), needs no journal.
#pragma once

#include <memory>

#include "graph/graph.h"
#include "graph/tracer.h"
#include "guards/guard.h"
#include "guards/source.h"
#include "support/arena.h"
#include "support/journal.h"
#include "support/journaled.h"
#include "tensor/default_device.h"
#include "tensor/fake_tensor.h"
#include "values/model/cached_calls.h"
#include "values/model/deferred_calls.h"
#include "values/model/entered_contexts.h"
#include "values/model/given_tensors.h"
#include "values/model/heap.h"
#include "values/model/value.h"

namespace magneto::values {

// A tensor that a body of an operator has taken from outside, and how it was
// then.
struct TakenTensor {
  PyObject* fake;  // kept alive by the trace
  int64_t version;
  bool was_written;  // its memory
};

// What x[i] means where `i` is a tensor of one integer.
enum class ItemsBy : uint8_t {
  Number,         // the item with that number
  Position,       // a gather, as within TransformGetItemToIndex of PyTorch
  PositionLater,  // the same: the graph is called within it
};

struct TraceStores {
  explicit TraceStores(Callers* callers) : heap(journal, callers) {}
  TraceStores(const TraceStores&) = delete;
  TraceStores& operator=(const TraceStores&) = delete;

  Arena arena;
  Journal journal;
  guards::SourceTable sources;
  guards::GuardSet guards{journal};
  tensor::DefaultDevices default_devices;
  EnteredContexts entered_contexts;
  Heap heap;
  CachedCalls cached_calls;
  DeferredCalls deferred_calls;
  // The backend takes it over when the trace is done.
  std::unique_ptr<graph::Graph> owned_graph =
      std::make_unique<graph::Graph>(&journal);
  // What is being traced of it and of the graphs nested in it.
  graph::Tracer tracer{*owned_graph, &journal};
  // The one that calls are recorded in.
  graph::Graph& graph() { return tracer.graph(); }
  const graph::Graph& graph() const { return tracer.graph(); }
  tensor::FakeInputs fakes{&journal};
  GivenTensors given_tensors{journal};
  // Those of the caller's that were keys, told by identity: guard_identities().
  JournaledList<V> object_keys{journal};
  JournaledList<TakenTensor> taken_tensors{journal};
  JournaledValue<ItemsBy> items_by{journal};
  // Tensors that the graph computes and whose requires_grad it has set.
  JournaledList<V> set_leaves{journal};
  JournaledValue<bool> has_fixed_objects{journal};  // see Wrapping::fixed()
};

}  // namespace magneto::values
