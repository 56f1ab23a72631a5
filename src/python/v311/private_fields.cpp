// SPDX-License-Identifier: BSD-3-Clause
// Private structures written down here, since no header has them; the tests
// compare each with what Python itself reports.
#include "python/find.h"
#include "python/layout.h"
#include "python/v311/only.h"
#include "support/check.h"

namespace magneto::python {
namespace {

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
