// SPDX-License-Identifier: BSD-3-Clause
// Which kernels scaled_dot_product_attention may use, and in which order they
// are tried: the process's state, as bits. No ATen types.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace magneto::tensor {

uint64_t attention_kernels() noexcept;
void set_attention_kernels(uint64_t bits);

// As the state of a guard, and how that reads.
int64_t attention_kernels_state() noexcept;
std::string print_attention_kernels_state(int64_t value);

struct KernelSwitch {
  const char* function;  // of torch._C
  bool is_on;
};
// What to call to get from one state to the other, but for the order.
std::vector<KernelSwitch> attention_switches(uint64_t from, uint64_t to);
// What torch._C._set_sdp_priority_order takes.
std::vector<int64_t> attention_order(uint64_t bits);

}  // namespace magneto::tensor
