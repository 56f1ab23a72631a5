// SPDX-License-Identifier: BSD-3-Clause
// Sizes and numbers that depend on a tensor's data: symbols for what only the
// graph's run tells.
#pragma once

#include <c10/core/Scalar.h>

#include "tensor/fake_impl.h"
#include "tensor/symbol_node.h"

namespace magneto::tensor {

// A new size, at least `least` and at most `most`. Throws where nobody takes
// such sizes (set_data_environment).
Dim unbacked_size(const Dim& least, const Dim& most);
Dim unbacked_size(const Dim& least);

// The only element of a tensor, as a symbol. Throws as unbacked_size() does.
c10::Scalar data_number(const at::Tensor& tensor);

// What an operator asks of its arguments. Where only the graph's run can tell,
// the operator does, and raises unless the condition holds: so it is known from
// here on.
bool must_hold(const c10::SymBool& condition);
// Whether one of the sizes does.
bool depends_on_data(DimList sizes);
// What an operator asks, for two shapes that must be equal.
bool must_be(DimList shape, DimList other);
// None: only the graph's run tells.
std::optional<bool> decided(const c10::SymBool& condition);
// What a kernel asks of sizes that only the graph's run tells, most often since
// it has a way of its own for zero or one: they are neither, and the graph
// asserts what follows from that. Where it doesn't hold, plain Python computes.
// None: that doesn't settle it.
std::optional<bool> presumed(const SymbolNode& condition);
// The graph asserts the condition; false if it can't tell it where it stands.
bool assert_in_graph(shapes::E condition);
// Whether a size that is given is none to be inferred. Where only the graph's
// run can tell, it is, and the graph asserts that.
bool is_given(const Dim& size);

}  // namespace magneto::tensor
