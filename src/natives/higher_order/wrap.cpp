// SPDX-License-Identifier: BSD-3-Clause
// torch.ops.higher_order.wrap: a function's call, as a graph of its own.
#include "natives/higher_order/body.h"
#include "natives/torch/rows.h"

namespace magneto::natives {

namespace {

constexpr const char* kWhose = "the function of torch.ops.higher_order.wrap";

// (operator, function, *args, **kwargs)
Outcome<V> wrap(Context& ctx, const Arguments& args) {
  Body body(ctx, kWhose);
  MG_TRY(V result, body.trace(args.positional[1],
                              {.positional = args.positional.subspan(2),
                               .keyword_values = args.keyword_values,
                               .keyword_names = args.keyword_names}));
  MG_DO(body.expect_no_effects());
  record_wrapped(ctx, body, object_at<"torch.ops.higher_order.wrap">(), {},
                 result);
  return result;
}

constexpr Row kRows[] = {
    {"torch._higher_order_ops.wrap", "Wrap.__call__", wrap, 2, kAny, "*"},
};

}  // namespace

std::span<const Row> wrap_rows() { return kRows; }

}  // namespace magneto::natives
