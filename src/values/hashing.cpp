// SPDX-License-Identifier: BSD-3-Clause
#include "values/hashing.h"

#include "python/names.h"
#include "values/protocol.h"
#include "values/torch_types.h"

namespace magneto::values {

bool is_plain_key_type(PyTypeObject* type) {
  return type == &PyUnicode_Type || type == &PyLong_Type ||
         type == &PyBool_Type || type == &PyFloat_Type ||
         type == &PyBytes_Type || type == &PyComplex_Type ||
         type == Py_TYPE(Py_None) || type == &PyEllipsis_Type ||
         type == torch_types().attention_kernel;
}

bool inherits_plain_key(PyTypeObject* type) {
  PyTypeObject* base = type;
  while (base && (base->tp_flags & Py_TPFLAGS_HEAPTYPE)) base = base->tp_base;
  return base && is_plain_key_type(base) && type->tp_hash == base->tp_hash &&
         type->tp_richcompare == base->tp_richcompare;
}

Outcome<V> own_hash(Context& ctx, V value) {
  PyObject* found = own_special(ctx, value->type, interned().dunder_hash);
  if (!found || found == Py_None) return nullptr;
  return bind_descriptor(ctx, found, value, value->type,
                         interned().dunder_hash);
}

namespace {

bool hashes_by_identity(PyTypeObject* type) {
  return type->tp_hash == PyBaseObject_Type.tp_hash &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

// C types outside the list above whose hash and equality are C code over
// immutable content: torch.dtype, torch.device, functions, classes with the
// plain metaclass and so on.
bool is_static_type(PyTypeObject* type) {
  return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

// Classes derived from a container's that hash or compare in their own way.
bool hashes_itself(V key) {
  PyTypeObject* base = key->kind == Kind::Tuple  ? &PyTuple_Type
                       : key->kind == Kind::List ? &PyList_Type
                       : key->kind == Kind::Dict ? &PyDict_Type
                       : key->kind == Kind::Set  ? &PySet_Type
                                                 : nullptr;
  if (!base || !(key->type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  if (PyType_IsSubtype(key->type, &PyFrozenSet_Type)) base = &PyFrozenSet_Type;
  return key->type->tp_hash != base->tp_hash ||
         key->type->tp_richcompare != base->tp_richcompare;
}

// Weak references hash and compare as their objects do, while there are such.
bool is_unsettled_reference(PyObject* object) {
  if (!PyWeakref_Check(object)) return false;
  PyObject* target = PyWeakref_GET_OBJECT(object);
  return target == Py_None || !hashes_by_identity(Py_TYPE(target));
}

Outcome<PyObject*> user_key(Context& ctx, V key) {
  return ctx.graph_break("dict-key",
                         std::string("a key of type ") + key->type->tp_name,
                         "use a key whose class keeps object's __eq__ and "
                         "__hash__, or a string or number");
}

}  // namespace

Outcome<PyObject*> key_token(Context& ctx, V key) {
  key = ctx.look(key);
  if (hashes_itself(key)) return user_key(ctx, key);
  if (key->object && is_unsettled_reference(key->object))
    return user_key(ctx, key);
  switch (key->kind) {
    case Kind::Constant: {
      PyObject* object = key->object;
      PyTypeObject* type = Py_TYPE(object);
      if (is_plain_key_type(type) || inherits_plain_key(type)) return object;
      if (type->tp_hash == PyObject_HashNotImplemented)
        return ctx.raise(PyExc_TypeError, std::string("unhashable type: '") +
                                              type->tp_name + "'");
      if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
          PyTypeObject* item = Py_TYPE(PyTuple_GET_ITEM(object, i));
          if (!is_plain_key_type(item) && !is_static_type(item) &&
              !hashes_by_identity(item))
            return ctx.graph_break(
                "dict-key", std::string("a key of type ") + item->tp_name);
          if (item->tp_hash == PyObject_HashNotImplemented)
            return ctx.raise(
                PyExc_TypeError,
                std::string("unhashable type: '") + item->tp_name + "'");
        }
        return object;
      }
      // Classes: a metaclass may define __eq__ or __hash__ in Python.
      if (is_static_type(type) || hashes_by_identity(type) ||
          (PyType_Check(object) && type->tp_hash == PyType_Type.tp_hash &&
           type->tp_richcompare == PyType_Type.tp_richcompare))
        return object;
      // Enum members: their hash is Python code over an immutable name, and
      // equality is identity unless the enum mixes in another type.
      if (type->tp_richcompare == PyBaseObject_Type.tp_richcompare)
        return object;
      return ctx.graph_break("dict-key",
                             std::string("a key of type ") + type->tp_name);
    }
    case Kind::Tensor:
      if (!key->source.valid()) return as<TensorValue>(key)->fake;
      ctx.object_keys.push_back(key);
      return key->object;
    case Kind::Tuple: {
      if (key->type->tp_hash != PyTuple_Type.tp_hash ||
          key->type->tp_richcompare != PyTuple_Type.tp_richcompare)
        break;
      auto items = tuple_items(key);
      Ref token =
          Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
      MG_CHECK(token, "out of memory");
      for (size_t i = 0; i < items.size(); ++i) {
        MG_TRY(PyObject * item, key_token(ctx, items[i]));
        PyTuple_SET_ITEM(token.get(), static_cast<Py_ssize_t>(i),
                         Ref::share(item).release());
      }
      return ctx.keep(std::move(token));
    }
    case Kind::List:
    case Kind::Dict:
    case Kind::Slice:
      return ctx.raise(PyExc_TypeError, std::string("unhashable type: '") +
                                            key->type->tp_name + "'");
    case Kind::Set:
      if (PyType_IsSubtype(key->type, &PyFrozenSet_Type)) {
        if (key->type->tp_hash != PyFrozenSet_Type.tp_hash ||
            key->type->tp_richcompare != PyFrozenSet_Type.tp_richcompare)
          break;
        Ref tokens = Ref::steal(PyList_New(0));
        MG_CHECK(tokens, "out of memory");
        for (const DictEntry* entry : dict_entries(ctx, key))
          MG_CHECK(PyList_Append(tokens, entry->token) == 0, "out of memory");
        Ref token = Ref::steal(PyFrozenSet_New(tokens));
        MG_CHECK(token, "tokens are hashable");
        return ctx.keep(std::move(token));
      }
      return ctx.raise(PyExc_TypeError, std::string("unhashable type: '") +
                                            key->type->tp_name + "'");
    default:
      break;
  }
  if (key->type && !hashes_by_identity(key->type) &&
      (key->type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return user_key(ctx, key);
  // Equal ones need not be one object.
  if (key->kind == Kind::BoundMethod) return user_key(ctx, key);
  if (key->type && key->type->tp_hash == PyObject_HashNotImplemented)
    return ctx.raise(PyExc_TypeError, std::string("unhashable type: '") +
                                          key->type->tp_name + "'");
  if (key->object) {
    if (key->source.valid()) ctx.object_keys.push_back(key);
    return key->object;
  }
  return ctx.identity_token(key);
}

}  // namespace magneto::values
