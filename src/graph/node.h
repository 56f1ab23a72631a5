// SPDX-License-Identifier: BSD-3-Clause
// What a graph is made of: nodes, inputs, and where in the user's program they
// come from.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/arg.h"
#include "python/ref.h"
#include "support/strong_id.h"

namespace magneto::graph {

// A graph of a tree: the root, or one that is nested in it at some depth.
using GraphId = StrongId<struct GraphTag>;

// A node of any graph of a tree.
struct NodeRef {
  GraphId graph;
  NodeId node;

  bool valid() const { return node.valid(); }
  friend bool operator==(NodeRef, NodeRef) = default;
};

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

// Locations and scopes are those of the outermost graph, so an origin is good
// in every graph of a tree.
struct Origin {
  LocationId location;
  ScopeId scope;
};

enum class Op : uint8_t {
  Placeholder,   // a graph input; see Input
  GetAttr,       // target: name of an attribute of the graph module, which is
                 // a nested graph or an object
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

// Of an input that isn't found at one place, such as one of a nested graph.
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
  // Of a nested graph: the node of its outer() graph that was lifted, which the
  // operator is to give it; invalid for an input that was not lifted.
  NodeId lifted;
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
  GraphId nested;          // GetAttr: the nested graph that it reads, if any
  Ref attribute;           // GetAttr: else the attribute's value
  Origin origin;
};

}  // namespace magneto::graph
