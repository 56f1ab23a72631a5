// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/keys_by_place.h"

#include "python/layout.h"

namespace magneto::values {
namespace {

using guards::SourceKind;

// More keys are rather looked up than gone over.
constexpr Py_ssize_t kMost = 8;

// HeapObject::number of a dict whose keys are so.
constexpr int64_t kByPlace = 1;

bool is_known_by_place(const Context& ctx, V dict) {
  return dict->kind == Kind::Dict && dict->type == &PyODict_Type &&
         dict->source.valid() && ctx.heap[dict->heap].number == kByPlace;
}

}  // namespace

std::vector<V> keys_by_place(Context& ctx, V dict) {
  std::vector<V> keys;
  if (dict->type != &PyODict_Type ||
      !ctx.heap[dict->heap].dict->entries.empty())
    return keys;
  const Py_ssize_t count = PyDict_GET_SIZE(dict->object);
  if (count == 0 || count > kMost) return keys;
  python::DictKeys all(dict->object);
  std::vector<PyObject*> found;
  while (PyObject* key = all.next()) {
    if (!PyLong_CheckExact(key)) return keys;
    found.push_back(key);
  }
  if (std::ssize(found) != count) return keys;
  ctx.guards.length(dict->source, count);
  for (size_t i = 0; i < found.size(); ++i) {
    const SourceId source = ctx.sources.dict_key_at(dict->source, i);
    ctx.guards.type_is(source, &PyLong_Type);
    keys.push_back(ctx.lazy(found[i], source));
  }
  ctx.heap.initial(dict->heap).number = kByPlace;
  return keys;
}

std::optional<uint32_t> place_of_key(const Context& ctx, V dict, V key) {
  if (key->kind != Kind::Lazy || !key->source.valid()) return {};
  const guards::Source& source = ctx.sources[key->source];
  if (source.kind != SourceKind::DictKeyAt || source.base != dict->source)
    return {};
  return source.index;
}

bool is_unknown_key(const Context& ctx, V value) {
  return value->kind == Kind::Lazy && value->source.valid() &&
         ctx.sources[value->source].kind == SourceKind::DictKeyAt &&
         ctx.looked_at(value) == value && PyLong_CheckExact(value->object);
}

void settle_keys(Context& ctx, V dict) {
  if (!is_known_by_place(ctx, dict)) return;
  Ref keys = Ref::steal(PyList_New(0));
  python::DictKeys all(dict->object);
  PyObject* key = all.next();
  while (keys && key && PyList_Append(keys, key) == 0) key = all.next();
  Ref tuple = Ref::steal(keys && !key ? PyList_AsTuple(keys) : nullptr);
  MG_CHECK(tuple, "out of memory");
  ctx.guards.dict_keys(dict->source, ctx.keep(std::move(tuple)));
}

}  // namespace magneto::values
