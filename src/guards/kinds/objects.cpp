// SPDX-License-Identifier: BSD-3-Clause
// Which object it is, or which constant. The predicates themselves are inline
// in check.h.
#include <algorithm>

#include "guards/check.h"
#include "guards/wording.h"
#include "python/layout.h"

namespace magneto::guards {

bool fields_of(PyObject* object, Fields& fields) noexcept {
  using python::PrivateField;
  PyTypeObject* type = Py_TYPE(object);
  fields = {reinterpret_cast<PyObject*>(type)};
  const auto field = [object](PrivateField which) {
    return *python::private_field(object, which);
  };
  if (type == &PyProperty_Type) {
    fields[1] = field(PrivateField::PropertyGetter);
    fields[2] = field(PrivateField::PropertySetter);
    fields[3] = field(PrivateField::PropertyDeleter);
  } else if (type == &PyStaticMethod_Type) {
    fields[1] = field(PrivateField::StaticMethodTarget);
  } else if (type == &PyClassMethod_Type) {
    fields[1] = field(PrivateField::ClassMethodTarget);
  } else if (type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type) {
    auto* descriptor = reinterpret_cast<PyDescrObject*>(object);
    fields[1] = reinterpret_cast<PyObject*>(descriptor->d_type);
    fields[2] = descriptor->d_name;
  } else {
    return false;
  }
  return true;
}

// What the fields hold is alive, so this can't mix up two objects that behave
// differently.
bool has_fields(PyObject* object, KeyList fields) noexcept {
  Fields now;
  fields_of(object, now);
  return std::equal(fields.begin(), fields.end(), now.begin(), now.end());
}

namespace {

bool reads_with_is(PyObject* value) {
  return !is_constant(value) || value == Py_None || PyBool_Check(value) ||
         value == Py_Ellipsis || value == Py_NotImplemented;
}

Wording word_comparison(const Check& check, const std::string& name,
                        PyObject* value) {
  const std::string expected = show(check.object);
  std::string truth = it_is(value, show);
  // Two objects may read alike.
  if (value != nullptr && show(value) == expected)
    truth = "it is another object that reads the same";
  const char* compared = reads_with_is(check.object) ? " is " : " == ";
  return {name + compared + expected, truth};
}

}  // namespace

Wording word_Identity(const Check& check, const std::string& name,
                      PyObject* value) {
  if (check.keys.empty()) return word_comparison(check, name, value);
  // What isn't kept alive may be gone by now.
  return {name + " is the " + show(check.keys[0]) + " that was seen",
          it_is(value, show)};
}

Wording word_ConstantEquals(const Check& check, const std::string& name,
                            PyObject* value) {
  return word_comparison(check, name, value);
}

Wording word_NotNone(const Check&, const std::string& name, PyObject* value) {
  return {name + " is not None", it_is(value, show)};
}

}  // namespace magneto::guards
