// SPDX-License-Identifier: BSD-3-Clause
#include "values/exceptions.h"

#include <optional>

#include "python/names.h"

namespace magneto::values {

bool is_exception_type(PyTypeObject* type) {
  return PyType_FastSubclass(type, Py_TPFLAGS_BASE_EXC_SUBCLASS);
}

namespace {

bool is_one_of(PyTypeObject* type, std::initializer_list<PyObject*> bases) {
  for (PyObject* base : bases)
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base)))
      return true;
  return false;
}

}  // namespace

bool has_own_fields(PyTypeObject* type, bool has_keywords) {
  if (is_one_of(type, {PyExc_OSError, PyExc_SyntaxError, PyExc_UnicodeError,
                       PyExc_BaseExceptionGroup}))
    return true;
  return has_keywords && is_one_of(type, {PyExc_AttributeError, PyExc_NameError,
                                          PyExc_ImportError});
}

std::span<const char* const> exception_slot_names(PyTypeObject* type) {
  static constexpr const char* kNames[] = {
      "args",          "__cause__", "__context__", "__suppress_context__",
      "__traceback__", "name",      "obj"};
  size_t count = kName;
  if (is_one_of(type, {PyExc_NameError})) count = kName + 1;
  if (is_one_of(type, {PyExc_AttributeError})) count = kObject + 1;
  return {kNames, count};
}

V make_exception(Context& ctx, PyTypeObject* type, std::span<const V> args) {
  V made = ctx.object(type);
  auto& slots = ctx.heap.initial(made->heap).slots;
  slots.assign(exception_slot_names(type).size(), ctx.none());
  slots[kArgs] = ctx.tuple(args);
  slots[kSuppressContext] = ctx.boolean(false);
  return made;
}

Signal raise_about_name(Context& ctx, PyObject* type,
                        const std::string& message, PyObject* name, V object) {
  V text = ctx.string(message);
  V made =
      make_exception(ctx, reinterpret_cast<PyTypeObject*>(type), {&text, 1});
  auto& slots = ctx.heap.initial(made->heap).slots;
  slots[kName] = ctx.constant_share(name);
  if (object && slots.size() > kObject) slots[kObject] = object;
  return ctx.raise_value(made);
}

V make_traceback(Context& ctx, PyCodeObject* code, V globals, int32_t unit,
                 V next) {
  V made = ctx.object(&PyTraceBack_Type);
  ctx.heap.initial(made->heap).slots = {
      ctx.code_constant(reinterpret_cast<PyObject*>(code)), globals,
      ctx.integer(unit), next};
  return made;
}

namespace {

std::optional<ExceptionSlot> slot_named(PyTypeObject* type, PyObject* name) {
  const std::span<const char* const> names = exception_slot_names(type);
  for (size_t i = 0; i < names.size(); ++i)
    if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0)
      return static_cast<ExceptionSlot>(i);
  return std::nullopt;
}

}  // namespace

V exception_field(Context& ctx, V exception, PyObject* name) {
  if (!is_exception_type(exception->type) || !exception->heap.valid())
    return nullptr;
  const auto& slots = ctx.heap[exception->heap].slots;
  if (slots.empty()) return nullptr;
  if (auto slot = slot_named(exception->type, name)) return slots[*slot];
  // StopIteration.value and the like: the first argument.
  if (name == interned().value &&
      PyType_IsSubtype(exception->type,
                       reinterpret_cast<PyTypeObject*>(PyExc_StopIteration))) {
    V args = slots[kArgs];
    if (args->is_constant())
      return PyTuple_GET_SIZE(args->object)
                 ? ctx.constant_share(PyTuple_GET_ITEM(args->object, 0))
                 : ctx.none();
    return tuple_items(args)[0];
  }
  return nullptr;
}

V exception_traceback(Context& ctx, V exception) {
  const auto& slots = ctx.heap[exception->heap].slots;
  return slots.empty() ? nullptr : slots[kTraceback];
}

bool set_exception_field(Context& ctx, V exception, PyObject* name, V value) {
  auto slot = slot_named(exception->type, name);
  if (!slot || ctx.heap[exception->heap].slots.empty()) return false;
  ctx.heap.set_slot(exception->heap, *slot, value);
  // `raise ... from` says that the context isn't of interest.
  if (*slot == kCause)
    ctx.heap.set_slot(exception->heap, kSuppressContext, ctx.boolean(true));
  return true;
}

}  // namespace magneto::values
