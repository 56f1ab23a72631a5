// SPDX-License-Identifier: BSD-3-Clause
// Numbers that vary from call to call, as operators take them. An operator
// refuses those that its kernel's type doesn't hold, and sizes that are too
// large, when the graph runs: after a write, which can't always be undone. So
// guards ask there for numbers that are like those of the call that is traced.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

namespace magneto::tensor {

struct OpInfo;

struct Ends {
  double least, most;
};

// Of the numbers that tensors of the type can be filled with.
Ends ends_of(c10::ScalarType type);

// Whether a number, which may be a symbol, lies in a range; NaN doesn't.
bool is_within(const c10::Scalar& number, Ends ends);

// What the numbers among the arguments become, and the sizes of the results.
void limit_numbers(const OpInfo& op, const c10::IValue* args,
                   c10::ArrayRef<c10::IValue> outputs);

}  // namespace magneto::tensor
