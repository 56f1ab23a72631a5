// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/construction.h"

#include <string_view>

#include "python/find.h"

namespace magneto::values {

V attribute_of_module(Context& ctx, const char* module, const char* name) {
  Ref imported = import_module(module);
  MG_CHECK(imported, "a module of the standard library or of magneto's");
  Ref found = Ref::steal(PyObject_GetAttrString(imported, name));
  MG_CHECK(found, "a function that is there");
  return ctx.constant(std::move(found));
}

V class_value(Context& ctx, V value) {
  return ctx.constant_share(reinterpret_cast<PyObject*>(value->type));
}

V method_of(Context& ctx, PyTypeObject* type, const char* name) {
  PyObject* method = PyDict_GetItemString(type->tp_dict, name);
  MG_CHECK(method, "a method of the class");
  return ctx.constant_share(method);
}

std::optional<Construction> of_class(Context& ctx, V value) {
  return Construction{class_value(ctx, value), ctx.heap[value->heap].slots};
}

Construction by_helper(Context& ctx, const char* helper,
                       std::vector<V> arguments) {
  return {attribute_of_module(ctx, "magneto.construct", helper),
          std::move(arguments)};
}

Construction instance_of(Context& ctx, V value, PyTypeObject* base,
                         std::vector<V> arguments) {
  if (value->type == base)
    return {class_value(ctx, value), std::move(arguments)};
  arguments.insert(arguments.begin(),
                   {ctx.constant_share(reinterpret_cast<PyObject*>(base)),
                    class_value(ctx, value)});
  return by_helper(ctx, "derived", std::move(arguments));
}

Construction advanced(Context& ctx, V iterate, V iterable, int64_t count) {
  return by_helper(ctx, "advanced", {iterate, iterable, ctx.integer(count)});
}

PyTypeObject* base_named(V value, const char* name) {
  PyTypeObject* type = value->type;
  while (type && std::string_view(type->tp_name) != name) type = type->tp_base;
  MG_CHECK(type, "the row is for classes with this base");
  return type;
}

}  // namespace magneto::values
