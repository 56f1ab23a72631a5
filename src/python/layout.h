// SPDX-License-Identifier: BSD-3-Clause
// Reads of CPython objects' own storage: what the interpreter itself would
// find, without running user code, without creating an instance's __dict__ and
// without touching reference counts. Addresses that come from here are valid
// while the object lives and its storage isn't replaced.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

namespace magneto::python {

// ---- Instance attributes ---------------------------------------------------
// An object of a Python class may keep its attributes as inline values, named
// by keys that the class shares, until somebody asks for its
// __dict__; from then on in that dict.

// The place that points at the object's dict (which may hold null: no dict
// yet); null if objects of this type have no instance dictionary.
PyObject** dict_slot(PyObject* object) noexcept;

// The same; attributes that are inline values are put into a dict first.
PyObject** made_dict_slot(PyObject* object) noexcept;

// Whether instances of the type have a dictionary of attributes.
inline bool has_dictionary(PyTypeObject* type) noexcept {
  return type->tp_dictoffset != 0 ||
         (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) != 0;
}

// The place that points at the object's inline values (which holds null once
// there is a dict); null if objects of this type never have inline values.
void** values_slot(PyObject* object) noexcept;

// Where the object's inline values keep `name`; null if it has no inline values
// or its class shares no such key. The place holds null if the attribute isn't
// set. The index of a shared key never changes.
PyObject** inline_value(PyObject* object, PyObject* name) noexcept;

// The number of keys that the type's instances share: it grows when any of
// them gets a new attribute. Null if they share none.
const Py_ssize_t* shared_key_count(PyTypeObject* type) noexcept;

// The names of the inline values that are set, oldest first: the number of
// them, and the i-th. -1 if the object has no inline values.
Py_ssize_t inline_count(PyObject* object) noexcept;
PyObject* inline_name(PyObject* object, Py_ssize_t i) noexcept;

// ---- Dicts -----------------------------------------------------------------
// How a stored key of the same hash compares: 1 equal, 0 not, -1 nobody can
// tell without running user code. Identical keys are never asked about.
using KeyEqual = int (*)(PyObject* stored, PyObject* key) noexcept;

struct DictLookup {
  PyObject* value;  // borrowed; null if absent or not known
  bool known;
};
// `dict` must be a dict or of a subclass; its own storage is read.
DictLookup dict_lookup(PyObject* dict, PyObject* key, Py_hash_t hash,
                       KeyEqual equal) noexcept;

// Walks the keys in the order of iteration; an OrderedDict's own order, which
// may differ from that of the dict underneath.
class DictKeys {
 public:
  explicit DictKeys(PyObject* dict) noexcept;
  // The next key, borrowed; null after the last.
  PyObject* next() noexcept;

 private:
  PyObject* dict_;
  Py_ssize_t position_ = 0;
  const void* node_ = nullptr;  // of an OrderedDict
  bool ordered_;
};

// Changes with every change of an OrderedDict's order, which its dict's version
// doesn't see. Null for other dicts.
const uint64_t* order_state(PyObject* dict) noexcept;

// ---- Fields of types that CPython keeps private ----------------------------
// The place of each, or null if the object is of another type.
enum class PrivateField : uint8_t {
  PropertyGetter,
  PropertySetter,
  PropertyDeleter,
  StaticMethodTarget,
  ClassMethodTarget,
  PartialFunction,
  PartialArgs,
  PartialKeywords,
  KeyFunction,  // functools.cmp_to_key: what compares,
  KeyObject,    // and what is compared; null in cmp_to_key's own result
  DefaultFactory,
  MappingProxyTarget,
  CachedFunction,
  CachedResults,  // functools.lru_cache: the dict of what it has
  CachedResult,   // of an item of that dict, if the cache has a maximal size
};
PyObject** private_field(PyObject* object, PrivateField field) noexcept;
// The class of what functools.cmp_to_key gives.
PyTypeObject* comparison_key_type() noexcept;
// How a function behind functools.lru_cache makes its keys.
struct CacheKeys {
  bool is_typed;   // the types of the arguments come last
  PyObject* mark;  // stands before keywords; borrowed
};
CacheKeys cache_keys(PyObject* cached) noexcept;

// The cache counts one hit less. A call that the tracer has made in advance has
// put the result there, so the program's own call will count as a hit though
// plain Python would have computed it.
void uncount_cache_hit(PyObject* cached) noexcept;

// ---- Abstract base classes --------------------------------------------------
// A number that grows whenever a class is registered with one
// (abc.get_cache_token).
int64_t abstract_registrations() noexcept;

}  // namespace magneto::python
