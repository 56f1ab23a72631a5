// SPDX-License-Identifier: BSD-3-Clause
// Frozen dataclasses as arguments of a graph's calls: the graph makes them anew
// of their fields, as torch.compile's does.
#pragma once

#include <span>
#include <vector>

#include "values/model/context.h"

namespace magneto::values {

// The names of the fields of an instance whose class makes it of these by
// keywords, and does nothing else; none of anything else.
std::vector<PyObject*> frozen_fields(Context& ctx, V value);

// Whether it is such an instance, and one of its fields holds a tensor.
Outcome<bool> is_frozen_with_tensors(Context& ctx, V value);

}  // namespace magneto::values
