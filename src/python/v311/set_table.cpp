// SPDX-License-Identifier: BSD-3-Clause
#include "python/set_table.h"

#include <algorithm>
#include <span>

#include "python/function_object.h"
#include "python/key_token.h"
#include "python/ownership.h"
#include "python/v311/only.h"

namespace magneto::python {

namespace {

// A place whose item was removed; an item's hash is never that.
constexpr Py_hash_t kFreed = -1;

std::span<setentry> places(PyObject* set) {
  const auto* object = reinterpret_cast<PySetObject*>(set);
  return {object->table, static_cast<size_t>(object->mask) + 1};
}

bool has_item(const setentry& place) {
  return place.key != nullptr && place.hash != kFreed;
}

PyObject* call_writer(PyObject*, PyObject* const* args, Py_ssize_t) noexcept {
  write_finger(args[0], PyLong_AsSsize_t(args[1]));
  return Ref::share(Py_None).release();
}

}  // namespace

Ref copy_of_set(PyObject* set) {
  Ref copy = Ref::steal(PySet_New(nullptr));
  MG_CHECK(copy, "out of memory");
  const std::span<setentry> from = places(set);
  auto* made = reinterpret_cast<PySetObject*>(copy.get());
  if (from.size() > std::size(made->smalltable)) {
    // The set frees it when it dies.
    auto* table = PyMem_New(setentry, from.size());
    MG_CHECK(table, "out of memory");
    made->table = table;
  }
  std::ranges::copy(from, made->table);
  for (const setentry& place : from)
    if (has_item(place)) Py_INCREF(place.key);
  const auto* original = reinterpret_cast<PySetObject*>(set);
  made->fill = original->fill;
  made->used = original->used;
  made->mask = original->mask;
  made->finger = original->finger;
  return copy;
}

void freeze(PyObject* set) noexcept {
  MG_CHECK(PySet_CheckExact(set) && is_held_only_here(set), "a fresh set");
  // Both classes have the same layout, and neither is counted by its instances.
  Py_SET_TYPE(set, &PyFrozenSet_Type);
}

bool add_with_hash(PyObject* set, PyObject* item, Py_hash_t hash) {
  const Ref token = make_key_token(hash);
  if (PySet_Add(set, token) < 0) return false;
  for (setentry& place : places(set))
    if (place.key == token.get()) place.key = Ref::share(item).release();
  Py_DECREF(token.get());  // the set's
  return true;
}

Py_ssize_t set_finger(PyObject* set) noexcept {
  return reinterpret_cast<PySetObject*>(set)->finger;
}

void write_finger(PyObject* set, Py_ssize_t finger) noexcept {
  reinterpret_cast<PySetObject*>(set)->finger = finger;
}

PyObject* finger_writer() noexcept {
  static PyObject* const writer = function_object<call_writer>("write_finger");
  return writer;
}

int64_t set_layout(PyObject* set) noexcept {
  // FNV-1a's step, by words.
  uint64_t digest = 0xcbf29ce484222325;
  const auto mix = [&digest](uint64_t word) {
    digest = (digest ^ word) * 0x100000001b3;
    digest ^= digest >> 32;
  };
  const std::span<setentry> table = places(set);
  mix(table.size());
  mix(static_cast<uint64_t>(set_finger(set)));
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].key != nullptr) mix(2 * i + (has_item(table[i]) ? 1 : 0));
  return static_cast<int64_t>(digest);
}

}  // namespace magneto::python
