// SPDX-License-Identifier: BSD-3-Clause
// Attributes that the program writes to its classes. The class itself is
// written to when the piece ends; until then the trace has the attributes, and
// whoever looks for one in a class asks here first.
#pragma once

#include <optional>

#include "values/model/context.h"

namespace magneto::values {

// `setattr(cls, name, value)`, or `delattr` for a null value. Breaks the graph
// where the class can't wait for the piece's end: it or its metaclass is not
// the program's, or the attribute means something to others.
Status write_class_attribute(Context& ctx, V cls, PyObject* name, V value);

// What the class, or the first in its MRO that has it, has been given under
// that name: a null value if it was taken away and no other class has it.
// Nothing if what the class really has is still it.
std::optional<V> written_attribute(Context& ctx, PyTypeObject* type,
                                   PyObject* name);
// The same of that class alone.
std::optional<V> own_written_attribute(Context& ctx, PyTypeObject* type,
                                       PyObject* name);
// "__init__" and the like, which mean something to Python.
bool is_dunder(PyObject* name);
// Whether the class, or one in its MRO, has been written to.
bool is_class_written(Context& ctx, PyTypeObject* type);

}  // namespace magneto::values
