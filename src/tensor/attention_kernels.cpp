// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/attention_kernels.h"

#include <ATen/Context.h>

#include <iterator>

namespace magneto::tensor {

namespace {

// One bit for each, from the lowest on.
constexpr struct {
  const char* name;
  const char* setter;
  bool (at::Context::*is_enabled)() const;
  void (at::Context::*enable)(bool);
} kKernels[] = {
    {"flash", "_set_sdp_use_flash", &at::Context::userEnabledFlashSDP,
     &at::Context::setSDPUseFlash},
    {"fa3", "_set_sdp_use_fa3", &at::Context::userEnabledFA3SDP,
     &at::Context::setSDPUseFA3},
    {"efficient", "_set_sdp_use_mem_efficient",
     &at::Context::userEnabledMemEfficientSDP,
     &at::Context::setSDPUseMemEfficient},
    {"math", "_set_sdp_use_math", &at::Context::userEnabledMathSDP,
     &at::Context::setSDPUseMath},
    {"cudnn", "_set_sdp_use_cudnn", &at::Context::userEnabledCuDNNSDP,
     &at::Context::setSDPUseCuDNN},
    {"overrideable", "_set_sdp_use_overrideable",
     &at::Context::userEnabledOverrideableSDP,
     &at::Context::setSDPUseOverrideable},
};
// The order follows, so many bits for each place.
constexpr unsigned kOrderBits = 4;
constexpr uint64_t kOrderMask = (1u << kOrderBits) - 1;

}  // namespace

uint64_t attention_kernels() noexcept {
  at::Context& context = at::globalContext();
  uint64_t bits = 0;
  unsigned at = 0;
  for (const auto& kernel : kKernels)
    bits |= uint64_t{(context.*kernel.is_enabled)()} << at++;
  for (at::SDPBackend backend : context.sDPPriorityOrder()) {
    bits |= (static_cast<uint64_t>(backend) & kOrderMask) << at;
    at += kOrderBits;
  }
  return bits;
}

void set_attention_kernels(uint64_t bits) {
  at::Context& context = at::globalContext();
  context.setSDPPriorityOrder(attention_order(bits));
  for (const auto& kernel : kKernels) {
    (context.*kernel.enable)(bits & 1);
    bits >>= 1;
  }
}

std::vector<KernelSwitch> attention_switches(uint64_t from, uint64_t to) {
  std::vector<KernelSwitch> switches;
  for (const auto& kernel : kKernels) {
    if ((from ^ to) & 1) switches.push_back({kernel.setter, (to & 1) != 0});
    from >>= 1;
    to >>= 1;
  }
  return switches;
}

std::vector<int64_t> attention_order(uint64_t bits) {
  bits >>= std::size(kKernels);
  std::vector<int64_t> order(at::globalContext().sDPPriorityOrder().size());
  for (int64_t& backend : order) {
    backend = static_cast<int64_t>(bits & kOrderMask);
    bits >>= kOrderBits;
  }
  return order;
}

int64_t attention_kernels_state() noexcept {
  return static_cast<int64_t>(attention_kernels());
}

std::string print_attention_kernels_state(int64_t value) {
  const auto state = static_cast<uint64_t>(value);
  uint64_t bits = state;
  std::string text;
  for (const auto& kernel : kKernels) {
    if (bits & 1) text += std::string(text.empty() ? "" : ", ") + kernel.name;
    bits >>= 1;
  }
  text += text.empty() ? "none, in the order" : ", in the order";
  for (int64_t backend : attention_order(state))
    text += " " + std::to_string(backend);
  return text;
}

}  // namespace magneto::tensor
