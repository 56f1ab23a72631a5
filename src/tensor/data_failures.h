// SPDX-License-Identifier: BSD-3-Clause
// Which operators fail for what their tensors hold, an index that is out of
// range, a matrix without an inverse, or for a number that only the run knows:
// no shape rule can tell.
#pragma once

#include <cstdint>
#include <string_view>

namespace magneto::tensor {

enum class DataFailure : uint8_t {
  Never,
  IntegerDivisor,   // where the second argument holds integers, or varies
  IntegerExponent,  // where the second argument of integers varies
  Any,
};

// `name`: "aten::index.Tensor". In-place and out= forms are as the functional
// one.
DataFailure data_failure(std::string_view name);

}  // namespace magneto::tensor
