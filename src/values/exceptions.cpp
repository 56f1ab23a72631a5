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

V make_exception(Context& ctx, PyTypeObject* type, std::span<const V> args) {
  V made = ctx.object(type);
  ctx.heap.initial(made->heap).slots = {ctx.tuple(args), ctx.none(), ctx.none(),
                                        ctx.boolean(false), ctx.boolean(false)};
  return made;
}

namespace {

std::optional<ExceptionSlot> slot_named(PyObject* name) {
  const Names& names = interned();
  if (name == names.args) return kArgs;
  if (name == names.dunder_cause) return kCause;
  if (name == names.dunder_context) return kContext;
  if (PyUnicode_CompareWithASCIIString(name, "__suppress_context__") == 0)
    return kSuppressContext;
  return std::nullopt;
}

}  // namespace

V exception_field(Context& ctx, V exception, PyObject* name) {
  if (!is_exception_type(exception->type) || !exception->heap.valid())
    return nullptr;
  const auto& slots = ctx.heap[exception->heap].slots;
  if (slots.empty()) return nullptr;
  if (auto slot = slot_named(name)) return slots[*slot];
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

bool set_exception_field(Context& ctx, V exception, PyObject* name, V value) {
  auto slot = slot_named(name);
  if (!slot || ctx.heap[exception->heap].slots.empty()) return false;
  ctx.heap.set_slot(exception->heap, *slot, value);
  // `raise ... from` says that the context isn't of interest.
  if (*slot == kCause)
    ctx.heap.set_slot(exception->heap, kSuppressContext, ctx.boolean(true));
  return true;
}

}  // namespace magneto::values
