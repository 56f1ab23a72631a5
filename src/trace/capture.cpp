// SPDX-License-Identifier: BSD-3-Clause
#include "trace/capture.h"

#include "guards/read.h"
#include "natives/registry.h"
#include "natives/torch/closing.h"
#include "python/code_object.h"
#include "python/handled.h"
#include "python/names.h"
#include "python/ownership.h"
#include "python/types.h"
#include "tensor/ambient.h"
#include "tensor/default_device.h"
#include "tensor/fake_tensor.h"
#include "tensor/global_state.h"
#include "tensor/transforms.h"
#include "trace/interpreter.h"
#include "values/types/exceptions.h"

namespace magneto::trace {

namespace {

// The part of this thread's state that the trace changes; restored at its end.
class TraceScope {
 public:
  explicit TraceScope(Context& ctx) {
    tensor::set_journal(&ctx.journal);
    tensor::set_data_environment(&ctx.symbols);
  }
  ~TraceScope() {
    tensor::set_data_environment(nullptr);
    tensor::set_journal(nullptr);
  }
  TraceScope(const TraceScope&) = delete;

 private:
  tensor::GlobalStateScope state_;
  tensor::FakeModeScope fakes_;
};

// The thread state that torch's operators read; what the trace itself switches
// later doesn't count.
void guard_ambient_state(Context& ctx) {
  using guards::Ambient;
  for (Ambient id :
       {Ambient::GradMode, Ambient::InferenceMode, Ambient::AutocastCpu,
        Ambient::AutocastCuda, Ambient::AutocastOther, Ambient::DefaultDtype,
        Ambient::DefaultDevice, Ambient::Deterministic, Ambient::TorchFunction})
    ctx.guards.ambient(id);
}

PyObject* stack_name(Context& ctx, size_t position) {
  Ref name = Ref::steal(PyUnicode_FromFormat("stack%zu", position));
  MG_CHECK(name, "out of memory");
  PyUnicode_InternInPlace(name.slot());
  return ctx.keep(std::move(name));
}

guards::SourceId handled_source(Context& ctx) {
  Ref name = Ref::steal(PyUnicode_InternFromString("sys.exc_info()[1]"));
  MG_CHECK(name, "out of memory");
  return ctx.sources.local(guards::kHandledLocal, ctx.keep(std::move(name)));
}

void fill(Context& ctx, Frame& frame, const python::FrameRequest& request,
          std::vector<V>& cells) {
  const PyCodeObject& code = *request.code;
  frame.py_code = request.code;
  frame.code = &python::decoded(request.code);
  frame.globals = request.globals;
  ctx.sources.found_at(request.globals, ctx.sources.globals());
  frame.globals_value = ctx.known(request.globals, ctx.sources.globals());
  frame.locals.assign(static_cast<size_t>(code.co_nlocalsplus), ctx.null());
  frame.pc = request.start;
  frame.current = request.start;

  const auto first_free =
      static_cast<size_t>(code.co_nlocalsplus - code.co_nfreevars);
  for (size_t i = 0; i < request.cells.size(); ++i) {
    PyObject* name = frame.local_name(static_cast<int32_t>(first_free + i));
    cells.push_back(
        ctx.known(request.cells[i], ctx.sources.closure_cell(i, name)));
  }
  frame.closure = cells;
  if (request.start != 0)
    for (size_t i = 0; i < cells.size(); ++i)
      frame.locals[first_free + i] = cells[i];

  const size_t locals =
      request.start == 0 ? request.values.size() : frame.locals.size();
  for (size_t i = 0; i < locals; ++i) {
    PyObject* value = request.values[i];
    if (value == nullptr) continue;
    frame.locals[i] = ctx.lazy(
        value, ctx.sources.local(i, frame.local_name(static_cast<int32_t>(i))));
  }
  for (size_t i = locals; i < request.values.size(); ++i) {
    PyObject* value = request.values[i];
    frame.push(value ? ctx.lazy(value, ctx.sources.local(
                                           i, stack_name(ctx, i - locals)))
                     : ctx.null());
  }
}

}  // namespace

namespace {

// The arguments that only the frame holds: they die where it drops them.
std::vector<PyObject*> held_alone(const python::FrameRequest& request) {
  std::vector<PyObject*> held;
  for (PyObject* argument : request.owned)
    if (argument && python::is_held_only_here(argument))
      held.push_back(argument);
  return held;
}

// What was raised, for logs: "ValueError: no", and where.
values::BreakInfo describe_exception(Context& ctx, V exception) {
  std::string text = python::short_name(exception->type);
  V args = values::exception_field(ctx, exception, interned().args);
  if (args && args->is_constant() && PyTuple_GET_SIZE(args->object)) {
    PyObject* first = PyTuple_GET_ITEM(args->object, 0);
    const char* chars =
        PyUnicode_Check(first) ? PyUnicode_AsUTF8(first) : nullptr;
    if (chars) text += std::string(": ") + chars;
    PyErr_Clear();
  }
  return {"raised", text, "", ctx.exception_stack()};
}

// Where the graph breaks: what is handed to the rest of the frame and of the
// inlined calls that it is in. False if it can't be.
bool leave(Context& ctx, Interpreter& interpreter,
           const natives::StateAtStart& start,
           const values::CanLeave& can_leave, values::Capture& capture) {
  for (;;) {
    capture.inner = interpreter.broken();
    capture.generators = interpreter.suspended_frames();
    capture.has_finalizers = interpreter.has_finalizers();
    capture.inference_modes = natives::entered_inference_modes(ctx);
    auto reentries = natives::close_states(ctx, start);
    if (reentries) {
      capture.reentries = std::move(*reentries);
      if (capture.inner.empty() || can_leave(capture)) return true;
    } else if (capture.inner.empty()) {
      return false;
    }
    interpreter.break_at_call();
    interpreter.end(false);
  }
}

}  // namespace

values::Capture capture_frame(values::Context& ctx,
                              const python::FrameRequest& request,
                              const values::CanLeave& can_leave) {
  values::Capture capture;
  ctx.natives = &natives::table();
  guard_ambient_state(ctx);
  if (tensor::has_own_modes() || tensor::is_in_transform()) {
    ctx.guards.ambient(guards::Ambient::OwnModes);
    (void)ctx.skip("torch-mode", "when the function is called", "");
    capture.ending = values::Ending::Skip;
    capture.index = static_cast<size_t>(request.start);
    capture.info = ctx.break_info();
    return capture;
  }
  const std::vector<PyObject*> arguments = held_alone(request);
  TraceScope scope(ctx);
  Interpreter interpreter(ctx);
  Frame frame;
  std::vector<V> cells;
  try {
    fill(ctx, frame, request, cells);
  } catch (const values::BreakException& exception) {
    capture.ending = values::Ending::Skip;
    capture.index = static_cast<size_t>(request.start);
    capture.info = exception.info;
    return capture;
  }
  PyObject* handled = python::handled_exception();
  interpreter.handled =
      ctx.lazy(handled ? handled : Py_None, handled_source(ctx));
  frame.handlers = request.handlers;
  interpreter.begin(frame, arguments);
  const natives::StateAtStart start = natives::StateAtStart::now();
  Outcome<Next> next = interpreter.run_outermost(frame);
  interpreter.end(static_cast<bool>(next));
  if (tensor::asked_for_current_device())
    ctx.guards.ambient(guards::Ambient::CurrentDevice);
  // A signal handler has raised: the program must see that at once.
  if (PyErr_Occurred()) return capture;
  capture.calls_in_blocks = interpreter.calls_in_blocks();
  if (next && !ctx.default_devices.empty())
    next = ctx.skip("torch-state", "a torch.device is entered and not left",
                    "use it in a with statement");
  // An inference mode ends when its object dies.
  capture.inference_modes = natives::entered_inference_modes(ctx);
  if (next && !capture.inference_modes.empty())
    next = ctx.skip("torch-state",
                    "a torch.inference_mode is entered and not left",
                    "use it in a with statement");
  // The modes that were entered can't be handed over to the rest of the frame,
  // or to its caller.
  const auto give_up = [&] {
    capture.ending = values::Ending::Skip;
    capture.index = static_cast<size_t>(frame.current);
    capture.info = ctx.break_info();
    return std::move(capture);
  };
  if (next) {
    MG_CHECK(next.value() == Next::Return, "only generators yield");
    auto reentries = natives::close_for_caller(ctx, start);
    if (!reentries) return give_up();
    capture.ending = values::Ending::Return;
    capture.result = frame.result;
    capture.unchanged = interpreter.unchanged();
    capture.written = interpreter.written(frame);
    capture.index = static_cast<size_t>(frame.current);
    capture.reentries = std::move(*reentries);
    capture.generators = interpreter.suspended_frames();
    return capture;
  }
  switch (next.signal()) {
    case Signal::Raised:
      capture.ending = values::Ending::Raised;
      capture.result = ctx.take_exception();
      capture.info = describe_exception(ctx, capture.result);
      break;
    case Signal::Break: {
      capture.ending = values::Ending::Break;
      capture.handlers = frame.handlers;
      capture.handled = interpreter.handled;
      capture.index = static_cast<size_t>(frame.current);
      capture.stack = frame.stack;
      capture.locals = frame.locals;
      capture.written = interpreter.written(frame);
      capture.info = ctx.break_info();
      if (!leave(ctx, interpreter, start, can_leave, capture)) return give_up();
      break;
    }
    case Signal::Skip:
      capture.ending = values::Ending::Skip;
      capture.index = static_cast<size_t>(frame.current);
      capture.info = ctx.break_info();
      break;
  }
  return capture;
}

}  // namespace magneto::trace
