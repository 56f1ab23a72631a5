// SPDX-License-Identifier: BSD-3-Clause
// Code objects that do the same, though each function has its own.
#include "guards/check.h"
#include "guards/wording.h"
#include "python/same_instructions.h"

namespace magneto::guards {
namespace {

bool same_constants(PyObject* a, PyObject* b) noexcept;

bool same_code(PyObject* a, PyObject* b) noexcept {
  auto* x = reinterpret_cast<PyCodeObject*>(a);
  auto* y = reinterpret_cast<PyCodeObject*>(b);
  return x == y ||
         (x->co_flags == y->co_flags && x->co_argcount == y->co_argcount &&
          x->co_posonlyargcount == y->co_posonlyargcount &&
          x->co_kwonlyargcount == y->co_kwonlyargcount &&
          x->co_stacksize == y->co_stacksize &&
          x->co_firstlineno == y->co_firstlineno &&
          same_constant(x->co_names, y->co_names) &&
          same_constant(x->co_localsplusnames, y->co_localsplusnames) &&
          same_constant(x->co_localspluskinds, y->co_localspluskinds) &&
          same_constant(x->co_filename, y->co_filename) &&
          same_constant(x->co_name, y->co_name) &&
          same_constant(x->co_qualname, y->co_qualname) &&
          same_constant(x->co_linetable, y->co_linetable) &&
          same_constant(x->co_exceptiontable, y->co_exceptiontable) &&
          same_constants(x->co_consts, y->co_consts) &&
          python::same_instructions(x, y));
}

bool same_constants(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    PyObject* x = PyTuple_GET_ITEM(a, i);
    PyObject* y = PyTuple_GET_ITEM(b, i);
    const bool same = PyCode_Check(x) && PyCode_Check(y) ? same_code(x, y)
                                                         : same_constant(x, y);
    if (!same) return false;
  }
  return true;
}

}  // namespace

bool check_SameCode(const Check& check, PyObject* value) noexcept {
  return value == check.object ||
         (PyCode_Check(value) && same_code(value, check.object));
}

Wording word_SameCode(const Check& check, const std::string& name,
                      PyObject* value) {
  return {name + " does what " + show(check.object) + " does",
          it_is(value, show)};
}

}  // namespace magneto::guards
