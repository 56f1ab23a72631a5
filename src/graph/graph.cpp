// SPDX-License-Identifier: BSD-3-Clause
// Recording and rollback. What a finished graph is made into lives in files of
// its own: names, passes, printer, runner, python_handle.
#include "graph/graph.h"

#include <algorithm>
#include <utility>

#include "graph/tensor_meta.h"
#include "graph/undo.h"

namespace magneto::graph {

Graph::Graph(Journal* journal)
    : own_tree_(std::make_unique<Tree>()),
      tree_(own_tree_.get()),
      id_(0),
      journal_(journal) {
  tree_->graphs.push_back(this);
}

Graph::Graph(Graph& parent)
    : tree_(parent.tree_),
      parent_(&parent),
      outer_(&parent),
      id_(tree_->graphs.size()),
      added_at_(parent.node_count()),
      journal_(parent.journal_) {
  tree_->graphs.push_back(this);
}

Graph::~Graph() = default;

Arg Graph::constant(PyObject* object) {
  MG_DCHECK(object != nullptr, "a constant must be an object");
  if (object != Py_None) tree_->kept_alive.push_back(Ref::share(object));
  return Arg(object);
}

Arg Graph::container(ArgTag tag, std::span<const Arg> items) {
  std::span<Arg> copy = tree_->arena.copy(items);
  return Arg(tag, copy.data(), static_cast<uint32_t>(copy.size()));
}

Arg Graph::tuple(std::span<const Arg> items) {
  return container(ArgTag::Tuple, items);
}

Arg Graph::list(std::span<const Arg> items) {
  return container(ArgTag::List, items);
}

Arg Graph::dict(std::span<const Arg> keys_and_values) {
  MG_CHECK(keys_and_values.size() % 2 == 0, "every key needs a value");
  return container(ArgTag::Dict, keys_and_values);
}

Arg Graph::slice(Arg start, Arg stop, Arg step) {
  const Arg items[] = {start, stop, step};
  return container(ArgTag::Slice, items);
}

LocationId Graph::location(PyCodeObject* code, int instruction,
                           LocationId caller) {
  std::vector<Location>& locations = tree_->locations;
  if (!locations.empty()) {
    const Location& last = locations.back();
    if (last.code.get() == code && last.instruction == instruction &&
        last.caller == caller) {
      return LocationId{locations.size() - 1};
    }
  }
  locations.push_back(
      {BasicRef<PyCodeObject>::share(code), instruction, caller});
  return LocationId{locations.size() - 1};
}

ScopeId Graph::scope(const void* module, std::string_view path,
                     PyTypeObject* type, ScopeId parent) {
  std::vector<Scope>& scopes = tree_->scopes;
  if (!scopes.empty()) {
    const Scope& last = scopes.back();
    if (last.module == module && last.parent == parent && last.path == path) {
      return ScopeId{scopes.size() - 1};
    }
  }
  scopes.push_back(
      {module, std::string(path), BasicRef<PyTypeObject>::share(type), parent});
  return ScopeId{scopes.size() - 1};
}

NodeId Graph::append(Node node) {
  MG_DCHECK(!output_.valid() || insertion_point_.valid() ||
                node.op == Op::Placeholder,
            "the output is the last node that isn't an input");
  NodeId id{nodes_.size()};
  nodes_.push_back(std::move(node));
  if (journal_ != nullptr) {
    journal_->record(this, kUndoNode);
  } else if (insertion_point_.valid() || !order_.empty()) [[unlikely]] {
    put_in_order(id);
  }
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
    tree_->kept_alive.push_back(Ref::share(keyword.name));
  }
  ++call_count_;
  const NodeId id = append({.op = op,
                            .target = Ref::share(target),
                            .args = tree_->arena.copy(args),
                            .kwargs = tree_->arena.copy(kwargs),
                            .example = std::move(example),
                            .origin = origin});
  if (tree_->listener) [[unlikely]]
    tree_->listener->recorded(*this, id);
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
  NodeId id =
      append({.op = Op::Output,
              .args = tree_->arena.copy(std::span<const Arg>(&value, 1)),
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
      if (node.op == Op::Placeholder) {
        lifted_.erase(inputs_.back().lifted);
        inputs_.pop_back();
      }
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
    case kUndoNested:
      nested_.pop_back();
      tree_->graphs.pop_back();
      break;
    case kUndoAdopted:
      outer_->nested_.push_back(std::move(parent_->nested_.back()));
      parent_->nested_.pop_back();
      parent_ = outer_;
      break;
    case kUndoName:
      --tree_->numbers[name_.substr(0, name_.rfind('_'))];
      name_.clear();
      break;
    case kUndoOrder:
      arrange_inputs(replaced_orders_.back());
      replaced_orders_.pop_back();
      break;
  }
}

void Graph::seal() {
  journal_ = nullptr;
  replaced_examples_.clear();
  replaced_orders_.clear();
  for (const auto& graph : nested_) graph->seal();
}

void Graph::erase(NodeId id) {
  Node& node = nodes_[id.index];
  MG_CHECK(is_sealed(), "a graph is edited only after seal()");
  MG_CHECK(!node.erased && node.op != Op::Output,
           "erased nodes and the output can't be erased");
  node.erased = true;
  node.example = nullptr;
  if (is_call(node.op)) --call_count_;
  forget_metadata();
}

void Graph::drop_erased_inputs() {
  std::erase_if(inputs_, [this](const Input& input) {
    return nodes_[input.node.index].erased;
  });
  for (size_t i = 0; i < inputs_.size(); ++i) {
    nodes_[inputs_[i].node.index].input = static_cast<uint32_t>(i);
  }
}

void Graph::set_operands(NodeId id, std::span<const Arg> args,
                         std::span<const Keyword> kwargs) {
  MG_CHECK(is_sealed(), "a graph is edited only after seal()");
  Node& node = nodes_[id.index];
  node.args = tree_->arena.copy(args);
  node.kwargs = tree_->arena.copy(kwargs);
}

void Graph::set_insertion_point(NodeId before) {
  MG_CHECK(is_sealed(), "a graph is edited only after seal()");
  insertion_point_ = before;
}

void Graph::put_in_order(NodeId id) {
  if (order_.empty()) {
    order_.reserve(nodes_.size());
    for (size_t i = 0; i < id.index; ++i) order_.push_back(NodeId{i});
  }
  const auto at = insertion_point_.valid()
                      ? std::ranges::find(order_, insertion_point_)
                      : order_.end();
  order_.insert(at, id);
  forget_metadata();
}

void Graph::forget_metadata() { metadata_ = nullptr; }

}  // namespace magneto::graph
