// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/definitions.h"

#include <algorithm>
#include <unordered_set>

#include "guards/read.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/type_version.h"
#include "values/protocol/attributes.h"
#include "values/types/class_attributes.h"

namespace magneto::values {

namespace {

using guards::SourceKind;

SourceId source_of(Context& ctx, PyTypeObject* type) {
  return ctx.sources.constant(reinterpret_cast<PyObject*>(type));
}

Signal unguarded(Context& ctx, const std::string& what) {
  return ctx.graph_break("native-call", "what " + what + " says of itself",
                         "ask outside of the compiled function");
}

// Whether the trace has written to the caller's object, which is as it was.
bool is_written(const Context& ctx, PyObject* object) {
  return std::ranges::any_of(ctx.heap.modified(), [&](HeapId id) {
    const V owner = ctx.heap[id].owner;
    return owner && owner->object == object;
  });
}

// A tuple or dict of the function's; null: it has none.
Status rely_on_items(Context& ctx, SourceId source, PyObject* items,
                     bool evaluates) {
  if (!items) {
    ctx.guards.absent(source);
    return done;
  }
  if (PyTuple_Check(items)) {
    ctx.guards.length(source, PyTuple_GET_SIZE(items));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); ++i)
      ctx.guards.identity(
          ctx.sources.tuple_item(source, static_cast<size_t>(i)),
          PyTuple_GET_ITEM(items, i));
    return done;
  }
  if (is_written(ctx, items))
    return unguarded(ctx, "a function that has been written to");
  Ref listed = Ref::steal(PyDict_Keys(items));
  Ref keys = Ref::steal(listed ? PyList_AsTuple(listed) : nullptr);
  MG_CHECK(keys, "out of memory");
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys.get()); ++i)
    if (!PyUnicode_CheckExact(PyTuple_GET_ITEM(keys.get(), i)))
      return unguarded(ctx, "a function with a key that is no text");
  ctx.guards.dict_keys(source, keys);
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(items, &position, &key, &value)) {
    // Evaluated, in a namespace that may change.
    if (PyUnicode_Check(value) && evaluates)
      return unguarded(ctx, "an annotation in words");
    ctx.guards.identity(ctx.sources.dict_item(source, key), value);
  }
  ctx.keep(std::move(keys));
  return done;
}

// What inspect and typing ask a function's dictionary for.
constexpr const char* kOfItsDict[] = {"__signature__", "__text_signature__",
                                      "__no_type_check__", "__wrapped__"};

struct Wanted {
  bool evaluates;
  // Functions may wrap each other in a ring.
  std::unordered_set<PyObject*> met;
};

Status rely_on(Context& ctx, PyObject* object, Wanted& wanted);

Status rely_on_function(Context& ctx, PyObject* function, Wanted& wanted) {
  if (!wanted.met.insert(function).second) return done;
  const SourceId source = ctx.sources.constant(function);
  const auto field = [&](SourceKind kind) {
    return ctx.sources.field(source, kind);
  };
  ctx.guards.identity(field(SourceKind::FunctionCode),
                      PyFunction_GetCode(function));
  MG_DO(rely_on_items(ctx, field(SourceKind::FunctionDefaults),
                      PyFunction_GetDefaults(function), false));
  MG_DO(rely_on_items(ctx, field(SourceKind::FunctionKwDefaults),
                      PyFunction_GetKwDefaults(function), false));
  Ref annotations =
      Ref::steal(PyObject_GetAttr(function, interned().dunder_annotations));
  if (!annotations) return ctx.raise_from_python();
  MG_DO(rely_on_items(ctx, field(SourceKind::FunctionAnnotations), annotations,
                      wanted.evaluates));
  for (const char* text : kOfItsDict) {
    Ref name = Ref::steal(PyUnicode_InternFromString(text));
    MG_CHECK(name, "out of memory");
    PyObject* kept = ctx.keep(std::move(name));
    const SourceId place = ctx.sources.instance_attr(source, kept);
    const auto reading = guards::read_instance_attr(function, kept);
    if (!reading.is_present()) {
      ctx.guards.absent(place);
      continue;
    }
    ctx.guards.identity(place, reading.value());
    if (PyFunction_Check(reading.value()) || PyType_Check(reading.value()))
      MG_DO(rely_on(ctx, reading.value(), wanted));
  }
  return done;
}

bool is_fixed(PyTypeObject* type) {
  return type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE;
}

}  // namespace

Status rely_on_class(Context& ctx, PyTypeObject* type) {
  if (is_fixed(type)) return done;
  if (is_class_written(ctx, type))
    return unguarded(ctx, std::string("the class ") + type->tp_name +
                              ", which was written to before");
  if (!python::assign_type_version(type))
    return unguarded(ctx, std::string("the class ") + type->tp_name);
  ctx.guards.type_unmodified(source_of(ctx, type), type);
  return done;
}

namespace {

Status rely_on(Context& ctx, PyObject* object, Wanted& wanted) {
  if (PyMethod_Check(object)) object = PyMethod_GET_FUNCTION(object);
  if (PyFunction_Check(object)) return rely_on_function(ctx, object, wanted);
  if (!PyType_Check(object)) {
    // Functions in C say the same all the time.
    if (is_fixed(Py_TYPE(object)) && !python::has_dictionary(Py_TYPE(object)))
      return done;
    return unguarded(ctx, std::string("a ") + Py_TYPE(object)->tp_name);
  }
  auto* type = reinterpret_cast<PyTypeObject*>(object);
  MG_DO(rely_on_class(ctx, type));
  MG_DO(rely_on_class(ctx, Py_TYPE(object)));
  for (const char* text : {"__new__", "__init__", "__call__"}) {
    Ref name = Ref::steal(PyUnicode_InternFromString(text));
    MG_CHECK(name, "out of memory");
    for (PyTypeObject* asked : {type, Py_TYPE(object)}) {
      PyObject* found = python::mro_lookup(asked, name);
      if (found && PyFunction_Check(found))
        MG_DO(rely_on_function(ctx, found, wanted));
    }
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    auto* base =
        reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i));
    if (is_fixed(base)) continue;
    PyObject* own =
        PyDict_GetItemWithError(base->tp_dict, interned().dunder_annotations);
    if (own && PyDict_CheckExact(own))
      MG_DO(rely_on_items(
          ctx,
          ctx.sources.type_own_attr(source_of(ctx, base),
                                    interned().dunder_annotations),
          own, wanted.evaluates));
  }
  return done;
}

}  // namespace

Status rely_on_definition(Context& ctx, PyObject* object, bool evaluates) {
  Wanted wanted{evaluates, {}};
  return rely_on(ctx, object, wanted);
}

void rely_on_name(Context& ctx, PyObject* function_or_class) {
  const SourceId source = ctx.sources.constant(function_or_class);
  const auto name = [&](SourceKind kind) {
    const guards::Reading reading = guards::read_field(kind, function_or_class);
    if (reading.is_present())
      ctx.guards.constant_equals(ctx.sources.field(source, kind),
                                 reading.value());
  };
  if (PyFunction_Check(function_or_class))
    return name(SourceKind::FunctionQualifiedName);
  auto* type = reinterpret_cast<PyTypeObject*>(function_or_class);
  if (is_fixed(type)) return;
  name(SourceKind::TypeQualifiedName);
  static PyObject* const module = interned().dunder_module;
  ctx.guard_type_attribute(type, module, python::mro_lookup(type, module));
}

}  // namespace magneto::values
