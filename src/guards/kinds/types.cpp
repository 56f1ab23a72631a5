// SPDX-License-Identifier: BSD-3-Clause
// Of which type it is; types that nobody has written to. check_TypeIs is inline
// in check.h.
#include "guards/check.h"
#include "guards/wording.h"
#include "python/type_version.h"

namespace magneto::guards {
namespace {

PyTypeObject* as_type(PyObject* object) {
  return reinterpret_cast<PyTypeObject*>(object);
}

}  // namespace

Wording word_TypeIs(const Check& check, const std::string& name,
                    PyObject* value) {
  return {"type(" + name + ") is " + show_type(as_type(check.object)),
          it_is(value, [](PyObject* v) { return show_type(Py_TYPE(v)); })};
}

bool check_TypeUnmodified(const Check& check, PyObject* value) noexcept {
  return value == check.object && *python::type_version(as_type(value)) ==
                                      static_cast<unsigned int>(check.number);
}

Wording word_TypeUnmodified(const Check&, const std::string& name, PyObject*) {
  return {"type " + name + " is unmodified", "it was written to"};
}

}  // namespace magneto::guards
