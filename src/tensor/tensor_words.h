// SPDX-License-Identifier: BSD-3-Clause
// Where a tensor keeps what matches() compares, for guards that would rather
// compare memory than ask.
#pragma once

#include <cstddef>

#include "python/ref.h"

namespace magneto::tensor {

struct TensorSnapshot;

// Writes the addresses of 8-byte words: while each, in this order, has the
// contents that it has now, matches(tensor, snapshot) stays true. Gives their
// number; 0 if that can't be said so simply (a view that may require a gradient
// through its base, many dimensions, `capacity` too small). Call it with a
// tensor that matches. Every word lies in the Python object or in memory that
// the words before it lead to.
size_t metadata_words(PyObject* tensor, const TensorSnapshot& snapshot,
                      const void** words, size_t capacity) noexcept;

}  // namespace magneto::tensor
