// SPDX-License-Identifier: BSD-3-Clause
// What the caller's objects have under names and keys: attributes of objects,
// classes, functions and modules, and items of dicts, read when the trace first
// asks for them.
#include "guards/guard.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "values/model/callers_objects.h"
#include "values/model/identity.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/keys_by_place.h"

namespace magneto::values {

using guards::Reading;
using guards::SourceKind;

namespace {

[[noreturn]] void shared_attributes() {
  throw BreakException{
      {"shared-attributes", "a dict that is some object's __dict__, too",
       "use one of them only: the object's attributes or the dict"}};
}

}  // namespace

V Wrapping::wrap_mapping(PyObject* object, SourceId source) {
  if (instance_dicts_.contains(object)) shared_attributes();
  V made = callers_object(whole(), Kind::Dict, object, source);
  heap.make_dict(made->heap, false);
  return made;
}

HeapId Wrapping::make_attributes(V object) {
  PyTypeObject* type = object->type;
  const bool has_dictionary = python::has_dictionary(type);
  const bool has_slots = (type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
                         type->tp_basicsize > PyBaseObject_Type.tp_basicsize;
  if (!has_dictionary && !has_slots) return {};
  const bool real = object->source.valid();
  PyObject** dict =
      real && has_dictionary ? python::dict_slot(object->object) : nullptr;
  if (dict && *dict) {
    const auto [at, is_new] =
        instance_dicts_.try_emplace(*dict, object->object);
    if (seen_.contains(*dict) || at->second != object->object)
      shared_attributes();
  }
  HeapId id = heap.make();
  V made = make({.kind = Kind::Dict, .heap = id, .type = &PyDict_Type});
  heap.initial(id).owner = made;
  heap.make_dict(id, !real);
  heap.set_attributes(object->heap, id);
  return id;
}

namespace {

// The dictionary of a function or a module, if there is one already.
PyObject* namespace_of(PyObject* object) {
  if (PyModule_Check(object)) return PyModule_GetDict(object);
  if (PyFunction_Check(object))
    return reinterpret_cast<PyFunctionObject*>(object)->func_dict;
  return nullptr;
}

}  // namespace

V Wrapping::constant_namespace(V object) {
  if (!PyModule_Check(object->object) && !PyFunction_Check(object->object))
    return nullptr;
  // Of a function it is made where there was none; a class of modules may have
  // another __dict__.
  Ref real = PyModule_Check(object->object)
                 ? Ref::share(PyModule_GetDict(object->object))
                 : Ref::steal(PyObject_GetAttr(object->object,
                                               interned().dunder_dict));
  MG_CHECK(real && PyDict_Check(real.get()), "it has a dictionary");
  PyObject* kept = keep(std::move(real));
  sources.found_at(kept, sources.field(sources.constant(object->object),
                                       guards::SourceKind::InstanceDict));
  return known(kept);
}

V Wrapping::class_namespace(PyTypeObject* type) {
  Ref proxy = Ref::steal(PyDictProxy_New(type->tp_dict));
  MG_CHECK(proxy, "out of memory");
  class_dicts_.emplace(type->tp_dict, type);
  return constant(std::move(proxy));
}

PyTypeObject* Wrapping::class_of_namespace(V constant) const {
  if (constant->type != &PyDictProxy_Type) return nullptr;
  const Reading dict =
      guards::read_field(SourceKind::MappingProxyTarget, constant->object);
  if (!dict.is_present()) return nullptr;
  auto found = class_dicts_.find(dict.value());
  return found == class_dicts_.end() ? nullptr : found->second;
}

V Wrapping::class_attributes(PyTypeObject* type) {
  if (V known = written_class(type)) return known;
  if (class_dicts_.contains(type->tp_dict)) return nullptr;
  auto* object = reinterpret_cast<PyObject*>(type);
  has_written_classes_ = true;
  HeapId id = heap.make();
  V cls = make({.kind = Kind::Constant,
                .source = sources.constant(object),
                .heap = id,
                .type = Py_TYPE(object),
                .object = object});
  heap.initial(id).owner = cls;
  HeapId attributes = heap.make();
  V made = make({.kind = Kind::Dict, .heap = attributes, .type = &PyDict_Type});
  heap.initial(attributes).owner = made;
  heap.make_dict(attributes, false);
  heap.set_attributes(id, attributes);
  seen_.add(object, made);
  return made;
}

V Wrapping::written_class(PyTypeObject* type) const {
  const V* found = seen_.find(reinterpret_cast<PyObject*>(type));
  return found ? *found : nullptr;
}

V Wrapping::constant_attribute(V object, PyObject* name) {
  if (object->type->tp_dictoffset == 0 &&
      !(object->type->tp_flags & Py_TPFLAGS_MANAGED_DICT))
    return nullptr;
  const bool is_shared =
      PyModule_Check(object->object) || PyFunction_Check(object->object);
  // What a pure function made belongs to nobody else: nothing to guard.
  if (!object->source.valid() && !is_shared) {
    Reading reading = guards::read_instance_attr(object->object, name);
    if (!reading.is_present()) return nullptr;
    Outcome<V> value = from_constant(whole(), Ref::share(reading.value()));
    return value ? value.value() : nullptr;
  }
  SourceId base = object->source;
  // A function or module that is compared by identity anyway is read from
  // itself, not once for every place where it was found.
  if (is_shared) base = sources.constant(object->object);
  // The program has the dictionary itself in hand, and may have changed it.
  if (PyObject* real = namespace_of(object->object)) {
    if (const V* found = seen_.find(real))
      return dict_get_string(whole(), *found, name);
  }
  SourceId source = sources.instance_attr(base, name);
  Reading reading = guards::read_instance_attr(object->object, name);
  if (reading.is_present()) {
    guards.present(source);
    return lazy(reading.value(), source);
  }
  guards.absent(source);
  return nullptr;
}

void Wrapping::guard_type_attribute(PyTypeObject* type, PyObject* name,
                                    PyObject* found) {
  SourceId source = sources.type_attr(
      sources.constant(reinterpret_cast<PyObject*>(type)), name);
  if (found)
    guards.identity(source, found);
  else
    guards.absent(source);
}

// -- Backing ------------------------------------------------------------------

Wrapping::KeyPlace Wrapping::place_of(HeapId dict, V key, PyObject* token) {
  const HeapObject& mapping = heap[dict];
  if (mapping.attributes_of.valid()) {
    V object = heap[mapping.attributes_of].owner;
    if (PyType_Check(object->object))
      return {sources.type_own_attr(object->source, token),
              guards::read_type_own_attr(object->object, token)};
    PyObject* member = PyUnicode_Check(token)
                           ? python::mro_lookup(object->type, token)
                           : nullptr;
    if (member && guards::is_slot_member(member))
      return {sources.slot_member(object->source, member),
              guards::read_slot_member(object->object, member)};
    return {sources.instance_attr(object->source, token),
            guards::read_instance_attr(object->object, token)};
  }
  V object = mapping.owner;
  if (const auto place = place_of_key(whole(), object, key)) {
    const SourceId source = sources.dict_value_at(object->source, *place);
    return {source, guards::read_dict_item(object->object, token,
                                           PyObject_Hash(token))};
  }
  PyObject* real = callers_key(whole(), key, token);
  if (!real) return {};
  Py_hash_t hash = PyObject_Hash(real);
  MG_CHECK(hash != -1, "a token can be hashed");
  return {guards::is_plain_key(real)
              ? sources.dict_item(object->source, real)
              : sources.dict_item(object->source, real, hash),
          guards::read_dict_item(object->object, real, hash)};
}

V Wrapping::read(HeapId dict, V key, PyObject* token) {
  const auto [source, reading] = place_of(dict, key, token);
  if (!source.valid()) {
    heap.dict_note(dict, key, nullptr, token);
    return nullptr;
  }
  if (reading.is_unreadable())
    throw BreakException{
        {"unreadable",
         "reading " + sources.print(source) + " would run user code",
         "read it outside of the compiled function"}};
  V value = nullptr;
  if (reading.is_present()) {
    value = lazy(reading.value(), source);
    guards.present(source);
  } else {
    guards.absent(source);
  }
  heap.dict_note(dict, key, value, token);
  return value;
}

namespace {

// An OrderedDict's keys; null if its iterator raises. A list would ask a class
// derived from it how long it is.
Ref keys_in_order(PyObject* ordered_dict) {
  Ref iterator = Ref::steal(PyODict_Type.tp_iter(ordered_dict));
  Ref keys = Ref::steal(PyList_New(0));
  if (!iterator || !keys) return {};
  while (Ref key = Ref::steal(PyIter_Next(iterator)))
    if (PyList_Append(keys, key) != 0) return {};
  return PyErr_Occurred() ? Ref() : std::move(keys);
}

void expect_plain_key(PyObject* key, bool of_instance) {
  if (of_instance && !PyUnicode_CheckExact(key))
    throw BreakException{
        {"dict-key",
         std::string("an object's dictionary with a key of type ") +
             Py_TYPE(key)->tp_name,
         "use names of attributes as keys"}};
  if (!guards::is_plain_key(key) &&
      !PyType_IsSubtype(Py_TYPE(Py_TYPE(key)), torch_types().enum_meta))
    throw BreakException{
        {"dict-key",
         std::string("a dict with a key of type ") + Py_TYPE(key)->tp_name,
         "use strings or numbers as keys"}};
}

}  // namespace

std::vector<V> Wrapping::keys(HeapId dict) {
  const HeapObject& mapping = heap[dict];
  const bool of_instance = mapping.attributes_of.valid();
  V object = of_instance ? heap[mapping.attributes_of].owner : mapping.owner;
  if (!of_instance) {
    std::vector<V> by_place = keys_by_place(whole(), object);
    if (!by_place.empty()) return by_place;
  }
  // That it has none yet may be seen: an exception's state says so.
  if (of_instance && !(object->type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
    PyObject** dictionary = python::dict_slot(object->object);
    if (dictionary && !*dictionary) {
      guards.instance_keys(object->source, keep(Ref::steal(PyTuple_New(0))));
      return {};
    }
  }
  Ref real = of_instance
                 ? Ref::steal(PyObject_GenericGetDict(object->object, nullptr))
                 : Ref::share(object->object);
  MG_CHECK(real, "a mapping that has keys");
  Ref listed = Ref::steal(PyDict_Keys(real));
  MG_CHECK(listed, "out of memory");
  // An OrderedDict keeps an order of its own; its iterator is C code, but asks
  // for the hash of each key.
  if (Py_TYPE(real.get())->tp_iter == PyODict_Type.tp_iter) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listed.get()); ++i)
      expect_plain_key(PyList_GET_ITEM(listed.get(), i), of_instance);
    listed = keys_in_order(real);
  }
  if (!listed || PyList_GET_SIZE(listed.get()) != PyDict_GET_SIZE(real.get())) {
    PyErr_Clear();
    throw BreakException{
        {"dict-key",
         "an OrderedDict that has other keys than the dict beneath it",
         "change it by its own methods, and don't change objects that are "
         "keys"}};
  }
  Ref keys = Ref::steal(PyList_AsTuple(listed));
  MG_CHECK(keys, "out of memory");
  std::vector<V> values;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i) {
    PyObject* key = PyTuple_GET_ITEM(keys.get(), i);
    expect_plain_key(key, of_instance);
    values.push_back(fixed(key));
  }
  if (of_instance)
    guards.instance_keys(object->source, keys);
  else
    guards.dict_keys(object->source, keys);
  keep(std::move(keys));
  return values;
}

}  // namespace magneto::values
