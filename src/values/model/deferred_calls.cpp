// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/deferred_calls.h"

#include <algorithm>

#include "values/model/context.h"
#include "values/protocol/protocol.h"

namespace magneto::values {
namespace {

// Whether a value will be the same at the piece's end. Loggers and files are
// the caller's own objects.
bool can_wait(Context& ctx, V value) {
  value = ctx.look_open(value);
  switch (value->kind) {
    case Kind::Constant:
    case Kind::Symbol:
    case Kind::Text:
    case Kind::Tensor:
      return true;
    case Kind::Object:
      return value->source.valid();
    case Kind::Tuple:
      return std::ranges::all_of(tuple_items(value),
                                 [&](V item) { return can_wait(ctx, item); });
    default:
      return false;
  }
}

}  // namespace

bool DeferredCalls::is_allowed(PyObject* function) const {
  // Others may have a hash or an `==` of the program's.
  if (!functions_ ||
      !(PyFunction_Check(function) || PyCFunction_Check(function)))
    return false;
  const int contains = PySequence_Contains(functions_, function);
  if (contains < 0) PyErr_Clear();
  return contains > 0;
}

bool DeferredCalls::take(Context& ctx, V function, const Arguments& args) {
  if (!is_allowed(function->object)) return false;
  LateCall call(function, args);
  if (!std::ranges::all_of(call.arguments,
                           [&](V value) { return can_wait(ctx, value); }))
    return false;
  add(ctx, std::move(call));
  return true;
}

void DeferredCalls::note(Context& ctx, V function, const Arguments& args) {
  add(ctx, LateCall(function, args));
}

void DeferredCalls::note(Context& ctx, LateCall call) {
  add(ctx, std::move(call));
}

void DeferredCalls::add(Context& ctx, LateCall call) {
  describing_ = &ctx;
  calls_.push_back(std::move(call));
  ctx.journal.record(this, 0);
}

std::string DeferredCalls::part_name(uint64_t) const {
  return "the calls that wait for the end";
}

std::string DeferredCalls::part_content(uint64_t) const {
  std::string text;
  for (const LateCall& call : calls_) {
    if (!text.empty()) text += ", ";
    text += describing_->describe(call.function) + "(";
    for (size_t i = 0; i < call.arguments.size(); ++i)
      text += (i ? ", " : "") + describing_->describe(call.arguments[i]);
    text += ")";
  }
  return text.empty() ? "none" : text;
}

}  // namespace magneto::values
