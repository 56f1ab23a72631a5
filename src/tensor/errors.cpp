// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/errors.h"

#include <torch/csrc/Exceptions.h>

#include <cstring>

#include "python/gil.h"
#include "python/ref.h"
#include "tensor/fake_key.h"
#include "tensor/fake_tensor.h"

namespace magneto::tensor {
namespace {

// Made once, deliberately never freed.
PyObject* needs_data_type = nullptr;
PyObject* refused_type = nullptr;

[[noreturn]] void throw_as(PyObject* type, const std::string& message) {
  python_error error;
  {
    const GilHeld gil;
    PyErr_SetString(type, message.c_str());
    error.persist();
  }
  throw error;
}

}  // namespace

bool initialize() {
  if (needs_data_type) return true;
  register_fake_key();
  needs_data_type = PyErr_NewExceptionWithDoc(
      "magneto.NeedsDataError",
      "An operation on a tensor that is being traced needs the tensor's data.",
      PyExc_RuntimeError, nullptr);
  if (!needs_data_type) return false;
  refused_type = PyErr_NewExceptionWithDoc(
      "magneto.RefusedError", "PyTorch's fake tensors refuse an operation.",
      needs_data_type, nullptr);
  return refused_type != nullptr;
}

PyObject* needs_data_error() noexcept { return needs_data_type; }
PyObject* refused_error() noexcept { return refused_type; }

bool is_needs_data(PyObject* exception) noexcept {
  if (PyErr_GivenExceptionMatches(exception, needs_data_type)) return true;
  if (!PyErr_GivenExceptionMatches(exception, PyExc_RuntimeError)) return false;
  // The text of c10::StorageImpl for a storage that refuses its pointer.
  constexpr const char* kRefused = "Cannot access data pointer of Storage";
  Ref text = Ref::steal(PyObject_Str(exception));
  const char* words = text ? PyUnicode_AsUTF8(text) : nullptr;
  if (!words) PyErr_Clear();
  return words && std::strstr(words, kRefused) != nullptr;
}

void throw_needs_data(const std::string& message) {
  throw_as(needs_data_type, message);
}

void throw_refused(const std::string& message) {
  throw_as(refused_type, message);
}

c10::SymInt multiplied(const c10::SymInt& a, const c10::SymInt& b) {
  const auto x = a.maybe_as_int(), y = b.maybe_as_int();
  if (!x || !y) return a * b;
  int64_t result = 0;
  if (__builtin_mul_overflow(*x, *y, &result))
    throw_refused("a tensor has more elements than 64 bits count");
  return result;
}

}  // namespace magneto::tensor
