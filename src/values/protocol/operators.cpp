// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>

#include "python/find.h"
#include "values/protocol/operands.h"
#include "values/protocol/operator_table.h"
#include "values/protocol/protocol.h"
#include "values/protocol/sequence_operators.h"
#include "values/protocol/symbolic.h"
#include "values/torch/torch_types.h"
#include "values/types/digits_limit.h"
#include "values/types/numpy_values.h"
#include "values/types/percent.h"
#include "values/types/sets.h"
#include "values/types/texts.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

using enum BinaryOperator;

// One operation, while it is asked who performs it.
struct BinaryOperation {
  Context& ctx;
  BinaryOperator op;
  bool in_place;
  V left;
  V right;
  const BinaryOperatorInfo& names = info(op);
  // What C code does in place, a class of the user's may do in another way.
  bool in_place_in_c = in_place;
  OperatorMethods methods = {};

  Signal unknown() const {
    return unknown_operator(ctx, names.symbol, left, right);
  }
  Signal unsupported_operands() const;
};

Signal BinaryOperation::unsupported_operands() const {
  std::string symbol = names.symbol;
  if (in_place) symbol = op == Power ? "**=" : symbol + "=";
  std::string message = "unsupported operand type(s) for " + symbol + ": '" +
                        left->type->tp_name + "' and '" + right->type->tp_name +
                        "'";
  // CPython knows those who come from Python 2.
  if (op == RightShift && !in_place && left->is_constant() &&
      left->object == original_builtin("print"))
    message += ". Did you mean \"print(<message>, file=<output_stream>)\"?";
  return ctx.raise(PyExc_TypeError, message);
}

// Of a class derived from a sequence's that has one of the two methods of `*`
// itself: CPython then finds the other one by its name, too.
Outcome<V> method_by_name(Context& ctx, V value, PyObject* name) {
  const BinaryOperatorInfo& multiply = info(Multiply);
  const bool is_forward = name == multiply.method;
  if (!(value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
      (!is_forward && name != multiply.reflected) ||
      !own_special(ctx, value->type,
                   is_forward ? multiply.reflected : multiply.method) ||
      own_special(ctx, value->type, name))
    return nullptr;
  PyObject* found = type_lookup(ctx, value->type, name);
  if (!found || !Py_IS_TYPE(found, &PyWrapperDescr_Type)) return nullptr;
  return bind_descriptor(ctx, found, value, value->type, name);
}

// The method of an operator. Dicts have theirs in the natives' tables.
Outcome<V> operator_method(Context& ctx, BinaryOperator op, V value,
                           PyObject* name) {
  if (op == Multiply) {
    MG_TRY(V method, method_by_name(ctx, value, name));
    if (method) return method;
  }
  if (op != Or ||
      (value->type != &PyDict_Type && value->type != &PyDictProxy_Type))
    return python_method(ctx, value, name);
  PyObject* found = type_lookup(ctx, value->type, name);
  if (!found) return nullptr;
  return bind_descriptor(ctx, found, value, value->type, name);
}

// What the operands' own classes in C say.
Outcome<V> by_type_rows(const BinaryOperation& o, bool in_place) {
  Context& ctx = o.ctx;
  V left = o.left, right = o.right;
  if (o.op == Add && left->type->tp_as_sequence) {
    if (const auto concatenate = type_slot(&TypeRow::concatenate, left)) {
      MG_TRY(V added, concatenate(ctx, left, right, in_place));
      if (added) return added;
    }
  }
  if (V sequence = o.op == Multiply ? repeated_sequence(left, right, in_place)
                                    : nullptr) {
    if (const auto repeat_it = type_slot(&TypeRow::repeat, sequence)) {
      V other = sequence == left ? right : left;
      MG_TRY(V repeated,
             repeat_it(ctx, sequence, other, in_place && sequence == left));
      if (repeated) return repeated;
    }
  }
  if (const auto combine = type_slot(&TypeRow::combine, left))
    return combine(ctx, o.op, left, right, in_place);
  return nullptr;
}

bool is_empty_text(V text) {
  return text->is_constant() && PyUnicode_GET_LENGTH(text->object) == 0;
}

// -- the steps: each gives a null value where others have to be asked. They
// stand in the order in which CPython asks.

Outcome<V> of_texts(BinaryOperation& o) {
  if (o.op != Add || o.left->type != &PyUnicode_Type ||
      o.right->type != &PyUnicode_Type)
    return nullptr;
  // The other one itself, not a copy.
  if (is_empty_text(o.left)) return o.right;
  if (is_empty_text(o.right)) return o.left;
  V both[] = {o.left, o.right};
  return concatenated(o.ctx, both);
}

Outcome<V> of_symbols(BinaryOperation& o) {
  o.left = o.ctx.look_symbolic(o.left);
  o.right = o.ctx.look_symbolic(o.right);
  if (!has_symbol(o.left, o.right)) return nullptr;
  MG_TRY(V number,
         symbolic_binary(o.ctx, static_cast<int>(o.op), o.left, o.right));
  if (number) return number;
  o.left = o.ctx.look(o.left);
  o.right = o.ctx.look(o.right);
  return nullptr;
}

Outcome<V> of_plain_constants(BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  if (!is_safe_constant(left) || !is_safe_constant(right)) return nullptr;
  if (op == Modulo && !PyLong_Check(left->object))
    guard_digits_limit(ctx, right->object);
  const binaryfunc run = in_place ? names.run_in_place : names.run;
  const NumpyErrors errors(is_numpy_number(left->type) ||
                           is_numpy_number(right->type));
  Ref result = Ref::steal(run(left->object, right->object));
  if (!result) return numpy_error(ctx);
  return ctx.constant(std::move(result));
}

// A text takes whatever it is given, before a tensor is asked.
Outcome<V> of_format_and_tensor(BinaryOperation& o) {
  if (o.op == Modulo && o.right->kind == Kind::Tensor &&
      o.left->type == &PyUnicode_Type)
    return percent_format(o.ctx, o.left, o.right);
  return nullptr;
}

// What a class of the user's says with its reflected method to a tensor.
Outcome<V> of_tensor_and_object(const BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  if (left->kind != Kind::Tensor ||
      !((right->kind == Kind::Object &&
         !is_instance_of(right, &PyComplex_Type)) ||
        (is_other_sort(right) &&
         own_special(ctx, right->type, names.reflected))))
    return nullptr;
  MG_TRY(V reflected, python_method(ctx, right, names.reflected));
  if (!reflected) return nullptr;
  MG_TRY(V result, call(ctx, reflected, {left}));
  if (!is_not_implemented(ctx, result)) return result;
  return o.unsupported_operands();
}

// What the class of a number or text says that has the operator itself.
Outcome<V> of_object_and_tensor(const BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  if (left->kind == Kind::Tensor ||
      !(left->type->tp_flags & Py_TPFLAGS_HEAPTYPE))
    return nullptr;
  if (in_place && own_special(ctx, left->type, names.in_place_method))
    return o.unknown();
  if (!own_special(ctx, left->type, names.method)) return nullptr;
  MG_TRY(V forward, python_method(ctx, left, names.method));
  MG_TRY(V result, call(ctx, forward, {right}));
  if (!is_not_implemented(ctx, result)) return result;
  MG_TRY(V bound, get_attribute(ctx, right, names.reflected));
  MG_TRY(result, call(ctx, bound, {left}));
  if (!is_not_implemented(ctx, result)) return result;
  return o.unsupported_operands();
}

Outcome<V> of_tensors(BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  if (left->kind != Kind::Tensor && right->kind != Kind::Tensor) return nullptr;
  if (overrides_attribute_lookup(ctx, right) ||
      (overrides_attribute_lookup(ctx, left) &&
       !own_special(ctx, left->type, names.method)))
    return o.unknown();
  MG_TRY(V answer, of_tensor_and_object(o));
  if (answer) return answer;
  MG_TRY(answer, of_object_and_tensor(o));
  if (answer) return answer;
  V operands[] = {left, right};
  // What is no tensor can't be written to: `n += x` is `n = n + x`.
  const bool writes = in_place && left->kind == Kind::Tensor;
  return record_function(ctx, writes ? names.in_place : names.function,
                         {.positional = operands});
}

// Where slots of sequences and of numbers meet, in classes that have both.
Outcome<V> of_mixed_slots(BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  // A deque has the operators of a sequence, which wait for those of numbers,
  // as user classes have them.
  if ((is_deque(left) &&
       ((in_place && own_special(ctx, left->type, names.method)) ||
        own_special(ctx, right->type, names.reflected))) ||
      (is_deque(right) && op == Multiply &&
       own_special(ctx, left->type, names.method)))
    return o.unknown();
  // A class with an __radd__ has the method of numbers, too, which goes before
  // torch.Size's.
  if (op == Add && right->type == torch_types().size &&
      own_special(ctx, left->type, names.reflected))
    return o.unknown();
  const bool may_repeat =
      op == Multiply && (is_repeated(left) || is_repeated(right));
  if (!may_repeat && are_made_arrays(left, right)) return o.unknown();
  // A set's own method is one of numbers, which goes first.
  if (in_place && left->type == &PySet_Type && is_set(right))
    return by_type_rows(o, in_place);
  return nullptr;
}

Outcome<V> by_in_place_method(BinaryOperation& o) {
  if (!o.in_place) return nullptr;
  if (o.op == Multiply && is_repeated_deque(o.left) &&
      !own_special(o.ctx, o.left->type, o.names.in_place_method))
    MG_DO(check_concatenation(o.ctx, o.op, o.left, o.right, o.in_place));
  MG_TRY(V method,
         operator_method(o.ctx, o.op, o.left, o.names.in_place_method));
  if (!method) return nullptr;
  MG_TRY(V result, call(o.ctx, method, {o.right}));
  if (!is_not_implemented(o.ctx, result)) return result;
  o.in_place_in_c = !is_users_method(method);
  return nullptr;
}

// Decides nothing: later steps ask the methods that are found here.
Outcome<V> find_methods(BinaryOperation& o) {
  Context& ctx = o.ctx;
  const BinaryOperatorInfo& names = o.names;
  V left = o.left, right = o.right;
  if ((o.in_place && is_implemented_in_c(ctx, left, names.in_place_method)) ||
      is_implemented_in_c(ctx, left, names.method) ||
      is_implemented_in_c(ctx, right, names.reflected))
    return o.unknown();
  MG_TRY(V forward, operator_method(ctx, o.op, left, names.method));
  V backward = nullptr;
  if (left->type != right->type) {
    MG_TRY(backward, operator_method(ctx, o.op, right, names.reflected));
  }
  // by_type_rows() does what these have.
  if (backward && !is_users_method(forward) &&
      (is_list(left) || is_tuple_like(left)))
    forward = nullptr;
  // A deque's is that of a sequence, which takes numbers only.
  if (o.op == Multiply &&
      (is_repeated_deque(left) || (is_repeated_deque(right) && !forward))) {
    MG_DO(check_concatenation(ctx, o.op, left, right, o.in_place));
    if (!repeated_sequence(left, right, o.in_place)) backward = nullptr;
  }
  o.methods = {forward, backward, names.method, names.reflected};
  return nullptr;
}

bool has_users_method(const BinaryOperation& o) {
  return is_users_method(o.methods.forward) ||
         is_users_method(o.methods.backward);
}

// Numbers' slots go before those of sequences, which user classes don't have.
Outcome<V> by_type_rows_first(BinaryOperation& o) {
  if (has_users_method(o)) return nullptr;
  return by_type_rows(o, o.in_place_in_c);
}

bool is_format(const BinaryOperation& o) {
  return o.op == Modulo && o.left->is_constant() &&
         PyUnicode_Check(o.left->object);
}

Outcome<V> by_methods(BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  // A text has an answer to whatever it is given.
  if (is_format(o) && !methods.forward &&
      !is_backward_first(ctx, left, right, methods))
    return percent_format(ctx, left, right);
  if (op == Modulo && left->type == &PyBytes_Type &&
      !is_backward_first(ctx, left, right, methods) && methods.backward)
    return o.unknown();
  return answer_of_either(ctx, left, right, methods, names.symbol);
}

Outcome<V> by_type_rows_last(BinaryOperation& o) {
  if (has_users_method(o)) {
    MG_TRY(V contained, by_type_rows(o, o.in_place_in_c));
    if (contained) return contained;
  }
  if (is_format(o)) return percent_format(o.ctx, o.left, o.right);
  MG_DO(check_concatenation(o.ctx, o.op, o.left, o.right, o.in_place));
  if (o.methods.forward || o.methods.backward) return o.unsupported_operands();
  return nullptr;
}

// Anything else that consists of constants: real objects, freshly built.
Outcome<V> of_constant_objects(BinaryOperation& o) {
  const auto& [ctx, op, in_place, left, right, names, _, methods] = o;
  PyObject* a = as_constant(ctx, left);
  PyObject* b = a ? as_constant(ctx, right) : nullptr;
  if (!a || !b || (in_place && !left->is_constant())) return nullptr;
  Ref result = Ref::steal((in_place ? names.run_in_place : names.run)(a, b));
  if (!result) return ctx.raise_from_python();
  return from_constant(ctx, std::move(result));
}

using BinaryStep = Outcome<V> (*)(BinaryOperation& o);
constexpr BinaryStep kBinarySteps[] = {
    of_texts,           of_symbols,
    of_plain_constants, of_format_and_tensor,
    of_tensors,         of_mixed_slots,
    by_in_place_method, find_methods,
    by_type_rows_first, by_methods,
    by_type_rows_last,  of_constant_objects,
};

}  // namespace

Outcome<V> binary_operation(Context& ctx, int kind, V left, V right) {
  const bool in_place = kind >= kBinaryOperators;
  BinaryOperation operation{
      ctx,
      static_cast<BinaryOperator>(in_place ? kind - kBinaryOperators : kind),
      in_place, ctx.look_open(left), ctx.look_open(right)};
  for (const BinaryStep step : kBinarySteps) {
    MG_TRY(V result, step(operation));
    if (result) return result;
  }
  // All that these have was asked above.
  const auto settled = [](V value) {
    return value->type->tp_as_number == nullptr ||
           value->kind == Kind::Object || value->kind == Kind::List ||
           value->kind == Kind::Tuple || value->kind == Kind::Dict ||
           value->kind == Kind::Set || is_safe_constant(value);
  };
  if (settled(operation.left) && settled(operation.right))
    return operation.unsupported_operands();
  return operation.unknown();
}

Outcome<V> unary_operation(Context& ctx, Unary kind, V operand) {
  operand = ctx.look_symbolic(operand);
  if (is_symbol(operand) && operand->type != &PyBool_Type) {
    if (kind == Unary::Positive) return operand;
    MG_TRY(V number, kind == Unary::Negative ? symbolic_negative(ctx, operand)
                                             : symbolic_invert(ctx, operand));
    if (number) return number;
  }
  operand = ctx.look(operand);
  const UnaryOperatorInfo& unary = unary_info(static_cast<size_t>(kind));
  if (is_safe_constant(operand)) {
    const NumpyErrors errors(is_numpy_number(operand->type));
    Ref result = Ref::steal(unary.run(operand->object));
    if (!result) return numpy_error(ctx);
    return ctx.constant(std::move(result));
  }
  if (operand->kind == Kind::Tensor)
    return record_function(ctx, unary.function, {.positional = {&operand, 1}});
  MG_TRY(V method, python_method(ctx, operand, unary.method));
  if (method) return call(ctx, method, {});
  if (is_implemented_in_c(ctx, operand, unary.method))
    return unknown_operator(ctx, "a unary operator", operand);
  // A subclass of a number's that keeps its operators.
  if (operand->is_constant() &&
      (PyLong_Check(operand->object) || PyFloat_Check(operand->object) ||
       PyComplex_Check(operand->object))) {
    Ref result = Ref::steal(unary.run(operand->object));
    if (!result) return ctx.raise_from_python();
    return ctx.constant(std::move(result));
  }
  return ctx.raise(PyExc_TypeError, std::string("bad operand type for unary ") +
                                        unary.symbol + ": '" +
                                        operand->type->tp_name + "'");
}

}  // namespace magneto::values
