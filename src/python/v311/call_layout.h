// SPDX-License-Identifier: BSD-3-Clause
// NULL callable | method receiver, then the arguments.
#pragma once

#include <cstddef>

namespace magneto::python {

inline constexpr size_t kNullOfHead = 0;
inline constexpr size_t kCallableBesideNull = 1;
inline constexpr size_t kMethodOfHead = 0;
inline constexpr size_t kReceiverOfHead = 1;

// NULL callable arguments [keywords]
inline constexpr size_t kNullOfEx = 0;
inline constexpr size_t kCallableOfEx = 1;
inline constexpr size_t kArgumentsOfEx = 2;
inline constexpr size_t kKeywordsOfEx = 3;

}  // namespace magneto::python
