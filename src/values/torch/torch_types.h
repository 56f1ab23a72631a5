// SPDX-License-Identifier: BSD-3-Clause
// torch's own classes, looked up once. References that live as long as the
// process does, as torch's static types do.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace magneto::values {

struct TorchTypes {
  PyTypeObject* tensor;       // torch.Tensor
  PyTypeObject* tensor_base;  // torch._C.TensorBase
  PyTypeObject* parameter;    // torch.nn.Parameter
  PyTypeObject* buffer;       // torch.nn.Buffer
  PyTypeObject* size;         // torch.Size
  PyTypeObject* dtype;
  PyTypeObject* device;
  PyTypeObject* layout;
  PyTypeObject* memory_format;
  PyTypeObject* attention_kernel;  // torch.nn.attention.SDPBackend
  PyTypeObject* generator;
  PyTypeObject* module;   // torch.nn.Module
  PyObject* module_call;  // Module.__call__, and what that calls
  PyObject* module_call_impl;
  PyTypeObject* union_type;    // types.UnionType: int | None
  PyTypeObject* enum_meta;     // enum.EnumMeta, for its members
  PyTypeObject* pattern;       // re.Pattern
  PyTypeObject* match;         // re.Match
  PyTypeObject* typing_final;  // typing._Final: special forms, aliases, TypeVar
};

// Throws InternalError with a Python error set if torch can't be imported.
const TorchTypes& torch_types();

}  // namespace magneto::values
