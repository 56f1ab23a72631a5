// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/attribute_forever.h"

#include "python/find.h"
#include "support/check.h"

namespace magneto::values {

PyObject* attribute_forever(const char* module, const char* name) {
  Ref imported = import_module(module);
  MG_CHECK(imported, module);
  PyObject* found = PyObject_GetAttrString(imported, name);
  MG_CHECK(found, name);
  return found;
}

}  // namespace magneto::values
