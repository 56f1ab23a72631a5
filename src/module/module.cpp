// SPDX-License-Identifier: BSD-3-Clause
// magneto._C: puts the rooms together and shows Python what it needs of them.
#include "entry/register.h"
#include "graph/python_handle.h"
#include "graph/tensor_meta.h"
#include "natives/torch/hooks.h"
#include "python/class_hierarchy.h"
#include "python/code_functions.h"
#include "python/find.h"
#include "python/ref.h"
#include "tensor/fake_tensor.h"
#include "tensor/metadata_reader.h"
#include "tensor/python_api.h"
#include "trace/capture.h"

namespace {

using magneto::Ref;

bool add_tensor_module(PyObject* module) {
  Ref submodule = Ref::steal(PyModule_New("magneto._C._tensor"));
  return submodule && magneto::tensor::add_python_functions(submodule) &&
         PyModule_AddObjectRef(module, "_tensor", submodule) == 0;
}

bool fill(PyObject* module) {
  // torch itself must be there first: its libraries are ours as well.
  Ref torch = magneto::import_module("torch");
  if (!torch || !magneto::tensor::initialize()) return false;
  magneto::graph::set_metadata_reader(&magneto::tensor::metadata_reader());
  magneto::natives::install_guard_hooks();
  (void)magneto::original_builtin("__import__");  // all are noted
  magneto::entry::set_capture_frame(magneto::trace::capture_frame);
  return add_tensor_module(module) && magneto::graph::init_types(module) &&
         magneto::entry::register_entry(module) &&
         PyModule_AddFunctions(module, magneto::python::code_functions()) == 0;
}

PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "magneto._C",
    .m_doc = "Graph capture for PyTorch: the C++ side of magneto.",
    .m_size = -1,
};

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): Python asks for that name.
PyMODINIT_FUNC PyInit__C() noexcept {
  try {
    magneto::python::listen_to_bases();
    Ref module = Ref::steal(PyModule_Create(&definition));
    if (!module || !fill(module)) return nullptr;
    return module.release();
  } catch (const std::exception& error) {
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_ImportError, "magneto can't start: %s", error.what());
    return nullptr;
  }
}
