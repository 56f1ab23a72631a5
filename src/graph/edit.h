// SPDX-License-Identifier: BSD-3-Clause
// Changes to a finished graph. The graph must be sealed; no journal hears of
// them. A node keeps its id as long as the graph lives, erased or not, and new
// ones get higher ids wherever they stand, so from the first insertion on the
// order in which nodes run is Graph::at() and Graph::live(), not that of ids.
// Debug builds verify the graph after each function.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/verify.h"

namespace magneto::graph {

// Whatever uses `node` uses `by` instead, a node or a constant, which must be
// computed before all of them. How many uses there were.
size_t replace_uses(Graph& graph, NodeId node, const Arg& by);

// Records nodes before another one, by Graph's own functions:
//
//   insert_before(graph, y, [&](Graph& g) { return g.call_function(...); });
//
// What `record` returns.
template <class Record>
auto insert_before(Graph& graph, NodeId before, Record record);

// Erases nodes that nobody uses any more but others among them; placeholders
// cease to be inputs. A nested graph stays where it is, also when the last node
// that reads it goes.
void erase(Graph& graph, std::span<const NodeId> nodes);
inline void erase(Graph& graph, NodeId node) { erase(graph, {&node, 1}); }

// A sealed copy, nested graphs included, that shares nothing with the original
// but Python objects. Nodes keep their ids; the copy of a nested graph is a
// root, with inputs instead of lifted values.
std::unique_ptr<Graph> clone(const Graph& graph);

struct Extracted {
  std::unique_ptr<Graph> graph;  // sealed; it returns a tuple
  // Nodes of the original: one for each input, and one for each output.
  std::vector<NodeId> inputs;
  std::vector<NodeId> outputs;
};

// A copy of the nodes from `first` to `last`, in the order in which they run,
// as a graph of its own. Its inputs are the outer values that they use, its
// outputs those of their values that are used behind them. Nodes that read
// attributes or nested graphs come along instead of becoming inputs. The
// original stays as it is.
Extracted extract(const Graph& graph, NodeId first, NodeId last);

// -----------------------------------------------------------------------------

// While it lives, what is recorded stands before a node.
class InsertionPoint {
 public:
  InsertionPoint(Graph& graph, NodeId before) : graph_(graph) {
    graph_.set_insertion_point(before);
  }
  ~InsertionPoint() { graph_.set_insertion_point({}); }
  InsertionPoint(const InsertionPoint&) = delete;
  InsertionPoint& operator=(const InsertionPoint&) = delete;

 private:
  Graph& graph_;
};

template <class Record>
auto insert_before(Graph& graph, NodeId before, Record record) {
  auto result = [&] {
    const InsertionPoint here(graph, before);
    return record(graph);
  }();
  check_sound(graph, "an insertion");
  return result;
}

}  // namespace magneto::graph
