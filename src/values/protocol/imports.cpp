// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/imports.h"

#include "python/find.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

V imported_module(Context& ctx, PyObject* name) {
  PyObject* module = loaded_module(name);
  if (!module || !PyModule_Check(module)) return nullptr;
  PyObject* modules = PyImport_GetModuleDict();
  // Not looked at before it is used: what is guarded is what was imported.
  V found = dict_get_string(ctx, ctx.known(modules), name);
  return found && found->object == module ? found : nullptr;
}

}  // namespace magneto::values
