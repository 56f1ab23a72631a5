// SPDX-License-Identifier: BSD-3-Clause
// Recording and rollback. What a finished graph is made into lives in files of
// its own: names, passes, printer, runner, python_handle.
#include "graph/graph.h"

#include <algorithm>
#include <utility>

namespace magneto::graph {

namespace {

enum Undo : uint64_t { kUndoNode, kUndoHint, kUndoExample };

}  // namespace

Arg Graph::constant(PyObject* object) {
  MG_DCHECK(object != nullptr, "a constant must be an object");
  if (object != Py_None) kept_alive_.push_back(Ref::share(object));
  return Arg(object);
}

Arg Graph::nested(ArgTag tag, std::span<const Arg> items) {
  std::span<Arg> copy = arena_.copy(items);
  return Arg(tag, copy.data(), static_cast<uint32_t>(copy.size()));
}

Arg Graph::tuple(std::span<const Arg> items) {
  return nested(ArgTag::Tuple, items);
}

Arg Graph::list(std::span<const Arg> items) {
  return nested(ArgTag::List, items);
}

Arg Graph::dict(std::span<const Arg> keys_and_values) {
  MG_CHECK(keys_and_values.size() % 2 == 0, "every key needs a value");
  return nested(ArgTag::Dict, keys_and_values);
}

Arg Graph::slice(Arg start, Arg stop, Arg step) {
  const Arg items[] = {start, stop, step};
  return nested(ArgTag::Slice, items);
}

LocationId Graph::location(PyCodeObject* code, int instruction,
                           LocationId caller) {
  if (!locations_.empty()) {
    const Location& last = locations_.back();
    if (last.code.get() == code && last.instruction == instruction &&
        last.caller == caller) {
      return LocationId{locations_.size() - 1};
    }
  }
  locations_.push_back(
      {BasicRef<PyCodeObject>::share(code), instruction, caller});
  return LocationId{locations_.size() - 1};
}

ScopeId Graph::scope(const void* module, std::string_view path,
                     PyTypeObject* type, ScopeId parent) {
  if (!scopes_.empty()) {
    const Scope& last = scopes_.back();
    if (last.module == module && last.parent == parent && last.path == path) {
      return ScopeId{scopes_.size() - 1};
    }
  }
  scopes_.push_back(
      {module, std::string(path), BasicRef<PyTypeObject>::share(type), parent});
  return ScopeId{scopes_.size() - 1};
}

NodeId Graph::append(Node node) {
  MG_DCHECK(!output_.valid(), "the output is the last node");
  NodeId id{nodes_.size()};
  nodes_.push_back(std::move(node));
  if (journal_ != nullptr) journal_->record(this, kUndoNode);
  return id;
}

NodeId Graph::placeholder(const InputSpec& spec, Ref example, Origin origin) {
  const auto index = static_cast<uint32_t>(inputs_.size());
  inputs_.push_back({.node = NodeId{nodes_.size()},
                     .source = spec.source,
                     .kind = spec.kind,
                     .number = spec.number,
                     .source_name = std::string(spec.source_name),
                     .attribute_path = std::string(spec.attribute_path)});
  return append({.op = Op::Placeholder,
                 .input = index,
                 .example = std::move(example),
                 .origin = origin});
}

NodeId Graph::get_attr(PyObject* name, PyObject* value, Ref example,
                       Origin origin) {
  return append({.op = Op::GetAttr,
                 .target = Ref::share(name),
                 .example = std::move(example),
                 .attribute = Ref::share(value),
                 .origin = origin});
}

NodeId Graph::call(Op op, PyObject* target, std::span<const Arg> args,
                   std::span<const Keyword> kwargs, Ref example,
                   Origin origin) {
  for (const Keyword& keyword : kwargs) {
    kept_alive_.push_back(Ref::share(keyword.name));
  }
  ++call_count_;
  const NodeId id = append({.op = op,
                            .target = Ref::share(target),
                            .args = arena_.copy(args),
                            .kwargs = arena_.copy(kwargs),
                            .example = std::move(example),
                            .origin = origin});
  if (listener_) [[unlikely]]
    listener_->recorded(*this, id);
  return id;
}

NodeId Graph::call_function(PyObject* target, std::span<const Arg> args,
                            std::span<const Keyword> kwargs, Ref example,
                            Origin origin) {
  return call(Op::CallFunction, target, args, kwargs, std::move(example),
              origin);
}

NodeId Graph::call_method(PyObject* name, std::span<const Arg> args,
                          std::span<const Keyword> kwargs, Ref example,
                          Origin origin) {
  MG_CHECK(!args.empty(), "a method call needs its receiver as argument 0");
  return call(Op::CallMethod, name, args, kwargs, std::move(example), origin);
}

NodeId Graph::output(Arg value, Origin origin) {
  MG_CHECK(!output_.valid(), "a graph has one output");
  NodeId id = append({.op = Op::Output,
                      .args = arena_.copy(std::span<const Arg>(&value, 1)),
                      .origin = origin});
  output_ = id;
  return id;
}

void Graph::set_name_hint(NodeId id, PyObject* name) {
  Node& node = nodes_[id.index];
  if (node.name_hint || node.op == Op::Placeholder) return;
  node.name_hint = Ref::share(name);
  node.hinted_at = static_cast<uint32_t>(nodes_.size());
  if (journal_ != nullptr) journal_->record(this, kUndoHint, id.index);
}

void Graph::set_example(NodeId id, Ref example) {
  Node& node = nodes_[id.index];
  if (journal_ != nullptr) {
    replaced_examples_.push_back(std::move(node.example));
    journal_->record(this, kUndoExample, id.index);
  }
  node.example = std::move(example);
}

void Graph::undo(uint64_t what, uint64_t index) noexcept {
  switch (what) {
    case kUndoNode: {
      Node node = std::move(nodes_.back());
      nodes_.pop_back();
      if (node.op == Op::Placeholder) inputs_.pop_back();
      if (node.op == Op::Output) output_ = NodeId{};
      if (is_call(node.op)) --call_count_;
      break;
    }
    case kUndoHint:
      nodes_[index].name_hint = nullptr;
      break;
    case kUndoExample:
      nodes_[index].example = std::move(replaced_examples_.back());
      replaced_examples_.pop_back();
      break;
  }
}

void Graph::seal() {
  journal_ = nullptr;
  replaced_examples_.clear();
}

void Graph::erase(NodeId id) {
  Node& node = nodes_[id.index];
  MG_CHECK(journal_ == nullptr, "a graph is edited only after seal()");
  MG_CHECK(!node.erased && node.op != Op::Output,
           "erased nodes and the output can't be erased");
  node.erased = true;
  node.example = nullptr;
  if (is_call(node.op)) --call_count_;
}

void Graph::drop_erased_inputs() {
  std::erase_if(inputs_, [this](const Input& input) {
    return nodes_[input.node.index].erased;
  });
  for (size_t i = 0; i < inputs_.size(); ++i) {
    nodes_[inputs_[i].node.index].input = static_cast<uint32_t>(i);
  }
}

}  // namespace magneto::graph
