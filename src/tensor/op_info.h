// SPDX-License-Identifier: BSD-3-Clause
// What the fallback needs to know about an operator, found at its first call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>

#include <string>

#include "tensor/data_failures.h"
#include "tensor/rule.h"

namespace magneto::tensor {

// How an operator is served. Tried in this order.
enum class Route : uint8_t {
  Rule,       // a shape rule of its own or of its functional form
  Decompose,  // torch's composite kernel, in terms of other operators
  Python,     // PyTorch's own Python FakeTensorMode on copies
};

enum class SchemaKind : uint8_t { Functional, InPlace, Out };

struct OpInfo {
  explicit OpInfo(const c10::OperatorHandle& op);

  c10::OperatorHandle handle;
  std::string name;  // "aten::add.Tensor"
  Route route = Route::Python;
  SchemaKind kind = SchemaKind::Functional;
  // The rule gives the functional form's results, which have to be delivered
  // into this operator's own argument or out= arguments.
  bool delivered = false;
  bool may_draw = false;  // from a generator of random numbers
  DataFailure failure = DataFailure::Never;
  RuleFn rule = nullptr;
  c10::DispatchKey composite_key = c10::DispatchKey::Undefined;
  uint32_t arity = 0;
  uint32_t out_begin = 0;  // index of the first out= argument (SchemaKind::Out)
  c10::SmallVector<uint32_t, 2> written;  // arguments that are mutated
};

// The record of an operator; made once per thread and kept.
const OpInfo& op_info(const c10::OperatorHandle& op);

}  // namespace magneto::tensor
