// SPDX-License-Identifier: BSD-3-Clause
#include "natives/torch/hooks.h"

#include "guards/hooks.h"
#include "python/find.h"
#include "python/layout.h"
#include "tensor/ambient.h"
#include "tensor/attention_kernels.h"
#include "tensor/fake_tensor.h"
#include "tensor/tensor_snapshot.h"
#include "tensor/tensor_words.h"
#include "values/torch/torch_types.h"
#include "values/types/digits_limit.h"

namespace magneto::natives {

namespace {

using guards::Ambient;

const tensor::TensorSnapshot& snapshot_of(const void* snapshot) {
  return *static_cast<const tensor::TensorSnapshot*>(snapshot);
}

bool matches(PyObject* object, const void* snapshot) noexcept {
  return tensor::matches(object, snapshot_of(snapshot));
}

size_t first_mismatch(const guards::TensorEntry* entries,
                      size_t count) noexcept {
  for (size_t i = 0; i < count; ++i)
    if (!tensor::matches(entries[i].tensor, snapshot_of(entries[i].snapshot)))
      return i;
  return count;
}

size_t words(PyObject* object, const void* snapshot, const void** addresses,
             size_t capacity) noexcept {
  return tensor::metadata_words(object, snapshot_of(snapshot), addresses,
                                capacity);
}

std::string explain(PyObject* object, const void* snapshot,
                    const std::string& name) {
  return name + ": " + tensor::explain_mismatch(object, snapshot_of(snapshot));
}

std::string describe(const void* snapshot, const std::string& name) {
  return name + ": " + tensor::describe(snapshot_of(snapshot));
}

guards::View view(PyObject* object) noexcept {
  if (!tensor::is_tensor(object)) return {};
  return {tensor::tensor_id(object), tensor::view_base_id(object)};
}

bool has_dimension(PyObject* object, int64_t dim) {
  return tensor::is_tensor(object) && dim >= 0 && dim < tensor::dim(object);
}

int64_t size(PyObject* object, int64_t dim) noexcept {
  return has_dimension(object, dim)
             ? tensor::sizes(object)[static_cast<size_t>(dim)]
             : -1;
}

int64_t stride(PyObject* object, int64_t dim) noexcept {
  return has_dimension(object, dim)
             ? tensor::strides(object)[static_cast<size_t>(dim)]
             : -1;
}

int64_t storage_offset(PyObject* object) noexcept {
  return tensor::is_tensor(object) ? tensor::storage_offset(object) : -1;
}

template <tensor::DimArray tensor::TensorSnapshot::*dims>
std::vector<uint32_t> others(PyObject* object, const void* snapshot) {
  std::vector<uint32_t> dimensions;
  if (!tensor::is_tensor(object)) return dimensions;
  // Of a nested or sparse tensor it has none.
  const tensor::TensorSnapshot seen = tensor::take_snapshot(object);
  const auto wanted = (snapshot_of(snapshot).*dims).span();
  const auto now = (seen.*dims).span();
  if (wanted.size() != now.size()) return dimensions;
  for (uint32_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] != tensor::TensorSnapshot::kDynamic && wanted[i] != now[i])
      dimensions.push_back(i);
  return dimensions;
}

struct StateRow {
  Ambient id;
  int64_t (*read)() noexcept;
  std::string (*print)(int64_t);
};

constexpr StateRow kStates[] = {
    {Ambient::GradMode, tensor::grad_mode_state, tensor::print_bool_state},
    {Ambient::ForwardLevel, tensor::forward_level_state,
     tensor::print_bool_state},
    {Ambient::InferenceMode, tensor::inference_mode_state,
     tensor::print_bool_state},
    {Ambient::AutocastCpu, tensor::autocast_cpu_state,
     tensor::print_autocast_state},
    {Ambient::AutocastCuda, tensor::autocast_cuda_state,
     tensor::print_autocast_state},
    {Ambient::AutocastOther, tensor::autocast_other_state,
     tensor::print_other_autocast_state},
    {Ambient::DefaultDtype, tensor::default_dtype_state,
     tensor::print_dtype_state},
    {Ambient::DefaultDevice, tensor::default_device_state,
     tensor::print_device_state},
    {Ambient::CurrentDevice, tensor::current_device_state,
     tensor::print_index_state},
    {Ambient::Deterministic, tensor::deterministic_state,
     tensor::print_deterministic_state},
    {Ambient::TorchFunction, tensor::torch_function_state,
     tensor::print_torch_function_state},
    {Ambient::OwnModes, tensor::own_modes_state, tensor::print_bool_state},
    {Ambient::ThreadCount, tensor::thread_count_state, nullptr},
    {Ambient::DigitsLimit, values::digits_limit, nullptr},
    {Ambient::RecursionLimit,
     []() noexcept -> int64_t { return Py_GetRecursionLimit(); }, nullptr},
    {Ambient::AttentionKernels, tensor::attention_kernels_state,
     tensor::print_attention_kernels_state},
    {Ambient::BackendSwitches, tensor::backend_switches_state, nullptr},
    {Ambient::AbstractClasses, python::abstract_registrations, nullptr},
};
static_assert(std::size(kStates) == guards::kAmbientCount);

}  // namespace

void install_guard_hooks() {
  guards::Hooks& hooks = guards::hooks();
  hooks.tensor = {.is_tensor = tensor::is_tensor,
                  .matches = matches,
                  .first_mismatch = first_mismatch,
                  .words = words,
                  .explain = explain,
                  .describe = describe,
                  .grad = tensor::grad_of,
                  .view = view,
                  .size = size,
                  .stride = stride,
                  .storage_offset = storage_offset,
                  .other_sizes = others<&tensor::TensorSnapshot::sizes>,
                  .other_strides = others<&tensor::TensorSnapshot::strides>};
  for (const StateRow& row : kStates)
    hooks.ambient[static_cast<size_t>(row.id)] = {.read = row.read,
                                                  .print = row.print};
  const values::TorchTypes& types = values::torch_types();
  for (PyTypeObject* type :
       {types.dtype, types.device, types.layout, types.memory_format,
        types.size, types.attention_kernel})
    guards::add_value_type(type);
  for (const char* path :
       {"numpy.bool_", "numpy.int8", "numpy.int16", "numpy.int32",
        "numpy.int64", "numpy.uint8", "numpy.uint16", "numpy.uint32",
        "numpy.uint64", "numpy.float16", "numpy.float32", "numpy.float64",
        "numpy.complex64", "numpy.complex128"})
    if (PyObject* type = find_object(path))
      guards::add_value_type(reinterpret_cast<PyTypeObject*>(type),
                             guards::SameValue::Bytes);
}

}  // namespace magneto::natives
