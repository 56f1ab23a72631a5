// SPDX-License-Identifier: BSD-3-Clause
#include "entry/resume/operand_transfer.h"

#include <algorithm>
#include <vector>

#include "entry/resume/owned_callable.h"
#include "python/call_layout.h"
#include "python/frame.h"
#include "python/ownership.h"

namespace magneto::entry {

namespace {

struct GivenCall {
  Ref function;
  std::vector<Ref> arguments;
};

PyObject* call_given(GivenCall& call, PyObject* names) noexcept {
  return python::call_giving(call.function, call.arguments, names);
}

}  // namespace

bool give_operands(FrameValues& values, size_t first) {
  const auto operands = values.span().subspan(first);
  const auto [callable, first_argument] = python::call_head(
      [operands](size_t i) { return operands[i] == nullptr; });
  PyObject* function = operands[callable];
  PyObject* self = nullptr;
  if (PyMethod_Check(function)) {
    self = PyMethod_GET_SELF(function);
    function = PyMethod_GET_FUNCTION(function);
  }
  if (!PyFunction_Check(function) ||
      std::ranges::none_of(operands.subspan(callable),
                           python::is_held_only_here))
    return true;
  auto call = std::make_unique<GivenCall>();
  call->function = Ref::share(function);
  if (self) call->arguments.push_back(Ref::share(self));
  for (size_t i = first_argument; i < operands.size(); ++i) {
    call->arguments.push_back(values.take(first + i));
    values.put(first + i, Ref::share(Py_None));
  }
  const Ref replaced = values.take(first + callable);
  Ref given = owned_call<GivenCall, call_given>(std::move(call));
  if (!given) return false;
  values.put(first + callable, std::move(given));
  return true;
}

}  // namespace magneto::entry
