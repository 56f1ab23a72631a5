// SPDX-License-Identifier: BSD-3-Clause
// torch._check and relatives. What is known to hold is nothing at a call. What
// depends on a tensor's data is asserted by the graph, and known from there on.
#include "natives/torch/rows.h"
#include "shapes/environment.h"
#include "values/model/speculation.h"
#include "values/protocol/symbolic.h"

namespace magneto::natives {

namespace {

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
  values::Speculation asked(ctx);
  Outcome<V> text = call(ctx, message, {});
  ctx.keeps_inner_frames = kept;
  if (text) {
    V known = ctx.look_open(text.value());
    if (known->is_constant() && PyUnicode_CheckExact(known->object))
      return known;
  } else if (text.signal() != Signal::Break) {
    return text;
  }
  asked.rollback();
  return ctx.none();
}

// torch._check: the graph raises RuntimeError.
Outcome<V> assert_in_graph(Context& ctx, shapes::E condition, V message) {
  // What can't be called is an error once the condition fails.
  if (message && ctx.look(message) != ctx.none() &&
      !PyCallable_Check(
          ctx.look(message)->object
              ? ctx.look(message)->object
              : reinterpret_cast<PyObject*>(ctx.look(message)->type))) {
    ctx.symbols.assert_in_graph(condition, "");
    return ctx.none();
  }
  MG_TRY(V text, message_text(ctx, message));
  ctx.symbols.assert_in_graph(
      condition, text == ctx.none() ? "" : PyUnicode_AsUTF8(text->object));
  return ctx.none();
}

// torch._check_is_size: what its Python code says, which also warns that it is
// deprecated.
Outcome<V> check_is_size(Context& ctx, const Arguments& args) {
  V size = ctx.look_symbolic(args.positional[0]);
  if (!values::is_symbol(size))
    return ctx.inliner->inline_function(
        ctx.constant_share(object_at<"torch._check_is_size">()), args);
  PyObject* const check = object_at<"torch._check">();
  V message = argument(args, 1, name<"message">());
  if (!message) message = ctx.none();
  MG_TRY(V is_size, compare(ctx, Py_GE, size, ctx.integer(0)));
  MG_TRY(V checked, call(ctx, ctx.constant_share(check), {is_size, message}));
  V most = args.keyword(name<"max">());
  if (!most || ctx.look_symbolic(most) == ctx.none()) return checked;
  MG_TRY(V is_small, compare(ctx, Py_LE, size, most));
  return call(ctx, ctx.constant_share(check), {is_small, message});
}

template <Literal path, size_t position>
Outcome<V> check(Context& ctx, const Arguments& args) {
  V condition = argument(args, position, name<"cond">());
  if (condition) {
    condition = ctx.look_symbolic(condition);
    // The others raise other errors than the graph does: plain Python raises
    // them when the frame runs again.
    constexpr bool kIsSaid = std::string_view(path.text) == "torch._check";
    shapes::E number = nullptr;
    if (values::is_symbol(condition) && condition->type == &PyBool_Type)
      number = values::open_truth(ctx, condition);
    if (number) {
      if constexpr (kIsSaid)
        return assert_in_graph(ctx, number,
                               argument(args, position + 1, name<"message">()));
      ctx.symbols.assert_in_graph(number, "");
      return ctx.none();
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
    {"torch", "_check_is_size", check_is_size, 1, 2, "message max"},
    MG_CHECK_ROW("_check_index", 0),
    MG_CHECK_ROW("_check_value", 0),
    MG_CHECK_ROW("_check_type", 0),
    MG_CHECK_ROW("_check_not_implemented", 0),
    MG_CHECK_ROW("_check_with", 1),
};

}  // namespace

std::span<const Row> torch_check_rows() { return kRows; }

}  // namespace magneto::natives
