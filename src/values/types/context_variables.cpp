// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/context_variables.h"

#include "values/types/type_table.h"

namespace magneto::values {

namespace {

// Slots of a ContextVar that was asked for; the last is the token of the set()
// that gave it the value which it has now.
enum Slot : size_t { kNow, kBefore, kToken };

void ask(Context& ctx, V variable) {
  const SourceId source =
      ctx.sources.field(variable->source, guards::SourceKind::ContextVarValue);
  const guards::Reading found =
      guards::read_field(guards::SourceKind::ContextVarValue, variable->object);
  // Each time: what was asked may have been taken back, with its guards.
  if (found.is_present())
    ctx.guards.present(source);
  else
    ctx.guards.absent(source);
  HeapObject& state = ctx.heap.initial(variable->heap);
  if (!state.slots.empty()) return;
  V value = found.is_present() ? ctx.lazy(found.value(), source) : ctx.null();
  state.slots = {value, value, ctx.null()};
}

}  // namespace

V value_now(Context& ctx, V variable) {
  ask(ctx, variable);
  return ctx.heap[variable->heap].slots[kNow];
}

V value_before(Context& ctx, V variable) {
  ask(ctx, variable);
  return ctx.heap[variable->heap].slots[kBefore];
}

V set_variable(Context& ctx, V variable, V value) {
  V old = value_now(ctx, variable);
  V token = ctx.object(&PyContextToken_Type);
  ctx.heap.initial(token->heap).slots = {
      variable, old, value, ctx.boolean(false),
      ctx.heap[variable->heap].slots[kToken]};
  ctx.heap.set_slot(variable->heap, kNow, value);
  ctx.heap.set_slot(variable->heap, kToken, token);
  return token;
}

void reset_variable(Context& ctx, V variable, V token) {
  const std::vector<V> slots = ctx.heap[token->heap].slots;
  ctx.heap.set_slot(variable->heap, kNow, slots[kOldValue]);
  ctx.heap.set_slot(variable->heap, kToken, slots[kEarlier]);
  ctx.heap.set_slot(token->heap, kIsUsed, ctx.boolean(true));
}

V token_of_now(Context& ctx, V variable) {
  V now = value_now(ctx, variable);
  V token = ctx.heap[variable->heap].slots[kToken];
  if (token->is_null()) return nullptr;
  const std::vector<V>& slots = ctx.heap[token->heap].slots;
  return slots[kOldValue] == value_before(ctx, variable) &&
                 slots[kNewValue] == now && slots[kIsUsed] == ctx.boolean(false)
             ? token
             : nullptr;
}

namespace {

std::optional<Construction> construct_token(Context& ctx, V token) {
  static PyObject* const set = PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(&PyContextVar_Type), "set");
  const std::vector<V> slots = ctx.heap[token->heap].slots;
  V variable = slots[kVariable];
  // What set() gives, if nothing else was set in the piece.
  if (token != token_of_now(ctx, variable))
    cannot_rebuild("a token of a ContextVar that was set more than once");
  return Construction{ctx.constant_share(set), {variable, slots[kNewValue]}};
}

// A variable that had no value and has none again needs nothing.
void replay(Context& ctx, V variable, StepWriter& writer) {
  const V now = value_now(ctx, variable);
  // Somebody may hold the token, which says what there was before.
  if (V token = token_of_now(ctx, variable)) return writer.make(token);
  if (now != value_before(ctx, variable) && !now->is_null())
    writer.act(StepOp::SetContextVar, {variable, now});
}

}  // namespace

std::span<const TypeRow> context_variable_types() {
  static const TypeRow rows[] = {
      {.type = &PyContextVar_Type, .replay = replay},
      {.type = &PyContextToken_Type, .construct = construct_token},
  };
  return rows;
}

}  // namespace magneto::values
