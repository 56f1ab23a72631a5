// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/hashing.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include "guards/constant.h"
#include "python/find.h"
#include "python/key_token.h"
#include "python/names.h"
#include "support/stack_room.h"
#include "values/model/speculation.h"
#include "values/protocol/protocol.h"
#include "values/torch/tensor_choice.h"
#include "values/torch/torch_types.h"

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

bool has_own_keys(PyObject* dict) {
  if (!PyDict_Check(dict)) return false;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    PyTypeObject* type = Py_TYPE(key);
    if (!guards::is_plain_key(key) && (type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
        !guards::has_identity_hash(type))
      return true;
  }
  return false;
}

void rely_on_hash(Context& ctx, PyTypeObject* type) {
  if (!type || !(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return;
  (void)type_lookup(ctx, type, interned().dunder_hash);
  (void)type_lookup(ctx, type, interned().dunder_eq);
}

namespace {

Signal unhashable(Context& ctx, PyTypeObject* type) {
  return ctx.raise(PyExc_TypeError,
                   std::string("unhashable type: '") + type->tp_name + "'");
}

}  // namespace

Status check_hashable(Context& ctx, PyTypeObject* type) {
  rely_on_hash(ctx, type);
  if (type->tp_hash == PyObject_HashNotImplemented)
    return unhashable(ctx, type);
  return done;
}

Outcome<V> own_hash(Context& ctx, V value) {
  PyObject* found = own_special(ctx, value->type, interned().dunder_hash);
  if (!found || found == Py_None) return nullptr;
  return bind_descriptor(ctx, found, value, value->type,
                         interned().dunder_hash);
}

namespace {

// What CPython makes of the answer of a __hash__ of the program's.
Outcome<V> reduced_hash(Context& ctx, V answer) {
  if (!answer->is_constant() || !PyLong_Check(answer->object))
    return ctx.raise(PyExc_TypeError,
                     "__hash__ method should return an integer");
  Py_ssize_t number = PyLong_AsSsize_t(answer->object);
  if (number == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    number = PyLong_Type.tp_hash(answer->object);
  }
  return ctx.integer(number == -1 ? -2 : number);
}

}  // namespace

Outcome<V> hash_by_own_method(Context& ctx, V value) {
  MG_TRY(V own, own_hash(ctx, value));
  if (!own) return nullptr;
  MG_TRY(V answer, call(ctx, own, {}));
  return reduced_hash(ctx, ctx.look(answer));
}

void expect_closed_comparisons() {
  if (python::take_open_comparison())
    throw BreakException{
        {"dict-key",
         "a key with an __eq__ of its own, which has the hash of another "
         "kind of key",
         "use keys of one class"}};
}

namespace {

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

// Members of an enumeration: their hash is Python code over an immutable name,
// and equality is identity unless the enumeration mixes in another type.
bool hashes_as_enum(Context& ctx, PyTypeObject* type) {
  static PyObject* const of_enum = find_object("enum.Enum.__hash__");
  return type->tp_richcompare == PyBaseObject_Type.tp_richcompare &&
         type_lookup(ctx, type, interned().dunder_hash) == of_enum;
}

// Weak references hash and compare as their objects do, while there are such.
bool is_unsettled_reference(PyObject* object) {
  if (!PyWeakref_Check(object)) return false;
  PyObject* target = PyWeakref_GET_OBJECT(object);
  return target == Py_None || !guards::has_identity_hash(Py_TYPE(target));
}

Outcome<PyObject*> user_key(Context& ctx, V key) {
  return ctx.graph_break("dict-key",
                         std::string("a key of type ") + key->type->tp_name,
                         "use a key whose class keeps object's __eq__ and "
                         "__hash__, or a string or number");
}

// Whether two keys are equal, whichever of them is asked; nothing if that isn't
// sure, or if it raises, where the dict may have no such key.
Outcome<std::optional<bool>> are_equal(Context& ctx, V one, V other) {
  if (one == other) return std::optional(true);
  std::optional<bool> answer;
  for (const auto& [left, right] : {std::pair(one, other), {other, one}}) {
    const Outcome<bool> is_equal = equal(ctx, left, right);
    if (!is_equal && is_equal.signal() != Signal::Raised)
      return is_equal.signal();
    if (!is_equal) (void)ctx.take_exception();
    if (!is_equal || (answer && *answer != is_equal.value()))
      return std::optional<bool>();
    answer = is_equal.value();
  }
  return answer;
}

// Of a key that hashes and compares in Python code of its own. Those that have
// one token must all be equal to it, or none, also where they have changed: a
// dict may have any of them.
Outcome<PyObject*> own_token(Context& ctx, V key) {
  if (key->type->tp_hash == PyObject_HashNotImplemented)
    return unhashable(ctx, key->type);
  const Speculation asked(ctx);
  MG_TRY(V hashed, hash_by_own_method(ctx, key));
  if (!hashed) return user_key(ctx, key);
  const Py_hash_t hash = PyLong_AsSsize_t(hashed->object);
  PyObject* token = nullptr;
  bool is_known = false;
  std::unordered_map<PyObject*, bool> equal_tokens;
  for (size_t i = 0; i < ctx.own_keys().size(); ++i) {
    const Context::OwnKey known = ctx.own_keys()[i];
    is_known = is_known || known.key == key;
    // Where it is found by its identity depends on the table.
    if (known.key == key && known.hash != hash) return user_key(ctx, key);
    if (known.hash != hash) continue;
    MG_TRY(const std::optional<bool> is_equal, are_equal(ctx, known.key, key));
    if (!is_equal) return user_key(ctx, key);
    const auto [said, is_new] = equal_tokens.emplace(known.token, *is_equal);
    if (said->second != *is_equal) return user_key(ctx, key);
    if (!*is_equal) continue;
    // An __eq__ that isn't transitive.
    if (token && token != known.token) return user_key(ctx, key);
    token = known.token;
  }
  if (asked.has_effects()) return user_key(ctx, key);
  if (!token) token = ctx.keep(python::make_key_token(hash));
  if (!is_known) ctx.remember_own_key({key, token, hash});
  return token;
}

}  // namespace

Outcome<PyObject*> key_token(Context& ctx, V key) {
  key = ctx.look(key);
  rely_on_hash(ctx, key->type);
  if (hashes_itself(key)) return own_token(ctx, key);
  if (key->object && is_unsettled_reference(key->object))
    return user_key(ctx, key);
  switch (key->kind) {
    case Kind::Constant: {
      PyObject* object = key->object;
      PyTypeObject* type = Py_TYPE(object);
      if (is_plain_key_type(type) || inherits_plain_key(type)) return object;
      if (type->tp_hash == PyObject_HashNotImplemented)
        return unhashable(ctx, type);
      if (PyTuple_CheckExact(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
          PyTypeObject* item = Py_TYPE(PyTuple_GET_ITEM(object, i));
          rely_on_hash(ctx, item);
          if (!is_plain_key_type(item) && !is_static_type(item) &&
              !guards::has_identity_hash(item))
            return ctx.graph_break(
                "dict-key", std::string("a key of type ") + item->tp_name);
          if (item->tp_hash == PyObject_HashNotImplemented)
            return unhashable(ctx, item);
        }
        return object;
      }
      // Classes: a metaclass may define __eq__ or __hash__ in Python.
      if (is_static_type(type) || guards::has_identity_hash(type) ||
          (PyType_Check(object) && type->tp_hash == PyType_Type.tp_hash &&
           type->tp_richcompare == PyType_Type.tp_richcompare))
        return object;
      if (hashes_as_enum(ctx, type)) return object;
      return ctx.graph_break("dict-key",
                             std::string("a key of type ") + type->tp_name);
    }
    case Kind::Tensor:
      if (is_chosen(ctx, key)) return ctx.graph_break(kTensorChoice);
      if (!key->source.valid()) return fake_of(key);
      ctx.object_keys.push_back(key);
      return key->object;
    case Kind::Tuple: {
      if (key->type->tp_hash != PyTuple_Type.tp_hash ||
          key->type->tp_richcompare != PyTuple_Type.tp_richcompare)
        break;
      if (!has_stack_room())
        return ctx.graph_break("recursion",
                               "a key with so many tuples inside "
                               "of each other");
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
      return unhashable(ctx, key->type);
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
      return unhashable(ctx, key->type);
    default:
      break;
  }
  if (key->type && !guards::has_identity_hash(key->type) &&
      (key->type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return own_token(ctx, key);
  // Equal ones need not be one object.
  if (key->kind == Kind::BoundMethod) return user_key(ctx, key);
  if (key->type && key->type->tp_hash == PyObject_HashNotImplemented)
    return unhashable(ctx, key->type);
  // C code compares what they hold, which isn't guarded.
  if (key->kind == Kind::Object && is_static_type(key->type) &&
      !guards::has_identity_hash(key->type))
    return ctx.graph_break("dict-key",
                           std::string("a key of type ") + key->type->tp_name);
  if (key->object) {
    if (key->source.valid()) ctx.object_keys.push_back(key);
    return key->object;
  }
  return ctx.identity_token(key);
}

}  // namespace magneto::values
