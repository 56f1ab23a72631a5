// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes of the entries of dicts and other mappings.
#include "python/key_token.h"
#include "python/names.h"
#include "values/protocol/hashing.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/types/exceptions.h"
#include "values/types/keys_by_place.h"

namespace magneto::values {

namespace {

// Attributes are found one by one by their names; whether there are other keys,
// only the whole dictionary tells.
void read_for(Context& ctx, HeapId id, PyObject* token) {
  if (ctx.heap[id].attributes_of.valid() && !PyUnicode_CheckExact(token))
    ctx.heap.dict_complete(id, ctx);
}

V entry_value(Context& ctx, V dict, V key, PyObject* token) {
  HeapId id = dict->heap;
  settle_keys(ctx, dict);
  read_for(ctx, id, token);
  Py_ssize_t position = ctx.heap.find(id, token);
  expect_closed_comparisons();
  const DictState& state = *ctx.heap[id].dict;
  if (position >= 0) return state.entries[static_cast<size_t>(position)].value;
  if (state.complete) return nullptr;
  return ctx.read(id, key, token);
}

// Keys that hash and compare in Python code are put into real containers by
// their hash. OrderedDicts and frozensets have no way to do that.
bool takes_own_keys(const Context& ctx, V container) {
  return !is_instance_of(container, &PyODict_Type) &&
         !is_instance_of(container, &PyFrozenSet_Type) &&
         !ctx.heap[container->heap].attributes_of.valid();
}

}  // namespace

Outcome<V> dict_get(Context& ctx, V dict, V key) {
  dict = ctx.look(dict);
  key = ctx.look(key);
  MG_TRY(PyObject * token, key_token(ctx, key));
  return entry_value(ctx, dict, key, token);
}

V dict_get_string(Context& ctx, V dict, PyObject* key) {
  settle_keys(ctx, dict);
  Py_ssize_t position = ctx.heap.find(dict->heap, key);
  const DictState& state = *ctx.heap[dict->heap].dict;
  if (position >= 0) return state.entries[static_cast<size_t>(position)].value;
  if (state.complete) return nullptr;
  return ctx.read(dict->heap, ctx.constant_share(key), key);
}

Status dict_set(Context& ctx, V dict, V key, V value) {
  dict = ctx.look(dict);
  key = ctx.look(key);
  MG_TRY(PyObject * token, key_token(ctx, key));
  if (ctx.heap[dict->heap].attributes_of.valid() &&
      !PyUnicode_CheckExact(token))
    return ctx.graph_break("dict-key",
                           std::string("a key of type ") +
                               Py_TYPE(token)->tp_name +
                               " in an object's dictionary",
                           "use names of attributes as keys");
  if (!ctx.own_keys().empty() && python::holds_key_token(token) &&
      !takes_own_keys(ctx, dict)) {
    const std::string what =
        std::string("a ") + key->type->tp_name + " in a " + dict->type->tp_name;
    return dict->kind == Kind::Set ? ctx.graph_break("set-item", what)
                                   : ctx.graph_break("dict-key", what);
  }
  settle_keys(ctx, dict);
  if (!ctx.heap[dict->heap].dict->complete &&
      ctx.heap.find(dict->heap, token) < 0)
    ctx.check_drop_unread(dict->heap, key, token);
  ctx.heap.dict_set(dict->heap, key, value, token);
  expect_closed_comparisons();
  return done;
}

Outcome<V> dict_pop(Context& ctx, V dict, V key) {
  dict = ctx.look(dict);
  key = ctx.look(key);
  MG_TRY(PyObject * token, key_token(ctx, key));
  V old = entry_value(ctx, dict, key, token);
  if (old) ctx.heap.dict_delete(dict->heap, token);
  return old;
}

bool is_merged_directly(Context& ctx, PyTypeObject* type) {
  if (type->tp_iter == PyDict_Type.tp_iter) return true;
  // Of an OrderedDict, CPython calls keys() and __getitem__, which are C code
  // unless its class has others.
  return type->tp_iter == PyODict_Type.tp_iter &&
         !own_special(ctx, type, interned().keys) &&
         !own_special(ctx, type, interned().dunder_getitem) &&
         type->tp_getattro == PyODict_Type.tp_getattro;
}

std::vector<const DictEntry*> dict_entries(Context& ctx, V dict) {
  dict = ctx.look(dict);
  ctx.heap.dict_complete(dict->heap, ctx);
  settle_keys(ctx, dict);
  std::vector<const DictEntry*> entries;
  for (const DictEntry& entry : ctx.heap[dict->heap].dict->entries)
    if (entry.value) entries.push_back(&entry);
  return entries;
}

}  // namespace magneto::values
