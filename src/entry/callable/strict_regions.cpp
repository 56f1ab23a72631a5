// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/strict_regions.h"

#include "entry/report/report.h"
#include "python/find.h"
#include "values/protocol/protocol.h"

namespace magneto::entry {

bool is_in_strict_region(values::Context& ctx) {
  // Live as long as the process.
  static PyObject* const place =
      PyUnicode_InternFromString("torch._dynamo.utils");
  static PyObject* const variable =
      PyUnicode_InternFromString("_error_on_graph_break");
  PyObject* module = place ? loaded_module(place) : nullptr;
  if (!module || !variable || !PyModule_Check(module) ||
      !config_flag("error_on_graph_break"))
    return false;
  const values::V value = values::dict_get_string(
      ctx, ctx.known(PyModule_GetDict(module)), variable);
  return value && values::as_constant(ctx, value) == Py_True;
}

}  // namespace magneto::entry
