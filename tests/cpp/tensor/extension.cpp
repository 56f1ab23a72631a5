// SPDX-License-Identifier: BSD-3-Clause
// The tensor room alone as a Python extension, so that its Python tests need
// nothing of the other rooms.
#include "tensor/python_api.h"

PyMODINIT_FUNC PyInit__magneto_tensor_test() {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "_magneto_tensor_test", nullptr, -1};
  magneto::Ref module = magneto::Ref::steal(PyModule_Create(&definition));
  if (!module || !magneto::tensor::add_python_functions(module)) {
    return nullptr;
  }
  return module.release();
}
