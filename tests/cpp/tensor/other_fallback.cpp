// SPDX-License-Identifier: BSD-3-Clause
// Stands for a release of PyTorch that has a fallback of its own on
// DispatchKey::Fake: counts its calls, and runs the operator below the key.
// tests/python/torch/test_fake_key.py loads it before magneto.
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>

namespace {

std::atomic<int64_t> calls = 0;

void count_and_go_on(const c10::OperatorHandle& handle,
                     c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  ++calls;
  const c10::DispatchKeySet below(c10::DispatchKeySet::FULL_AFTER,
                                  c10::DispatchKey::Fake);
  handle.redispatchBoxed(keys & below, stack);
}

TORCH_LIBRARY_IMPL(_, Fake, library) {
  library.fallback(
      torch::CppFunction::makeFromBoxedFunction<&count_and_go_on>());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int64_t
calls_of_other_fallback() {
  return calls;
}
