// SPDX-License-Identifier: BSD-3-Clause
// How expressions read: as Python, in the user's terms.
#pragma once

#include <functional>
#include <string>

#include "shapes/expression.h"

namespace magneto::shapes {

using SymbolName = std::function<std::string(SymbolId)>;

// "2 * x.size(0) + 1 <= y.size(1)": negative terms of a comparison with zero
// stand on the other side. `name` says what a symbol is called.
std::string show(E e, const SymbolName& name);
// With symbols called s0, s1, ...
std::string show(E e);

}  // namespace magneto::shapes
