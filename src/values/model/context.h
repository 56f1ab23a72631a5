// SPDX-License-Identifier: BSD-3-Clause
// The context of one trace. It is the sum of its parts, each in a header of its
// own; what needs one of them only takes that one:
//
//   TraceStores   what changes while tracing, and can be taken back
//   ValueFactory  (has the stores) how the trace makes values of its own
//   Wrapping      (makes values) how the caller's objects become values
//   TraceSymbols  numbers that aren't known before the call
//   Signals       exceptions and graph breaks
//   TracePolicy   what the trace may do, and the rooms that it asks
//   CallState     what one call hands to the next
#pragma once

#include "values/model/call_state.h"
#include "values/model/inliner.h"
#include "values/model/interfaces.h"
#include "values/model/signals.h"
#include "values/model/trace_policy.h"
#include "values/model/trace_symbols.h"
#include "values/model/wrapping.h"

namespace magneto::values {

class Context final : public Wrapping,
                      public Signals,
                      public TracePolicy,
                      public CallState {
 public:
  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  TraceSymbols symbols{*this};
};

}  // namespace magneto::values
