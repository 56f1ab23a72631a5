// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/class_attributes.h"

#include "python/layout.h"
#include "python/names.h"
#include "values/protocol/attributes.h"
#include "values/torch/torch_types.h"

namespace magneto::values {
namespace {

Signal break_at(Context& ctx, PyTypeObject* type, PyObject* name,
                const char* why) {
  return ctx.graph_break("attribute-write",
                         "attribute " + attribute_name(name) + " of class " +
                             type->tp_name + ", " + why);
}

// Classes of which C code, or the graph's functions, read attributes.
bool is_read_by_others(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) ||
         !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
         PyType_IsSubtype(type, &PyTuple_Type) ||
         PyType_IsSubtype(type, torch_types().tensor) ||
         PyType_IsSubtype(Py_TYPE(type), torch_types().enum_meta);
}

// Whether a class that has `value` as an attribute gives just that.
Outcome<bool> is_plain(Context& ctx, V value) {
  value = ctx.look_open(value);
  if (value->is_constant() && value->object)
    return !gives_values(ctx, value->object) &&
           !takes_values(ctx, value->object);
  PyTypeObject* type = value->type;
  for (PyObject* hook :
       {interned().dunder_get, interned().dunder_set, interned().dunder_delete})
    (void)type_lookup(ctx, type, hook);
  return type->tp_descr_get == nullptr && type->tp_descr_set == nullptr;
}

}  // namespace

bool is_dunder(PyObject* name) {
  const std::string text = attribute_name(name);
  return text.starts_with("__") && text.ends_with("__");
}

Status write_class_attribute(Context& ctx, V cls, PyObject* name, V value) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls->object);
  PyTypeObject* meta = Py_TYPE(type);
  if (meta->tp_setattro != PyType_Type.tp_setattro || is_read_by_others(type))
    return break_at(ctx, type, name, "which others read");
  if (is_dunder(name) || !PyUnicode_CheckExact(name))
    return break_at(ctx, type, name, "which has a meaning of its own");
  PyObject* in_meta = type_lookup(ctx, meta, name);
  if (in_meta && takes_values(ctx, in_meta))
    return break_at(ctx, type, name, "which its metaclass takes");
  if (!written_attribute(ctx, type, name)) {
    PyObject* found = lookup_attribute(ctx, type, name);
    if (found && (gives_values(ctx, found) || takes_values(ctx, found)))
      return break_at(ctx, type, name, "which is a function or a descriptor");
  }
  if (value) {
    MG_TRY(const bool plain, is_plain(ctx, value));
    if (!plain)
      return break_at(ctx, type, name, "which gets a function or a descriptor");
  }
  V attributes = ctx.class_attributes(type);
  if (!attributes)
    return break_at(ctx, type, name, "whose __dict__ was asked for");
  V key = ctx.constant_share(name);
  if (value) return dict_set(ctx, attributes, key, value);
  MG_TRY(V old, dict_pop(ctx, attributes, key));
  if (old) return done;
  return ctx.raise(PyExc_AttributeError,
                   std::string("type object '") + type->tp_name +
                       "' has no attribute '" + attribute_name(name) + "'");
}

std::optional<V> own_written_attribute(Context& ctx, PyTypeObject* type,
                                       PyObject* name) {
  V attributes = ctx.has_written_classes() ? ctx.written_class(type) : nullptr;
  if (!attributes) return std::nullopt;
  const Py_ssize_t position = ctx.heap.find(attributes->heap, name);
  if (position < 0) return std::nullopt;
  const DictEntry& entry =
      ctx.heap[attributes->heap].dict->entries[static_cast<size_t>(position)];
  return entry.written ? std::optional(entry.value) : std::nullopt;
}

std::optional<V> written_attribute(Context& ctx, PyTypeObject* type,
                                   PyObject* name) {
  if (!ctx.has_written_classes()) return std::nullopt;
  PyObject* mro = type->tp_mro;
  std::vector<PyTypeObject*> without;
  bool is_taken_away = false;
  const auto rely_on_those_without = [&] {
    for (PyTypeObject* other : without)
      ctx.guards.absent(ctx.sources.type_own_attr(
          ctx.sources.constant(reinterpret_cast<PyObject*>(other)), name));
  };
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (std::optional<V> written = own_written_attribute(ctx, base, name)) {
      is_taken_away = is_taken_away || !*written;
      if (!*written) continue;
      rely_on_those_without();
      return written;
    }
    if (PyDict_GetItemWithError(base->tp_dict, name)) {
      if (!is_taken_away) return std::nullopt;
      // What it hid before it was taken away.
      throw BreakException{
          {"attribute-write",
           "attribute " + attribute_name(name) + " of class " + base->tp_name +
               ", which was hidden by one that has been deleted"}};
    }
    if (base->tp_flags & Py_TPFLAGS_HEAPTYPE) without.push_back(base);
  }
  if (!is_taken_away) return std::nullopt;
  rely_on_those_without();
  return nullptr;
}

bool is_class_written(Context& ctx, PyTypeObject* type) {
  if (!ctx.has_written_classes()) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    V attributes = ctx.written_class(
        reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i)));
    if (attributes && ctx.heap[attributes->heap].changes) return true;
  }
  return false;
}

}  // namespace magneto::values
