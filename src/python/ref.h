// SPDX-License-Identifier: BSD-3-Clause
// Ownership of Python objects, said by type.
//
//   Ref x = Ref::steal(PyList_New(0));   // takes over a new reference
//   Ref y = Ref::share(borrowed);        // makes a new reference
//
// A Ref can't be copied by accident (use share()) nor made from a bare
// pointer. These are the only places that count references; holding the GIL is
// required for all of them, which debug builds check.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <utility>

#include "support/check.h"

namespace magneto {

template <class T = PyObject>
class BasicRef {
 public:
  constexpr BasicRef() = default;
  constexpr BasicRef(std::nullptr_t) {}
  BasicRef(BasicRef&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)) {}
  BasicRef(const BasicRef&) = delete;
  BasicRef& operator=(const BasicRef&) = delete;
  // Stores first and releases last: a finalizer must not see a dead pointer.
  BasicRef& operator=(BasicRef&& other) noexcept {
    drop(std::exchange(object_, std::exchange(other.object_, nullptr)));
    return *this;
  }
  ~BasicRef() { drop(object_); }

  static BasicRef steal(T* object) { return BasicRef(object); }
  static BasicRef share(T* object) {
    if (object) check_gil();
    Py_XINCREF(reinterpret_cast<PyObject*>(object));
    return BasicRef(object);
  }
  BasicRef share() const { return share(object_); }

  T* get() const& { return object_; }
  T* get() const&& = delete;
  operator T*() const& { return object_; }
  operator T*() const&& = delete;
  explicit operator bool() const { return object_ != nullptr; }
  // Gives the reference away; the caller owns it.
  [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }
  T** slot() { return &object_; }

 private:
  explicit BasicRef(T* object) : object_(object) {}
  static void drop(T* object) {
    if (object) check_gil();
    Py_XDECREF(reinterpret_cast<PyObject*>(object));
  }
  static void check_gil() {
    MG_DCHECK(PyGILState_Check(), "references are counted under the GIL");
  }

  T* object_ = nullptr;
};

using Ref = BasicRef<PyObject>;

}  // namespace magneto
