// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/ambient.h"

#include <Python.h>

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SavedTensorHooks.h>
#include <ATen/TracerMode.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/PyInterpreter.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <cstring>
#include <span>

#include "python/layout.h"
#include "python/ref.h"
#include "tensor/default_device.h"
#include "tensor/fake_tensor.h"
#include "tensor/transforms.h"

namespace magneto::tensor {

namespace {

// Device types for which torch keeps an autocast state.
constexpr c10::DeviceType kAutocastDevices[] = {
    c10::DeviceType::CPU,        c10::DeviceType::CUDA, c10::DeviceType::XPU,
    c10::DeviceType::IPU,        c10::DeviceType::HPU,  c10::DeviceType::XLA,
    c10::DeviceType::MPS,        c10::DeviceType::MTIA, c10::DeviceType::MAIA,
    c10::DeviceType::PrivateUse1};
// Those but the first two, which have states of their own.
constexpr auto kOtherAutocastDevices = std::span(kAutocastDevices).subspan<2>();

bool is_autocast_device(c10::DeviceType type) {
  for (c10::DeviceType known : kAutocastDevices)
    if (known == type) return true;
  return false;
}

// What autocast_other_state() has of each device: the dtype, and if it is on.
constexpr int kOtherBits = 7;
static_assert(kOtherAutocastDevices.size() * kOtherBits <= 64);
static_assert(static_cast<int>(c10::ScalarType::NumOptions) <= 64);

// Bits 0 to 7: the dtype; 8: enabled; 9: the cache is on.
int64_t autocast_state(c10::DeviceType type) {
  Autocast state = autocast(static_cast<int8_t>(type));
  return static_cast<int64_t>(static_cast<uint8_t>(state.dtype)) |
         static_cast<int64_t>(state.enabled) << 8 |
         static_cast<int64_t>(at::autocast::is_autocast_cache_enabled()) << 9;
}

}  // namespace

bool grad_mode() noexcept { return c10::GradMode::is_enabled(); }

void set_grad_mode(bool enabled) noexcept {
  c10::GradMode::set_enabled(enabled);
}

namespace {

enum AutogradBits : uint64_t {
  kGrad = 1,
  kInference = 2,
  kForwardGrad = 4,
  kThreads = 8,
  kInplaceKey = 16,  // ADInplaceOrView is in the included keys
  kNoAutograd = 32,  // the autograd keys are in the excluded keys
};

}  // namespace

uint64_t autograd_state() noexcept {
  const c10::AutogradState& state = c10::AutogradState::get_tls_state();
  const auto keys = c10::impl::tls_local_dispatch_key_set();
  uint64_t bits = 0;
  const auto note = [&bits](bool holds, AutogradBits bit) {
    if (holds) bits |= bit;
  };
  note(state.get_grad_mode(), kGrad);
  note(state.get_inference_mode(), kInference);
  note(state.get_fw_grad_mode(), kForwardGrad);
  note(state.get_multithreading_enabled(), kThreads);
  note(keys.included_.has(c10::DispatchKey::ADInplaceOrView), kInplaceKey);
  note(keys.excluded_.has_all(c10::autograd_dispatch_keyset), kNoAutograd);
  return bits;
}

void restore_autograd_state(uint64_t bits) noexcept {
  c10::AutogradState& state = c10::AutogradState::get_tls_state();
  state.set_grad_mode(bits & kGrad);
  state.set_inference_mode(bits & kInference);
  state.set_fw_grad_mode(bits & kForwardGrad);
  state.set_multithreading_enabled(bits & kThreads);
  auto keys = c10::impl::tls_local_dispatch_key_set();
  const c10::DispatchKeySet inplace(c10::DispatchKey::ADInplaceOrView);
  c10::impl::PODLocalDispatchKeySet wanted{};
  wanted.set_included(bits & kInplaceKey ? keys.included_ | inplace
                                         : keys.included_ - inplace);
  wanted.set_excluded(bits & kNoAutograd
                          ? keys.excluded_ | c10::autograd_dispatch_keyset
                          : keys.excluded_ - c10::autograd_dispatch_keyset);
  c10::impl::_force_tls_local_dispatch_key_set(wanted);
}

bool has_grad_mode(uint64_t autograd_state) noexcept {
  return autograd_state & kGrad;
}

uint64_t with_grad_mode(uint64_t autograd_state, bool enabled) noexcept {
  return enabled ? autograd_state | kGrad : autograd_state & ~kGrad;
}

uint64_t inference_state(bool enabled) noexcept {
  return enabled ? kInference | kNoAutograd
                 : kGrad | kForwardGrad | kThreads | kInplaceKey;
}

int8_t autocast_device(const std::string& name) noexcept {
  try {
    c10::DeviceType type = c10::Device(name).type();
    return is_autocast_device(type) ? static_cast<int8_t>(type) : -1;
  } catch (const std::exception&) {
    return -1;
  }
}

int scalar_type_of(PyObject* dtype) noexcept {
  if (!THPDtype_Check(dtype)) return -1;
  return static_cast<int>(reinterpret_cast<THPDtype*>(dtype)->scalar_type);
}

Ref dtype_of(int8_t scalar_type) {
  return Ref::share(reinterpret_cast<PyObject*>(
      torch::getTHPDtype(static_cast<c10::ScalarType>(scalar_type))));
}

Autocast autocast(int8_t device_type) noexcept {
  auto type = static_cast<c10::DeviceType>(device_type);
  return {at::autocast::is_autocast_enabled(type),
          static_cast<int8_t>(at::autocast::get_autocast_dtype(type))};
}

void set_autocast(int8_t device_type, Autocast state) noexcept {
  auto type = static_cast<c10::DeviceType>(device_type);
  at::autocast::set_autocast_enabled(type, state.enabled);
  at::autocast::set_autocast_dtype(type,
                                   static_cast<c10::ScalarType>(state.dtype));
}

bool autocast_cache() noexcept {
  return at::autocast::is_autocast_cache_enabled();
}

void set_autocast_cache(bool enabled) noexcept {
  at::autocast::set_autocast_cache_enabled(enabled);
}

int autocast_nesting(int change) noexcept {
  int level = 0;
  if (change == 0) {
    at::autocast::increment_nesting();
    return at::autocast::decrement_nesting();
  }
  for (; change > 0; --change) level = at::autocast::increment_nesting();
  for (; change < 0; ++change) level = at::autocast::decrement_nesting();
  return level;
}

void clear_autocast_cache() noexcept { at::autocast::clear_cache(); }

AutocastScope::AutocastScope() noexcept
    : autocast_cache_(autocast_cache()), nesting_(autocast_nesting(0)) {
  for (c10::DeviceType type : kAutocastDevices)
    autocast_[static_cast<size_t>(type)] = autocast(static_cast<int8_t>(type));
}

AutocastScope::~AutocastScope() {
  set_autocast_cache(autocast_cache_);
  for (c10::DeviceType type : kAutocastDevices) {
    const Autocast& saved = autocast_[static_cast<size_t>(type)];
    if (autocast(static_cast<int8_t>(type)) != saved)
      set_autocast(static_cast<int8_t>(type), saved);
  }
  int level = autocast_nesting(0);
  if (level != nesting_) autocast_nesting(nesting_ - level);
  // The cache may hold fakes: casted weights of the trace.
  if (nesting_ == 0) clear_autocast_cache();
}

int64_t grad_mode_state() noexcept { return grad_mode(); }

int64_t forward_level_state() noexcept {
  // Levels don't nest.
  return torch::autograd::ForwardADLevel::try_get_by_idx(0) != nullptr;
}

void leave_forward_level() noexcept {
  if (forward_level_state()) torch::autograd::ForwardADLevel::release_idx(0);
}

int64_t inference_mode_state() noexcept {
  return c10::InferenceMode::is_enabled();
}

int64_t autocast_cpu_state() noexcept {
  return autocast_state(c10::DeviceType::CPU);
}

int64_t autocast_cuda_state() noexcept {
  return autocast_state(c10::DeviceType::CUDA);
}

int64_t autocast_other_state() noexcept {
  uint64_t all = 0;
  for (c10::DeviceType type : kOtherAutocastDevices) {
    const Autocast state = autocast(static_cast<int8_t>(type));
    all = all << kOtherBits | static_cast<uint64_t>(state.dtype) << 1 |
          static_cast<uint64_t>(state.enabled);
  }
  return static_cast<int64_t>(all);
}

int64_t default_dtype_state() noexcept {
  return static_cast<int64_t>(c10::get_default_dtype_as_scalartype());
}

int64_t default_device_state() noexcept {
  PyObject* device = default_device();
  if (!device) return 0;
  const c10::Device& value = reinterpret_cast<THPDevice*>(device)->device;
  return 1 + ((static_cast<int64_t>(value.type()) << 8) |
              static_cast<uint8_t>(value.index()));
}

int64_t backend_switches_state() noexcept {
  const at::Context& context = at::globalContext();
  int64_t bits = 0;
  for (const bool is_on :
       {context.userEnabledCuDNN(), context.benchmarkCuDNN(),
        context.deterministicCuDNN(), context.userEnabledMkldnn()})
    bits = bits << 1 | static_cast<int64_t>(is_on);
  return bits;
}

int64_t deterministic_state() noexcept {
  auto& context = at::globalContext();
  return (context.deterministicAlgorithms() ? 1 : 0) |
         (context.deterministicAlgorithmsWarnOnly() ? 2 : 0) |
         (context.deterministicFillUninitializedMemory() ? 4 : 0);
}

int64_t torch_function_state() noexcept {
  return (at::impl::PythonTorchFunctionTLS::stack_len() << 2) |
         static_cast<int64_t>(
             at::impl::PythonTorchFunctionTLS::get_disabled_state());
}

bool is_jit_tracing() noexcept {
  return at::tracer::impl::is_dispatch_enabled();
}

int64_t own_modes_state() noexcept {
  return has_own_modes() || is_in_transform();
}

int64_t thread_count_state() noexcept {
  return static_cast<int64_t>(at::get_num_interop_threads()) << 32 |
         at::get_num_threads();
}

std::string print_bool_state(int64_t value) { return value ? "True" : "False"; }

std::string print_autocast_state(int64_t value) {
  return std::string((value >> 8) & 1 ? "on" : "off") + " with torch." +
         scalar_type_name(static_cast<int8_t>(value & 0xff)) +
         ((value >> 9) & 1 ? "" : ", without cache");
}

std::string print_other_autocast_state(int64_t value) {
  std::string text;
  auto bits = static_cast<uint64_t>(value);
  for (size_t i = kOtherAutocastDevices.size(); i-- > 0; bits >>= kOtherBits) {
    if (!(bits & 1)) continue;
    const auto dtype = static_cast<int8_t>(bits >> 1 & 63);
    text += (text.empty() ? "on for " : ", ") +
            c10::Device(kOtherAutocastDevices[i]).str() + " with torch." +
            scalar_type_name(dtype);
  }
  return text.empty() ? "off" : text;
}

std::string print_dtype_state(int64_t value) {
  return "torch." + scalar_type_name(static_cast<int8_t>(value));
}

std::string print_device_state(int64_t value) {
  if (value == 0) return "none that is set";
  const auto type = static_cast<c10::DeviceType>((value - 1) >> 8);
  return c10::Device(type, static_cast<c10::DeviceIndex>((value - 1) & 0xff))
      .str();
}

std::string print_deterministic_state(int64_t value) {
  const char* text = !(value & 1) ? "off" : value & 2 ? "on, to warn" : "on";
  return std::string(text) +
         (value & 4 ? "" : ", without filling what is uninitialized");
}

std::string print_torch_function_state(int64_t value) {
  using State = at::impl::TorchFunctionDisabledState;
  const auto state = static_cast<State>(value & 3);
  const char* text = state == State::ENABLED ? "on"
                     : state == State::SUBCLASSES_DISABLED
                         ? "off for subclasses"
                         : "off";
  const int64_t modes = value >> 2;
  return text +
         (modes ? ", with " + std::to_string(modes) + " modes" : std::string());
}

PyObject* grad_of(PyObject* object) noexcept {
  if (!is_tensor(object)) return nullptr;
  const at::Tensor& tensor = THPVariable_Unpack(object);
  // Of a tensor that isn't a leaf, torch would warn.
  const at::Tensor& grad =
      torch::autograd::impl::get_autograd_meta(tensor)
          ? torch::autograd::impl::get_autograd_meta(tensor)->grad_
          : tensor;
  if (&grad == &tensor || !grad.defined()) return Py_None;
  // Its Python object, made on first demand, is kept by the tensor.
  Ref wrapped = Ref::steal(THPVariable_Wrap(grad));
  if (!wrapped) PyErr_Clear();
  return wrapped.get();
}

bool has_saved_tensor_hooks() noexcept {
  return !at::SavedTensorDefaultHooks::get_tls_state().stack.empty();
}

}  // namespace magneto::tensor
