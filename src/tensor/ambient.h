// SPDX-License-Identifier: BSD-3-Clause
// Torch's thread and process state that a trace relies on or changes: grad
// mode, inference mode, autocast, default dtype and the like. No ATen types.
//
// All need the GIL; none runs Python code or raises.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "python/ref.h"

namespace magneto::tensor {

// ---- States that a traced program changes -----------------------------------
bool grad_mode() noexcept;
void set_grad_mode(bool enabled) noexcept;

// What torch.inference_mode switches, as bits for restore_autograd_state().
uint64_t autograd_state() noexcept;
void restore_autograd_state(uint64_t bits) noexcept;
bool has_grad_mode(uint64_t autograd_state) noexcept;
uint64_t with_grad_mode(uint64_t autograd_state, bool enabled) noexcept;
// The one that entering torch.inference_mode(enabled) gives, whatever was
// before.
uint64_t inference_state(bool enabled) noexcept;

struct Autocast {
  bool enabled = false;
  int8_t dtype = 0;  // c10::ScalarType
  friend bool operator==(const Autocast&, const Autocast&) = default;
};
// The number of a device type's name ("cpu", "cuda"); -1 if there is no such
// device type, or none that autocast knows.
int8_t autocast_device(const std::string& name) noexcept;
Autocast autocast(int8_t device_type) noexcept;
void set_autocast(int8_t device_type, Autocast state) noexcept;
bool autocast_cache() noexcept;
void set_autocast_cache(bool enabled) noexcept;
// The number (c10::ScalarType) of a torch.dtype, -1 for anything else.
int scalar_type_of(PyObject* dtype) noexcept;
// The torch.dtype of such a number (a new reference).
Ref dtype_of(int8_t scalar_type);
// Changes the nesting level and returns the new one; at zero torch's users
// clear the cache of casted weights.
int autocast_nesting(int change) noexcept;
void clear_autocast_cache() noexcept;

// Puts autocast back as it was, whatever the trace did. (The rest of the
// thread's state is GlobalStateScope's.)
class AutocastScope {
 public:
  AutocastScope() noexcept;
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  static constexpr size_t kDeviceTypes = 32;

  bool autocast_cache_;
  int nesting_;
  std::array<Autocast, kDeviceTypes> autocast_;
};

// ---- Numbers that are equal exactly when the state is equal -----------------
// Whether hooks of the program's get what operators keep for backward
// (torch.autograd.graph.saved_tensors_hooks, activation checkpoints).
bool has_saved_tensor_hooks() noexcept;
int64_t grad_mode_state() noexcept;
// Whether a level of forward-mode differentiation is entered, in any thread.
int64_t forward_level_state() noexcept;
void leave_forward_level() noexcept;  // if there is one
int64_t inference_mode_state() noexcept;
int64_t autocast_cpu_state() noexcept;
int64_t autocast_cuda_state() noexcept;
int64_t autocast_other_state() noexcept;
int64_t default_dtype_state() noexcept;
int64_t default_device_state() noexcept;
// The number of the accelerator that is the current one; -1 without any.
int64_t current_device_state() noexcept;
int64_t deterministic_state() noexcept;
// Those of torch.backends.cudnn and mkldnn.
int64_t backend_switches_state() noexcept;
int64_t torch_function_state() noexcept;
int64_t own_modes_state() noexcept;
// Whether torch.jit.trace() listens to this thread's operations.
bool is_jit_tracing() noexcept;
int64_t thread_count_state() noexcept;

// How such a number reads.
std::string print_bool_state(int64_t value);
std::string print_autocast_state(int64_t value);
std::string print_other_autocast_state(int64_t value);
std::string print_dtype_state(int64_t value);
std::string print_device_state(int64_t value);
std::string print_index_state(int64_t value);
std::string print_deterministic_state(int64_t value);
std::string print_torch_function_state(int64_t value);

// tensor.grad, borrowed (torch keeps the Python object), None if there is none;
// null if `object` is no tensor.
PyObject* grad_of(PyObject* object) noexcept;

}  // namespace magneto::tensor
