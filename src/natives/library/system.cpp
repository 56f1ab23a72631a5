// SPDX-License-Identifier: BSD-3-Clause
// The standard library's other corners: sys, os, inspect, typing, weakref,
// logging, importlib, copy.
#include <algorithm>

#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"
#include "python/types.h"
#include "values/protocol/imports.h"
#include "values/torch/torch_types.h"
#include "values/types/exceptions.h"

namespace magneto::natives {

namespace {

Outcome<V> handled_exception(Context& ctx, const Arguments&) {
  return ctx.look(ctx.inliner->handled_exception());
}

Outcome<V> exception_info(Context& ctx, const Arguments&) {
  V exception = ctx.look(ctx.inliner->handled_exception());
  V parts[] = {ctx.none(), exception, ctx.none()};
  if (exception != ctx.none()) {
    parts[0] = ctx.known(
        reinterpret_cast<PyObject*>(exception->type),
        ctx.sources.constant(reinterpret_cast<PyObject*>(exception->type)));
    parts[2] = exception_traceback(ctx, exception);
    if (!parts[2])
      return ctx.graph_break("native-call",
                             "sys.exc_info() of an exception that was raised "
                             "outside of the graph",
                             "use the exception that `except ... as` names");
  }
  return ctx.tuple(parts);
}

// os.fspath: strings and bytes as they are, other paths by their method.
Outcome<V> file_path(Context& ctx, const Arguments& args) {
  V path = ctx.look(args.positional[0]);
  if (path->is_constant() &&
      (PyUnicode_Check(path->object) || PyBytes_Check(path->object)))
    return path;
  MG_TRY(V method, special_method(ctx, path, name<"__fspath__">()));
  if (!method)
    return ctx.raise(PyExc_TypeError,
                     std::string("expected str, bytes or os.PathLike object, "
                                 "not ") +
                         python::short_name(path->type));
  MG_TRY(V found, call(ctx, method, {}));
  found = ctx.look(found);
  if (PyType_IsSubtype(found->type, &PyUnicode_Type) ||
      PyType_IsSubtype(found->type, &PyBytes_Type))
    return found;
  return ctx.raise(PyExc_TypeError, std::string("expected ") +
                                        python::short_name(path->type) +
                                        ".__fspath__() to return str or "
                                        "bytes, not " +
                                        python::short_name(found->type));
}

// weakref.ref.__call__
Outcome<V> referent(Context& ctx, const Arguments& args) {
  V reference = ctx.look(args.positional[0]);
  if (!reference->object || !reference->source.valid())
    return ctx.graph_break("native-call",
                           "a weak reference made while tracing");
  guards::SourceId source =
      ctx.sources.field(reference->source, guards::SourceKind::WeakrefTarget);
  // None where the target is gone.
  PyObject* target = PyWeakref_GetObject(reference->object);
  if (target != Py_None && !ctx.inliner->surely_lives(target))
    return ctx.graph_break("native-call",
                           "a weak reference behind what may have ended the "
                           "life of its object",
                           "ask the weak reference first");
  return ctx.lazy(target, source);
}

// importlib.import_module of what has been imported already.
Outcome<V> import_by_name(Context& ctx, const Arguments& args) {
  V module_name = argument(args, 0, name<"name">());
  if (module_name) module_name = ctx.look(module_name);
  if (module_name && module_name->is_constant() &&
      PyUnicode_Check(module_name->object) && args.count() < 2) {
    if (V module = values::imported_module(ctx, module_name->object))
      return module;
  }
  return ctx.graph_break("import", "importlib.import_module",
                         "import modules before the compiled function runs");
}

// logging.getLogger: of one that there is already. To make one runs a class of
// the program's.
Outcome<V> get_logger(Context& ctx, const Arguments& args) {
  V name_value = argument(args, 0, name<"name">());
  PyObject* wanted = name_value ? safe_object(ctx, name_value) : Py_None;
  PyObject* loggers = find_object("logging.Logger.manager.loggerDict");
  PyObject* place = find_object("logging.PlaceHolder");
  PyObject* real = find_object("logging.getLogger");
  MG_CHECK(loggers && place && real, "what the module logging has");
  const bool is_root = wanted && !PyUnicode_Check(wanted);  // or an error
  PyObject* found =
      wanted && !is_root ? PyDict_GetItemWithError(loggers, wanted) : nullptr;
  if (is_root ||
      (found && reinterpret_cast<PyObject*>(Py_TYPE(found)) != place)) {
    Ref logger;
    MG_TRY(bool called, call_really(ctx, real, args, logger));
    if (called) return lift(ctx, std::move(logger));
  }
  return ctx.graph_break("native-call", "logging.getLogger() of a new name",
                         "make the logger outside of the compiled function");
}

// typing.NewType's classes give back what they are called with.
Outcome<V> same_object(Context&, const Arguments& args) {
  return args.positional[0];
}

// json.loads() and json.dumps(), unless they call code of the program's: a
// hook, or the methods of a class.
template <Literal function>
Outcome<V> convert_json(Context& ctx, const Arguments& args) {
  static PyObject* const real =
      find_object((std::string("json.") + function.text).c_str());
  constexpr const char* kPlain[] = {
      "skipkeys", "ensure_ascii", "check_circular", "allow_nan",
      "indent",   "separators",   "sort_keys"};
  const bool is_plain =
      args.count() <= 1 &&
      std::ranges::all_of(args.keyword_names, [&](PyObject* given) {
        return std::ranges::any_of(kPlain, [given](const char* known) {
          return PyUnicode_CompareWithASCIIString(given, known) == 0;
        });
      });
  // It asks each option whether it is true, and sorts keys by what they say.
  const auto is_safe_value = [&](V value) { return safe_object(ctx, value); };
  const bool is_safe_call =
      std::ranges::all_of(args.keyword_values, is_safe_value) &&
      (!args.keyword(name<"sort_keys">()) ||
       std::ranges::all_of(args.positional, is_safe_value));
  Ref result;
  if (is_plain && is_safe_call) {
    MG_TRY(bool called, call_really(ctx, real, args, result, examined_object));
    if (called) return from_constant(ctx, std::move(result));
  }
  return ctx.graph_break("native-call",
                         std::string("json.") + function.text +
                             "() of unknowns, or with code of the program's",
                         "call it outside of the compiled function");
}

// warnings._filters_mutated(), which lets warnings be shown again that were
// shown once: when the piece ends will do, as nothing warns meanwhile.
Outcome<V> filters_changed(Context& ctx, const Arguments& args) {
  static PyObject* const real = find_object("_warnings._filters_mutated");
  V function = ctx.constant_share(real);
  const auto noted = ctx.deferred_calls.calls();
  if (std::ranges::none_of(noted, [](const values::LateCall& call) {
        return call.function->object == real;
      }))
    ctx.deferred_calls.note(ctx, function, args);
  return ctx.none();
}

constexpr const char* kLogging = "logging";

// sys.settrace() and sys.setprofile(): from here on somebody watches the frame,
// which has to be one and the same until it returns.
Outcome<V> attach_debugger(Context& ctx, const Arguments&) {
  return ctx.skip("native-call", "a debugger or a profiler is attached",
                  "attach it outside of the compiled function");
}

Outcome<V> recursion_limit(Context& ctx, const Arguments&) {
  ctx.guards.ambient(guards::Ambient::RecursionLimit);
  return ctx.integer(Py_GetRecursionLimit());
}

// sys._getframe(depth): the frame of the function that is compiled has to be
// one and the same until it returns, and to have all its variables.
Outcome<V> get_frame(Context& ctx, const Arguments& args) {
  V wanted = args.count() ? ctx.look(args.positional[0]) : ctx.integer(0);
  V outermost = ctx.integer(static_cast<int64_t>(ctx.inliner->depth()));
  const bool is_outermost =
      wanted->is_constant() && PyLong_CheckExact(wanted->object) &&
      PyObject_RichCompareBool(wanted->object, outermost->object, Py_EQ) == 1;
  constexpr const char* kHint = "ask for it outside of the compiled function";
  if (is_outermost)
    return ctx.skip("native-call", "sys._getframe() of the function", kHint);
  return ctx.graph_break("native-call", "sys._getframe", kHint);
}

constexpr Row kRows[] = {
    {"sys", "getrecursionlimit", recursion_limit, 0, 0, nullptr},
    row::pure("sys", "getdefaultencoding"),
    row::pure("sys", "getfilesystemencoding"),
    row::pure("sys", "getfilesystemencodeerrors"),
    row::pure("sys", "intern"),
    row::pure("sys", "is_finalizing"),
    {"sys", "exc_info", exception_info, 0, 0, nullptr},
    {"sys", "exception", handled_exception, 0, 0, nullptr},
    {"posix", "fspath", file_path, 1, 1, nullptr},
    row::definition("inspect", "signature"),
    row::definition("inspect", "getfullargspec"),
    row::examine("types", "GenericAlias"),
    row::examine("types", "GenericAlias.__new__"),
    row::evaluation("typing", "get_type_hints"),
    row::examine("typing", "get_origin"),
    row::examine("typing", "get_args"),
    row::examine("typing", "_SpecialForm.__getitem__"),
    row::examine("typing", "_GenericAlias.__getitem__"),
    row::examine("typing", "_GenericAlias.__eq__"),
    row::examine("typing", "_GenericAlias.__hash__"),
    row::examine("typing", "_UnionGenericAlias.__eq__"),
    row::examine("typing", "_UnionGenericAlias.__hash__"),
    row::examine("typing", "_LiteralGenericAlias.__eq__"),
    row::examine("typing", "_LiteralGenericAlias.__hash__"),
    row::examine("typing", "_SpecialGenericAlias.__getitem__"),
    row::examine("typing", "_TupleType.__getitem__"),
    row::examine("typing", "_LiteralSpecialForm.__getitem__"),
    row::examine("typing", "Annotated.__class_getitem__"),
    {"_typing", "_idfunc", same_object, 1, 1, nullptr},
    {"json", "loads", convert_json<"loads">, 1, kAny, "*"},
    {"json", "dumps", convert_json<"dumps">, 1, kAny, "*"},
    row::examine("typing", "_CallableType.__getitem__"),
    row::examine("typing", "Generic.__class_getitem__"),
    {"weakref", "ref.__call__", referent, 1, 1, nullptr},
    {"importlib", "import_module", import_by_name, 1, 2, "name package"},
    row::polyfill("copy", "copy", "copy.copy"),
    row::polyfill("copy", "deepcopy", "copy.deepcopy"),
    row::polyfill("builtins", "object.__reduce_ex__", "copy.reduce_ex", 2, 2),
    row::polyfill("builtins", "object.__getstate__", "copy.getstate", 1, 1),
    row::polyfill("builtins", "set.__reduce__", "copy.reduce_set", 1, 1),
    row::polyfill("builtins", "frozenset.__reduce__", "copy.reduce_set", 1, 1),
    row::polyfill("functools", "partial.__reduce__", "copy.reduce_partial", 1,
                  1),
    row::polyfill("types", "SimpleNamespace.__reduce__",
                  "copy.reduce_namespace", 1, 1),
    row::polyfill("collections", "deque.__reduce__", "copy.reduce_deque", 1, 1),
    row::polyfill("collections", "OrderedDict.__reduce__",
                  "copy.reduce_ordered", 1, 1),
    row::polyfill("collections", "defaultdict.__reduce__",
                  "copy.reduce_default", 1, 1),

    row::polyfill("enum", "Flag.__invert__", "enum.flag_invert"),
    row::polyfill("_heapq", "heapify", "heapq.heapify"),
    row::polyfill("_heapq", "heappush", "heapq.heappush"),
    row::polyfill("_heapq", "heappop", "heapq.heappop"),
    row::polyfill("_heapq", "heappushpop", "heapq.heappushpop"),
    row::polyfill("_heapq", "heapreplace", "heapq.heapreplace"),
    row::polyfill("_heapq", "_heapify_max", "heapq.heapify_max"),
    row::polyfill("_heapq", "_heappop_max", "heapq.heappop_max"),
    row::polyfill("_heapq", "_heapreplace_max", "heapq.heapreplace_max"),
    row::polyfill("_bisect", "bisect_left", "bisect.bisect_left"),
    row::polyfill("_bisect", "bisect_right", "bisect.bisect_right"),
    row::polyfill("_bisect", "insort_left", "bisect.insort_left"),
    row::polyfill("_bisect", "insort_right", "bisect.insort_right"),
    {kLogging, "getLogger", get_logger, 0, 1, "name"},
    row::polyfill(kLogging, "Logger.isEnabledFor", "logging.is_enabled_for"),
    row::breaks(kLogging, "Logger._log",
                "log outside of the compiled function, or raise the logger's "
                "level"),
    {"_warnings", "_filters_mutated", filters_changed, 0, 0, nullptr},
    row::breaks("_warnings", "warn", "warn outside of the compiled function"),
    row::breaks("builtins", "open"),
    row::breaks("builtins", "input"),
    row::breaks("builtins", "exec"),
    row::breaks("builtins", "eval"),
    row::breaks("builtins", "compile"),
    row::breaks("builtins", "breakpoint"),
    row::breaks("builtins", "__import__",
                "import modules before the compiled function runs"),
    row::breaks("builtins", "__build_class__",
                "define classes outside of the compiled function"),
    {"sys", "_getframe", get_frame, 0, 1, nullptr},
    {"sys", "settrace", attach_debugger, 0, kAny, "*"},
    {"sys", "setprofile", attach_debugger, 0, kAny, "*"},
};

}  // namespace

std::span<const Row> system_rows() { return kRows; }

}  // namespace magneto::natives
