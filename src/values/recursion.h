// SPDX-License-Identifier: BSD-3-Clause
// A bound for what calls itself without a Python frame in between: the repr of
// an object whose __repr__ is object.__str__, the truth of a list of itself.
#pragma once

#include "values/context.h"

namespace magneto::values {

class RecursionScope {
 public:
  RecursionScope() { ++depth_; }
  ~RecursionScope() { --depth_; }
  RecursionScope(const RecursionScope&) = delete;

  // As Python bounds calls of C code.
  Status check(Context& ctx, const char* where = "") const {
    if (depth_ <= Py_GetRecursionLimit()) return done;
    return ctx.raise(PyExc_RecursionError,
                     std::string("maximum recursion depth exceeded") + where);
  }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace magneto::values
