// SPDX-License-Identifier: BSD-3-Clause
#include "values/torch/torch_types.h"

#include "python/find.h"
#include "python/ref.h"
#include "support/check.h"
#include "support/forever.h"

namespace magneto::values {

namespace {

PyTypeObject* find(const char* module, const char* name) {
  Ref imported = import_module(module);
  MG_CHECK(imported, std::string("import of ") + module);
  Ref type = Ref::steal(PyObject_GetAttrString(imported, name));
  MG_CHECK(type && PyType_Check(type.get()),
           std::string("a class ") + module + "." + name);
  return reinterpret_cast<PyTypeObject*>(type.release());
}

PyObject* attribute(PyObject* object, const char* name) {
  Ref found = Ref::steal(PyObject_GetAttrString(object, name));
  MG_CHECK(found, std::string("an attribute ") + name);
  return found.release();
}

TorchTypes find_all() {
  TorchTypes t;
  t.tensor = find("torch", "Tensor");
  t.tensor_base = find("torch._C", "TensorBase");
  t.parameter = find("torch.nn.parameter", "Parameter");
  t.buffer = find("torch.nn.parameter", "Buffer");
  t.size = find("torch", "Size");
  t.dtype = find("torch", "dtype");
  t.device = find("torch", "device");
  t.layout = find("torch", "layout");
  t.memory_format = find("torch", "memory_format");
  t.attention_kernel = find("torch._C", "_SDPBackend");
  t.generator = find("torch", "Generator");
  t.module = find("torch.nn", "Module");
  auto* module = reinterpret_cast<PyObject*>(t.module);
  t.module_call = attribute(module, "_wrapped_call_impl");
  t.module_call_impl = attribute(module, "_call_impl");
  t.union_type = find("types", "UnionType");
  t.enum_meta = find("enum", "EnumMeta");
  t.pattern = find("re", "Pattern");
  t.match = find("re", "Match");
  t.typing_final = find("typing", "_Final");
  return t;
}

}  // namespace

const TorchTypes& torch_types() {
  static const TorchTypes* const types = forever(find_all());
  return *types;
}

}  // namespace magneto::values
