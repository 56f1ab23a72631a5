// SPDX-License-Identifier: BSD-3-Clause
// The values of a frame between two pieces of it, as FrameRequest wants them:
// one for each localsplus slot, then the stack. Owns them; null stands for
// unbound and for NULL. Small frames need no allocation.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <utility>

#include "python/ref.h"

namespace magneto::entry {

class FrameValues {
 public:
  FrameValues() = default;
  explicit FrameValues(size_t size) : size_(size) {
    if (size > inline_.size()) {
      heap_ = std::make_unique<PyObject*[]>(size);
      data_ = heap_.get();
    } else {
      std::fill_n(data_, size, nullptr);
    }
  }
  FrameValues(FrameValues&& other) noexcept { swap(other); }
  FrameValues& operator=(FrameValues&& other) noexcept {
    FrameValues taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~FrameValues() {
    for (size_t i = 0; i < size_; ++i)
      Ref dead = Ref::steal(std::exchange(data_[i], nullptr));
  }
  FrameValues(const FrameValues&) = delete;

  size_t size() const { return size_; }
  PyObject*& operator[](size_t i) { return data_[i]; }
  std::span<PyObject*> span() { return {data_, size_}; }
  Ref take(size_t i) { return Ref::steal(std::exchange(data_[i], nullptr)); }
  // The place must be empty.
  void put(size_t i, Ref value) { data_[i] = value.release(); }

 private:
  void swap(FrameValues& other) noexcept {
    std::swap(inline_, other.inline_);
    std::swap(heap_, other.heap_);
    std::swap(size_, other.size_);
    data_ = heap_ ? heap_.get() : inline_.data();
    other.data_ = other.heap_ ? other.heap_.get() : other.inline_.data();
  }

  std::array<PyObject*, 24> inline_{};
  std::unique_ptr<PyObject*[]> heap_;
  PyObject** data_ = inline_.data();
  size_t size_ = 0;
};

}  // namespace magneto::entry
