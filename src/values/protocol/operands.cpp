// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/operands.h"

#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "values/protocol/protocol.h"

namespace magneto::values {

bool is_safe_constant(V value) {
  return value->is_constant() && is_safe_type(value->type);
}

bool shows_memory(PyTypeObject* type) {
  const PyBufferProcs* buffer = type->tp_as_buffer;
  return buffer && buffer->bf_getbuffer;
}

namespace {

// Classes whose operators are written below, where nothing is overridden.
bool is_basic(V value) {
  PyTypeObject* type = value->type;
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) return false;
  switch (value->kind) {
    case Kind::List:
      return type == &PyList_Type;
    case Kind::Dict:
      return type == &PyDict_Type;
    case Kind::Object:
      return false;
    default:
      return true;
  }
}

}  // namespace

Outcome<V> python_method(Context& ctx, V value, PyObject* name) {
  if (is_basic(value)) return nullptr;
  PyObject* found = own_special(ctx, value->type, name);
  if (!found) {
    found = type_lookup(ctx, value->type, name);
    if (!found || !ctx.natives->has(found)) return nullptr;
  }
  return bind_descriptor(ctx, found, value, value->type, name);
}

bool is_implemented_in_c(Context& ctx, V value, PyObject* name) {
  if (value->kind != Kind::Object) return false;
  PyObject* found = type_lookup(ctx, value->type, name);
  return found && Py_IS_TYPE(found, &PyWrapperDescr_Type) &&
         !ctx.natives->has(found) &&
         reinterpret_cast<PyDescrObject*>(found)->d_type != &PyBaseObject_Type;
}

PyObject* operator_function(const char* name) {
  PyObject* found = find_object((std::string("_operator.") + name).c_str());
  MG_CHECK(found, std::string("operator.") + name);
  return found;
}

Signal unknown_operator(Context& ctx, const char* symbol, V left, V right) {
  return ctx.graph_break("operator", std::string(symbol) + " of " +
                                         left->type->tp_name + " and " +
                                         right->type->tp_name);
}

Signal unknown_operator(Context& ctx, const char* symbol, V operand) {
  return ctx.graph_break("operator",
                         std::string(symbol) + " of " + operand->type->tp_name);
}

namespace {

// Whether the method stands for an operator of sequences, which are asked when
// those of numbers have no answer.
bool is_of_sequence(PyObject* wrapper) {
  const int offset =
      reinterpret_cast<PyWrapperDescrObject*>(wrapper)->d_base->offset;
  return offset >= static_cast<int>(offsetof(PyHeapTypeObject, as_sequence)) &&
         offset < static_cast<int>(offsetof(PyHeapTypeObject, as_buffer));
}

// Whether C code of `value` may have an answer for `other`.
bool c_code_may_answer(V value, V other) {
  auto is_number = [](PyTypeObject* type) {
    return PyType_IsSubtype(type, &PyLong_Type) ||
           PyType_IsSubtype(type, &PyFloat_Type) ||
           PyType_IsSubtype(type, &PyComplex_Type);
  };
  if (value->type == &PyBaseObject_Type || value->kind == Kind::Tensor)
    return false;
  if (value->is_constant() && other->is_constant() &&
      (PyUnicode_Check(value->object)
           ? PyUnicode_Check(other->object)
           : PyBytes_Check(value->object) && PyBytes_Check(other->object)))
    return true;
  return (is_number(value->type) && is_number(other->type)) ||
         (!(value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
          PyType_IsSubtype(other->type, value->type));
}

// What C code has under that name; null if it has no answer.
Outcome<V> ask_c_code(Context& ctx, V value, V other, PyObject* name,
                      const char* symbol) {
  if (!c_code_may_answer(value, other)) return nullptr;
  PyObject* found = type_lookup(ctx, value->type, name);
  if (!found || !Py_IS_TYPE(found, &PyWrapperDescr_Type) ||
      PyDescr_TYPE(found) == &PyBaseObject_Type || is_of_sequence(found))
    return nullptr;
  PyObject* a = as_constant(ctx, value);
  PyObject* b = as_constant(ctx, other);
  if (!a || !b) return unknown_operator(ctx, symbol, value, other);
  Ref answer = Ref::steal(PyObject_CallFunctionObjArgs(found, a, b, nullptr));
  if (!answer) return ctx.raise_from_python();
  if (answer.get() == Py_NotImplemented) return nullptr;
  return from_constant(ctx, std::move(answer));
}

}  // namespace

bool is_not_implemented(Context& ctx, V value) {
  // A function may give back the builtin that it has just read, not looked at.
  value = ctx.look(value);
  return value->is_constant() && value->object == Py_NotImplemented;
}

Outcome<V> answer_to(Context& ctx, V method, V value, V other, PyObject* name,
                     const char* symbol) {
  if (!method) return ask_c_code(ctx, value, other, name, symbol);
  MG_TRY(V result, call(ctx, method, {other}));
  return is_not_implemented(ctx, result) ? nullptr : result;
}

bool is_backward_first(Context& ctx, V left, V right,
                       const OperatorMethods& methods) {
  return methods.backward && PyType_IsSubtype(right->type, left->type) &&
         type_lookup(ctx, left->type, methods.reflected) !=
             python::mro_lookup(right->type, methods.reflected);
}

Outcome<V> answer_of_either(Context& ctx, V left, V right,
                            const OperatorMethods& methods,
                            const char* symbol) {
  if (!methods.forward && !methods.backward) return nullptr;
  const bool backward_first = is_backward_first(ctx, left, right, methods);
  for (const bool is_forward : {!backward_first, backward_first}) {
    if (!is_forward && left->type == right->type) break;
    MG_TRY(V result, is_forward ? answer_to(ctx, methods.forward, left, right,
                                            methods.name, symbol)
                                : answer_to(ctx, methods.backward, right, left,
                                            methods.reflected, symbol));
    if (result) return result;
  }
  return nullptr;
}

bool is_tuple_like(V value) {
  return value->kind == Kind::Tuple ||
         (value->is_constant() && PyTuple_Check(value->object));
}

bool is_list(V value) {
  return value->kind == Kind::List && is_instance_of(value, &PyList_Type);
}

bool is_deque(V value) {
  return value->kind == Kind::List && !is_instance_of(value, &PyList_Type);
}

std::vector<V> items_of(Context& ctx, V sequence) {
  if (sequence->kind == Kind::List) return ctx.heap.items(sequence->heap);
  if (sequence->kind == Kind::Tuple) {
    auto items = tuple_items(sequence);
    return {items.begin(), items.end()};
  }
  std::vector<V> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(sequence->object); ++i)
    items.push_back(ctx.constant_share(PyTuple_GET_ITEM(sequence->object, i)));
  return items;
}

bool is_users_method(V method) {
  if (!method) return false;
  // A method of C's is bound by its row.
  return method->kind != Kind::BoundMethod || method->type == &PyMethod_Type;
}

// An instance of a class derived from a text's or container's, which no tensor
// takes for an operand.
bool is_other_sort(V operand) {
  return (operand->type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         operand->kind != Kind::Tensor && operand->kind != Kind::Object &&
         !(operand->is_constant() && PyNumber_Check(operand->object));
}

bool overrides_attribute_lookup(Context& ctx, V operand) {
  return operand->kind != Kind::Tensor &&
         (own_special(ctx, operand->type, interned().dunder_getattr) ||
          own_special(ctx, operand->type, interned().dunder_getattribute));
}

}  // namespace magneto::values
