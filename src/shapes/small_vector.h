// SPDX-License-Identifier: BSD-3-Clause
// A growing array whose first N items need no allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace magneto::shapes {

template <class T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() = default;
  explicit SmallVector(std::span<const T> items) { append(items); }
  SmallVector(const SmallVector& other) { append(other); }
  SmallVector& operator=(const SmallVector& other) {
    if (this != &other) {
      clear();
      append(other);
    }
    return *this;
  }

  void push_back(T item) {
    if (size_ == capacity_) grow();
    data()[size_++] = item;
  }
  void append(std::span<const T> items) {
    for (const T& item : items) push_back(item);
  }
  void erase(size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --size_;
  }
  void insert(size_t at, T item) {
    push_back(item);
    std::rotate(begin() + at, end() - 1, end());
  }
  void resize_down(size_t size) { size_ = size; }
  void clear() { size_ = 0; }

  T* data() { return heap_ ? heap_.get() : inline_; }
  const T* data() const { return heap_ ? heap_.get() : inline_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  operator std::span<const T>() const { return {data(), size_}; }

 private:
  void grow() {
    auto bigger = std::make_unique<T[]>(capacity_ * 2);
    std::copy(begin(), end(), bigger.get());
    heap_ = std::move(bigger);
    capacity_ *= 2;
  }

  T inline_[N] = {};
  std::unique_ptr<T[]> heap_;
  size_t size_ = 0;
  size_t capacity_ = N;
};

}  // namespace magneto::shapes
