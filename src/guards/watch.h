// SPDX-License-Identifier: BSD-3-Clause
// How a program refers to the objects that it compares by identity without
// keeping them alive. An address alone is not enough: once the object is freed,
// another may get the same address. So each is watched by a weak reference
// whose callback notes the death, and the program stops matching.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <unordered_set>
#include <vector>

#include "python/ref.h"

namespace magneto::guards {

// Whether a weak reference's callback is that of a Watch.
bool is_watching(PyObject* callback) noexcept;

class Watch {
 public:
  Watch();

  // Runs no user code. From now on `object` is alive, or alive() is false. Held
  // strongly, as the only way left, if it is a constant or can't be referred to
  // weakly; through its module, if it is a module's namespace, or its class, if
  // it is a member of an enumeration; not at all if it never dies (types of C
  // modules, None).
  void add(PyObject* object);

  // Keeps `object` alive.
  void hold(PyObject* object) { held_.push_back(Ref::share(object)); }

  bool alive() const { return !*died_; }

 private:
  void watch(PyObject* object);

  // Owned by state_, which the callbacks share.
  const bool* died_;
  Ref state_;
  Ref callback_;
  std::vector<Ref> held_;  // objects, and the weak references
  std::unordered_set<PyObject*> seen_;
};

}  // namespace magneto::guards
