// SPDX-License-Identifier: BSD-3-Clause
// Imports of modules that are loaded already. Loading one runs its code, so it
// breaks the graph; where nothing may, it is loaded while tracing.
#include "python/find.h"
#include "python/names.h"
#include "trace/handlers.h"
#include "values/protocol/imports.h"
#include "values/protocol/protocol.h"

namespace magneto::trace {

using values::imported_module;

namespace {

// Whether a package lacks one of the names, which may be modules to load.
Outcome<bool> lacks_names(Context& ctx, V module, PyObject* names) {
  PyObject* namespace_dict = PyModule_GetDict(module->object);
  if (!PyDict_GetItemString(namespace_dict, "__path__")) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    if (!PyDict_GetItemWithError(namespace_dict, name)) return true;
    // The trace may have deleted it.
    MG_TRY(V found, values::find_attribute(ctx, module, name));
    if (!found) return true;
  }
  return false;
}

// What the instruction binds: `import a.b` binds a, with a from-list it is a.b
// itself. Null if it, or what the list names of it, isn't loaded.
Outcome<V> imported(Context& ctx, PyObject* absolute, V from,
                    bool is_relative) {
  V module = imported_module(ctx, absolute);
  if (!module) return nullptr;
  if (from != ctx.none()) {
    if (!PyTuple_Check(from->object)) return module;
    MG_TRY(bool lacks, lacks_names(ctx, module, from->object));
    return lacks ? nullptr : module;
  }
  const Py_ssize_t dot =
      is_relative ? -1
                  : PyUnicode_FindChar(absolute, '.', 0,
                                       PyUnicode_GET_LENGTH(absolute), 1);
  return dot < 0 ? module
                 : imported_module(ctx, ctx.keep(Ref::steal(PyUnicode_Substring(
                                            absolute, 0, dot))));
}

// The `__import__` that the program has put in place of Python's own; null if
// it has none.
Outcome<V> own_import(Context& ctx, Frame& frame) {
  static PyObject* const name = PyUnicode_InternFromString("__import__");
  PyObject* builtins = builtins_of(frame.globals);
  V found = values::dict_get_string(ctx, ctx.known(builtins), name);
  if (!found) return ctx.raise(PyExc_ImportError, "__import__ not found");
  return ctx.look(found)->object == original_builtin("__import__") ? nullptr
                                                                   : found;
}

}  // namespace

Outcome<Next> op_ImportName(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  PyObject* name = frame.name(ins.arg);
  V level = ctx.look(frame.top(2));
  V from = ctx.look(frame.top(1));
  MG_TRY(V import, own_import(ctx, frame));
  if (import) {
    MG_TRY(V module, values::call(ctx, import,
                                  {ctx.constant_share(name),
                                   in.globals_value(frame.globals), ctx.none(),
                                   from, level}));
    frame.replace(2, module);
    return Next::Continue;
  }
  Ref absolute = Ref::share(name);
  long levels = PyLong_AsLong(level->object);
  if (levels > 0) {
    PyObject* package = PyDict_GetItemString(frame.globals, "__package__");
    if (!package || !PyUnicode_Check(package))
      return ctx.graph_break("import", "a relative import without a package",
                             "import at the top of the file");
    Ref base = Ref::share(package);
    for (long i = 1; i < levels; ++i) {
      Py_ssize_t dot = PyUnicode_FindChar(base, '.', 0,
                                          PyUnicode_GET_LENGTH(base.get()), -1);
      if (dot < 0)
        return ctx.raise(PyExc_ImportError,
                         "attempted relative import beyond top-level package");
      base = Ref::steal(PyUnicode_Substring(base, 0, dot));
    }
    absolute =
        PyUnicode_GET_LENGTH(name) == 0
            ? std::move(base)
            : Ref::steal(PyUnicode_FromFormat("%U.%U", base.get(), name));
    MG_CHECK(absolute, "out of memory");
  }
  PyObject* kept = ctx.keep(std::move(absolute));
  MG_TRY(V module, imported(ctx, kept, from, levels > 0));
  if (!module && ctx.must_be_whole) {
    Ref loaded = Ref::steal(PyImport_ImportModuleLevelObject(
        name, frame.globals, nullptr, from->object, static_cast<int>(levels)));
    if (!loaded) return ctx.raise_from_python();
    MG_TRY(module, imported(ctx, kept, from, levels > 0));
  }
  if (!module) {
    const char* chars = PyUnicode_AsUTF8(kept);
    return ctx.graph_break("import",
                           std::string("module ") + (chars ? chars : "?") +
                               ", or one in it, isn't loaded yet",
                           "import it at the top of the file");
  }
  frame.replace(2, module);
  return Next::Continue;
}

Outcome<Next> op_ImportFrom(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  PyObject* name = frame.name(ins.arg);
  V module = ctx.look(frame.top());
  MG_TRY(V value, values::find_attribute(ctx, module, name));
  if (!value && module->is_constant() && PyModule_Check(module->object)) {
    // One without a name isn't asked.
    const char* package = PyModule_GetName(module->object);
    if (package == nullptr) PyErr_Clear();
    Ref full = Ref::steal(package ? PyUnicode_FromFormat("%s.%U", package, name)
                                  : nullptr);
    if (full) value = imported_module(ctx, ctx.keep(std::move(full)));
  }
  if (!value) {
    const char* chars = PyUnicode_AsUTF8(name);
    return ctx.graph_break("import",
                           std::string("name ") + (chars ? chars : "?"),
                           "import it at the top of the file");
  }
  frame.push(value);
  return Next::Continue;
}

MG_UNSUPPORTED(ImportStar, "import names one by one")
MG_UNSUPPORTED(PrintExpr, "")

}  // namespace magneto::trace
