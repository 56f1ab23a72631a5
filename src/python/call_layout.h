// SPDX-License-Identifier: BSD-3-Clause
// Where the operands of a call stand on the value stack. Two entries head those
// of a Call, one of which may be NULL: a callable without a receiver, or a
// function and its receiver, which is its first argument. A CallFunctionEx has
// a callable, a NULL, a tuple of arguments and, if it has any, a dict of
// keywords. Which entry is which, versions of CPython change; what a LoadMethod
// or a LoadGlobalNull pushes is such a head.
#pragma once

#include <array>
#include <cstddef>

#include "running_python/call_layout.h"

namespace magneto::python {

inline constexpr size_t kCallHead = 2;

// Entries of a Call with so many arguments.
constexpr size_t call_operands(size_t arguments) {
  return kCallHead + arguments;
}

// Entries from the first of a call's operands.
struct CallHead {
  size_t callable;
  size_t first;  // argument; the receiver, if there is one
};

// `is_null(i)` says it of the i-th operand.
template <class IsNull>
constexpr CallHead call_head(IsNull is_null) {
  return is_null(kNullOfHead) ? CallHead{kCallableBesideNull, kCallHead}
                              : CallHead{kMethodOfHead, kReceiverOfHead};
}

// What a callable, with a receiver or without (a null pointer), is pushed as.
// `null` is the NULL of whoever asks.
template <class T>
constexpr std::array<T, kCallHead> head_of(T callable, T receiver, T null) {
  std::array<T, kCallHead> head{};
  if (receiver) {
    head[kMethodOfHead] = callable;
    head[kReceiverOfHead] = receiver;
  } else {
    head[kCallableBesideNull] = callable;
    head[kNullOfHead] = null;
  }
  return head;
}

// Whichever of both it is that calls.
static_assert(kNullOfEx == kNullOfHead && kCallableOfEx == kCallableBesideNull);

// Entries of a CallFunctionEx.
constexpr size_t call_ex_operands(bool has_keywords) {
  return kKeywordsOfEx + (has_keywords ? 1 : 0);
}

}  // namespace magneto::python
