// SPDX-License-Identifier: BSD-3-Clause
#include "guards/watch.h"

#include "guards/constant.h"
#include "guards/namespace.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

constexpr const char* kCapsuleName = "magneto.guards.watch";

bool* state_of(PyObject* capsule) noexcept {
  return static_cast<bool*>(PyCapsule_GetPointer(capsule, kCapsuleName));
}

void free_state(PyObject* capsule) noexcept { delete state_of(capsule); }

// Called with the weak reference whose object has died.
PyObject* note_death(PyObject* capsule, PyObject*) noexcept {
  *state_of(capsule) = true;
  Py_RETURN_NONE;
}

PyMethodDef note_death_method = {"note_death", note_death, METH_O, nullptr};

bool never_dies(PyObject* object) {
  if (object == Py_None || PyBool_Check(object)) return true;
  return PyType_Check(object) &&
         (reinterpret_cast<PyTypeObject*>(object)->tp_flags &
          Py_TPFLAGS_HEAPTYPE) == 0;
}

// The class that has `object` as a member, and keeps it alive: members that are
// ints can't be referred to weakly. Null if there is none.
PyObject* enumeration_of(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return nullptr;
  PyObject* members = PyDict_GetItemString(type->tp_dict, "_member_map_");
  if (!members || !PyDict_Check(members)) return nullptr;
  PyObject *name = nullptr, *member = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(members, &position, &name, &member))
    if (member == object) return reinterpret_cast<PyObject*>(type);
  return nullptr;
}

// Making a weak reference may start a garbage collection, and that may run any
// code; the objects that a program is looking at must not die meanwhile.
class CollectionPause {
 public:
  CollectionPause() : was_enabled_(PyGC_Disable() != 0) {}
  ~CollectionPause() {
    if (was_enabled_) PyGC_Enable();
  }
  CollectionPause(const CollectionPause&) = delete;
  CollectionPause& operator=(const CollectionPause&) = delete;

 private:
  bool was_enabled_;
};

}  // namespace

bool is_watching(PyObject* callback) noexcept {
  return PyCFunction_CheckExact(callback) &&
         reinterpret_cast<PyCFunctionObject*>(callback)->m_ml ==
             &note_death_method;
}

Watch::Watch() {
  bool* died = new bool(false);
  died_ = died;
  state_ = Ref::steal(PyCapsule_New(died, kCapsuleName, free_state));
  if (!state_) {
    delete died;
    PyErr_Clear();
  }
  MG_CHECK(state_, "out of memory");
}

void Watch::add(PyObject* object) {
  if (never_dies(object)) return;
  if (is_constant(object)) {
    held_.push_back(Ref::share(object));
  } else if (seen_.insert(object).second) {
    if (PyObject* module = module_of_namespace(object)) object = module;
    if (PyObject* enumeration = enumeration_of(object)) object = enumeration;
    if (PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) {
      watch(object);
    } else {
      held_.push_back(Ref::share(object));
    }
  }
}

void Watch::watch(PyObject* object) {
  const CollectionPause pause;
  if (!callback_) {
    callback_ = Ref::steal(PyCFunction_New(&note_death_method, state_));
  }
  Ref reference;
  if (callback_) {
    reference = Ref::steal(PyWeakref_NewRef(object, callback_));
  }
  if (!reference) PyErr_Clear();
  MG_CHECK(reference, "an object that can't be watched");
  held_.push_back(std::move(reference));
}

}  // namespace magneto::guards
