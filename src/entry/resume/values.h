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
  explicit FrameValues(size_t variables, size_t others = 0)
      : size_(variables + others), variables_(variables) {
    if (size_ > inline_.size()) {
      heap_ = std::make_unique<PyObject*[]>(size_);
      data_ = heap_.get();
    } else {
      std::fill_n(data_, size_, nullptr);
    }
  }
  FrameValues(FrameValues&& other) noexcept { swap(other); }
  FrameValues& operator=(FrameValues&& other) noexcept {
    FrameValues taken(std::move(other));
    swap(taken);
    return *this;
  }
  // Dies as a frame of CPython's does: the stack from its top, then the
  // variables.
  ~FrameValues() {
    for (size_t i = size_; i-- > variables_;) Ref dead = take(i);
    for (size_t i = 0; i < variables_; ++i) Ref dead = take(i);
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
    std::swap(variables_, other.variables_);
    data_ = heap_ ? heap_.get() : inline_.data();
    other.data_ = other.heap_ ? other.heap_.get() : other.inline_.data();
  }

  std::array<PyObject*, 24> inline_{};
  std::unique_ptr<PyObject*[]> heap_;
  PyObject** data_ = inline_.data();
  size_t size_ = 0;
  size_t variables_ = 0;  // the first ones; what is behind them is the stack
};

}  // namespace magneto::entry
