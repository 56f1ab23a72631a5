// SPDX-License-Identifier: BSD-3-Clause
// A bound for what calls itself without a Python frame in between: the repr of
// an object whose __repr__ is object.__str__, the truth of a list of itself.
#pragma once

#include "support/stack_room.h"
#include "values/model/context.h"

namespace magneto::values {

class RecursionScope {
 public:
  RecursionScope() { ++depth_; }
  ~RecursionScope() { --depth_; }
  RecursionScope(const RecursionScope&) = delete;

  bool has_room() const {
    return depth_ <= Py_GetRecursionLimit() && has_stack_room();
  }

  // As Python bounds calls of C code. What it allows and the C stack has no
  // room for is left to it.
  Status check(Context& ctx, const char* where) const {
    if (has_room()) return done;
    if (depth_ <= Py_GetRecursionLimit())
      return ctx.graph_break(
          "recursion",
          std::to_string(depth_) + " calls of C code inside of each other");
    return ctx.raise(PyExc_RecursionError,
                     std::string("maximum recursion depth exceeded") + where);
  }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace magneto::values
