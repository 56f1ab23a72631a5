// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/cached_calls.h"

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

CachedCalls::Known CachedCalls::find(PyObject* function, PyObject* key) const {
  if (!index_) return {};
  const Ref whole = whole_key(function, key);
  PyObject* found = PyDict_GetItemWithError(index_, whole);
  if (!found) PyErr_Clear();
  return found ? calls_[PyLong_AsSize_t(found)].known : Known();
}

void CachedCalls::add(Journal& journal, PyObject* function, Ref key,
                      Known known) {
  if (!index_) index_ = Ref::steal(PyDict_New());
  Ref whole = whole_key(function, key);
  const Ref index = Ref::steal(PyLong_FromSize_t(calls_.size()));
  if (!index_ || !index || PyDict_SetItem(index_, whole, index) != 0) {
    PyErr_Clear();
    return;
  }
  calls_.push_back({Ref::share(function), std::move(whole), known});
  journal.record(this, kCall);
}

void CachedCalls::use(Journal& journal, CacheUse use, size_t inside) {
  uses_.erase(uses_.begin() + static_cast<ptrdiff_t>(inside), uses_.end());
  uses_.push_back(std::move(use));
  journal.record(this, kUse, inside);
}

void CachedCalls::undo(uint64_t what, uint64_t uses) noexcept {
  if (what == kUse) {
    // Fewer, where they were inside another one.
    if (uses < uses_.size())
      uses_.erase(uses_.begin() + static_cast<ptrdiff_t>(uses), uses_.end());
    return;
  }
  if (PyDict_DelItem(index_, calls_.back().key) != 0) PyErr_Clear();
  calls_.pop_back();
}

}  // namespace magneto::values
