// SPDX-License-Identifier: BSD-3-Clause
// What hangs on code objects until they die (PEP 523). An interpreter has few
// places for that, so whoever wants one asks once, in a static.
#pragma once

#include <memory>

#include "running_python/code_extra.h"
#include "support/check.h"

namespace magneto::python {

class CodeExtra {
 public:
  using Release = void (*)(void* extra) noexcept;
  // `release` is called with what a code object has when that dies; may be
  // null.
  explicit CodeExtra(Release release) : index_(new_extra_index(release)) {
    MG_CHECK(index_ >= 0, "CPython must have a place left in co_extra");
  }

  // Null if the code object has none.
  void* get(PyCodeObject* code) const noexcept {
    return get_extra(code, index_);
  }
  // False if there is no memory; no Python error is set.
  bool set(PyCodeObject* code, void* extra) const noexcept {
    return set_extra(code, index_, extra);
  }

 private:
  Py_ssize_t index_;
};

// One T for each code object that `make` was called for, which gives a
// unique_ptr: what the code object has, or else what is made.
template <class T, class Make>
T& code_extra(PyCodeObject* code, Make make) {
  static const CodeExtra extra(
      [](void* object) noexcept { delete static_cast<T*>(object); });
  if (void* found = extra.get(code)) return *static_cast<T*>(found);
  std::unique_ptr<T> made = make();
  MG_CHECK(extra.set(code, made.get()), "co_extra must be writable");
  return *made.release();
}

}  // namespace magneto::python
