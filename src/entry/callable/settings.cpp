// SPDX-License-Identifier: BSD-3-Clause
#include "entry/callable/settings.h"

#include <structmember.h>

#include <memory>
#include <new>

#include "entry/cache.h"

namespace magneto::entry {
namespace {

// Lives as long as the process: instances may outlive the module.
PyTypeObject* settings_type = nullptr;

Settings* cast(PyObject* object) { return reinterpret_cast<Settings*>(object); }

PyObject* create(PyTypeObject* type, PyObject* args,
                 PyObject* keywords) noexcept {
  static const char* const names[] = {"backend", "fullgraph", "dynamic",
                                      "recompile_limit", nullptr};
  PyObject *backend = nullptr, *dynamic = Py_None;
  int fullgraph = 0, recompile_limit = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|pOi:Settings",
                                   const_cast<char**>(names), &backend,
                                   &fullgraph, &dynamic, &recompile_limit)) {
    return nullptr;
  }
  Ref weak = Ref::steal(PyWeakref_NewRef(backend, nullptr));
  if (!weak) PyErr_Clear();
  using Caches = std::unordered_set<CodeCache*>;
  std::unique_ptr<Caches> caches(new (std::nothrow) Caches);
  if (!caches) return PyErr_NoMemory();
  PyObject* object = type->tp_alloc(type, 0);
  if (!object) return nullptr;
  Settings* self = cast(object);
  self->caches = caches.release();
  self->backend_is_weak = static_cast<bool>(weak);
  self->backend = weak ? weak.release() : Ref::share(backend).release();
  self->fullgraph = fullgraph != 0;
  self->dynamic = Ref::share(dynamic).release();
  self->recompile_limit = recompile_limit;
  return object;
}

int traverse(PyObject* object, visitproc visit, void* arg) noexcept {
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(cast(object)->backend);
  return 0;
}

void dealloc(PyObject* object) noexcept {
  Settings* self = cast(object);
  Ref type = Ref::steal(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  PyObject_GC_UnTrack(object);
  if (self->weakrefs) PyObject_ClearWeakRefs(object);
  // Dropping caches takes them off this list.
  while (!self->caches->empty())
    (*self->caches->begin())->record().drop_caches_of(self);
  delete self->caches;
  Py_CLEAR(self->backend);
  Py_CLEAR(self->dynamic);
  Py_TYPE(object)->tp_free(object);
}

PyObject* get_backend(PyObject* object, void*) noexcept {
  Ref backend = backend_of(cast(object));
  return backend ? backend.release() : Ref::share(Py_None).release();
}

PyObject* get_fullgraph(PyObject* object, void*) noexcept {
  return PyBool_FromLong(cast(object)->fullgraph);
}

PyGetSetDef getset[] = {
    {"backend", get_backend, nullptr, "The backend; None if it is gone."},
    {"fullgraph", get_fullgraph, nullptr, "Whether graph breaks are errors."},
    {nullptr},
};

PyMemberDef members[] = {
    {"dynamic", T_OBJECT, offsetof(Settings, dynamic), READONLY,
     "None, True or False, as compile() takes it."},
    {"recompile_limit", T_INT, offsetof(Settings, recompile_limit), READONLY,
     "How many entries a function may have; 0: what magneto.config says."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Settings, weakrefs), READONLY},
    {nullptr},
};

template <class Function>
void* slot(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

Ref backend_of(Settings* settings) {
  if (!settings->backend_is_weak) return Ref::share(settings->backend);
  PyObject* backend = PyWeakref_GetObject(settings->backend);
  return backend == Py_None ? nullptr : Ref::share(backend);
}

bool is_settings(PyObject* object) noexcept {
  return Py_IS_TYPE(object, settings_type);
}

bool init_settings_type(PyObject* module) {
  static PyType_Slot slots[] = {
      {Py_tp_new, slot(create)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_getset, getset},
      {Py_tp_members, members},
      {Py_tp_doc,
       const_cast<char*>("Settings(backend, fullgraph=False, dynamic=None, "
                         "recompile_limit=0)\n"
                         "--\n\nWhat compile() was told. Functions with the "
                         "same Settings share what was compiled.")},
      {0, nullptr},
  };
  static PyType_Spec spec = {"magneto._C.Settings", sizeof(Settings), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  settings_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return settings_type &&
         (!module || PyModule_AddType(module, settings_type) == 0);
}

}  // namespace magneto::entry
