// SPDX-License-Identifier: BSD-3-Clause
// Inlining: a call of a Python function becomes a frame of the trace.
#include <utility>

#include "guards/finalizer.h"
#include "natives/marks.h"
#include "python/code_object.h"
#include "python/find.h"
#include "python/names.h"
#include "trace/interpreter.h"
#include "values/types/functions.h"

namespace magneto::trace {

using guards::SourceId;
using guards::SourceKind;

namespace {

std::string text(PyObject* name) {
  const char* chars = PyUnicode_AsUTF8(name);
  if (chars == nullptr) PyErr_Clear();
  return chars ? chars : "?";
}

std::string plural(size_t count, const char* word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

// "'a', 'b', and 'c'", as CPython lists missing arguments.
std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i)
      all += names.size() == 2       ? " and "
             : i + 1 == names.size() ? ", and "
                                     : ", ";
    all += "'" + names[i] + "'";
  }
  return all;
}

Signal missing_arguments(Context& ctx, PyObject* function_name,
                         const std::vector<std::string>& names,
                         const char* kind) {
  return ctx.raise(PyExc_TypeError, text(function_name) + "() missing " +
                                        std::to_string(names.size()) +
                                        " required " + kind + " argument" +
                                        (names.size() == 1 ? "" : "s") + ": " +
                                        listed(names));
}

// The positional-only parameters that the call names.
std::vector<std::string> named_positional_only(const Frame& frame,
                                               const Arguments& args) {
  std::vector<std::string> names;
  for (int32_t i = 0; i < frame.py_code->co_posonlyargcount; ++i)
    for (PyObject* name : args.keyword_names)
      if (PyUnicode_Compare(frame.local_name(i), name) == 0)
        names.push_back(text(name));
  return names;
}

Signal positional_only(Context& ctx, PyObject* function_name,
                       const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return ctx.raise(PyExc_TypeError,
                   text(function_name) +
                       "() got some positional-only arguments passed as "
                       "keyword arguments: '" +
                       all + "'");
}

// How many there are says which is whose.
void rely_on_defaults(Context& ctx, const Defaults& defaults) {
  if (!defaults.function) return;
  const SourceId source =
      ctx.sources.field(defaults.source, SourceKind::FunctionDefaults);
  PyObject* real = PyFunction_GetDefaults(defaults.function);
  if (real)
    ctx.guards.length(source, PyTuple_GET_SIZE(real));
  else
    ctx.guards.absent(source);
}

}  // namespace

Status bind_arguments(Context& ctx, Frame& frame, PyObject* function_name,
                      const Defaults& defaults, const Arguments& args) {
  const PyCodeObject& code = *frame.py_code;
  const auto positional = static_cast<size_t>(code.co_argcount);
  const auto keyword_only = static_cast<size_t>(code.co_kwonlyargcount);
  const auto named = positional + keyword_only;
  const bool star = code.co_flags & CO_VARARGS;
  const bool star_star = code.co_flags & CO_VARKEYWORDS;
  frame.locals.assign(static_cast<size_t>(code.co_nlocalsplus), ctx.null());

  const size_t given = args.count();
  for (size_t i = 0; i < given && i < positional; ++i)
    frame.locals[i] = args.positional[i];
  if (star) {
    size_t taken = given < positional ? given : positional;
    frame.locals[named] = ctx.tuple(args.positional.subspan(taken));
  }
  V extra = nullptr;
  if (star_star) {
    extra = ctx.dict();
    frame.locals[named + (star ? 1 : 0)] = extra;
  }
  for (size_t k = 0; k < args.keyword_names.size(); ++k) {
    PyObject* name = args.keyword_names[k];
    size_t slot = named;
    for (auto i = static_cast<size_t>(code.co_posonlyargcount); i < named;
         ++i) {
      PyObject* parameter = frame.local_name(static_cast<int32_t>(i));
      if (parameter == name || PyUnicode_Compare(parameter, name) == 0) {
        slot = i;
        break;
      }
    }
    if (slot == named) {
      const auto wrong = star_star ? std::vector<std::string>()
                                   : named_positional_only(frame, args);
      if (!wrong.empty()) return positional_only(ctx, function_name, wrong);
      if (!star_star)
        return ctx.raise(PyExc_TypeError,
                         text(function_name) +
                             "() got an unexpected keyword argument '" +
                             text(name) + "'");
      MG_DO(values::dict_set(ctx, extra, ctx.constant_share(name),
                             args.keyword_values[k]));
      continue;
    }
    if (!frame.locals[slot]->is_null())
      return ctx.raise(PyExc_TypeError,
                       text(function_name) +
                           "() got multiple values for argument '" +
                           text(name) + "'");
    frame.locals[slot] = args.keyword_values[k];
  }
  // There may be more defaults than parameters.
  const auto first_default = static_cast<int64_t>(positional) -
                             static_cast<int64_t>(defaults.positional.size());
  if (given > positional && !star) {
    rely_on_defaults(ctx, defaults);
    const std::string takes = defaults.positional.empty()
                                  ? plural(positional, "positional argument")
                                  : "from " + std::to_string(first_default) +
                                        " to " + std::to_string(positional) +
                                        " positional arguments";
    size_t by_keyword = 0;
    for (size_t i = positional; i < named; ++i)
      by_keyword += !frame.locals[i]->is_null();
    std::string got = std::to_string(given);
    if (by_keyword)
      got += std::string(" positional argument") + (given == 1 ? "" : "s") +
             " (and " + plural(by_keyword, "keyword-only argument") + ")";
    return ctx.raise(PyExc_TypeError,
                     text(function_name) + "() takes " + takes + " but " + got +
                         (given == 1 && !by_keyword ? " was" : " were") +
                         " given");
  }
  std::vector<std::string> missing;
  for (size_t i = given; i < positional; ++i) {
    if (!frame.locals[i]->is_null()) continue;
    rely_on_defaults(ctx, defaults);
    const int64_t place = static_cast<int64_t>(i) - first_default;
    if (place >= 0)
      frame.locals[i] = defaults.positional[static_cast<size_t>(place)];
    else
      missing.push_back(text(frame.local_name(static_cast<int32_t>(i))));
  }
  if (!missing.empty())
    return missing_arguments(ctx, function_name, missing, "positional");
  for (size_t i = positional; i < named; ++i) {
    if (!frame.locals[i]->is_null()) continue;
    PyObject* name = frame.local_name(static_cast<int32_t>(i));
    V value = nullptr;
    if (defaults.keyword) {
      MG_TRY(value,
             values::dict_get(ctx, defaults.keyword, ctx.constant_share(name)));
    } else if (defaults.function) {
      ctx.guards.absent(
          ctx.sources.field(defaults.source, SourceKind::FunctionKwDefaults));
    }
    if (value)
      frame.locals[i] = value;
    else
      missing.push_back(text(name));
  }
  if (!missing.empty())
    return missing_arguments(ctx, function_name, missing, "keyword-only");
  return done;
}

namespace {

// Where what a call needs of the caller's function is read.
SourceId place_of(Context& ctx, V function) {
  return values::is_any_function(function)
             ? function->source
             : ctx.sources.constant(function->object);
}

// Where a namespace can be read that a function of the caller's has; false if
// nobody else would keep it alive.
bool find_namespace(Context& ctx, PyObject* globals) {
  if (ctx.sources.is_found(globals)) return true;
  PyObject* name = PyDict_GetItemWithError(globals, interned().dunder_name);
  PyObject* module =
      name && PyUnicode_Check(name) ? loaded_module(name) : nullptr;
  if (!module || !PyModule_Check(module) || PyModule_GetDict(module) != globals)
    return false;
  ctx.sources.found_at(globals, ctx.sources.field(ctx.sources.constant(module),
                                                  SourceKind::InstanceDict));
  return true;
}

bool has_own_builtins(const PyFunctionObject* function) {
  return function->func_builtins != builtins_of(function->func_globals);
}

// Of a local function that is called, its code and what it takes from around it
// say all, unless it has a mark or lives nowhere.
bool is_told_by_code(Context& ctx, V function) {
  if (!values::is_any_function(function)) return false;
  const auto* real = reinterpret_cast<PyFunctionObject*>(function->object);
  return natives::mark_of(function->object) == natives::Mark::None &&
         !has_own_builtins(real) && find_namespace(ctx, real->func_globals);
}

// What a call needs of a function, whoever made it.
struct Callee {
  PyCodeObject* code;
  PyObject* globals;
  PyObject* name;
  Defaults defaults;
  std::span<const V> closure;
};

// A polyfill of functions written in C, as opposed to those that are written in
// Python as well.
bool stands_for_c(const Frame& frame) {
  if (!is_polyfill(frame)) return false;
  PyObject* module =
      PyDict_GetItemWithError(frame.globals, interned().dunder_name);
  return PyUnicode_CompareWithASCIIString(module, "magneto.polyfills.copy") !=
             0 &&
         PyUnicode_CompareWithASCIIString(module,
                                          "magneto.polyfills.logging") != 0;
}

// What a generator is called that the function makes.
void name_generators(Context& ctx, V function, Frame& frame) {
  using values::FunctionField;
  if (function->kind == Kind::Function && !function->object) {
    frame.function_name =
        values::written_field(ctx, function, FunctionField::Name);
    frame.qualified_name =
        values::written_field(ctx, function, FunctionField::QualifiedName);
    return;
  }
  const auto* real = reinterpret_cast<PyFunctionObject*>(function->object);
  const SourceId source = place_of(ctx, function);
  frame.function_name = ctx.lazy(
      real->func_name, ctx.sources.field(source, SourceKind::FunctionName));
  frame.qualified_name =
      ctx.lazy(real->func_qualname,
               ctx.sources.field(source, SourceKind::FunctionQualifiedName));
}

// A generator holds the function that made it, and so that one's defaults.
void keep_function(Context& ctx, V function, Frame& frame) {
  using values::FunctionField;
  if (function->object) {
    if (function->source.valid() &&
        !guards::never_has_finalizer(function->object))
      frame.function = function;
    return;
  }
  const auto* made = values::as<values::FunctionValue>(function);
  const auto is_written = [&](FunctionField field) {
    return values::written_field(ctx, function, field) != nullptr;
  };
  if (made->defaults || made->kwdefaults ||
      is_written(FunctionField::Defaults) ||
      is_written(FunctionField::KeywordDefaults))
    frame.function = function;
}

Callee callee_of(Context& ctx, V function) {
  Callee callee;
  if (function->kind == Kind::Function && !function->object) {
    const auto* made = values::as<values::FunctionValue>(function);
    callee.code = made->code;
    callee.globals = made->globals;
    V name = values::written_field(ctx, function,
                                   values::FunctionField::QualifiedName);
    callee.name = name ? name->object : made->code->co_qualname;
    V tuple =
        values::written_field(ctx, function, values::FunctionField::Defaults);
    if (!tuple) tuple = made->defaults;
    if (tuple && tuple->is_constant() && tuple->object != Py_None) {
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple->object); ++i)
        callee.defaults.positional.push_back(
            ctx.constant_share(PyTuple_GET_ITEM(tuple->object, i)));
    } else if (tuple && !tuple->is_constant()) {
      auto items = values::tuple_items(tuple);
      callee.defaults.positional.assign(items.begin(), items.end());
    }
    V keyword = values::written_field(ctx, function,
                                      values::FunctionField::KeywordDefaults);
    callee.defaults.keyword = keyword ? keyword : made->kwdefaults;
    if (keyword && keyword->is_constant()) callee.defaults.keyword = nullptr;
    callee.closure = made->closure;
    return callee;
  }
  PyObject* object = function->object;
  auto* real = reinterpret_cast<PyFunctionObject*>(object);
  const SourceId source = place_of(ctx, function);
  callee.defaults.function = object;
  callee.defaults.source = source;
  callee.code = reinterpret_cast<PyCodeObject*>(real->func_code);
  callee.globals = real->func_globals;
  const SourceId globals =
      ctx.sources.field(source, SourceKind::FunctionGlobals);
  if (values::is_any_function(function)) {
    ctx.guards.same_object(ctx.sources.constant(real->func_globals), globals);
    natives::rely_on_no_mark(ctx, source, object);
  } else {
    ctx.sources.found_at(real->func_globals, globals);
  }
  callee.name = real->func_qualname;
  const SourceId code = ctx.sources.field(source, SourceKind::FunctionCode);
  if (values::is_any_function(function))
    ctx.guards.code(code, callee.code);
  else
    ctx.guards.identity(code, real->func_code);
  if (real->func_defaults) {
    SourceId defaults = ctx.sources.field(source, SourceKind::FunctionDefaults);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(real->func_defaults); ++i)
      callee.defaults.positional.push_back(
          ctx.lazy(PyTuple_GET_ITEM(real->func_defaults, i),
                   ctx.sources.tuple_item(defaults, static_cast<size_t>(i))));
  }
  if (real->func_kwdefaults)
    callee.defaults.keyword =
        ctx.known(real->func_kwdefaults,
                  ctx.sources.field(source, SourceKind::FunctionKwDefaults));
  if (real->func_closure) {
    SourceId closure = ctx.sources.field(source, SourceKind::FunctionClosure);
    std::vector<V> cells;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(real->func_closure); ++i)
      cells.push_back(
          ctx.known(PyTuple_GET_ITEM(real->func_closure, i),
                    ctx.sources.tuple_item(closure, static_cast<size_t>(i))));
    callee.closure = ctx.arena.copy(std::span<const V>(cells));
  }
  return callee;
}

}  // namespace

Outcome<V> Interpreter::inline_function(V function, const Arguments& args) {
  const values::DirectCall direct = std::exchange(ctx.direct_call, {});
  if (!is_told_by_code(ctx, function)) function = ctx.look(function);
  if (function->is_constant()) {
    const natives::Mark mark = natives::mark_of(function->object);
    if (mark != natives::Mark::None) {
      ctx.native_is_direct = direct.is_direct;
      Outcome<V> result =
          natives::call_marked(ctx, function->object, mark, args);
      if (ctx.witness && !result && result.signal() == Signal::Break)
        ctx.witness->met(function->object, values::Witness::Decision::Skip,
                         ctx.break_info().detail.c_str());
      return result;
    }
  }
  if (function->is_constant() &&
      has_own_builtins(reinterpret_cast<PyFunctionObject*>(function->object)))
    return ctx.graph_break("native-call", "a function with its own builtins",
                           "call it outside of the compiled function");
  Callee callee = callee_of(ctx, function);
  if (callee.code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR))
    return ctx.graph_break("async-function", text(callee.name),
                           "await it outside of the compiled function");
  if (ctx.witness)
    ctx.witness->met(function->object
                         ? function->object
                         : reinterpret_cast<PyObject*>(callee.code),
                     values::Witness::Decision::Inline, "written in Python");
  Frame frame;
  frame.py_code = callee.code;
  frame.code = &python::decoded(callee.code);
  frame.globals = callee.globals;
  frame.closure = callee.closure;
  frame.direct = direct;
  frame.stack.reserve(static_cast<size_t>(frame.code->stack_size));
  if (callee.code->co_flags & CO_GENERATOR) {
    keep_function(ctx, function, frame);
    name_generators(ctx, function, frame);
  }
  Status bound = bind_arguments(ctx, frame, callee.name, callee.defaults, args);
  // The message of the exception has the name.
  if (!bound && callee.defaults.function)
    ctx.guards.constant_equals(
        ctx.sources.field(callee.defaults.source,
                          SourceKind::FunctionQualifiedName),
        callee.name);
  if (!bound && bound.signal() == Signal::Raised && stands_for_c(frame)) {
    // C code says what is wrong in words of its own.
    (void)ctx.take_exception();
    return ctx.graph_break("native-call", "arguments that don't fit");
  }
  MG_DO(bound);
  const size_t recorded = ctx.graph().call_count();
  Outcome<Next> next = run_nested(frame);
  if (!next) return next.signal();
  if (ctx.graph().call_count() != recorded && !ctx.must_be_whole &&
      python::frame_action(callee.code) == python::FrameAction::Books)
    return ctx.graph_break("bookkeeping", text(callee.name));
  return frame.result;
}

}  // namespace magneto::trace
