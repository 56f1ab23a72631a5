// SPDX-License-Identifier: BSD-3-Clause
#include "python/class_hierarchy.h"

#include <string_view>
#include <unordered_map>

#include "python/pending_error.h"
#include "python/ref.h"
#include "support/check.h"
#include "support/forever.h"

namespace magneto::python {

namespace {

// All guarded by the GIL.
setter set_bases = nullptr;
uint64_t changes = 0;

// Each with a weak reference to it: another class may be made where one died.
using Classes = std::unordered_map<PyTypeObject*, Ref>;

Classes& known_classes() {
  static Classes* const classes = forever(Classes());
  return *classes;
}

bool is_known(PyTypeObject* type) {
  const auto found = known_classes().find(type);
  return found != known_classes().end() &&
         PyWeakref_GET_OBJECT(found->second.get()) ==
             reinterpret_cast<PyObject*>(type);
}

bool is_depended_on(PyTypeObject* type) {
  if (is_known(type)) return true;
  Ref subclasses = Ref::steal(PyObject_CallMethod(
      reinterpret_cast<PyObject*>(&PyType_Type), "__subclasses__", "O", type));
  if (!subclasses) {
    PyErr_Clear();
    return true;
  }
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(subclasses.get()); ++i)
    if (is_depended_on(reinterpret_cast<PyTypeObject*>(
            PyList_GET_ITEM(subclasses.get(), i))))
      return true;
  return false;
}

// A metaclass's mro() runs in between, and may call what gets compiled there.
int set_bases_and_count(PyObject* type, PyObject* bases, void* closure) {
  auto* changed = reinterpret_cast<PyTypeObject*>(type);
  if (is_depended_on(changed)) ++changes;
  const int status = set_bases(type, bases, closure);
  PendingError error = PendingError::take();
  if (is_depended_on(changed)) ++changes;
  std::move(error).restore();
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

void know_class(PyTypeObject* type) {
  // Those of classes written in C are fixed.
  if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return;
  if (is_known(type)) return;
  // Its base refers to it weakly, too, and there is one such reference.
  Ref reference =
      Ref::steal(PyWeakref_NewRef(reinterpret_cast<PyObject*>(type), nullptr));
  MG_CHECK(reference, "classes can be referred to weakly");
  known_classes()[type] = std::move(reference);
}

uint64_t class_hierarchy() noexcept { return changes; }

}  // namespace magneto::python
