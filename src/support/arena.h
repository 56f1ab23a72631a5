// SPDX-License-Identifier: BSD-3-Clause
// A bump arena. What is made in it lives until the arena dies; destructors are
// not run, so only trivially destructible types may be made in it.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <span>
#include <type_traits>
#include <utility>

namespace magneto {

class Arena {
 public:
  Arena() : resource_(64 * 1024) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class T, class... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>);
    return ::new (resource_.allocate(sizeof(T), alignof(T)))
        T{std::forward<Args>(args)...};
  }

  // A copy of `items` that lives as long as the arena.
  template <class T>
  std::span<T> copy(std::span<const T> items) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (items.empty()) return {};
    auto* data =
        static_cast<T*>(resource_.allocate(items.size_bytes(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), data);
    return {data, items.size()};
  }

 private:
  std::pmr::monotonic_buffer_resource resource_;
};

}  // namespace magneto
