// SPDX-License-Identifier: BSD-3-Clause
// What was true of a tensor when a trace first saw it, and the check that it
// is true of another tensor: the tensor guard. Plain data, no ATen types.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "python/ref.h"
#include "tensor/fake_tensor.h"

namespace magneto::tensor {

// Dimensions and strides, inline for up to kInline dimensions.
class DimArray {
 public:
  static constexpr uint32_t kInline = 6;

  DimArray() = default;
  explicit DimArray(std::span<const int64_t> values) { assign(values); }
  DimArray(DimArray&&) = default;
  DimArray& operator=(DimArray&&) = default;

  void assign(std::span<const int64_t> values);
  const int64_t* data() const { return heap_ ? heap_.get() : inline_.data(); }
  int64_t* data() { return heap_ ? heap_.get() : inline_.data(); }
  uint32_t size() const { return size_; }
  std::span<const int64_t> span() const { return {data(), size_}; }

 private:
  uint32_t size_ = 0;
  std::array<int64_t, kInline> inline_{};
  std::unique_ptr<int64_t[]> heap_;
};

struct TensorSnapshot {
  // Stands in `sizes` for a dimension that a guard doesn't compare, and in
  // `strides` for a stride that it doesn't. Real ones are never negative
  // (strides of user tensors included).
  static constexpr int64_t kDynamic = -1;

  // What matches() compares beyond the properties that it always compares.
  enum Extra : uint8_t {
    kNothing = 0,
    kHistory = 1,        // history
    kStorageOffset = 2,  // storage_offset
    kViewRule = 4,       // view_rule
    kRefusal = 8,        // is_refused
  };

  Ref type;                 // the exact Python type
  uint64_t key_set = 0;     // raw dispatch key set: layout, inference, conj...
  int8_t scalar_type = 0;   // c10::ScalarType
  int8_t device_type = 0;   // c10::DeviceType
  int8_t device_index = 0;  // -1: none
  int8_t layout = 0;        // c10::Layout
  bool requires_grad = false;
  History history = History::None;
  ViewRule view_rule = ViewRule::Writable;
  bool is_refused = false;
  bool is_inference = false;
  bool is_conj = false;
  bool is_neg = false;
  // False for what has no plain sizes and strides (sparse, nested, wrapper
  // subclasses, symbolic shapes). Such a snapshot matches nothing.
  bool plain = true;
  uint8_t extra = kNothing;
  bool dynamic = false;  // some dimension is kDynamic
  int64_t storage_offset = 0;
  DimArray sizes;
  DimArray strides;

  // Stops comparing one size. Strides that follow from it are the
  // caller's business (mark_stride_dynamic).
  void mark_dynamic(uint32_t dimension);
  void mark_stride_dynamic(uint32_t dimension);
};

// `tensor` must satisfy is_tensor().
TensorSnapshot take_snapshot(PyObject* tensor);

// The tensor guard: true if `object` is a tensor with the snapshot's type, key
// set, dtype, device, requires_grad, sizes and strides. Pointer loads only: no
// reference is counted, no Python runs. Any object may be given.
bool matches(PyObject* object, const TensorSnapshot& snapshot) noexcept;

// Why matches() is false: each property that differs, with both values. Empty
// when it is true.
std::string explain_mismatch(PyObject* object, const TensorSnapshot& snapshot);

// One line for guard listings: "float32[2, 3] strides [3, 1] on cpu, ...".
std::string describe(const TensorSnapshot& snapshot);

}  // namespace magneto::tensor
