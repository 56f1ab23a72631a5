// SPDX-License-Identifier: BSD-3-Clause
// Who handles the calls on DispatchKey::Fake. PyTorch has the key for a C++
// FakeTensor of its own, without anything registered on it so far. Where a
// fallback is there already, magneto registers a kernel for each operator
// instead, and what isn't its own goes on to that fallback.
#pragma once

namespace magneto::tensor {

// Done once, before the first fake tensor. Throws std::exception where PyTorch
// refuses it.
void register_fake_key();

// Whether this thread computes with magneto's fake tensors.
class FakeKeyScope {
 public:
  explicit FakeKeyScope(bool is_ours);
  ~FakeKeyScope();
  FakeKeyScope(const FakeKeyScope&) = delete;

 private:
  bool before_;
};

}  // namespace magneto::tensor
