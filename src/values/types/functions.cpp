// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/functions.h"

#include <optional>

#include "guards/read.h"
#include "python/names.h"
#include "values/protocol/attributes.h"
#include "values/protocol/protocol.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

struct FieldRow {
  PyObject* Names::*name;
  PyTypeObject* type;   // what may be written; null for anything
  const char* article;  // as CPython's message names the type
  bool may_be_none;
  guards::SourceKind source;  // of a function of the caller's
};
// In the order of FunctionField.
const FieldRow kFields[kFunctionFields] = {
    {&Names::dunder_name, &PyUnicode_Type, "string", false,
     guards::SourceKind::FunctionName},
    {&Names::dunder_qualname, &PyUnicode_Type, "string", false,
     guards::SourceKind::FunctionQualifiedName},
    {&Names::dunder_doc, nullptr, nullptr, true,
     guards::SourceKind::FunctionDoc},
    {&Names::dunder_module, nullptr, nullptr, true,
     guards::SourceKind::FunctionModule},
    {&Names::dunder_annotations, &PyDict_Type, "dict", true,
     guards::SourceKind::FunctionAnnotations},
    {&Names::dunder_defaults, &PyTuple_Type, "tuple", true,
     guards::SourceKind::FunctionDefaults},
    {&Names::dunder_kwdefaults, &PyDict_Type, "dict", true,
     guards::SourceKind::FunctionKwDefaults},
};

// MAKE_FUNCTION takes a dict or a tuple of name, value, name, value ...
Outcome<V> annotations_of(Context& ctx, const FunctionValue* function) {
  V given = function->annotations;
  if (given && given->kind == Kind::Dict) return given;
  V made = ctx.dict();
  std::vector<V> parts;
  if (given) MG_DO(unpack(ctx, given, parts));
  for (size_t i = 0; i + 1 < parts.size(); i += 2)
    MG_DO(dict_set(ctx, made, parts[i], parts[i + 1]));
  return made;
}

V doc_of(Context& ctx, const FunctionValue* function) {
  PyObject* constants = function->code->co_consts;
  if (!PyTuple_GET_SIZE(constants)) return ctx.none();
  PyObject* first = PyTuple_GET_ITEM(constants, 0);
  return PyUnicode_Check(first) ? ctx.constant_share(first) : ctx.none();
}

V module_of(Context& ctx, const FunctionValue* function) {
  PyObject* module =
      PyDict_GetItemWithError(function->globals, interned().dunder_name);
  return module ? ctx.constant_share(module) : ctx.none();
}

}  // namespace

PyObject* function_field_name(FunctionField field) {
  return interned().*kFields[static_cast<size_t>(field)].name;
}

size_t function_field(PyObject* name) {
  size_t field = 0;
  while (field < kFunctionFields && interned().*kFields[field].name != name)
    ++field;
  return field;
}

V written_field(Context& ctx, V function, FunctionField field) {
  const auto& slots = ctx.heap[function->heap].slots;
  const auto at = static_cast<size_t>(field);
  return at < slots.size() ? slots[at] : nullptr;
}

Outcome<V> get_function_field(Context& ctx, V value, FunctionField field) {
  if (V written = written_field(ctx, value, field)) return written;
  const auto* function = as<FunctionValue>(value);
  switch (field) {
    case FunctionField::Name:
      return ctx.constant_share(function->code->co_name);
    case FunctionField::QualifiedName:
      return ctx.constant_share(function->code->co_qualname);
    case FunctionField::Doc:
      return doc_of(ctx, function);
    case FunctionField::Module:
      return module_of(ctx, function);
    case FunctionField::Annotations: {
      // One dict, which the program may change.
      MG_TRY(V made, annotations_of(ctx, function));
      ctx.heap.set_slot(value->heap, static_cast<size_t>(field), made);
      return made;
    }
    case FunctionField::Defaults:
      return function->defaults ? function->defaults : ctx.none();
    case FunctionField::KeywordDefaults:
      return function->kwdefaults ? function->kwdefaults : ctx.none();
  }
  MG_CHECK(false, "a field of a function");
}

V field_of_constant(Context& ctx, V constant, PyObject* name) {
  using guards::SourceKind;
  const Names& names = interned();
  std::optional<SourceKind> kind;
  if (PyFunction_Check(constant->object)) {
    if (size_t field = function_field(name); field < kFunctionFields)
      kind = kFields[field].source;
  } else if (PyType_Check(constant->object)) {
    if (name == names.dunder_name) kind = SourceKind::TypeName;
    if (name == names.dunder_qualname) kind = SourceKind::TypeQualifiedName;
  } else if (PyCFunction_Check(constant->object) && name == names.dunder_self) {
    // A static method doesn't show whose it is.
    if (PyCFunction_GET_FLAGS(constant->object) & METH_STATIC) {
      if (constant->source.valid())
        ctx.guards.identity(constant->source, constant->object);
      return ctx.none();
    }
    kind = SourceKind::BuiltinSelf;
  }
  if (!kind) return nullptr;
  // CPython makes the dict when it is first asked for.
  if (kind == SourceKind::FunctionAnnotations) {
    Ref made = Ref::steal(PyObject_GetAttr(constant->object, name));
    if (!made) PyErr_Clear();
  }
  const guards::Reading field = guards::read_field(*kind, constant->object);
  if (field.is_unreadable()) return nullptr;
  const SourceId base = constant->source.valid()
                            ? constant->source
                            : ctx.sources.constant(constant->object);
  const SourceId source = ctx.sources.field(base, *kind);
  if (field.is_present()) return ctx.lazy(field.value(), source);
  ctx.guards.absent(source);
  return ctx.none();
}

Signal wrong_arguments(Context& ctx, V callable, const std::string& what) {
  MG_TRY(V name, find_attribute(ctx, callable, interned().dunder_qualname));
  if (!name) {
    static PyObject* const str = reinterpret_cast<PyObject*>(&PyUnicode_Type);
    MG_TRY(V text, call(ctx, ctx.constant_share(str), {callable}));
    return ctx.raise(PyExc_TypeError,
                     attribute_name(ctx.look(text)->object) + " " + what);
  }
  std::string function = attribute_name(ctx.look(name)->object) + "() ";
  MG_TRY(V module, find_attribute(ctx, callable, interned().dunder_module));
  if (module) module = ctx.look(module);
  if (module && module->is_constant() && PyUnicode_Check(module->object) &&
      PyUnicode_CompareWithASCIIString(module->object, "builtins") != 0)
    function = attribute_name(module->object) + "." + function;
  return ctx.raise(PyExc_TypeError, function + what);
}

Status set_function_field(Context& ctx, V function, FunctionField field,
                          V value) {
  const FieldRow& row = kFields[static_cast<size_t>(field)];
  value = value ? ctx.look(value) : ctx.none();
  const bool is_none = value->is_constant() && value->object == Py_None;
  const bool fits = !row.type || is_instance_of(value, row.type) ||
                    (is_none && row.may_be_none);
  if (!fits)
    return ctx.raise(PyExc_TypeError,
                     std::string(PyUnicode_AsUTF8(function_field_name(field))) +
                         " must be set to a " + row.article + " object");
  if (is_none && field == FunctionField::Annotations) value = ctx.dict();
  ctx.heap.set_slot(function->heap, static_cast<size_t>(field), value);
  return done;
}

namespace {

void fill(Context& ctx, V value, StepWriter& writer) {
  const auto* function = as<FunctionValue>(value);
  const auto is_written = [&](FunctionField field) {
    return written_field(ctx, value, field) != nullptr;
  };
  for (size_t i = 0; i < kFunctionFields; ++i) {
    const auto field = static_cast<FunctionField>(i);
    if (V written = written_field(ctx, value, field))
      writer.act(
          StepOp::SetAttribute,
          {value, ctx.constant_share(function_field_name(field)), written});
  }
  if (function->defaults && !is_written(FunctionField::Defaults))
    writer.act(StepOp::SetDefaults, {value, function->defaults});
  if (function->kwdefaults && !is_written(FunctionField::KeywordDefaults))
    writer.act(StepOp::SetKwDefaults, {value, function->kwdefaults});
  if (function->annotations && !is_written(FunctionField::Annotations))
    writer.act(StepOp::SetAnnotations, {value, function->annotations});
  if (function->closure.empty()) return;
  std::vector<V> operands{value};
  operands.insert(operands.end(), function->closure.begin(),
                  function->closure.end());
  writer.act(StepOp::SetClosure, operands);
}

V wrap_method(Context& ctx, PyObject* object, SourceId source) {
  using guards::SourceKind;
  ctx.guards.type_is(source, &PyMethod_Type);
  MethodValue value{};
  value.kind = Kind::BoundMethod;
  value.source = source;
  value.type = &PyMethod_Type;
  value.object = object;
  value.function =
      ctx.lazy(PyMethod_GET_FUNCTION(object),
               ctx.sources.field(source, SourceKind::MethodFunction));
  value.self = ctx.lazy(PyMethod_GET_SELF(object),
                        ctx.sources.field(source, SourceKind::MethodSelf));
  return ctx.arena.make<MethodValue>(value);
}

}  // namespace

std::span<const TypeRow> function_types() {
  static const TypeRow rows[] = {
      {.type = &PyMethod_Type, .wrap = wrap_method},
      {.kind = Kind::Function, .fill = fill},
  };
  return rows;
}

}  // namespace magneto::values
