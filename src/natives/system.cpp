// SPDX-License-Identifier: BSD-3-Clause
// The standard library's other corners: sys, os, inspect, typing, re, weakref,
// logging, importlib, copy.
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/names.h"

namespace magneto::natives {

namespace {

// sys.exc_info() where nothing is being handled; otherwise it would need a
// traceback.
Outcome<V> exception_info(Context& ctx, const Arguments&) {
  if (!ctx.inliner->handled_exception()) {
    V nothing[] = {ctx.none(), ctx.none(), ctx.none()};
    return ctx.tuple(nothing);
  }
  return ctx.graph_break("native-call", "sys.exc_info() in an except block",
                         "use the exception that `except ... as` names");
}

// os.fspath: strings and bytes as they are, other paths by their method.
Outcome<V> file_path(Context& ctx, const Arguments& args) {
  V path = ctx.look(args.positional[0]);
  if (path->is_constant() &&
      (PyUnicode_Check(path->object) || PyBytes_Check(path->object)))
    return path;
  MG_TRY(V method, special_method(ctx, path, name<"__fspath__">()));
  if (method) return call(ctx, method, {});
  return ctx.raise(PyExc_TypeError,
                   std::string("expected str, bytes or os.PathLike object, "
                               "not ") +
                       path->type->tp_name);
}

// weakref.ref.__call__
Outcome<V> referent(Context& ctx, const Arguments& args) {
  V reference = ctx.look(args.positional[0]);
  if (!reference->object || !reference->source.valid())
    return ctx.graph_break("native-call",
                           "a weak reference made while tracing");
  guards::SourceId source = ctx.sources.field(
      reference->source, guards::SourceKind::WeakrefTarget);
  // None where the target is gone.
  return ctx.lazy(PyWeakref_GetObject(reference->object), source);
}

// importlib.import_module of what has been imported already.
Outcome<V> import_module(Context& ctx, const Arguments& args) {
  V module_name = argument(args, 0, name<"name">());
  if (module_name) module_name = ctx.look(module_name);
  if (module_name && module_name->is_constant() &&
      PyUnicode_Check(module_name->object) && args.count() < 2) {
    PyObject* module = PyDict_GetItemWithError(PyImport_GetModuleDict(),
                                               module_name->object);
    if (module && PyModule_Check(module))
      return ctx.known(module, ctx.sources.constant(module));
  }
  return ctx.graph_break("import", "importlib.import_module",
                         "import modules before the compiled function runs");
}

constexpr const char* kRandom = "random";
constexpr const char* kLogging = "logging";
constexpr const char* kDrawOutside =
    "draw random numbers outside of the compiled function, or use torch's";

constexpr Row kRows[] = {
    row::pure("sys", "getrecursionlimit"),
    row::pure("sys", "getdefaultencoding"),
    row::pure("sys", "getfilesystemencoding"),
    row::pure("sys", "getfilesystemencodeerrors"),
    row::pure("sys", "intern"),
    row::pure("sys", "is_finalizing"),
    {"sys", "exc_info", exception_info, 0, 0, nullptr},
    {"posix", "fspath", file_path, 1, 1, nullptr},
    row::examine("inspect", "signature"),
    row::examine("inspect", "getfullargspec"),
    row::examine("typing", "get_type_hints"),
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
    row::examine("typing", "_CallableType.__getitem__"),
    row::examine("typing", "Generic.__class_getitem__"),
    row::examine("re", "sub"),
    row::examine("re", "split"),
    row::examine("re", "findall"),
    row::examine("re", "escape"),
    row::examine("re", "match"),
    row::examine("re", "search"),
    row::examine("re", "fullmatch"),
    {"weakref", "ref.__call__", referent, 1, 1, nullptr},
    {"importlib", "import_module", import_module, 1, 2, "name package"},
    row::polyfill("copy", "copy", "copy.copy"),
    row::polyfill("copy", "deepcopy", "copy.deepcopy"),
    row::polyfill("builtins", "object.__reduce_ex__", "copy.reduce_ex"),
    row::polyfill("builtins", "object.__getstate__", "copy.getstate"),
    row::polyfill("builtins", "set.__reduce__", "copy.reduce_set"),
    row::polyfill("builtins", "frozenset.__reduce__", "copy.reduce_set"),
    row::polyfill("builtins", "BaseException.__reduce__",
                  "copy.reduce_exception"),
    row::polyfill("collections", "deque.__reduce__", "copy.reduce_deque"),
    row::polyfill("collections", "OrderedDict.__reduce__",
                  "copy.reduce_ordered"),
    row::polyfill("collections", "defaultdict.__reduce__",
                  "copy.reduce_default"),

    row::polyfill(kLogging, "Logger.isEnabledFor", "logging.is_enabled_for"),
    row::breaks(kLogging, "Logger._log",
                "log outside of the compiled function, or raise the logger's "
                "level"),
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
    row::breaks("sys", "_getframe"),
    row::breaks(kRandom, "Random.betavariate", kDrawOutside),
    row::breaks(kRandom, "Random.choice", kDrawOutside),
    row::breaks(kRandom, "Random.choices", kDrawOutside),
    row::breaks(kRandom, "Random.expovariate", kDrawOutside),
    row::breaks(kRandom, "Random.gammavariate", kDrawOutside),
    row::breaks(kRandom, "Random.gauss", kDrawOutside),
    row::breaks(kRandom, "Random.lognormvariate", kDrawOutside),
    row::breaks(kRandom, "Random.normalvariate", kDrawOutside),
    row::breaks(kRandom, "Random.randbytes", kDrawOutside),
    row::breaks(kRandom, "Random.randint", kDrawOutside),
    row::breaks(kRandom, "Random.randrange", kDrawOutside),
    row::breaks(kRandom, "Random.sample", kDrawOutside),
    row::breaks(kRandom, "Random.seed", kDrawOutside),
    row::breaks(kRandom, "Random.shuffle", kDrawOutside),
    row::breaks(kRandom, "Random.triangular", kDrawOutside),
    row::breaks(kRandom, "Random.uniform", kDrawOutside),
    row::breaks("_random", "Random.random", kDrawOutside),
    row::breaks("_random", "Random.getrandbits", kDrawOutside),
    row::breaks("_random", "Random.getstate", kDrawOutside),
    row::breaks("_random", "Random.setstate", kDrawOutside),
};

}  // namespace

std::span<const Row> system_rows() { return kRows; }

}  // namespace magneto::natives
