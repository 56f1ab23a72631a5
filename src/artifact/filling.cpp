// SPDX-License-Identifier: BSD-3-Clause
// What a Rebuilder puts into the objects that it has made empty.
#include <algorithm>

#include "artifact/rebuilder.h"

namespace magneto::artifact {

using values::as;
using values::DictEntry;
using values::HeapObject;
using values::Kind;
using values::V;

void Rebuilder::fill_all() {
  // Filling meets new values, which are appended.
  size_t next = 0, next_last = 0;
  while (next < to_fill_.size() || next_last < to_fill_last_.size()) {
    V value =
        next < to_fill_.size() ? to_fill_[next++] : to_fill_last_[next_last++];
    fill(value);
  }
}

void Rebuilder::act(StepOp op, std::span<const V> operands) {
  std::vector<Operand> built;
  built.reserve(operands.size());
  for (V operand : operands) built.push_back(build_or_null(operand));
  builder_.act(op, built);
}

void Rebuilder::call(V callable, std::span<const V> arguments) {
  std::vector<Operand> built{build(callable)};
  for (V argument : arguments) built.push_back(build_or_null(argument));
  (void)builder_.make(StepOp::CallFunction, built);
}

void Rebuilder::fill(V value) {
  if (!filled_.insert(value).second) return;
  if (const auto fill_it = values::type_slot(&values::TypeRow::fill, value))
    fill_it(ctx_, value, *this);
  const HeapObject& state = ctx_.heap[value->heap];
  if (!state.attributes.valid()) return;
  for (const DictEntry& entry : ctx_.heap[state.attributes].dict->entries)
    if (entry.value) act(StepOp::SetAttribute, {value, entry.key, entry.value});
}

// Of what is only there for tools to look at: whether it can be had without a
// graph break that nothing else needs.
bool Rebuilder::is_easily_built(V value, int depth) const {
  constexpr int kDeepest = 4;
  constexpr size_t kLongest = 64;
  if (!value || value->is_null()) return false;
  if (value->source.valid() || built_.contains(value)) return true;
  // What is entered again is built in any case.
  if (std::ranges::count(capture_.inference_modes, value)) return true;
  if (depth > kDeepest) return false;
  const auto all = [&](std::span<const V> values) {
    return values.size() <= kLongest &&
           std::ranges::all_of(values, [&](V each) {
             return is_easily_built(each, depth + 1);
           });
  };
  switch (value->kind) {
    case Kind::Constant:
      return !value->heap.valid();
    case Kind::Symbol:
    case Kind::Text:
    case Kind::Tensor:
      return true;
    case Kind::Tuple:
      return value->type == &PyTuple_Type && all(values::tuple_items(value));
    case Kind::List:
      return value->type == &PyList_Type && !ctx_.heap[value->heap].is_unread &&
             all(ctx_.heap[value->heap].items);
    case Kind::Dict: {
      const HeapObject& state = ctx_.heap[value->heap];
      return value->type == &PyDict_Type && !state.attributes_of.valid() &&
             state.dict->entries.size() <= kLongest &&
             std::ranges::all_of(state.dict->entries, [&](const auto& entry) {
               return !entry.value || (is_easily_built(entry.key, depth + 1) &&
                                       is_easily_built(entry.value, depth + 1));
             });
    }
    case Kind::Cell: {
      V content = ctx_.heap[value->heap].slots[0];
      return !content || content->is_null() ||
             is_easily_built(content, depth + 1);
    }
    case Kind::Function: {
      const auto* function = as<values::FunctionValue>(value);
      return !function->defaults && !function->kwdefaults &&
             !function->annotations && all(function->closure);
    }
    default:
      return false;
  }
}

}  // namespace magneto::artifact
