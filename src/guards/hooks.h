// SPDX-License-Identifier: BSD-3-Clause
// What the guards need to know of tensors and of torch's global state, as plain
// functions that the module room fills in from the tensor room. This room
// includes no ATen header.
//
// None of these may run Python code or raise; a `tensor` may be any object, and
// what is no tensor doesn't match. All are called with the GIL.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace magneto::guards {

enum class Ambient : uint8_t {
#define MG_AMBIENT(Id, printed) Id,
#include "guards/ambient.def"
#undef MG_AMBIENT
  Count_,
};
inline constexpr size_t kAmbientCount = static_cast<size_t>(Ambient::Count_);

struct TensorEntry {
  PyObject* tensor;      // borrowed, alive while it is checked
  const void* snapshot;  // the tensor room's TensorSnapshot
};

// Two tensors have one history if one is a view of the other, as autograd sees
// it, or both are views of one.
struct View {
  const void* self = nullptr;
  const void* base = nullptr;  // itself if it is no view; null: no tensor
};

struct TensorHooks {
  bool (*is_tensor)(PyObject* object) noexcept = nullptr;
  bool (*matches)(PyObject* tensor, const void* snapshot) noexcept = nullptr;
  // The index of the first entry that doesn't match, or `count`. Optional: a
  // loop that the tensor room can inline and prefetch in.
  size_t (*first_mismatch)(const TensorEntry* entries,
                           size_t count) noexcept = nullptr;
  // Writes the addresses of 8-byte words into `words`: while these have the
  // contents that they have now, in the order given, the tensor matches. Gives
  // their number; 0 if it can't say, then matches() is asked every time. Called
  // for a tensor that matches. The first word lies in the object itself, each
  // other one in the object or in memory that the words before lead to.
  // Optional.
  size_t (*words)(PyObject* tensor, const void* snapshot, const void** words,
                  size_t capacity) noexcept = nullptr;
  // "x.size(0) == 4, but it is 5", for a tensor printed as `name`.
  std::string (*explain)(PyObject* tensor, const void* snapshot,
                         const std::string& name) = nullptr;
  // "x: float32[4, 8], requires_grad=False".
  std::string (*describe)(const void* snapshot,
                          const std::string& name) = nullptr;
  // tensor.grad, borrowed (torch keeps the Python object of a tensor that it
  // refers to), None if there is none; null if `tensor` is no tensor.
  PyObject* (*grad)(PyObject* tensor) noexcept = nullptr;
  View (*view)(PyObject* tensor) noexcept = nullptr;
  // -1 if it isn't a tensor or has no such dimension.
  int64_t (*size)(PyObject* tensor, int64_t dim) noexcept = nullptr;
  int64_t (*stride)(PyObject* tensor, int64_t dim) noexcept = nullptr;
  int64_t (*storage_offset)(PyObject* tensor) noexcept = nullptr;
  // The dimensions whose size, or whose stride, is another one than the
  // snapshot's, for a tensor that has as many dimensions; optional.
  std::vector<uint32_t> (*other_sizes)(PyObject* tensor,
                                       const void* snapshot) = nullptr;
  std::vector<uint32_t> (*other_strides)(PyObject* tensor,
                                         const void* snapshot) = nullptr;
};

struct AmbientHook {
  int64_t (*read)() noexcept = nullptr;
  // How a value reads: "True", "torch.float32"; null prints the number.
  std::string (*print)(int64_t value) = nullptr;
};

struct Hooks {
  TensorHooks tensor;
  std::array<AmbientHook, kAmbientCount> ambient;
};

// Process-wide; set once by the module room before anything is compiled.
Hooks& hooks() noexcept;

// How two objects of a C type are told to have the same value: by ==, or by the
// bytes that the buffer protocol shows (NaN is NaN, and 0.0 isn't -0.0).
enum class SameValue : uint8_t { Equal, Bytes };

// Declares a C type whose instances compare by value and without Python code,
// so that constant_equals() accepts its exact instances: torch.device,
// torch.dtype.
void add_value_type(PyTypeObject* type, SameValue same = SameValue::Equal);

}  // namespace magneto::guards
