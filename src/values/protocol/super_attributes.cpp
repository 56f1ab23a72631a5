// SPDX-License-Identifier: BSD-3-Clause
// Attributes behind super(): what the classes that come later in the MRO have.
#include "python/mro_lookup.h"
#include "python/names.h"
#include "values/protocol/attributes.h"
#include "values/types/class_attributes.h"

namespace magneto::values {

namespace {

// Of the super object itself.
Outcome<V> own_attribute(Context& ctx, const MethodValue& super,
                         PyTypeObject* start, PyObject* name) {
  PyObject* found = python::mro_lookup(&PySuper_Type, name);
  if (!found)
    return ctx.raise(PyExc_AttributeError, "'super' object has no attribute '" +
                                               attribute_name(name) + "'");
  const std::string asked = attribute_name(name);
  if (asked == "__thisclass__") return super.function;
  if (asked == "__self__") return super.self;
  if (asked == "__self_class__" && start)
    return ctx.constant_share(reinterpret_cast<PyObject*>(start));
  return ctx.graph_break("native-call", asked + " of a super object");
}

}  // namespace

Outcome<V> super_attribute(Context& ctx, V super_value, PyObject* name) {
  const auto* super = as<MethodValue>(super_value);
  V self = super->self;
  if (name == interned().dunder_class)
    return ctx.constant_share(reinterpret_cast<PyObject*>(&PySuper_Type));
  // super(Class, None) is bound to nothing.
  if (self->is_constant() && self->object == Py_None)
    return own_attribute(ctx, *super, nullptr, name);
  // The class whose MRO is searched: self's, or self if it is a subclass of the
  // class that super() names (not an instance of it, as in a metaclass).
  bool of_class = self->is_constant() && PyType_Check(self->object) &&
                  PyType_IsSubtype(
                      reinterpret_cast<PyTypeObject*>(self->object),
                      reinterpret_cast<PyTypeObject*>(super->function->object));
  auto* start =
      of_class ? reinterpret_cast<PyTypeObject*>(self->object) : self->type;
  PyObject* mro = start->tp_mro;
  Py_ssize_t i = 0;
  while (i < PyTuple_GET_SIZE(mro) &&
         PyTuple_GET_ITEM(mro, i) != super->function->object)
    ++i;
  for (++i; i < PyTuple_GET_SIZE(mro); ++i) {
    auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, i));
    if (std::optional<V> written = own_written_attribute(ctx, type, name)) {
      if (*written) return *written;
      continue;
    }
    PyObject* found = PyDict_GetItemWithError(type->tp_dict, name);
    SourceId own = ctx.sources.type_own_attr(
        ctx.sources.constant(reinterpret_cast<PyObject*>(type)), name);
    if (found == nullptr) {
      ctx.guards.absent(own);
      continue;
    }
    ctx.guards.identity(own, found);
    // Class methods bind to the class that the search started from.
    if (Py_IS_TYPE(found, &PyClassMethodDescr_Type))
      return bind_descriptor(ctx, found, nullptr, start, name);
    return bind_descriptor(ctx, found, of_class ? nullptr : self, type, name,
                           start);
  }
  return own_attribute(ctx, *super, start, name);
}

}  // namespace magneto::values
