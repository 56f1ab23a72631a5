// SPDX-License-Identifier: BSD-3-Clause
// The exception that a thread is handling: what sys.exc_info() tells.
#pragma once

#include <utility>

#include "python/ref.h"

namespace magneto::python {

// The exception that this thread is handling, or null. Borrowed.
PyObject* handled_exception() noexcept;

// A frame between two pieces of it may be handling an exception; in the end the
// thread handles again what it did when the scope began.
class HandledScope {
 public:
  HandledScope() noexcept;
  ~HandledScope();
  HandledScope(const HandledScope&) = delete;

  // What the frame handles now; null: what the thread did before.
  void set(Ref exception) noexcept;

 private:
  _PyErr_StackItem* item_;
  Ref before_;
  bool is_changed_ = false;
};

}  // namespace magneto::python
