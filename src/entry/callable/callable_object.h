// SPDX-License-Identifier: BSD-3-Clause
// What our callables have in common: called through vectorcall in place of a
// target, bound to instances as functions are, with attributes of their own.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structmember.h>

#include "python/ref.h"

namespace magneto::entry {

// Members that CPython asks for; T has vectorcall, dict and weakrefs.
template <class T>
constexpr PyMemberDef kVectorcallMember = {"__vectorcalloffset__", T_PYSSIZET,
                                           offsetof(T, vectorcall), READONLY};
template <class T>
constexpr PyMemberDef kDictMember = {"__dictoffset__", T_PYSSIZET,
                                     offsetof(T, dict), READONLY};
template <class T>
constexpr PyMemberDef kWeakrefsMember = {"__weaklistoffset__", T_PYSSIZET,
                                         offsetof(T, weakrefs), READONLY};

constexpr unsigned long kCallableFlags =
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
    Py_TPFLAGS_METHOD_DESCRIPTOR;

inline PyObject* bind_to(PyObject* object, PyObject* instance,
                         PyObject*) noexcept {
  if (instance == nullptr || instance == Py_None)
    return Ref::share(object).release();
  return PyMethod_New(object, instance);
}

// Pickled and copied by name, as functions are.
inline PyObject* reduce_by_name(PyObject* object, PyObject*) noexcept {
  return PyObject_GetAttrString(object, "__qualname__");
}

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace magneto::entry
