// SPDX-License-Identifier: BSD-3-Clause
// Magneto's own functions and types, met in a program that is traced.
#include "natives/pure.h"
#include "natives/torch/rows.h"

namespace magneto::natives {

namespace {

Outcome<V> is_compiling(Context& ctx, const Arguments&) {
  return ctx.boolean(true);
}

// A compiled function in another one is the function that it was made of.
Outcome<V> call_compiled(Context& ctx, const Arguments& args) {
  PyObject* self = guarded_object(ctx, ctx.look(args.positional[0]));
  Ref target = Ref::steal(PyObject_GetAttrString(self, "target"));
  if (!target) return ctx.raise_from_python();
  return values::call(ctx, ctx.known(std::move(target)), without(args, 1));
}

Outcome<V> call_disabled(Context& ctx, const Arguments& args) {
  PyObject* self = guarded_object(ctx, ctx.look(args.positional[0]));
  Ref reason =
      Ref::steal(PyObject_GetAttrString(self, "_magneto_disable_reason"));
  if (!reason) PyErr_Clear();
  const char* text = reason && PyUnicode_Check(reason.get())
                         ? PyUnicode_AsUTF8(reason)
                         : nullptr;
  Ref name = Ref::steal(PyObject_GetAttrString(self, "__qualname__"));
  const char* function =
      name && PyUnicode_Check(name.get()) ? PyUnicode_AsUTF8(name) : nullptr;
  if (!function) PyErr_Clear();
  const std::string detail = std::string(function ? function : "a function") +
                             " is disabled" +
                             (text ? std::string(": ") + text : "");
  if (ctx.witness)
    ctx.witness->met(self, Witness::Decision::Skip, detail.c_str());
  return ctx.graph_break("disabled-function", detail,
                         "don't disable it, or call it elsewhere");
}

// A compiled or disabled function that a class has, read from an instance.
Outcome<V> bind(Context& ctx, const Arguments& args) {
  V instance = ctx.look(args.positional[1]);
  if (instance->is_constant() && instance->object == Py_None)
    return args.positional[0];
  return ctx.method(args.positional[0], instance);
}

// The __call__ of a compiled module: what it has under "forward".
Outcome<V> get_module_call(Context& ctx, const Arguments& args) {
  return values::get_attribute(ctx, args.positional[1], name<"forward">());
}

Outcome<V> graph_break(Context& ctx, const Arguments& args) {
  V message =
      args.count() ? ctx.look(args.positional[0]) : args.keyword(name<"msg">());
  const char* text =
      message && message->is_constant() && PyUnicode_Check(message->object)
          ? PyUnicode_AsUTF8(message->object)
          : nullptr;
  return ctx.graph_break("asked-for",
                         text && *text ? text : "magneto.graph_break()",
                         "remove magneto.graph_break()");
}

// magneto.polyfills.leave_to_c: what a polyfill can't do as C does.
Outcome<V> leave_to_c(Context& ctx, const Arguments& args) {
  V what = ctx.look(args.positional[0]);
  MG_CHECK(what->is_constant() && PyUnicode_Check(what->object),
           "a polyfill says what it leaves to C");
  return ctx.graph_break("native-call", PyUnicode_AsUTF8(what->object));
}

constexpr Row kRows[] = {
    {"magneto.polyfills", "leave_to_c", leave_to_c, 1, 1, nullptr},
    {"magneto.api", "is_compiling", is_compiling, 0, 0, nullptr},
    {"magneto.api", "graph_break", graph_break, 0, 1, "msg"},
    row::breaks("magneto.api", "reset"),
    row::breaks("magneto.api", "compile"),
    row::breaks("magneto.installation", "compile"),
    {"magneto._C", "CompiledFunction.__call__", call_compiled, 1, kAny, "*"},
    {"magneto._C", "CompiledFunction.__get__", bind, 2, 3, nullptr},
    {"magneto._C", "DisabledFunction.__get__", bind, 2, 3, nullptr},
    {"magneto._C", "DisabledFunction.__call__", call_disabled, 1, kAny, "*"},
    {"magneto._C", "ModuleCall.__get__", get_module_call, 2, 3, nullptr},
};

}  // namespace

std::span<const Row> own_rows() { return kRows; }

}  // namespace magneto::natives
