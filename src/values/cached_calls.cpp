// SPDX-License-Identifier: BSD-3-Clause
#include "values/cached_calls.h"

#include "support/check.h"

namespace magneto::values {

namespace {

// Functions are told apart by their address, whatever they are equal to.
Ref whole_key(PyObject* function, PyObject* key) {
  Ref whole =
      Ref::steal(Py_BuildValue("(NO)", PyLong_FromVoidPtr(function), key));
  MG_CHECK(whole, "out of memory");
  return whole;
}

}  // namespace

V CachedCalls::find(PyObject* function, PyObject* key) const {
  if (!index_) return nullptr;
  const Ref whole = whole_key(function, key);
  PyObject* found = PyDict_GetItemWithError(index_, whole);
  if (!found) PyErr_Clear();
  return found ? calls_[PyLong_AsSize_t(found)].result : nullptr;
}

void CachedCalls::add(Journal& journal, PyObject* function, Ref key, V result) {
  if (!index_) index_ = Ref::steal(PyDict_New());
  Ref whole = whole_key(function, key);
  const Ref index = Ref::steal(PyLong_FromSize_t(calls_.size()));
  if (!index_ || !index || PyDict_SetItem(index_, whole, index) != 0) {
    PyErr_Clear();
    return;
  }
  calls_.push_back({Ref::share(function), std::move(whole), result});
  journal.record(this);
}

void CachedCalls::undo(uint64_t, uint64_t) noexcept {
  if (PyDict_DelItem(index_, calls_.back().key) != 0) PyErr_Clear();
  calls_.pop_back();
}

}  // namespace magneto::values
