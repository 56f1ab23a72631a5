// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/fake_key.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "support/forever.h"
#include "tensor/dispatch.h"
#include "tensor/fake_impl.h"

namespace magneto::tensor {

namespace {

thread_local bool is_ours_now = false;

bool is_own(const at::Tensor& tensor) {
  return tensor.defined() &&
         dynamic_cast<const FakeImpl*>(tensor.unsafeGetTensorImpl());
}

bool holds_own(const c10::IValue& argument) {
  if (argument.isTensor()) return is_own(argument.toTensor());
  if (!argument.isList()) return false;
  for (const c10::IValue& each : argument.toListRef())
    if (each.isTensor() && is_own(each.toTensor())) return true;
  return false;
}

// A kernel for one operator, in front of what PyTorch has for it.
class OwnFirst final : public c10::OperatorKernel {
 public:
  explicit OwnFirst(c10::SafeKernelFunction theirs)
      : theirs_(std::move(theirs)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) const {
    const size_t arity = handle.schema().arguments().size();
    const bool is_ours =
        is_ours_now ||
        std::any_of(stack->end() - static_cast<std::ptrdiff_t>(arity),
                    stack->end(), holds_own);
    if (is_ours)
      run_on_fakes(handle, keys, stack);
    else
      theirs_.callBoxed(handle, keys, stack);
  }

 private:
  c10::SafeKernelFunction theirs_;
};

using Handles = std::vector<c10::RegistrationHandleRAII>;

// Lives as long as the process: other threads may be in an operator when the
// interpreter ends.
Handles& handles() {
  static Handles* const all = forever(Handles());
  return *all;
}

void register_operator(const c10::OperatorHandle& handle) {
  if (!handle.hasSchema()) return;
  auto kernel =
      c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<OwnFirst>(
          handle.getComputedKernelForDispatchKey(kFakeKey)));
  handles().push_back(c10::Dispatcher::singleton().registerImpl(
      handle.operator_name(), kFakeKey, std::move(kernel), std::nullopt,
      nullptr, "magneto"));
}

// Operators without a kernel of ours: all at first, later those that libraries
// define.
class Pending {
 public:
  void add(const c10::OperatorName& name) {
    const std::lock_guard lock(mutex_);
    names_.push_back(name);
    any_ = true;
  }
  std::vector<c10::OperatorName> take() {
    if (!any_) return {};
    const std::lock_guard lock(mutex_);
    any_ = false;
    return std::exchange(names_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<c10::OperatorName> names_;
  std::atomic<bool> any_ = false;
};

Pending& pending() {
  static std::unique_ptr<Pending>* const all =
      forever(std::make_unique<Pending>());
  return **all;
}

// Is told of the operators that are there, too. The dispatcher is locked then,
// so nothing can be registered yet.
class OperatorListener final : public c10::OpRegistrationListener {
 public:
  void onOperatorRegistered(const c10::OperatorHandle& handle) override {
    pending().add(handle.operator_name());
  }
  void onOperatorDeregistered(const c10::OperatorHandle&) override {}
};

void register_pending() {
  for (const c10::OperatorName& name : pending().take())
    if (const auto handle = c10::Dispatcher::singleton().findSchema(name))
      register_operator(*handle);
}

}  // namespace

void register_fake_key() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  if (!dispatcher.hasBackendFallbackForDispatchKey(kFakeKey)) {
    handles().push_back(dispatcher.registerFallback(
        kFakeKey, c10::KernelFunction::makeFromBoxedFunction<&run_on_fakes>(),
        "magneto"));
    return;
  }
  handles().push_back(
      dispatcher.addRegistrationListener(std::make_unique<OperatorListener>()));
  register_pending();
}

FakeKeyScope::FakeKeyScope(bool is_ours)
    : before_(std::exchange(is_ours_now, is_ours)) {
  if (is_ours) register_pending();
}
FakeKeyScope::~FakeKeyScope() { is_ours_now = before_; }

}  // namespace magneto::tensor
