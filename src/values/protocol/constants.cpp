// SPDX-License-Identifier: BSD-3-Clause
// Between values and real objects that consist of constants.
#include "guards/guard.h"
#include "values/model/recursion.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/aliases.h"
#include "values/types/numpy_values.h"
#include "values/types/sets.h"

namespace magneto::values {

bool is_safe_type(PyTypeObject* type) {
  return type == &PyLong_Type || type == &PyUnicode_Type ||
         type == &PyBool_Type || type == &PyFloat_Type ||
         type == Py_TYPE(Py_None) || type == &PyTuple_Type ||
         type == &PyBytes_Type || type == &PyComplex_Type ||
         type == &PyRange_Type || type == &PySlice_Type ||
         type == &PyFrozenSet_Type || type == &PyEllipsis_Type ||
         type == Py_TYPE(Py_NotImplemented) || type == torch_types().dtype ||
         type == torch_types().device || type == torch_types().layout ||
         type == torch_types().memory_format || type == torch_types().size ||
         type == torch_types().attention_kernel || is_numpy_number(type);
}

namespace {

// A new real object, or null (without an error set) if some part is no
// constant.
Ref build(Context& ctx, V value) {
  // A container may hold itself.
  const RecursionScope scope;
  if (!scope.has_room()) return {};
  value = ctx.look(value);
  switch (value->kind) {
    case Kind::Constant:
      return Ref::share(value->object);
    case Kind::Tuple: {
      if (value->type != &PyTuple_Type && value->type != torch_types().size)
        return {};
      auto items = tuple_items(value);
      Ref tuple =
          Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
      MG_CHECK(tuple, "out of memory");
      for (size_t i = 0; i < items.size(); ++i) {
        Ref item = build(ctx, items[i]);
        if (!item) return {};
        PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i),
                         item.release());
      }
      if (value->type == &PyTuple_Type) return tuple;
      Ref converted = Ref::steal(
          PyObject_CallOneArg(reinterpret_cast<PyObject*>(value->type), tuple));
      MG_CHECK(converted, "a tuple of ints makes a size");
      return converted;
    }
    case Kind::List: {
      if (value->type != &PyList_Type) return {};
      const auto& items = ctx.heap.items(value->heap);
      Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(items.size())));
      MG_CHECK(list, "out of memory");
      for (size_t i = 0; i < items.size(); ++i) {
        Ref item = build(ctx, ctx.heap.items(value->heap)[i]);
        if (!item) return {};
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), item.release());
      }
      return list;
    }
    case Kind::Dict: {
      if (value->type != &PyDict_Type) return {};
      Ref dict = Ref::steal(PyDict_New());
      MG_CHECK(dict, "out of memory");
      for (const DictEntry* entry : dict_entries(ctx, value)) {
        Ref key = build(ctx, entry->key);
        Ref item = key ? build(ctx, entry->value) : Ref();
        if (!item) return {};
        MG_CHECK(PyDict_SetItem(dict, key, item) == 0, "keys are hashable");
      }
      return dict;
    }
    case Kind::Set: {
      if (value->type != &PySet_Type && value->type != &PyFrozenSet_Type)
        return {};
      if (Ref plain = plain_set(ctx, value)) return plain;
      Ref list = Ref::steal(PyList_New(0));
      MG_CHECK(list, "out of memory");
      for (const DictEntry* entry : dict_entries(ctx, value)) {
        Ref key = build(ctx, entry->key);
        if (!key) return {};
        MG_CHECK(PyList_Append(list, key) == 0, "out of memory");
      }
      return Ref::steal(value->type == &PySet_Type ? PySet_New(list)
                                                   : PyFrozenSet_New(list));
    }
    case Kind::Slice: {
      Ref parts[3];
      auto items = tuple_items(value);
      for (size_t i = 0; i < 3; ++i) {
        parts[i] = build(ctx, items[i]);
        if (!parts[i]) return {};
      }
      return Ref::steal(PySlice_New(parts[0], parts[1], parts[2]));
    }
    default:
      return {};
  }
}

}  // namespace

PyObject* as_constant(Context& ctx, V value) {
  value = ctx.look(value);
  if (value->is_constant()) return value->object;
  Ref built = build(ctx, value);
  return built ? ctx.keep(std::move(built)) : nullptr;
}

Outcome<V> from_constant(Context& ctx, Ref object) {
  // CPython's limit is that of whoever made it.
  if (!has_stack_room())
    return ctx.graph_break(
        "recursion", "a result with so many objects inside of each other");
  PyObject* real = object.get();
  if (ctx.symbols.exist()) {
    if (tensor::is_symbol_object(real)) {
      shapes::E number = tensor::expression_of(ctx.symbols.environment(), real);
      MG_CHECK(number, "a number of this trace");
      return ctx.symbols.value(number);
    }
    if (Py_IS_TYPE(real, torch_types().size)) {
      std::vector<V> items;
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(real); ++i) {
        MG_TRY(V item,
               from_constant(ctx, Ref::share(PyTuple_GET_ITEM(real, i))));
        items.push_back(item);
      }
      return ctx.tuple(items, torch_types().size);
    }
  }
  if (PyList_CheckExact(real)) {
    std::vector<V> items;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(real); ++i) {
      MG_TRY(V item, from_constant(ctx, Ref::share(PyList_GET_ITEM(real, i))));
      items.push_back(item);
    }
    return ctx.list(items);
  }
  if (PyTuple_CheckExact(real) && !guards::is_constant(real)) {
    std::vector<V> items;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(real); ++i) {
      MG_TRY(V item, from_constant(ctx, Ref::share(PyTuple_GET_ITEM(real, i))));
      items.push_back(item);
    }
    return ctx.tuple(items);
  }
  if (PyDict_CheckExact(real)) {
    V made = ctx.dict();
    PyObject *key = nullptr, *item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(real, &position, &key, &item)) {
      MG_TRY(V value, from_constant(ctx, Ref::share(item)));
      ctx.heap.dict_initial(made->heap, ctx.constant_share(key), value,
                            Ref::share(key));
    }
    return made;
  }
  if (PySet_CheckExact(real)) {
    V made = ctx.set();
    Ref items = Ref::steal(PySequence_List(real));
    MG_CHECK(items, "out of memory");
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
      PyObject* item = PyList_GET_ITEM(items.get(), i);
      V key = ctx.constant_share(item);
      ctx.heap.dict_initial(made->heap, key, key, Ref::share(item));
    }
    return made;
  }
  if (is_alias(real)) return alias_value(ctx, std::move(object));
  return ctx.constant(std::move(object));
}

}  // namespace magneto::values
