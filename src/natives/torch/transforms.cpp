// SPDX-License-Identifier: BSD-3-Clause
// The transforms of torch.func: vmap, grad and those that are made of them.
// What PyTorch has in Python of them is traced as any program is; what it has
// in C, which enters and leaves levels and takes tensors into them, is done for
// real and recorded in the graph.
//
// Within a level, tensors that belong to it wrap fakes: they have a shape and a
// dtype of their own, but no memory. A graph that breaks within a transform
// breaks at its call (Interpreter::keep_broken), so no level is open between
// two graphs; and within one of plain Python's nothing is traced.
#include "tensor/transforms.h"

#include "natives/torch/rows.h"
#include "python/find.h"
#include "python/pending_error.h"

namespace magneto::natives {

namespace {

template <Literal path>
Ref call_functorch() {
  return Ref::steal(PyObject_CallNoArgs(object_at<path>()));
}
template <Literal path>
Ref call_functorch(PyObject* argument) {
  return Ref::steal(PyObject_CallOneArg(object_at<path>(), argument));
}

Ref leave_dual_level(int64_t level) {
  Ref number = Ref::steal(PyLong_FromLongLong(level));
  PyObject* args[] = {number};
  Ref names = Ref::steal(PyTuple_Pack(1, name<"level">()));
  return Ref::steal(PyObject_Vectorcall(
      object_at<"torch._C._exit_dual_level">(), args, 0, names));
}

int64_t depth() noexcept {
  Ref answer =
      call_functorch<"torch._C._functorch.get_dynamic_layer_stack_depth">();
  MG_CHECK(answer, "functorch knows how many levels there are");
  return PyLong_AsLongLong(answer);
}

// Undoes what changes the levels. One for all traces: they are the thread's.
// Tensors of a level that was left stay those of a dead one: no trace goes back
// to where it was alive.
class LevelUndo final : public UnseenJournaled {
 public:
  enum What : uint64_t {
    kEntered,      // a level, at the depth given
    kLeft,         // a level: the object given, kept alive by the trace
    kAllowed,      // requires_grad_() in a level was, or wasn't
    kEnteredDual,  // the level given, of forward-mode differentiation
    kLeftDual,
    kForwardMode,  // differentiation was on, or off
    kDisabledHooks,
    kEnabledHooks,  // the message given
  };

  void undo(uint64_t what, uint64_t old) noexcept override {
    python::PendingError error = python::PendingError::take();
    Ref done;
    if (what == kEntered) {
      Ref outer = Ref::steal(PyLong_FromUnsignedLongLong(old));
      done = call_functorch<
          "torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth">(
          outer);
    } else if (what == kLeft) {
      done = call_functorch<"torch._C._functorch.push_dynamic_layer_stack">(
          reinterpret_cast<PyObject*>(old));
    } else if (what == kAllowed) {
      done = call_functorch<
          "torch._C._functorch.set_inplace_requires_grad_allowed">(
          old ? Py_True : Py_False);
    } else if (what == kEnteredDual) {
      done = leave_dual_level(static_cast<int64_t>(old));
    } else if (what == kLeftDual) {
      done = call_functorch<"torch._C._enter_dual_level">();
    } else if (what == kDisabledHooks) {
      done = call_functorch<"torch._C._autograd._saved_tensors_hooks_enable">();
    } else if (what == kEnabledHooks) {
      done = call_functorch<"torch._C._autograd._saved_tensors_hooks_disable">(
          reinterpret_cast<PyObject*>(old));
    } else {
      done = call_functorch<"torch._C._set_fwd_grad_enabled">(old ? Py_True
                                                                  : Py_False);
    }
    MG_CHECK(done, "levels that were there can be put back");
    std::move(error).restore();
  }
};

LevelUndo& level_undo() {
  static LevelUndo store;
  return store;
}

template <Literal path>
Outcome<V> enter_level(Context& ctx, const Arguments& args) {
  // The graph's levels are numbered from the outermost.
  ctx.guards.ambient(guards::Ambient::OwnModes);
  const auto outer = static_cast<uint64_t>(depth());
  Outcome<V> level = record_marked(ctx, object_at<path>(), args);
  if (static_cast<uint64_t>(depth()) != outer)
    ctx.journal.record(&level_undo(), LevelUndo::kEntered, outer);
  return level;
}

template <Literal path>
Outcome<V> leave_level(Context& ctx, const Arguments& args) {
  Ref level = call_functorch<"torch._C._functorch.pop_dynamic_layer_stack">();
  if (!level) return ctx.raise_from_python();
  Ref entered =
      call_functorch<"torch._C._functorch.push_dynamic_layer_stack">(level);
  if (!entered) return ctx.raise_from_python();
  ctx.journal.record(&level_undo(), LevelUndo::kLeft,
                     reinterpret_cast<uint64_t>(ctx.keep(std::move(level))));
  return record_marked(ctx, object_at<path>(), args);
}

Outcome<V> allow_requires_grad(Context& ctx, const Arguments& args) {
  Ref before =
      call_functorch<"torch._C._functorch.get_inplace_requires_grad_allowed">();
  if (!before) return ctx.raise_from_python();
  ctx.journal.record(&level_undo(), LevelUndo::kAllowed,
                     before.get() == Py_True);
  return record_marked(
      ctx, object_at<"torch._C._functorch.set_inplace_requires_grad_allowed">(),
      args);
}

// Those of the program's own, outside of torch.func, are left to plain Python.
Status expect_transform(Context& ctx) {
  if (tensor::is_in_transform()) return done;
  return ctx.graph_break("native-call", "torch.autograd.forward_ad",
                         "call it outside of the compiled function");
}

Outcome<V> enter_dual_level(Context& ctx, const Arguments& args) {
  MG_DO(expect_transform(ctx));
  Outcome<V> level = record_marked(
      ctx, object_at<"torch._functorch.predispatch._enter_dual_level">(), args);
  if (level)
    ctx.journal.record(
        &level_undo(), LevelUndo::kEnteredDual,
        static_cast<uint64_t>(PyLong_AsLongLong((*level)->object)));
  return level;
}

Outcome<V> exit_dual_level(Context& ctx, const Arguments& args) {
  MG_DO(expect_transform(ctx));
  Outcome<V> left = record_marked(
      ctx, object_at<"torch._functorch.predispatch._exit_dual_level">(), args);
  if (left) ctx.journal.record(&level_undo(), LevelUndo::kLeftDual, 0);
  return left;
}

// Outside of torch.func, what PyTorch has in Python of it.
template <Literal path>
Outcome<V> use_dual(Context& ctx, const Arguments& args) {
  if (tensor::is_in_transform())
    return record_function(ctx, object_at<path>(), args);
  return ctx.inliner->inline_function(ctx.known(object_at<path>()), args);
}

Outcome<V> is_in_forward_mode(Context& ctx, const Arguments& args) {
  MG_DO(expect_transform(ctx));
  return call_real<"torch._C._is_fwd_grad_enabled">(ctx, args);
}

Outcome<V> load_for_forward_mode(Context& ctx, const Arguments& args) {
  constexpr Literal path =
      "torch.autograd.forward_ad._maybe_load_decompositions";
  if (!tensor::is_in_transform())
    return ctx.inliner->inline_function(ctx.known(object_at<path>()), args);
  Ref loaded = call_functorch<path>();
  if (!loaded) return ctx.raise_from_python();
  return ctx.none();
}

Outcome<V> switch_forward_mode(Context& ctx, const Arguments& args) {
  MG_DO(expect_transform(ctx));
  Ref before = call_functorch<"torch._C._is_fwd_grad_enabled">();
  if (!before) return ctx.raise_from_python();
  ctx.journal.record(&level_undo(), LevelUndo::kForwardMode,
                     before.get() == Py_True);
  return record_marked(ctx, object_at<"torch._C._set_fwd_grad_enabled">(),
                       args);
}

// What PyTorch loads before the first vmap of a process.
Outcome<V> load_decompositions(Context& ctx, const Arguments&) {
  Ref loaded =
      call_functorch<"torch._functorch.predispatch.lazy_load_decompositions">();
  if (!loaded) return ctx.raise_from_python();
  return ctx.none();
}

// What the levels are, and whether a tensor belongs to one: PyTorch's answer.
template <Literal path>
Outcome<V> ask(Context& ctx, const Arguments& args) {
  Ref answer;
  if (args.count() == 0) {
    answer = call_functorch<path>();
  } else {
    V value = ctx.look(args.positional[0]);
    if (value->kind != Kind::Tensor)
      return ctx.graph_break("native-call",
                             "a question about a level of torch.func's, asked "
                             "of something that is no tensor",
                             "call it outside of the compiled function");
    answer = call_functorch<path>(fake_of(value));
  }
  if (!answer) return ctx.raise_from_python();
  return from_constant(ctx, std::move(answer));
}

Outcome<V> has_levels(Context& ctx, const Arguments&) {
  return ctx.boolean(tensor::is_in_transform());
}

Outcome<V> innermost_level(Context& ctx, const Arguments&) {
  if (!tensor::is_in_transform()) return ctx.none();
  return ctx.graph_break("native-call",
                         "torch._C._functorch.peek_interpreter_stack in a "
                         "transform of torch.func",
                         "call it outside of the compiled function");
}

bool is_of_torch_func(PyObject* message) {
  const char* text =
      message && PyUnicode_Check(message) ? PyUnicode_AsUTF8(message) : nullptr;
  PyErr_Clear();
  return text && std::string_view(text).starts_with("torch.func.");
}

Signal leave_hooks(Context& ctx) {
  return ctx.graph_break("native-call",
                         "torch.autograd.graph.disable_saved_tensors_hooks",
                         "call it outside of the compiled function");
}

// torch.func refuses hooks that pack saved tensors: so does the graph, in a
// call that is made under such. What others have against them is left to plain
// Python.
Outcome<V> disable_hooks(Context& ctx, const Arguments& args) {
  PyObject* message = values::as_constant(ctx, args.positional[0]);
  if (!is_of_torch_func(message)) return leave_hooks(ctx);
  Outcome<V> done = record_marked(
      ctx, object_at<"torch._C._autograd._saved_tensors_hooks_disable">(),
      args);
  if (done) ctx.journal.record(&level_undo(), LevelUndo::kDisabledHooks, 0);
  return done;
}

Outcome<V> enable_hooks(Context& ctx, const Arguments& args) {
  Ref message = call_functorch<
      "torch._C._autograd._saved_tensors_hooks_get_disabled_error_message">();
  if (!is_of_torch_func(message)) return leave_hooks(ctx);
  ctx.journal.record(&level_undo(), LevelUndo::kEnabledHooks,
                     reinterpret_cast<uint64_t>(ctx.keep(std::move(message))));
  return record_marked(
      ctx, object_at<"torch._C._autograd._saved_tensors_hooks_enable">(), args);
}

#define MG_ENTER(module, function) \
  { module, function, enter_level<module "." function> }
#define MG_LEAVE(module, function) \
  { module, function, leave_level<module "." function> }
#define MG_DUAL(function)                                  \
  {                                                        \
    "torch._functorch.predispatch", function,              \
        use_dual<"torch._functorch.predispatch." function> \
  }
#define MG_ASK(function) \
  { "torch._C._functorch", function, ask<"torch._C._functorch." function> }

constexpr Row kRows[] = {
    {"torch._functorch.predispatch", "lazy_load_decompositions",
     load_decompositions, 0, 0, nullptr},
    MG_ENTER("torch._functorch.predispatch", "_vmap_increment_nesting"),
    MG_LEAVE("torch._functorch.predispatch", "_vmap_decrement_nesting"),
    row::function("torch._functorch.predispatch", "_add_batch_dim"),
    row::function("torch._functorch.predispatch", "_remove_batch_dim"),

    MG_ENTER("torch._C._functorch", "_grad_increment_nesting"),
    MG_LEAVE("torch._C._functorch", "_grad_decrement_nesting"),
    row::function("torch._C._functorch", "_wrap_for_grad"),
    row::function("torch._functorch.predispatch", "_unwrap_for_grad"),
    row::function("torch._functorch.eager_transforms",
                  "_set_tensor_requires_grad"),
    row::function("torch._functorch.eager_transforms", "_autograd_grad"),
    {"torch._C._functorch", "set_inplace_requires_grad_allowed",
     allow_requires_grad, 1, 1, nullptr},
    {"torch._C._autograd", "_saved_tensors_hooks_get_disabled_error_message",
     call_real<"torch._C._autograd."
               "_saved_tensors_hooks_get_disabled_error_message">,
     0, 0, nullptr},
    {"torch._C._autograd", "_saved_tensors_hooks_disable", disable_hooks, 1, 1,
     nullptr},
    {"torch._C._autograd", "_saved_tensors_hooks_enable", enable_hooks, 0, 0,
     nullptr},

    MG_ENTER("torch._functorch.predispatch", "_jvp_increment_nesting"),
    MG_LEAVE("torch._functorch.predispatch", "_jvp_decrement_nesting"),
    {"torch._functorch.predispatch", "_enter_dual_level", enter_dual_level, 0,
     0, nullptr},
    {"torch._functorch.predispatch", "_exit_dual_level", exit_dual_level},
    MG_DUAL("_make_dual"),
    MG_DUAL("_unpack_dual"),
    {"torch._C", "_set_fwd_grad_enabled", switch_forward_mode, 1, 1, nullptr},
    {"torch._C", "_is_fwd_grad_enabled", is_in_forward_mode, 0, 0, nullptr},
    {"torch.autograd.forward_ad", "_maybe_load_decompositions",
     load_for_forward_mode, 0, 0, nullptr},

    {"torch._C", "_are_functorch_transforms_active", has_levels, 0, 0, nullptr},
    {"torch._C._functorch", "peek_interpreter_stack", innermost_level, 0, 0,
     nullptr},
    MG_ASK("maybe_current_level"),
    MG_ASK("get_dynamic_layer_stack_depth"),
    MG_ASK("get_inplace_requires_grad_allowed"),
    MG_ASK("is_batchedtensor"),
    MG_ASK("is_legacy_batchedtensor"),
    MG_ASK("is_gradtrackingtensor"),
    MG_ASK("is_functionaltensor"),
    MG_ASK("is_functorch_wrapped_tensor"),
    MG_ASK("is_dead_tensor_wrapper"),
    MG_ASK("maybe_get_bdim"),
    MG_ASK("maybe_get_level"),
};

}  // namespace

std::span<const Row> torch_transform_rows() { return kRows; }

}  // namespace magneto::natives
