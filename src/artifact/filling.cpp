// SPDX-License-Identifier: BSD-3-Clause
// What a Rebuilder puts into the objects that it has made empty.
#include <algorithm>

#include "artifact/rebuilder.h"
#include "python/code_object.h"
#include "python/find.h"
#include "python/key_token.h"
#include "python/names.h"
#include "python/set_table.h"
#include "python/shown_frame.h"
#include "values/torch/gradients.h"
#include "values/types/exceptions.h"
#include "values/types/functions.h"
#include "values/types/sets.h"

namespace magneto::artifact {

using values::as;
using values::DictEntry;
using values::DictState;
using values::HeapObject;
using values::Kind;
using values::V;

void Rebuilder::fill_all() {
  // Filling meets new values, which are appended.
  size_t next = 0, next_last = 0;
  while (next < to_fill_.size() || next_last < to_fill_last_.size()) {
    V value =
        next < to_fill_.size() ? to_fill_[next++] : to_fill_last_[next_last++];
    fill(value, built_.at(value));
  }
}

namespace {

// Whether the key's class has a __hash__ in Python. Its __eq__ can't be asked
// here, where objects may still be without their attributes; it isn't where no
// other key has the same hash.
bool is_hashed_in_python(const DictState& dict, const DictEntry& entry) {
  if (!python::holds_key_token(entry.token)) return false;
  const Py_hash_t hash = PyObject_Hash(entry.token);
  for (const DictEntry& other : dict.entries)
    if (&other != &entry && other.value && PyObject_Hash(other.token) == hash)
      cannot_rebuild("a dict or set with unlike keys of one hash");
  return true;
}

}  // namespace

// In the order of the dict beneath; an OrderedDict has its own from the first
// key on that was moved.
void Rebuilder::set_items(const DictState& dict, Operand target, bool all) {
  std::vector<const DictEntry*> entries;
  for (const DictEntry& entry : dict.entries)
    if (entry.value) entries.push_back(&entry);
  const auto moved = std::ranges::find_if(entries, &DictEntry::is_moved);
  const std::vector<const DictEntry*> own_order(moved, entries.end());
  if (!own_order.empty()) std::ranges::sort(entries, {}, &DictEntry::addition);
  for (const DictEntry* entry : entries)
    if (!all && !entry->written) {
      continue;
    } else if (is_hashed_in_python(dict, *entry)) {
      builder_.act(
          StepOp::SetHashedItem,
          {target, build(entry->key), build(entry->value), hash_of(*entry)});
    } else {
      builder_.act(StepOp::SetItem,
                   {target, build(entry->key), build(entry->value)});
    }
  for (const DictEntry* entry : own_order)
    builder_.act(StepOp::MoveToEnd, {target, build(entry->key)});
}

// What its key had when it was put there.
Operand Rebuilder::hash_of(const DictEntry& entry) {
  return builder_.constant(
      Ref::steal(PyLong_FromSsize_t(PyObject_Hash(entry.token))));
}

void Rebuilder::change_set(const HeapObject& set, Operand target) {
  std::vector<Operand> operands{target};
  const bool is_callers = set.owner->source.valid();
  const bool pops = values::has_plain_history(*set.dict);
  bool removes = false;
  const auto act = [&] {
    if (operands.size() > 1)
      builder_.act(removes ? StepOp::DiscardItems : StepOp::AddItems, operands);
    operands.resize(1, target);
  };
  const auto call = [&](PyObject* method, Ref argument) {
    act();
    std::vector<Operand> called{builder_.constant(method), target};
    if (argument) called.push_back(builder_.constant(std::move(argument)));
    builder_.make(StepOp::CallFunction, called);
  };
  static PyObject* const update = find_object("builtins.set.update");
  static PyObject* const drop = find_object("builtins.set.difference_update");
  static PyObject* const pop = find_object("builtins.set.pop");
  if (set.dict->finger)
    call(python::finger_writer(),
         Ref::steal(PyLong_FromSsize_t(*set.dict->finger)));
  for (const auto& [entry, is_removed, merge] :
       values::set_history(*set.dict)) {
    if (merge) {
      call(merge->drops ? drop : update, merge->other.share());
      continue;
    }
    // What came and went again matters to the order only.
    const bool is_own = is_hashed_in_python(*set.dict, *entry);
    if (is_callers ? !entry->written
                   : !entry->value && !entry->key->is_constant() && !is_own)
      continue;
    if (is_removed && entry->is_popped && pops) {
      call(pop, {});
      continue;
    }
    if (is_own) {
      if (!entry->value)
        cannot_rebuild(
            "a set from which a key was taken that is hashed in Python");
      act();
      builder_.act(StepOp::AddHashedItem,
                   {target, build(entry->key), hash_of(*entry)});
      continue;
    }
    if (is_removed != removes) act();
    removes = is_removed;
    operands.push_back(build(entry->key));
  }
  act();
}

void Rebuilder::fill(V value, Operand target) {
  if (!filled_.insert(value).second) return;
  const HeapObject& state = ctx_.heap[value->heap];
  switch (value->kind) {
    case Kind::List: {
      std::vector<Operand> operands = build_all(state.items);
      if (operands.empty()) break;
      operands.insert(operands.begin(), target);
      builder_.act(StepOp::AssignList, operands);
      break;
    }
    case Kind::Dict:
      set_items(*state.dict, target, true);
      break;
    case Kind::Set:
      // A frozen one was made with its items.
      if (!PyType_IsSubtype(value->type, &PyFrozenSet_Type))
        change_set(state, target);
      break;
    case Kind::Cell:
      if (V content = state.slots[0]; content && !content->is_null())
        builder_.act(StepOp::SetCell, {target, build(content)});
      break;
    case Kind::Generator:
      fill_generator(value, target);
      break;
    case Kind::Function:
      fill_function(value, target);
      break;
    case Kind::Tensor:
      set_gradient(value, target);
      break;
    default:
      if (value->type == &PyFrame_Type)
        fill_frame(state, target);
      else
        fill_exception(state, target);
      break;
  }
  fill_attributes(state, target);
}

void Rebuilder::set_gradient(V tensor, Operand target) {
  if (V gradient = values::written_gradient(ctx_, tensor))
    builder_.act(StepOp::SetGradient, {target, build(gradient)});
}

void Rebuilder::fill_attributes(const HeapObject& state, Operand target) {
  if (!state.attributes.valid()) return;
  const HeapObject& attributes = ctx_.heap[state.attributes];
  for (const DictEntry& entry : attributes.dict->entries) {
    if (!entry.value) continue;
    builder_.act(StepOp::SetAttribute,
                 {target, build(entry.key), build(entry.value)});
  }
}

void Rebuilder::fill_exception(const HeapObject& state, Operand target) {
  if (state.slots.empty() || !values::is_exception_type(state.owner->type)) {
    return;
  }
  const auto names = values::exception_slot_names(state.owner->type);
  const size_t count = values::settable_fields(state.owner->type);
  for (size_t i = 0; i < count; ++i) {
    Ref name = Ref::steal(PyUnicode_InternFromString(names[i]));
    builder_.act(
        StepOp::SetAttribute,
        {target, builder_.constant(std::move(name)), build(state.slots[i])});
  }
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

// The variables of a frame that was only traced.
void Rebuilder::fill_frame(const HeapObject& state, Operand target) {
  plan_.shows_frames = true;
  const auto locals = std::span(state.slots).subspan(values::kFirstLocal);
  V back = state.slots[values::kBack];
  if (back == ctx_.none() &&
      std::ranges::all_of(locals, &values::Value::is_null))
    return;
  std::vector<Operand> operands{builder_.constant(python::frame_filler()),
                                target, build(back),
                                builder_.constant(null_token())};
  for (V value : locals)
    operands.push_back(is_easily_built(value)
                           ? build(value)
                           : builder_.constant(null_token()));
  builder_.make(StepOp::CallFunction, operands);
}

void Rebuilder::fill_function(V value, Operand target) {
  using values::FunctionField;
  const auto* function = as<values::FunctionValue>(value);
  auto is_written = [&](FunctionField field) {
    return values::written_field(ctx_, value, field) != nullptr;
  };
  for (size_t i = 0; i < values::kFunctionFields; ++i) {
    const auto field = static_cast<FunctionField>(i);
    if (V written = values::written_field(ctx_, value, field))
      builder_.act(
          StepOp::SetAttribute,
          {target, text(values::function_field_name(field)), build(written)});
  }
  if (function->defaults && !is_written(FunctionField::Defaults))
    builder_.act(StepOp::SetDefaults, {target, build(function->defaults)});
  if (function->kwdefaults && !is_written(FunctionField::KeywordDefaults))
    builder_.act(StepOp::SetKwDefaults, {target, build(function->kwdefaults)});
  if (function->annotations && !is_written(FunctionField::Annotations))
    builder_.act(StepOp::SetAnnotations,
                 {target, build(function->annotations)});
  if (!function->closure.empty()) {
    std::vector<Operand> operands = build_all(function->closure);
    operands.insert(operands.begin(), target);
    builder_.act(StepOp::SetClosure, operands);
  }
}

void Rebuilder::name_generator(V value, Operand target) {
  const auto& slots = ctx_.heap[value->heap].slots;
  const PyCodeObject* code = suspended(value).code;
  const std::pair<V, PyObject*> names[] = {
      {slots[values::kGeneratorName], code->co_name},
      {slots[values::kGeneratorQualifiedName], code->co_qualname}};
  PyObject* const attributes[] = {interned().dunder_name,
                                  interned().dunder_qualname};
  for (size_t i = 0; i < 2; ++i)
    if (names[i].first->object != names[i].second)
      builder_.act(StepOp::SetAttribute,
                   {target, text(attributes[i]), build(names[i].first)});
}

void Rebuilder::fill_generator(V value, Operand target) {
  name_generator(value, target);
  const values::SuspendedFrame& frame = suspended(value);
  const bytecode::Code& code = python::decoded(frame.code);
  // One that is at its end may stand behind its last instruction.
  const bool goes_on = frame.phase != python::GeneratorPhase::Finished;
  const int32_t unit = goes_on ? code[frame.pc].offset : 0;
  const auto build_any = [this](V held) {
    return held ? build(held) : builder_.constant(null_token());
  };
  std::vector<Operand> operands{target, number(static_cast<long>(frame.phase)),
                                number(unit), build_any(frame.function),
                                build_any(frame.handled)};
  for (const std::vector<V>* part : {&frame.locals, &frame.stack})
    for (V each : *part)
      operands.push_back(each && !each->is_null()
                             ? build(each)
                             : builder_.constant(null_token()));
  builder_.act(StepOp::FillGenerator, operands);
}

}  // namespace magneto::artifact
