// SPDX-License-Identifier: BSD-3-Clause
// The tables of dicts, and the order of those that have one of their own.
#include "python/layout.h"
#include "python/v311/dict_keys.h"
#include "python/v311/ordered_dict.h"

namespace magneto::python {
namespace {

Py_ssize_t find_any(PyDictKeysObject* keys, PyObject* key, Py_hash_t hash,
                    KeyEqual equal) {
  const PyDictKeyEntry* entries = DK_ENTRIES(keys);
  return probe(keys, hash, [=](Py_ssize_t ix) -> int {
    const PyDictKeyEntry& entry = entries[ix];
    if (entry.me_key == key) return 1;
    return entry.me_hash == hash ? equal(entry.me_key, key) : 0;
  });
}

}  // namespace

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

}  // namespace magneto::python
