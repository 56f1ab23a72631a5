// SPDX-License-Identifier: BSD-3-Clause
#include "support/stack_room.h"

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace magneto {

namespace {

// A thread with a small stack keeps a quarter of it.
constexpr size_t kRoom = size_t{1} << 20;

struct StackBounds {
  uintptr_t lowest = 0;    // of the stack
  uintptr_t reserved = 0;  // where the room begins

  StackBounds() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* address = nullptr;
    size_t size = 0;
    if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
      lowest = reinterpret_cast<uintptr_t>(address);
      reserved = lowest + std::min(kRoom, size / 4);
    }
    pthread_attr_destroy(&attributes);
  }
};

}  // namespace

bool has_stack_room() noexcept {
  static thread_local const StackBounds bounds;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  // Beneath it is another stack, of which nothing is known.
  return here > bounds.reserved || here < bounds.lowest;
}

}  // namespace magneto
