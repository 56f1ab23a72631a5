// SPDX-License-Identifier: BSD-3-Clause
// Sets as a type: how one becomes a value, its operators, and which steps give
// a real one its items in the order in which the trace's got them.
#include "guards/constant.h"
#include "python/find.h"
#include "python/set_items.h"
#include "python/set_table.h"
#include "values/model/callers_objects.h"
#include "values/torch/torch_types.h"
#include "values/types/hashed_keys.h"
#include "values/types/sets.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

// What is equal to nothing but itself, though Python code hashes it.
bool is_enum_member(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return PyType_IsSubtype(Py_TYPE(type), torch_types().enum_meta) &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

V wrap(Context& ctx, PyObject* object, SourceId source) {
  V made = callers_object(ctx, Kind::Set, object, source);
  const HeapId id = made->heap;
  ctx.heap.make_dict(id, true);
  // In the set's own order, and not by an __iter__ written in Python.
  python::SetItems items(object);
  while (PyObject* item = items.next()) {
    if (!guards::is_plain_key(item) && !PyCFunction_Check(item) &&
        !is_enum_member(item))
      throw BreakException{
          {"set-item",
           std::string("a set that holds a ") + Py_TYPE(item)->tp_name,
           "use strings or numbers as items"}};
    V value = ctx.fixed(item);
    ctx.heap.dict_initial(id, value, value, Ref::share(item));
  }
  Ref frozen = Ref::steal(PyFrozenSet_New(object));
  MG_CHECK(frozen, "out of memory");
  ctx.guards.set_items(source, frozen);
  return made;
}

Outcome<V> combine(Context& ctx, BinaryOperator op, V left, V right,
                   bool in_place) {
  if (!is_set(left) || !is_set(right)) return nullptr;
  std::optional<SetOperation> operation;
  if (op == BinaryOperator::Or) operation = SetOperation::Union;
  if (op == BinaryOperator::And) operation = SetOperation::Intersection;
  if (op == BinaryOperator::Subtract) operation = SetOperation::Difference;
  if (op == BinaryOperator::Xor) operation = SetOperation::SymmetricDifference;
  if (!operation) return nullptr;
  if (!in_place || left->kind != Kind::Set ||
      !PyType_IsSubtype(left->type, &PySet_Type))
    return set_combine(ctx, *operation, left, {&right, 1});
  MG_DO(set_update(ctx, *operation, left, right));
  return left;
}

// The steps that do to a set what the trace has done to it; those that add or
// remove single items in a row are one.
class SetWriter {
 public:
  SetWriter(Context& ctx, V set, StepWriter& writer)
      : ctx_(ctx),
        set_(set),
        state_(*ctx.heap[set->heap].dict),
        writer_(writer),
        pops_(has_plain_history(state_)) {}

  void write() {
    if (state_.finger)
      call(python::finger_writer(),
           Ref::steal(PyLong_FromSsize_t(*state_.finger)));
    for (const SetChange& change : set_history(state_)) apply(change);
    flush();
  }

 private:
  void apply(const SetChange& change) {
    static PyObject* const update = find_object("builtins.set.update");
    static PyObject* const drop = find_object("builtins.set.difference_update");
    static PyObject* const pop = find_object("builtins.set.pop");
    const auto& [entry, is_removed, merge] = change;
    if (merge) return call(merge->drops ? drop : update, merge->other.share());
    // What came and went again matters to the order only.
    const bool is_own = is_hashed_in_python(state_, *entry);
    if (set_->source.valid()
            ? !entry->written
            : !entry->value && !entry->key->is_constant() && !is_own)
      return;
    if (is_removed && entry->is_popped && pops_) return call(pop, {});
    if (is_own) {
      if (!entry->value)
        cannot_rebuild(
            "a set from which a key was taken that is hashed in Python");
      flush();
      writer_.act(StepOp::AddHashedItem,
                  {set_, entry->key, hash_of(ctx_, *entry)});
      return;
    }
    if (is_removed != removes_) flush();
    removes_ = is_removed;
    items_.push_back(entry->key);
  }

  void flush() {
    if (items_.empty()) return;
    items_.insert(items_.begin(), set_);
    writer_.act(removes_ ? StepOp::DiscardItems : StepOp::AddItems, items_);
    items_.clear();
  }

  void call(PyObject* method, Ref argument) {
    flush();
    std::vector<V> arguments{set_};
    if (argument) arguments.push_back(ctx_.constant(std::move(argument)));
    writer_.call(ctx_.constant_share(method), arguments);
  }

  Context& ctx_;
  V set_;
  const DictState& state_;
  StepWriter& writer_;
  // Whether pop() of the real set takes what the trace's took.
  bool pops_;
  std::vector<V> items_;  // that wait for their step
  bool removes_ = false;
};

// A frozen one was made with its items.
void fill(Context& ctx, V set, StepWriter& writer) {
  if (!PyType_IsSubtype(set->type, &PyFrozenSet_Type))
    SetWriter(ctx, set, writer).write();
}

void replay(Context& ctx, V set, StepWriter& writer) {
  if (ctx.heap[set->heap].dict->is_cleared) writer.act(StepOp::ClearSet, {set});
  SetWriter(ctx, set, writer).write();
}

}  // namespace

std::span<const TypeRow> set_types() {
  static const TypeRow rows[] = {
      {.type = &PySet_Type,
       .derived = true,
       .wrap = wrap,
       .combine = combine,
       .replay = replay},
      {.type = &PyFrozenSet_Type,
       .derived = true,
       .wrap = wrap,
       .combine = combine},
      {.kind = Kind::Set, .length = key_count, .fill = fill},
  };
  return rows;
}

}  // namespace magneto::values
