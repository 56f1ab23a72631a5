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
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/arg.h"
#include "python/ref.h"
#include "support/arena.h"
#include "support/journal.h"

namespace magneto::graph {

// Where in the user's program a call stands: a frame and its callers.
using LocationId = StrongId<struct LocationTag>;
// Which nn.Module's forward it stands in, and the modules around that one.
using ScopeId = StrongId<struct ScopeTag>;

struct Location {
  BasicRef<PyCodeObject> code;
  int instruction;    // byte offset in co_code, as PyFrame_GetLasti gives it
  LocationId caller;  // invalid for the outermost frame
};

struct Scope {
  const void* module;  // only its address, which tells instances apart
  std::string path;    // "L['self'].layers.0"
  BasicRef<PyTypeObject> type;
  ScopeId parent;  // invalid for the outermost module
};

struct Origin {
  LocationId location;
  ScopeId scope;
};

enum class Op : uint8_t {
  Placeholder,   // a graph input; see Input
  GetAttr,       // target: name of an attribute of the graph module
  CallFunction,  // target: a callable
  CallMethod,    // target: a str; the first argument is the receiver
  Output,        // args[0]: what the graph returns
};

constexpr bool is_call(Op op) {
  return op == Op::CallFunction || op == Op::CallMethod;
}

enum class InputKind : uint8_t {
  Tensor,     // a tensor that the caller passed or that was reached from one
  Parameter,  // found in a module's _parameters
  Buffer,     // found in a module's _buffers
  Number,     // a size or another number; given to the graph as an int or float
  Object,     // anything else (generators, streams, opaque objects)
};

// Of an input that isn't found at one place.
inline constexpr uint32_t kNoSource = 0xffffffffu;

// What a caller says of a new graph input.
struct InputSpec {
  uint32_t source;               // index in the trace's guards::SourceTable
  std::string_view source_name;  // in torch.compile's notation, which names the
                                 // placeholder: "L['self']._modules['a']._p..."
  std::string_view attribute_path = {};  // "layers.0.weight", parameters and
                                         // buffers only
  InputKind kind = InputKind::Tensor;
  // Number: the id of its expression.
  uint32_t number = 0;
};

struct Input {
  NodeId node;
  uint32_t source;
  InputKind kind;
  uint32_t number;
  bool is_kept = false;  // stays an input though no node may use it
  std::string source_name;
  std::string attribute_path;
};

struct Node {
  Op op;
  bool erased = false;      // taken out by a pass; its id is never reused
  bool has_effect = false;  // stays though nobody may use its result
  uint32_t input = 0;       // Placeholder: index in Graph::inputs()
  Ref target;               // CallFunction: callable; CallMethod, GetAttr: str
  std::span<const Arg> args;  // in the graph's arena
  std::span<const Keyword> kwargs;
  Ref example;             // fake value; a tuple, list or number of them; null
                           // if unknown
  Ref name_hint;           // str, the variable it was first stored in, or null
  uint32_t hinted_at = 0;  // number of nodes when the hint was given
  Ref attribute;           // GetAttr: the attribute's value
  Origin origin;
};

class Graph;

// Hears of each call as it is recorded; those that a rollback drops as well.
class CallListener {
 public:
  virtual void recorded(const Graph& graph, NodeId call) = 0;

 protected:
  ~CallListener() = default;
};

class Graph final : public UnseenJournaled {
 public:
  // `journal` may be null: then nothing can be rolled back.
  explicit Graph(Journal* journal = nullptr) : journal_(journal) {}
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
  // Null: nobody listens.
  void set_listener(CallListener* listener) { listener_ = listener; }
  // Once, last.
  NodeId output(Arg value, Origin origin = {});

  // The variable that a node's value is stored in; the first one counts, and
  // inputs keep the name of their source.
  void set_name_hint(NodeId node, PyObject* name);
  void set_example(NodeId node, Ref example);
  // Of the node that was recorded last.
  void set_has_effect(NodeId node) { nodes_[node.index].has_effect = true; }

  // Tracing is over: forgets the journal; from here on passes may edit.
  void seal();

  // Reading -------------------------------------------------------------------
  const Node& node(NodeId id) const { return nodes_[id.index]; }
  size_t node_count() const { return nodes_.size(); }  // erased included
  // In the order in which they were recorded, erased ones included.
  std::span<const Node> nodes() const { return nodes_; }
  // Graph inputs, in the order of the compiled callable's arguments.
  std::span<const Input> inputs() const { return inputs_; }
  // Calls, without placeholders, get_attr and output: 0 means that there is
  // nothing to compile.
  size_t call_count() const { return call_count_; }
  NodeId output_node() const { return output_; }  // invalid before output()
  std::span<const Location> locations() const { return locations_; }
  std::span<const Scope> scopes() const { return scopes_; }

  // An input that stays one though no node may use it. Not undone by a
  // rollback.
  void keep_input(NodeId placeholder) {
    inputs_[node(placeholder).input].is_kept = true;
  }

  // Editing, by passes, after seal() ------------------------------------------
  void erase(NodeId id);
  // Drops the inputs whose placeholder was erased and renumbers the others.
  void drop_erased_inputs();

  // Calls visit(object) for each object that the graph holds a reference to;
  // stops and returns the first result that isn't 0 (as tp_traverse wants it).
  template <class Visit>
  int visit_objects(Visit visit) const;

  void undo(uint64_t what, uint64_t node) noexcept override;

 private:
  NodeId append(Node node);
  Arg nested(ArgTag tag, std::span<const Arg> items);
  NodeId call(Op op, PyObject* target, std::span<const Arg> args,
              std::span<const Keyword> kwargs, Ref example, Origin origin);

  Journal* journal_;
  CallListener* listener_ = nullptr;
  Arena arena_;
  std::vector<Node> nodes_;
  std::vector<Input> inputs_;
  std::vector<Location> locations_;
  std::vector<Scope> scopes_;
  // Constants and keyword names. Never truncated by a rollback, so that an Arg
  // made before a checkpoint stays valid after it.
  std::vector<Ref> kept_alive_;
  std::vector<Ref> replaced_examples_;  // for undo of set_example
  size_t call_count_ = 0;
  NodeId output_;
};

template <class Visit>
int Graph::visit_objects(Visit visit) const {
  for (const Node& node : nodes_) {
    for (PyObject* object : {node.target.get(), node.example.get(),
                             node.name_hint.get(), node.attribute.get()}) {
      if (object == nullptr) continue;
      if (int result = visit(object)) return result;
    }
  }
  for (const Ref& object : kept_alive_) {
    if (int result = visit(object.get())) return result;
  }
  for (const Location& location : locations_) {
    if (int result = visit(reinterpret_cast<PyObject*>(location.code.get()))) {
      return result;
    }
  }
  for (const Scope& scope : scopes_) {
    if (int result = visit(reinterpret_cast<PyObject*>(scope.type.get()))) {
      return result;
    }
  }
  return 0;
}

}  // namespace magneto::graph
