// SPDX-License-Identifier: BSD-3-Clause
// Objects of C classes that the trace made (iterators, partials, deques,
// views): how a heap object keeps the state of each, and the call that makes a
// real object of that state.
#pragma once

#include <optional>

#include "values/context.h"

namespace magneto::values {

// `callable(*positional)` gives an equal object; for a List or Dict, an empty
// one, to be filled afterwards.
struct Construction {
  V callable = nullptr;
  std::vector<V> positional;
};

// Nothing if the object's class isn't known here, or if there is no such call
// for the state that it is in. May make new values.
std::optional<Construction> construction(Context& ctx, V value);

// The view that dict.keys, values or items (by name) gives.
V dict_view(Context& ctx, V dict, std::string_view method);

// reversed(sequence), with `left` items to go.
V reversed_iterator(Context& ctx, V sequence, size_t left);

}  // namespace magneto::values
