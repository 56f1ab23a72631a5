// SPDX-License-Identifier: BSD-3-Clause
// What reads and writes of attributes share. What others need of attributes is
// in protocol.h.
#pragma once

#include <string>

#include "values/protocol/protocol.h"

namespace magneto::values {

// The text of an attribute's name.
std::string attribute_name(PyObject* name);

// AttributeError, in the words of the object's class.
Signal attribute_error(Context& ctx, V object, PyObject* name);

SourceId type_source(Context& ctx, PyTypeObject* type);
V class_value(Context& ctx, PyTypeObject* type);

// A read of a C-level attribute (getset, member, method of a C type) of a real
// object that runs no Python code.
Outcome<V> read_real(Context& ctx, PyObject* object, PyObject* name);

// Of a class or a module that has none: CPython gives it an empty dict.
Signal annotations_are_made(Context& ctx);

// What a class attribute is, as a value: constants as such, and a mutable
// object with the source where it can be found again.
V class_attribute(Context& ctx, PyTypeObject* type, PyObject* name,
                  PyObject* object);

// What the class has in its MRO, and really: the trace has written no such
// attribute. Unlike type_lookup, which guards the very object, it leaves a
// number to whoever looks at it, and guards only that it is one.
PyObject* lookup_attribute(Context& ctx, PyTypeObject* type, PyObject* name);

// Whether the class of a class attribute has a __get__, or a __set__ or
// __delete__; guarded where that class can change.
bool gives_values(Context& ctx, PyObject* attribute);
bool takes_values(Context& ctx, PyObject* attribute);

// The same of a class that can't change, or whose kind is known.
inline bool is_data_descriptor(PyObject* descriptor) {
  return Py_TYPE(descriptor)->tp_descr_set != nullptr;
}

// What property.__get__ does, whatever a class derived from it says; `object`
// may be null.
Outcome<V> bind_property(Context& ctx, PyObject* descriptor, V object,
                         PyTypeObject* type, PyObject* name);

// What staticmethod.__get__ and classmethod.__get__ do, whatever a class
// derived from them says; and the function that such a one is made of.
Outcome<V> bind_class_member(Context& ctx, PyObject* descriptor,
                             PyTypeObject* type, PyObject* name);
V function_of_class_member(Context& ctx, PyObject* descriptor);

// One that __slots__ of a class written in Python makes.
bool is_declared_slot(PyObject* descriptor);

}  // namespace magneto::values
