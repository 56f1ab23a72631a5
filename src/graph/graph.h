// SPDX-License-Identifier: BSD-3-Clause
// The graph that a trace records: the calls that the user's program made
// (Torch IR), over inputs that are found while tracing.
//
// While tracing it is append-only and journaled: rolling back truncates. After
// seal() it no longer knows the journal, and passes edit it in place. All
// functions need the GIL; none runs user code, except that objects may die when
// nodes are dropped.
//
//   NodeId x = graph.placeholder({.source = 3, .source_name = "L['x']"}, fake);
//   NodeId y = graph.call_function(torch_add, {{x, graph.constant(one)}}, {},
//                                  std::move(result), {location, scope});
//   graph.output(graph.tuple({{y}}));
//
// Objects given as bare pointers are borrowed; the graph makes references of
// its own. Names (`l_x_`, `add_1`) are assigned by names.h at the end.
//
// Nested graphs are the bodies that operators such as torch.ops.higher_order.
// cond call. A graph owns those that are nested in it. All graphs of a tree
// share a journal, the list of locations and scopes, and the memory that
// arguments are made in: an Arg without nodes is good in each of them. Nodes,
// inputs and the output are a graph's own, and no node uses one of another
// graph: outer values are lifted (tracer.h).
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/node.h"
#include "support/arena.h"
#include "support/journal.h"

namespace magneto::graph {

class Graph;
class ResultMetadata;

// Hears of each call as it is recorded; those that a rollback drops as well.
class CallListener {
 public:
  virtual void recorded(const Graph& graph, NodeId call) = 0;

 protected:
  ~CallListener() = default;
};

class Graph final : public UnseenJournaled {
 public:
  // A root. `journal` may be null: then nothing can be rolled back.
  explicit Graph(Journal* journal = nullptr);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Arguments -----------------------------------------------------------------
  Arg constant(PyObject* object);
  Arg none() { return constant(Py_None); }
  Arg tuple(std::span<const Arg> items);
  Arg list(std::span<const Arg> items);
  // key, value, key, value, ...
  Arg dict(std::span<const Arg> keys_and_values);
  Arg slice(Arg start, Arg stop, Arg step);
  // Whichever of them the tag says.
  Arg container(ArgTag tag, std::span<const Arg> items);
  Arg tuple(std::initializer_list<Arg> items) {
    return tuple(std::span<const Arg>{items.begin(), items.size()});
  }
  Arg list(std::initializer_list<Arg> items) {
    return list(std::span<const Arg>{items.begin(), items.size()});
  }

  // Origins -------------------------------------------------------------------
  // Repeating the last call is free. Not journaled: unused entries do no harm.
  LocationId location(PyCodeObject* code, int instruction, LocationId caller);
  ScopeId scope(const void* module, std::string_view path, PyTypeObject* type,
                ScopeId parent);

  // Recording -----------------------------------------------------------------
  NodeId placeholder(const InputSpec& spec, Ref example, Origin origin = {});
  NodeId get_attr(PyObject* name, PyObject* value, Ref example,
                  Origin origin = {});
  NodeId call_function(PyObject* target, std::span<const Arg> args,
                       std::span<const Keyword> kwargs, Ref example,
                       Origin origin = {});
  NodeId call_method(PyObject* name, std::span<const Arg> args,
                     std::span<const Keyword> kwargs, Ref example,
                     Origin origin = {});
  NodeId call_function(PyObject* target, std::initializer_list<Arg> args,
                       std::span<const Keyword> kwargs, Ref example,
                       Origin origin = {}) {
    return call_function(target, {args.begin(), args.size()}, kwargs,
                         std::move(example), origin);
  }
  NodeId call_method(PyObject* name, std::initializer_list<Arg> args,
                     std::span<const Keyword> kwargs, Ref example,
                     Origin origin = {}) {
    return call_method(name, {args.begin(), args.size()}, kwargs,
                       std::move(example), origin);
  }
  // Of calls in all graphs of the tree. Null: nobody listens.
  void set_listener(CallListener* listener) { tree_->listener = listener; }
  // Once, last.
  NodeId output(Arg value, Origin origin = {});

  // The variable that a node's value is stored in; the first one counts, and
  // inputs keep the name of their source.
  void set_name_hint(NodeId node, PyObject* name);
  void set_example(NodeId node, Ref example);
  // Of the node that was recorded last.
  void set_has_effect(NodeId node) { nodes_[node.index].has_effect = true; }

  // Nesting -------------------------------------------------------------------
  // A new graph nested in this one, for a body to be traced into.
  Graph& add_nested();
  // Names a nested graph that has its output `<prefix>_<n>`, n counting all
  // graphs of the tree with that prefix: as in torch.compile's graphs, those
  // that are nested in it have the lower numbers. The node that reads it.
  NodeId install(Graph& nested, std::string_view prefix, Origin origin = {});
  // Another node that reads it.
  NodeId get_nested(const Graph& nested, Origin origin = {});
  // Of a nested graph: the placeholder that stands for this node of its parent.
  NodeId lift(NodeId outer);
  // Takes over a graph that is nested in one of those nested in this graph, and
  // whose parent has its output: from then on the two stand side by side. The
  // operator that is given both is to give it what it lifted, which are values
  // of the other.
  void adopt(Graph& nested);
  // The order of inputs(), given as their placeholders.
  void set_input_order(std::span<const NodeId> placeholders);

  // What the operator that is given a nested graph reads of it, besides its
  // nodes: `gm.meta[name]`. `name` lives as long as the process.
  void set_meta(const char* name, Ref value) {
    meta_.emplace_back(name, std::move(value));
  }
  std::span<const std::pair<const char*, Ref>> meta() const { return meta_; }

  GraphId id() const { return id_; }
  Graph* parent() const { return parent_; }  // null: this is the root
  // Whose values its inputs were lifted from: the parent, but for a graph that
  // was adopted.
  const Graph* outer() const { return outer_; }
  // Of the same tree.
  Graph& graph(GraphId id) const { return *tree_->graphs[id.index]; }
  size_t graph_count() const { return tree_->graphs.size(); }
  // In the order in which they were added; some may have no name, and no reads.
  std::span<const std::unique_ptr<Graph>> nested() const { return nested_; }
  const std::string& name() const { return name_; }
  // Not: a body that is being traced, or was given up.
  bool is_installed() const { return !name_.empty(); }
  // How many nodes the parent had when this one was added.
  size_t added_at() const { return added_at_; }

  // Tracing is over: forgets the journal, nested graphs too; from here on
  // passes may edit.
  void seal();
  bool is_sealed() const { return journal_ == nullptr; }

  // Reading -------------------------------------------------------------------
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  size_t node_count() const { return nodes_.size(); }  // erased included
  // By id, which is the order in which they were recorded; erased ones
  // included.
  std::span<const Node> nodes() const { return nodes_; }
  // The node at a position in the order in which nodes run. That is the order
  // of ids until a pass inserts a node before another (edit.h); only then is
  // there a list of it, so tracing doesn't pay for it. Erased ones included.
  NodeId at(size_t position) const {
    return order_.empty() ? NodeId{position} : order_[position];
  }
  // The nodes that weren't erased, in the order in which they run:
  // `for (NodeId id : graph.live())`. Nodes may be erased meanwhile.
  class Live;
  Live live() const;
  // Graph inputs, in the order of the compiled callable's arguments.
  std::span<const Input> inputs() const { return inputs_; }
  // Calls, without placeholders, get_attr and output: 0 means that there is
  // nothing to compile.
  size_t call_count() const { return call_count_; }
  NodeId output_node() const { return output_; }  // invalid before output()
  std::span<const Location> locations() const { return tree_->locations; }
  std::span<const Scope> scopes() const { return tree_->scopes; }

  // An input that stays one though no node may use it. Not undone by a
  // rollback.
  void keep_input(NodeId placeholder) {
    inputs_[node(placeholder).input].is_kept = true;
  }

  // Editing, after seal() -----------------------------------------------------
  // What passes should use is in edit.h, which checks the result.
  void erase(NodeId id);
  // Drops the inputs whose placeholder was erased and renumbers the others.
  void drop_erased_inputs();
  void set_operands(NodeId id, std::span<const Arg> args,
                    std::span<const Keyword> kwargs);
  // Nodes that are recorded from now on run before this one. Invalid: they are
  // the last ones.
  void set_insertion_point(NodeId before);

  // Calls visit(object) for each object that the graph holds a reference to,
  // for those of nested graphs too; stops and returns the first result that
  // isn't 0 (as tp_traverse wants it).
  template <class Visit>
  int visit_objects(Visit visit) const;

  void undo(uint64_t what, uint64_t node) noexcept override;

 private:
  friend class Copier;
  friend ResultMetadata& metadata_of(const Graph& graph);

  // What the graphs of a tree share. Never truncated by a rollback, but for the
  // list of graphs and the numbers: an Arg that was made before a checkpoint
  // stays valid after it.
  struct Tree {
    Arena arena;
    std::vector<Graph*> graphs;  // by id, the root first
    std::vector<Location> locations;
    std::vector<Scope> scopes;
    std::vector<Ref> kept_alive;  // constants and keyword names
    CallListener* listener = nullptr;
    std::unordered_map<std::string, uint32_t> numbers;  // next one, by prefix
  };

  explicit Graph(Graph& parent);
  NodeId append(Node node);
  void put_in_order(NodeId id);
  NodeId call(Op op, PyObject* target, std::span<const Arg> args,
              std::span<const Keyword> kwargs, Ref example, Origin origin);
  void arrange_inputs(std::span<const NodeId> placeholders);
  void forget_metadata();

  std::unique_ptr<Tree> own_tree_;  // the root's
  Tree* tree_;
  Graph* parent_ = nullptr;
  Graph* outer_ = nullptr;
  GraphId id_;
  size_t added_at_ = 0;
  std::string name_;
  std::vector<std::pair<const char*, Ref>> meta_;
  Journal* journal_;
  std::vector<Node> nodes_;
  std::vector<NodeId> order_;  // empty: the order of ids
  std::vector<Input> inputs_;
  std::unordered_map<NodeId, NodeId> lifted_;  // by node of outer()
  std::vector<std::unique_ptr<Graph>> nested_;
  std::vector<Ref> replaced_examples_;                // for undo of set_example
  std::vector<std::vector<NodeId>> replaced_orders_;  // of set_input_order
  size_t call_count_ = 0;
  NodeId output_;
  NodeId insertion_point_;
  mutable std::unique_ptr<ResultMetadata> metadata_;  // see metadata_of()
};

class Graph::Live {
 public:
  class Iterator {
   public:
    Iterator(const Graph& graph, size_t position)
        : graph_(&graph), position_(position) {
      skip_erased();
    }
    NodeId operator*() const { return graph_->at(position_); }
    Iterator& operator++() {
      ++position_;
      skip_erased();
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    void skip_erased() {
      while (position_ < graph_->node_count() &&
             graph_->node(graph_->at(position_)).erased)
        ++position_;
    }
    const Graph* graph_;
    size_t position_;
  };

  explicit Live(const Graph& graph) : graph_(graph) {}
  Iterator begin() const { return {graph_, 0}; }
  Iterator end() const { return {graph_, graph_.node_count()}; }

 private:
  const Graph& graph_;
};

inline Graph::Live Graph::live() const { return Live(*this); }

template <class Visit>
int Graph::visit_objects(Visit visit) const {
  for (const Node& node : nodes_) {
    for (PyObject* object : {node.target.get(), node.example.get(),
                             node.name_hint.get(), node.attribute.get()}) {
      if (object == nullptr) continue;
      if (int result = visit(object)) return result;
    }
  }
  for (const auto& [name, object] : meta_) {
    if (int result = visit(object.get())) return result;
  }
  for (const auto& graph : nested_) {
    if (int result = graph->visit_objects(visit)) return result;
  }
  if (!own_tree_) return 0;
  for (const Ref& object : own_tree_->kept_alive) {
    if (int result = visit(object.get())) return result;
  }
  for (const Location& location : own_tree_->locations) {
    if (int result = visit(reinterpret_cast<PyObject*>(location.code.get()))) {
      return result;
    }
  }
  for (const Scope& scope : own_tree_->scopes) {
    if (int result = visit(reinterpret_cast<PyObject*>(scope.type.get()))) {
      return result;
    }
  }
  return 0;
}

}  // namespace magneto::graph
