// SPDX-License-Identifier: BSD-3-Clause
// What is made at first use and lives as long as the process, as in
//
//   static const Table* const table = forever(make_table());
//
// While it is made, other threads may run and make it, too (Python code lets go
// of the GIL): each makes its own, and those that are not kept are leaked.
#pragma once

#include <utility>

namespace magneto {

template <class T>
T* forever(T made) {
  return new T(std::move(made));
}

}  // namespace magneto
