// SPDX-License-Identifier: BSD-3-Clause
// Callables that islands call in place of a function, with values that are
// given to the call instead of lying on the island's stack.
#pragma once

#include <memory>

#include "python/ref.h"

namespace magneto::entry {

// A callable that takes no notice of its arguments but for their names, and
// owns what it calls: `Call` is called with it and with the names (a tuple, or
// null). Null with a Python error set.
template <class Owned, PyObject* (*Call)(Owned&, PyObject* names) noexcept>
Ref owned_call(std::unique_ptr<Owned> owned) {
  static constexpr const char* kName = "magneto.owned_call";
  constexpr auto call = [](PyObject* capsule, PyObject* const*, Py_ssize_t,
                           PyObject* names) noexcept -> PyObject* {
    auto* called = static_cast<Owned*>(PyCapsule_GetPointer(capsule, kName));
    return called ? Call(*called, names) : nullptr;
  };
  constexpr auto release = [](PyObject* capsule) noexcept {
    delete static_cast<Owned*>(PyCapsule_GetPointer(capsule, kName));
  };
  static PyMethodDef method = {
      "owned_call",
      reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(
          +static_cast<PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t,
                                     PyObject*) noexcept>(call))),
      METH_FASTCALL | METH_KEYWORDS, nullptr};
  const Ref capsule = Ref::steal(PyCapsule_New(owned.get(), kName, release));
  if (!capsule) return nullptr;
  (void)owned.release();
  return Ref::steal(PyCFunction_New(&method, capsule));
}

}  // namespace magneto::entry
