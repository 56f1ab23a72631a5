// SPDX-License-Identifier: BSD-3-Clause
// Layouts of CPython 3.11. Public headers where they show the structure,
// internal ones for dict keys, and private structures written down here where
// there is no header; the tests compare each with what Python itself reports.
#define Py_BUILD_CORE 1
#include "python/layout.h"

#include <internal/pycore_dict.h>

#include <cstring>

#include "python/find.h"
#include "python/ordered_dict_layout.h"
#include "support/check.h"

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030c0000
#error "python/layout.cpp describes CPython 3.11"
#endif

namespace magneto::python {
namespace {

bool has_managed_dict(PyTypeObject* type) {
  return (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
}

// Include/internal/pycore_object.h: what lies in front of an object whose dict
// is managed.
PyObject** managed_dict_slot(PyObject* object) {
  return reinterpret_cast<PyObject**>(object) - 3;
}
PyDictValues** managed_values_slot(PyObject* object) {
  return reinterpret_cast<PyDictValues**>(object) - 4;
}

PyDictKeysObject* shared_keys(PyTypeObject* type) {
  return reinterpret_cast<PyHeapTypeObject*>(type)->ht_cached_keys;
}

PyDictValues* values_of(PyObject* object) {
  if (!has_managed_dict(Py_TYPE(object))) return nullptr;
  return *managed_values_slot(object);
}

// Objects/dictobject.c, dictkeys_get_index: the width of an index depends on
// the size of the table.
Py_ssize_t index_at(const PyDictKeysObject* keys, size_t i) {
  const char* indices = keys->dk_indices;
  const int log2_size = DK_LOG_SIZE(keys);
  if (log2_size < 8) return reinterpret_cast<const int8_t*>(indices)[i];
  if (log2_size < 16) return reinterpret_cast<const int16_t*>(indices)[i];
  if (log2_size < 32) return reinterpret_cast<const int32_t*>(indices)[i];
  return static_cast<Py_ssize_t>(reinterpret_cast<const int64_t*>(indices)[i]);
}

constexpr Py_ssize_t kNotFound = DKIX_EMPTY;
constexpr Py_ssize_t kNotKnown = DKIX_ERROR;

bool same_string(PyObject* a, PyObject* b) {
  return PyUnicode_GET_LENGTH(a) == PyUnicode_GET_LENGTH(b) &&
         PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
         std::memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b),
                     PyUnicode_GET_LENGTH(a) * PyUnicode_KIND(a)) == 0;
}

// The probe sequence of Objects/dictobject.c. `match(ix)` says 1, 0 or -1.
template <class Match>
Py_ssize_t probe(const PyDictKeysObject* keys, Py_hash_t hash, Match match) {
  const size_t mask = static_cast<size_t>(DK_SIZE(keys)) - 1;
  size_t perturb = static_cast<size_t>(hash);
  size_t i = static_cast<size_t>(hash) & mask;
  while (true) {
    const Py_ssize_t ix = index_at(keys, i);
    if (ix == DKIX_EMPTY) return kNotFound;
    if (ix >= 0) {
      const int matched = match(ix);
      if (matched != 0) return matched > 0 ? ix : kNotKnown;
    }
    perturb >>= 5;
    i = (i * 5 + perturb + 1) & mask;
  }
}

Py_ssize_t find_string(PyDictKeysObject* keys, PyObject* name, Py_hash_t hash) {
  const PyDictUnicodeEntry* entries = DK_UNICODE_ENTRIES(keys);
  return probe(keys, hash, [=](Py_ssize_t ix) -> int {
    PyObject* stored = entries[ix].me_key;
    return stored == name ||
           (reinterpret_cast<PyASCIIObject*>(stored)->hash == hash &&
            same_string(stored, name));
  });
}

Py_ssize_t find_any(PyDictKeysObject* keys, PyObject* key, Py_hash_t hash,
                    KeyEqual equal) {
  const PyDictKeyEntry* entries = DK_ENTRIES(keys);
  return probe(keys, hash, [=](Py_ssize_t ix) -> int {
    const PyDictKeyEntry& entry = entries[ix];
    if (entry.me_key == key) return 1;
    return entry.me_hash == hash ? equal(entry.me_key, key) : 0;
  });
}

// Objects/descrobject.c, funcobject.c; Modules/_functoolsmodule.c,
// _collectionsmodule.c.
struct Property {
  PyObject_HEAD PyObject* getter;
  PyObject* setter;
  PyObject* deleter;
};
// staticmethod, classmethod and mappingproxy alike: one object.
struct MethodWrapper {
  PyObject_HEAD PyObject* callable;
};
struct Partial {
  PyObject_HEAD PyObject* function;
  PyObject* args;
  PyObject* keywords;
};
struct ComparisonKey {
  PyObject_HEAD PyObject* function;
  PyObject* object;
};
struct CacheItem {
  PyObject_HEAD CacheItem* previous;
  CacheItem* next;
  Py_hash_t hash;
  PyObject* key;
  PyObject* result;
};
struct Cache {
  CacheItem root;
  void* call;
  int typed;
  PyObject* items;
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t most;
  Py_ssize_t misses;
  PyObject* mark;
  PyTypeObject* item_type;
};
struct DefaultDict {
  PyDictObject dict;
  PyObject* default_factory;
};

// A type that only a module's attribute leads to. Kept for the life of the
// process on purpose; null (and no error) if it can't be found.
PyTypeObject* find_type(const char* module_name, const char* name) {
  PyObject* type = nullptr;
  if (PyObject* module = import_module(module_name).release()) {
    type = PyObject_GetAttrString(module, name);
    Py_DECREF(module);
  }
  PyErr_Clear();
  return reinterpret_cast<PyTypeObject*>(type);
}

PyTypeObject* partial_type() {
  static PyTypeObject* type = find_type("_functools", "partial");
  return type;
}

PyTypeObject* defaultdict_type() {
  static PyTypeObject* type = find_type("_collections", "defaultdict");
  return type;
}

PyTypeObject* cache_type() {
  static PyTypeObject* type = find_type("_functools", "_lru_cache_wrapper");
  return type;
}

bool is_instance(PyObject* object, PyTypeObject* type) {
  return type != nullptr && PyObject_TypeCheck(object, type);
}

}  // namespace

PyObject** dict_slot(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  if (has_managed_dict(type)) return managed_dict_slot(object);
  Py_ssize_t offset = type->tp_dictoffset;
  if (offset == 0) return nullptr;
  if (offset < 0) {
    Py_ssize_t size = Py_SIZE(object);
    if (size < 0) size = -size;
    offset += static_cast<Py_ssize_t>(_PyObject_VAR_SIZE(type, size));
  }
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + offset);
}

void** values_slot(PyObject* object) noexcept {
  if (!has_managed_dict(Py_TYPE(object))) return nullptr;
  return reinterpret_cast<void**>(managed_values_slot(object));
}

PyObject** inline_value(PyObject* object, PyObject* name) noexcept {
  PyDictValues* values = values_of(object);
  if (values == nullptr) return nullptr;
  PyDictKeysObject* keys = shared_keys(Py_TYPE(object));
  const Py_hash_t hash = PyObject_Hash(name);  // a str: cached, can't fail
  const Py_ssize_t ix = find_string(keys, name, hash);
  return ix < 0 ? nullptr : &values->values[ix];
}

const Py_ssize_t* shared_key_count(PyTypeObject* type) noexcept {
  if (!has_managed_dict(type)) return nullptr;
  PyDictKeysObject* keys = shared_keys(type);
  return keys == nullptr ? nullptr : &keys->dk_nentries;
}

Py_ssize_t inline_count(PyObject* object) noexcept {
  const PyDictValues* values = values_of(object);
  if (values == nullptr) return -1;
  return reinterpret_cast<const uint8_t*>(values)[-2];
}

PyObject* inline_name(PyObject* object, Py_ssize_t i) noexcept {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values_of(object));
  PyDictKeysObject* keys = shared_keys(Py_TYPE(object));
  return DK_UNICODE_ENTRIES(keys)[bytes[-3 - i]].me_key;
}

DictLookup dict_lookup(PyObject* object, PyObject* key, Py_hash_t hash,
                       KeyEqual equal) noexcept {
  auto* dict = reinterpret_cast<PyDictObject*>(object);
  PyDictKeysObject* keys = dict->ma_keys;
  if (!DK_IS_UNICODE(keys)) {
    const Py_ssize_t ix = find_any(keys, key, hash, equal);
    if (ix == kNotKnown) return {nullptr, false};
    return {ix < 0 ? nullptr : DK_ENTRIES(keys)[ix].me_value, true};
  }
  // Only exact strings are in such a table.
  if (!PyUnicode_CheckExact(key)) return {nullptr, !PyUnicode_Check(key)};
  const Py_ssize_t ix = find_string(keys, key, hash);
  if (ix < 0) return {nullptr, true};
  if (dict->ma_values != nullptr) return {dict->ma_values->values[ix], true};
  return {DK_UNICODE_ENTRIES(keys)[ix].me_value, true};
}

DictKeys::DictKeys(PyObject* dict) noexcept
    : dict_(dict), ordered_(PyODict_Check(dict)) {
  if (ordered_) node_ = reinterpret_cast<OrderedDict*>(dict)->first;
}

PyObject* DictKeys::next() noexcept {
  if (ordered_) {
    const auto* node = static_cast<const OrderedNode*>(node_);
    if (node == nullptr) return nullptr;
    node_ = node->next;
    return node->key;
  }
  PyObject* key = nullptr;
  return PyDict_Next(dict_, &position_, &key, nullptr) ? key : nullptr;
}

const uint64_t* order_state(PyObject* dict) noexcept {
  static_assert(sizeof(size_t) == sizeof(uint64_t));
  if (!PyODict_Check(dict)) return nullptr;
  return &reinterpret_cast<OrderedDict*>(dict)->state;
}

PyObject** private_field(PyObject* object, PrivateField field) noexcept {
  // No module has it; each cache refers to it. It lives as long as the process.
  static PyTypeObject* cache_item_type = nullptr;
  auto* property = reinterpret_cast<Property*>(object);
  auto* wrapper = reinterpret_cast<MethodWrapper*>(object);
  auto* partial = reinterpret_cast<Partial*>(object);
  switch (field) {
    case PrivateField::PropertyGetter:
    case PrivateField::PropertySetter:
    case PrivateField::PropertyDeleter:
      if (!is_instance(object, &PyProperty_Type)) return nullptr;
      if (field == PrivateField::PropertyGetter) return &property->getter;
      return field == PrivateField::PropertySetter ? &property->setter
                                                   : &property->deleter;
    case PrivateField::StaticMethodTarget:
      if (!is_instance(object, &PyStaticMethod_Type)) return nullptr;
      return &wrapper->callable;
    case PrivateField::ClassMethodTarget:
      if (!is_instance(object, &PyClassMethod_Type)) return nullptr;
      return &wrapper->callable;
    case PrivateField::PartialFunction:
    case PrivateField::PartialArgs:
    case PrivateField::PartialKeywords:
      if (!is_instance(object, partial_type())) return nullptr;
      if (field == PrivateField::PartialFunction) return &partial->function;
      return field == PrivateField::PartialArgs ? &partial->args
                                                : &partial->keywords;
    case PrivateField::KeyFunction:
    case PrivateField::KeyObject: {
      if (!is_instance(object, comparison_key_type())) return nullptr;
      auto* key = reinterpret_cast<ComparisonKey*>(object);
      return field == PrivateField::KeyFunction ? &key->function : &key->object;
    }
    case PrivateField::DefaultFactory:
      if (!is_instance(object, defaultdict_type())) return nullptr;
      return &reinterpret_cast<DefaultDict*>(object)->default_factory;
    case PrivateField::MappingProxyTarget:
      if (!is_instance(object, &PyDictProxy_Type)) return nullptr;
      return &wrapper->callable;
    case PrivateField::CachedFunction:
      if (!is_instance(object, cache_type())) return nullptr;
      return &reinterpret_cast<Cache*>(object)->function;
    case PrivateField::CachedResults:
      if (!is_instance(object, cache_type())) return nullptr;
      cache_item_type = reinterpret_cast<Cache*>(object)->item_type;
      return &reinterpret_cast<Cache*>(object)->items;
    case PrivateField::CachedResult:
      if (!cache_item_type || !Py_IS_TYPE(object, cache_item_type))
        return nullptr;
      return &reinterpret_cast<CacheItem*>(object)->result;
  }
  return nullptr;
}

PyTypeObject* comparison_key_type() noexcept {
  static PyTypeObject* const type = [] {
    PyObject* maker = find_object("functools.cmp_to_key");
    MG_CHECK(maker, "what functools has");
    const Ref key = Ref::steal(PyObject_CallOneArg(maker, Py_None));
    MG_CHECK(key, "a key");
    // Kept for the life of the process.
    Py_INCREF(Py_TYPE(key.get()));
    return Py_TYPE(key.get());
  }();
  return type;
}

CacheKeys cache_keys(PyObject* cached) noexcept {
  const auto* cache = reinterpret_cast<Cache*>(cached);
  return {cache->typed != 0, cache->mark};
}

void uncount_cache_hit(PyObject* cached) noexcept {
  --reinterpret_cast<Cache*>(cached)->hits;
}

namespace {

// Modules/_abc.c
struct AbcState {
  PyTypeObject* data_type;
  unsigned long long invalidation_counter;
};

// Lives as long as the module, which abc keeps.
const AbcState* abc_state() {
  PyObject* module = import_module("_abc").release();
  return module ? static_cast<AbcState*>(PyModule_GetState(module)) : nullptr;
}

}  // namespace

int64_t abstract_registrations() noexcept {
  static const AbcState* const state = abc_state();
  return static_cast<int64_t>(state->invalidation_counter);
}

}  // namespace magneto::python
