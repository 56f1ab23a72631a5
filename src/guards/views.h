// SPDX-License-Identifier: BSD-3-Clause
// Which of some tensors are views of which.
#pragma once

#include <cstddef>
#include <cstdint>

#include "guards/hooks.h"

namespace magneto::guards {

inline constexpr uint32_t kNoView = UINT32_MAX;

// For the tensor at `at` among `count`, of which `tensor(i)` gives each: the
// number of its base; `count` and the number of the first view of the same base
// if the base isn't among them; kNoView if it is no view.
template <typename Tensor>
uint32_t base_number(size_t count, const Tensor& tensor, size_t at) noexcept {
  const auto view = hooks().tensor.view;
  const View own = view(tensor(at));
  if (own.self == own.base) return kNoView;
  for (size_t i = 0; i < count; ++i)
    if (view(tensor(i)).self == own.base) return static_cast<uint32_t>(i);
  for (size_t i = 0; i < count; ++i)
    if (view(tensor(i)).base == own.base)
      return static_cast<uint32_t>(count + i);
  return kNoView;
}

}  // namespace magneto::guards
