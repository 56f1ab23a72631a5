// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/signals.h"

#include <algorithm>
#include <utility>

#include "python/layout.h"
#include "values/model/context.h"
#include "values/protocol/attributes.h"
#include "values/protocol/protocol.h"
#include "values/types/exceptions.h"

namespace magneto::values {

namespace {

// Classes that can be renamed, and stand in an error's message by their name.
void guard_names_in(Context& ctx, std::string_view message) {
  std::vector<PyTypeObject*> named;
  for (const guards::Guard& guard : ctx.guards.guards()) {
    if ((guard.kind != guards::GuardKind::TypeIs &&
         guard.kind != guards::GuardKind::Identity) ||
        !PyType_Check(guard.object.get()))
      continue;
    PyObject* bases =
        reinterpret_cast<PyTypeObject*>(guard.object.get())->tp_mro;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(bases); ++i) {
      auto* type = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i));
      if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
          message.find(type->tp_name) != std::string_view::npos &&
          std::ranges::find(named, type) == named.end())
        named.push_back(type);
    }
  }
  for (PyTypeObject* type : named)
    ctx.guards.constant_equals(
        ctx.sources.field(
            ctx.sources.constant(reinterpret_cast<PyObject*>(type)),
            guards::SourceKind::TypeName),
        reinterpret_cast<PyHeapTypeObject*>(type)->ht_name);
}

}  // namespace

Context& Signals::whole() { return static_cast<Context&>(*this); }
const Context& Signals::whole() const {
  return static_cast<const Context&>(*this);
}

Signal Signals::raise(PyObject* type, const std::string& message) {
  Context& ctx = whole();
  guard_names_in(ctx, message);
  V argument = ctx.string(message);
  return raise_value(make_exception(ctx, reinterpret_cast<PyTypeObject*>(type),
                                    {&argument, 1}));
}

namespace {

const std::vector<V>& slots_of(Context& ctx, V exception) {
  return ctx.heap[exception->heap].slots;
}

// The exception that is being handled becomes the __context__ of the one that
// is raised. Where that is in the chain of contexts already, it is removed.
// Caller's exceptions have no slots.
void chain(Context& ctx, V exception, V handled) {
  if (slots_of(ctx, exception).empty()) return;
  // Where it makes no difference, the caller's isn't looked at.
  if (handled->kind == Kind::Lazy &&
      slots_of(ctx, exception)[kContext] != ctx.none())
    handled = ctx.look(handled);
  if (handled == ctx.none() || handled == exception) return;
  // A program may have made a cycle: `slow` goes half as fast (Floyd).
  V slow = handled;
  bool odd = false;
  for (V link = handled; link->heap.valid() && !slots_of(ctx, link).empty();) {
    const V next = slots_of(ctx, link)[kContext];
    if (next == exception) {
      ctx.heap.set_slot(link->heap, kContext, ctx.none());
      break;
    }
    link = next;
    if (std::exchange(odd, !odd)) slow = slots_of(ctx, slow)[kContext];
    if (link == slow) break;
  }
  ctx.heap.set_slot(exception->heap, kContext, handled);
}

}  // namespace

Signal Signals::raise_value(V exception) {
  Context& ctx = whole();
  exception_ = ctx.look(exception);
  if (Inliner* inliner = ctx.inliner) {
    chain(ctx, exception_, inliner->handled_exception());
    raised_at_ = inliner->origin().location;
  }
  return Signal::Raised;
}

namespace {

std::string text_of(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text) return text;
  PyErr_Clear();
  return "?";
}

}  // namespace

std::vector<FrameSummary> Signals::stack_of(graph::LocationId location) const {
  std::vector<FrameSummary> stack;
  while (location.valid()) {
    const graph::Location& at = whole().graph().locations()[location.index];
    const PyCodeObject* code = at.code.get();
    stack.push_back({text_of(code->co_filename),
                     PyCode_Addr2Line(at.code, at.instruction),
                     text_of(code->co_qualname)});
    location = at.caller;
  }
  std::reverse(stack.begin(), stack.end());
  return stack;
}

std::vector<FrameSummary> Signals::exception_stack() const {
  return stack_of(raised_at_);
}

namespace {

// The attributes that Python code gave an exception (re.error); false if they
// can't be kept.
bool copy_attributes(Context& ctx, V exception, PyObject* real) {
  PyObject** attributes = python::made_dict_slot(real);
  if (!attributes || !*attributes) return true;
  PyObject *name = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(*attributes, &position, &name, &value)) {
    V mapping = attribute_mapping(ctx, exception);
    const bool is_plain = value == Py_None || is_safe_type(Py_TYPE(value));
    if (!mapping || !is_plain ||
        !dict_set(ctx, mapping, ctx.constant_share(name),
                  ctx.constant_share(value)))
      return false;
  }
  return true;
}

}  // namespace

Signal Signals::raise_from_python() {
  Context& ctx = whole();
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  MG_CHECK(type, "a C-API call failed without an exception");
  PyErr_NormalizeException(&type, &value, &traceback);
  Ref owned_type = Ref::steal(type);
  Ref owned_value = Ref::steal(value);
  Ref owned_traceback = Ref::steal(traceback);
  // Not an exception of the traced program: a signal handler's, or the trace
  // needs data.
  if (PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)) {
    PyErr_Restore(owned_type.release(), owned_value.release(),
                  owned_traceback.release());
    return Signal::Skip;
  }
  if (tensor::is_needs_data(owned_value)) {
    Ref text = Ref::steal(PyObject_Str(owned_value));
    const char* chars = text ? PyUnicode_AsUTF8(text) : nullptr;
    if (!chars) PyErr_Clear();
    const bool is_refused =
        PyErr_GivenExceptionMatches(owned_value, tensor::refused_error());
    return graph_break(
        is_refused ? Reason("refused-call") : Reason("data-dependent"),
        chars ? chars : "");
  }
  Ref args = Ref::steal(PyObject_GetAttrString(owned_value, "args"));
  std::vector<V> values;
  if (args && PyTuple_Check(args.get())) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i) {
      PyObject* arg = PyTuple_GET_ITEM(args.get(), i);
      if (PyUnicode_Check(arg)) guard_names_in(ctx, attribute_name(arg));
      values.push_back(ctx.constant_share(arg));
    }
  } else {
    PyErr_Clear();
  }
  V exception = make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(owned_type.get()), values);
  if (!copy_attributes(ctx, exception, owned_value))
    return graph_break("native-call", std::string("what raised a ") +
                                          exception->type->tp_name +
                                          " gave it attributes");
  return raise_value(exception);
}

Signal Signals::graph_break(Reason reason, std::string detail,
                            std::string hint) {
  break_ = {reason, std::move(detail), std::move(hint), {}};
  if (Inliner* inliner = whole().inliner)
    break_.stack = stack_of(inliner->origin().location);
  return Signal::Break;
}

Signal Signals::graph_break(const BreakException& found) {
  (void)graph_break(found.info.reason, found.info.detail, found.info.hint);
  break_.skips_calls = found.info.skips_calls;
  return found.info.skips_calls ? Signal::Skip : Signal::Break;
}

Signal Signals::skip(Reason reason, std::string detail, std::string hint) {
  (void)graph_break(reason, std::move(detail), std::move(hint));
  return Signal::Skip;
}

V Signals::take_exception() { return std::exchange(exception_, nullptr); }

bool Signals::exception_is(PyObject* type) const {
  return exception_ && PyType_IsSubtype(exception_->type,
                                        reinterpret_cast<PyTypeObject*>(type));
}

}  // namespace magneto::values
