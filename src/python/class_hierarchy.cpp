// SPDX-License-Identifier: BSD-3-Clause
#include "python/class_hierarchy.h"

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string_view>

#include "support/check.h"

namespace magneto::python {

namespace {

// Guarded by the GIL.
setter set_bases = nullptr;
uint64_t changes = 0;

// A metaclass's mro() runs in between, and may call what gets compiled there.
int set_bases_and_count(PyObject* type, PyObject* bases, void* closure) {
  ++changes;
  const int status = set_bases(type, bases, closure);
  ++changes;
  return status;
}

}  // namespace

void listen_to_bases() noexcept {
  if (set_bases != nullptr) return;
  PyGetSetDef* row = PyType_Type.tp_getset;
  while (row->name != nullptr && std::string_view(row->name) != "__bases__")
    ++row;
  MG_CHECK(row->name != nullptr && row->set != nullptr,
           "type.__bases__ can be written to");
  set_bases = row->set;
  row->set = set_bases_and_count;
}

uint64_t class_hierarchy() noexcept { return changes; }

}  // namespace magneto::python
