// SPDX-License-Identifier: BSD-3-Clause
#include "python/type_version.h"

#include "python/mro_lookup.h"
#include "python/names.h"

namespace magneto::python {

bool assign_type_version(PyTypeObject* type) noexcept {
  // Any look-up does.
  if (*type_version(type) == 0) mro_lookup(type, interned().dunder_dict);
  return *type_version(type) != 0;
}

}  // namespace magneto::python
