// SPDX-License-Identifier: BSD-3-Clause
// Functions, methods, descriptors and generators as objects: calling and
// binding them by their slots, and making them through the types module.
#include "natives/builtins/descriptor_get.h"
#include "natives/builtins/iterators.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"
#include "values/protocol/attributes.h"
#include "values/types/exceptions.h"
#include "values/types/generators.h"

namespace magneto::natives {

namespace {

// f.__call__(...)
Outcome<V> slot_call(Context& ctx, const Arguments& args) {
  return call(ctx, args.positional[0], without(args, 1));
}

// f.__get__(object, type): only what is bound matters.
Outcome<V> bind_function(Context& ctx, const Arguments& args) {
  V function = ctx.look(args.positional[0]);
  MG_TRY(bool is_none, has_no_object(ctx, args));
  if (is_none) return function;
  return ctx.method(function, ctx.look(args.positional[1]));
}

// Of a method in C.
Outcome<V> bind_of_c(Context& ctx, const Arguments& args) {
  V method = ctx.look(args.positional[0]);
  MG_TRY(bool is_none, has_no_object(ctx, args));
  if (is_none) return method;
  V object = ctx.look(args.positional[1]);
  MG_DO(values::expect_instance(ctx, method->object, object));
  return ctx.method(method, object);
}

Outcome<V> itself(Context& ctx, const Arguments& args) {
  return ctx.look(args.positional[0]);
}

// The static method or class method of the caller's that is asked.
Outcome<PyObject*> held_descriptor(Context& ctx, const Arguments& args) {
  V descriptor = ctx.look(args.positional[0]);
  if (PyObject* real = guarded_object(ctx, descriptor)) return real;
  return ctx.graph_break(
      "native-call",
      std::string("a ") + descriptor->type->tp_name + " made while tracing",
      "make it outside of the compiled function");
}

// staticmethod.__get__ and the like: a descriptor that somebody holds in the
// hand.
Outcome<V> bind_other(Context& ctx, const Arguments& args) {
  V object = ctx.look(args.positional[1]);
  MG_DO(has_no_object(ctx, args));  // else the class alone counts
  PyTypeObject* type = object->type;
  if (args.count() > 2) {
    V owner = ctx.look(args.positional[2]);
    const bool is_class = owner->is_constant() && PyType_Check(owner->object);
    if (!is_class && owner != ctx.none())
      return ctx.graph_break("native-call", "__get__ of what is no class");
    if (is_class) type = reinterpret_cast<PyTypeObject*>(owner->object);
  }
  MG_TRY(PyObject * real, held_descriptor(ctx, args));
  return values::bind_class_member(ctx, real, type, interned().dunder_get);
}

// staticmethod.__func__ and the like
Outcome<V> made_of(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * real, held_descriptor(ctx, args));
  return values::function_of_class_member(ctx, real);
}

// staticmethod.__call__
Outcome<V> call_static(Context& ctx, const Arguments& args) {
  MG_TRY(V function, made_of(ctx, args));
  return call(ctx, function, without(args, 1));
}

V builtin_callable(Context& ctx) {
  return ctx.constant_share(PyDict_GetItemString(builtins(), "callable"));
}

Outcome<V> make_method(Context& ctx, const Arguments& args) {
  V function = ctx.look(args.positional[0]);
  V self = ctx.look(args.positional[1]);
  MG_TRY(V can, call(ctx, builtin_callable(ctx), {function}));
  MG_TRY(bool is_callable, truth(ctx, can));
  if (!is_callable)
    return ctx.raise(PyExc_TypeError, "first argument must be callable");
  if (self->is_constant() && self->object == Py_None)
    return ctx.raise(PyExc_TypeError, "instance must not be None");
  return ctx.method(function, self);
}

Outcome<V> make_cell(Context& ctx, const Arguments& args) {
  return ctx.cell(args.count() ? args.positional[0] : ctx.null());
}

Outcome<V> read_cell(Context& ctx, const Arguments& args) {
  V cell = ctx.look(args.positional[0]);
  V content = ctx.heap[cell->heap].slots[0];
  if (content && !content->is_null()) return content;
  return ctx.raise(PyExc_ValueError, "Cell is empty");
}

PyTypeObject* namespace_class() {
  static PyObject* const type = [] {
    Ref module = import_module("types");
    MG_CHECK(module, "the module types");
    return PyObject_GetAttrString(module, "SimpleNamespace");
  }();
  return reinterpret_cast<PyTypeObject*>(type);
}

// types.SimpleNamespace(**attributes)
Outcome<V> make_namespace(Context& ctx, const Arguments& args) {
  V made = ctx.object(namespace_class());
  for (size_t i = 0; i < args.keyword_names.size(); ++i)
    MG_DO(
        generic_set(ctx, made, args.keyword_names[i], args.keyword_values[i]));
  return made;
}

// -- generators ---------------------------------------------------------------

Outcome<V> generator_of(Context& ctx, const Arguments& args) {
  V generator = ctx.look(args.positional[0]);
  if (generator->kind == Kind::Generator) return generator;
  return ctx.graph_break("native-call", "a generator of the caller's",
                         "make it inside of the compiled function");
}

Outcome<V> resume(Context& ctx, V generator, V sent, V thrown) {
  V returned = nullptr;
  MG_TRY(V item,
         ctx.inliner->resume_generator(generator, sent, thrown, &returned));
  if (item) return item;
  return stop_iteration(ctx, returned);
}

Outcome<V> send(Context& ctx, const Arguments& args) {
  MG_TRY(V generator, generator_of(ctx, args));
  return resume(ctx, generator, args.positional[1], nullptr);
}

Outcome<V> next_of(Context& ctx, const Arguments& args) {
  MG_TRY(V generator, generator_of(ctx, args));
  return resume(ctx, generator, ctx.none(), nullptr);
}

// The instance that throw(class, value) throws.
Outcome<V> instance_of(Context& ctx, V type, V value) {
  auto* class_object = reinterpret_cast<PyTypeObject*>(type->object);
  if (is_exception_type(value->type) &&
      PyType_IsSubtype(value->type, class_object))
    return value;
  V made = nullptr;
  if (value == ctx.none()) {
    MG_TRY(made, call(ctx, type, {}));
  } else if (is_instance_of(value, &PyTuple_Type)) {
    std::vector<V> items;
    MG_DO(unpack(ctx, value, items));
    MG_TRY(made, call(ctx, type, Arguments{.positional = items}));
  } else {
    MG_TRY(made, call(ctx, type, {value}));
  }
  made = ctx.look(made);
  if (is_exception_type(made->type)) return made;
  return not_an_exception(ctx, type, made->type->tp_name);
}

// throw(exception), throw(class), throw(class, value, traceback)
Outcome<V> throw_into(Context& ctx, const Arguments& args) {
  MG_TRY(V generator, generator_of(ctx, args));
  V exception = ctx.look(args.positional[1]);
  V value = args.count() > 2 ? ctx.look(args.positional[2]) : ctx.none();
  V traceback = args.count() > 3 ? ctx.look(args.positional[3]) : ctx.none();
  if (traceback != ctx.none() && traceback->type != &PyTraceBack_Type)
    return ctx.raise(PyExc_TypeError,
                     "throw() third argument must be a traceback object");
  if (exception->is_constant() && PyType_Check(exception->object) &&
      is_exception_type(reinterpret_cast<PyTypeObject*>(exception->object))) {
    Outcome<V> made = instance_of(ctx, exception, value);
    // What making it raises is thrown in its place.
    if (!made && made.signal() != Signal::Raised) return made;
    exception = made ? made.value() : ctx.take_exception();
  } else if (!is_exception_type(exception->type)) {
    return ctx.raise(PyExc_TypeError,
                     std::string("exceptions must be classes or instances "
                                 "deriving from BaseException, not ") +
                         exception->type->tp_name);
  } else if (value != ctx.none()) {
    return ctx.raise(PyExc_TypeError,
                     "instance exception may not have a separate value");
  }
  // One of the caller's has no fields that could be written.
  if (traceback != ctx.none())
    (void)set_exception_field(ctx, exception, name<"__traceback__">(),
                              traceback);
  return resume(ctx, generator, ctx.none(), exception);
}

// Their names are those of the function that made them, as they were then.
template <size_t slot>
Outcome<V> generator_name(Context& ctx, const Arguments& args) {
  MG_TRY(V generator, generator_of(ctx, args));
  return ctx.heap[generator->heap].slots[slot];
}

Outcome<V> close(Context& ctx, const Arguments& args) {
  MG_TRY(V generator, generator_of(ctx, args));
  V stop = make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_GeneratorExit), {});
  V returned = nullptr;
  Outcome<V> item =
      ctx.inliner->resume_generator(generator, ctx.none(), stop, &returned);
  if (item) {
    if (item.value())
      return ctx.raise(PyExc_RuntimeError, "generator ignored GeneratorExit");
    return ctx.none();
  }
  if (item.signal() == Signal::Raised &&
      (ctx.exception_is(PyExc_GeneratorExit) ||
       ctx.exception_is(PyExc_StopIteration))) {
    (void)ctx.take_exception();
    return ctx.none();
  }
  return item;
}

constexpr const char* kTypes = "<types>";
constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kTypes, "function.__call__", slot_call, 1, kAny, "*"},
    {kTypes, "function.__get__", bind_function, 2, 3, nullptr},
    {kTypes, "method", make_method, 2, 2, nullptr},
    {kTypes, "method.__call__", slot_call, 1, kAny, "*"},
    {kTypes, "builtin_function_or_method.__call__", slot_call, 1, kAny, "*"},
    {kTypes, "method_descriptor.__call__", slot_call, 1, kAny, "*"},
    {kTypes, "method_descriptor.__get__", bind_of_c, 2, 3, nullptr},
    {kTypes, "wrapper_descriptor.__call__", slot_call, 1, kAny, "*"},
    {kTypes, "wrapper_descriptor.__get__", bind_of_c, 2, 3, nullptr},
    {kTypes, "cell", make_cell, 0, 1, nullptr},
    {kTypes, "cell.cell_contents", read_cell, 1, 1, nullptr},
    {kTypes, "generator.__name__", generator_name<kGeneratorName>, 1, 1,
     nullptr},
    {kTypes, "generator.__qualname__", generator_name<kGeneratorQualifiedName>,
     1, 1, nullptr},
    {kTypes, "generator.__iter__", itself, 1, 1, nullptr},
    {kTypes, "generator.__next__", next_of, 1, 1, nullptr},
    {kTypes, "generator.send", send, 2, 2, nullptr},
    {kTypes, "generator.throw", throw_into, 2, 4, nullptr},
    {kTypes, "generator.close", close, 1, 1, nullptr},
    {kBuiltins, "staticmethod.__get__", bind_other, 2, 3, nullptr},
    {kBuiltins, "classmethod.__get__", bind_other, 2, 3, nullptr},
    {kBuiltins, "staticmethod.__call__", call_static, 1, kAny, "*"},
    {kBuiltins, "staticmethod.__func__", made_of, 1, 1, nullptr},
    {kBuiltins, "staticmethod.__wrapped__", made_of, 1, 1, nullptr},
    {kBuiltins, "classmethod.__func__", made_of, 1, 1, nullptr},
    {kBuiltins, "classmethod.__wrapped__", made_of, 1, 1, nullptr},
    {"types", "SimpleNamespace", make_namespace, 0, 0, "*"},
    row::polyfill("types", "SimpleNamespace.__eq__", "types.namespace_eq"),
    row::polyfill("types", "SimpleNamespace.__ne__", "types.namespace_ne"),
    row::polyfill("types", "SimpleNamespace.__repr__", "types.namespace_repr"),
};

}  // namespace

std::span<const Row> callable_rows() { return kRows; }

}  // namespace magneto::natives
