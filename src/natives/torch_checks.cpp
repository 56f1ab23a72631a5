// SPDX-License-Identifier: BSD-3-Clause
// torch._check and relatives. What is known to hold is nothing at a call. What
// depends on a tensor's data is asserted by the graph, and known from there on.
#include "natives/torch_rows.h"
#include "shapes/environment.h"
#include "values/symbolic.h"

namespace magneto::natives {

namespace {

using values::SymbolValue;

// The condition, if only the graph's run tells whether it holds.
shapes::E open_condition(Context& ctx, V condition) {
  if (!values::is_symbol(condition) || condition->type != &PyBool_Type)
    return nullptr;
  shapes::Environment& environment = *ctx.environment();
  const shapes::E number = as<SymbolValue>(condition)->number;
  if (!environment.has_unbacked(number) || environment.known(number))
    return nullptr;
  return number;
}

// The text of the error: what `message` gives, or torch's own words. None: one
// that depends on a tensor's data, too.
Outcome<V> message_text(Context& ctx, V message) {
  if (!message || ctx.look(message) == ctx.none())
    return ctx.string(
        "Expected cond to be True, but got False. (Could this error message "
        "be improved? If so, please report an enhancement request to "
        "PyTorch.)");
  // Nobody goes on with what breaks in there.
  const bool kept = std::exchange(ctx.keeps_inner_frames, false);
  const Journal::Position before = ctx.journal.position();
  Outcome<V> text = call(ctx, message, {});
  ctx.keeps_inner_frames = kept;
  if (text) {
    V known = ctx.look_symbolic(text.value());
    if (known->is_constant() && PyUnicode_CheckExact(known->object))
      return known;
  } else if (text.signal() != Signal::Break) {
    return text;
  }
  ctx.journal.rollback(before);
  return ctx.none();
}

// torch._check: the graph raises RuntimeError.
Outcome<V> assert_in_graph(Context& ctx, shapes::E condition, V message) {
  MG_TRY(V text, message_text(ctx, message));
  if (text == ctx.none())
    text = ctx.string("Expected " + ctx.environment()->show(condition) +
                      " to be True, but got False.");
  ctx.graph.call_function(
      object_at<"torch.ops.aten._assert_scalar.default">(),
      {ctx.number_argument(condition), ctx.graph.constant(text->object)}, {},
      Ref::share(Py_None), ctx.inliner->origin());
  if (ctx.environment()->assume(condition)) return ctx.none();
  return ctx.graph_break("data-dependent",
                         "the condition contradicts what is known");
}

template <Literal path, size_t position>
Outcome<V> check(Context& ctx, const Arguments& args) {
  V condition = argument(args, position, name<"cond">());
  if (condition) {
    condition = ctx.look_symbolic(condition);
    constexpr std::string_view kCheck = "torch._check";
    if (shapes::E number = open_condition(ctx, condition)) {
      if (path.text == kCheck)
        return assert_in_graph(ctx, number,
                               argument(args, position + 1, name<"message">()));
      return ctx.graph_break("data-dependent-branch",
                             "whether " + ctx.environment()->show(number) +
                                 " depends on a tensor's data",
                             "use torch._check, which the graph asserts");
    }
    MG_TRY(bool holds, values::truth(ctx, condition));
    if (holds && condition->type == &PyBool_Type) return ctx.none();
  }
  return ctx.inliner->inline_function(ctx.constant_share(object_at<path>()),
                                      args);
}

#define MG_CHECK_ROW(function, position) \
  { "torch", function, check<"torch." function, position> }

constexpr Row kRows[] = {
    MG_CHECK_ROW("_check", 0),
    MG_CHECK_ROW("_check_index", 0),
    MG_CHECK_ROW("_check_value", 0),
    MG_CHECK_ROW("_check_type", 0),
    MG_CHECK_ROW("_check_not_implemented", 0),
    MG_CHECK_ROW("_check_with", 1),
};

}  // namespace

std::span<const Row> torch_check_rows() { return kRows; }

}  // namespace magneto::natives
