// SPDX-License-Identifier: BSD-3-Clause
// What differs from one release of PyTorch to another. CMake says for which
// minor version of PyTorch 2 an extension is built.
#pragma once

namespace magneto {

inline constexpr int kTorchMinor = MAGNETO_TORCH_MINOR;

}  // namespace magneto

// Rows of tables that only some releases have:
// `MG_SINCE(14, row)` is the row where PyTorch is 2.14 or later, and
// `MG_UNTIL(13, row)` where it is 2.13 or earlier.
#define MG_SINCE(minor, ...) MG_SINCE_##minor(__VA_ARGS__)
#define MG_UNTIL(minor, ...) MG_UNTIL_##minor(__VA_ARGS__)

#if MAGNETO_TORCH_MINOR >= 14
#define MG_SINCE_14(...) __VA_ARGS__
#define MG_UNTIL_13(...)
#else
#define MG_SINCE_14(...)
#define MG_UNTIL_13(...) __VA_ARGS__
#endif

#if MAGNETO_TORCH_MINOR >= 15
#define MG_SINCE_15(...) __VA_ARGS__
#define MG_UNTIL_14(...)
#else
#define MG_SINCE_15(...)
#define MG_UNTIL_14(...) __VA_ARGS__
#endif
