// SPDX-License-Identifier: BSD-3-Clause
// What a compiled piece calls: the graph as a backend has compiled it. A Python
// backend gives a callable; a captured graph that is run as it is needs no call
// through Python, and a backend in C++ needs none either.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "python/ref.h"

namespace magneto::graph {

class CompiledGraph {
 public:
  CompiledGraph() = default;
  virtual ~CompiledGraph() = default;
  CompiledGraph(const CompiledGraph&) = delete;
  CompiledGraph& operator=(const CompiledGraph&) = delete;

  // `inputs`: borrowed objects, with one more place in front of the first that
  // the callee may use. Writes new references to `outputs`, as many as the
  // graph gives; false with a Python error set, and nothing written. Runs user
  // code; may be called by several threads, and within itself.
  virtual bool run(std::span<PyObject*> inputs,
                   std::span<PyObject*> outputs) const noexcept = 0;
  // What Python sees of it, borrowed; null if there is nothing to see.
  virtual PyObject* callable() const { return nullptr; }
};

// The graph behind a callable that a backend has given: the graph's own runner
// where that is all there is, else a call of it, which must give a tuple or
// list of the outputs.
std::unique_ptr<CompiledGraph> compiled_graph_of(Ref callable);

}  // namespace magneto::graph
