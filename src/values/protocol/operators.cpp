// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <optional>

#include "python/find.h"
#include "python/names.h"
#include "support/forever.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/sequence_operators.h"
#include "values/protocol/symbolic.h"
#include "values/torch/torch_types.h"
#include "values/types/digits_limit.h"
#include "values/types/numpy_values.h"
#include "values/types/percent.h"
#include "values/types/sets.h"
#include "values/types/texts.h"

namespace magneto::values {

namespace {

// CPython's NB_* numbers, in order; in place from 13.
struct BinaryRow {
  const char* function;         // in the operator module
  const char* in_place;         // in the operator module
  const char* method;           // __add__
  const char* reflected;        // __radd__
  const char* in_place_method;  // __iadd__
  const char* symbol;
  binaryfunc run;
  binaryfunc run_in_place;
};

PyObject* power(PyObject* a, PyObject* b) {
  return PyNumber_Power(a, b, Py_None);
}
PyObject* in_place_power(PyObject* a, PyObject* b) {
  return PyNumber_InPlacePower(a, b, Py_None);
}

constexpr BinaryRow kBinary[] = {
    {"add", "iadd", "__add__", "__radd__", "__iadd__", "+", PyNumber_Add,
     PyNumber_InPlaceAdd},
    {"and_", "iand", "__and__", "__rand__", "__iand__", "&", PyNumber_And,
     PyNumber_InPlaceAnd},
    {"floordiv", "ifloordiv", "__floordiv__", "__rfloordiv__", "__ifloordiv__",
     "//", PyNumber_FloorDivide, PyNumber_InPlaceFloorDivide},
    {"lshift", "ilshift", "__lshift__", "__rlshift__", "__ilshift__", "<<",
     PyNumber_Lshift, PyNumber_InPlaceLshift},
    {"matmul", "imatmul", "__matmul__", "__rmatmul__", "__imatmul__", "@",
     PyNumber_MatrixMultiply, PyNumber_InPlaceMatrixMultiply},
    {"mul", "imul", "__mul__", "__rmul__", "__imul__", "*", PyNumber_Multiply,
     PyNumber_InPlaceMultiply},
    {"mod", "imod", "__mod__", "__rmod__", "__imod__", "%", PyNumber_Remainder,
     PyNumber_InPlaceRemainder},
    {"or_", "ior", "__or__", "__ror__", "__ior__", "|", PyNumber_Or,
     PyNumber_InPlaceOr},
    {"pow", "ipow", "__pow__", "__rpow__", "__ipow__", "** or pow()", power,
     in_place_power},
    {"rshift", "irshift", "__rshift__", "__rrshift__", "__irshift__", ">>",
     PyNumber_Rshift, PyNumber_InPlaceRshift},
    {"sub", "isub", "__sub__", "__rsub__", "__isub__", "-", PyNumber_Subtract,
     PyNumber_InPlaceSubtract},
    {"truediv", "itruediv", "__truediv__", "__rtruediv__", "__itruediv__", "/",
     PyNumber_TrueDivide, PyNumber_InPlaceTrueDivide},
    {"xor", "ixor", "__xor__", "__rxor__", "__ixor__", "^", PyNumber_Xor,
     PyNumber_InPlaceXor},
};
constexpr int kBinaryCount = 13;
constexpr int kAdd = 0, kAnd = 1, kMultiply = 5, kModulo = 6, kOr = 7,
              kPower = 8, kRightShift = 9, kSubtract = 10, kXor = 12;

struct UnaryRow {
  const char* function;
  const char* method;
  unaryfunc run;
};
constexpr UnaryRow kUnary[] = {{"pos", "__pos__", PyNumber_Positive},
                               {"neg", "__neg__", PyNumber_Negative},
                               {"invert", "__invert__", PyNumber_Invert}};

// Functions of the operator module and interned method names, found once; they
// live as long as the process, as the module itself does.
struct Operators {
  std::array<PyObject*, kBinaryCount> function, in_place, method, reflected,
      in_place_method;
  std::array<PyObject*, 3> unary, unary_method;
};

const Operators& operators() {
  static const Operators* const table = forever([] {
    Operators t;
    for (size_t i = 0; i < kBinaryCount; ++i) {
      t.function[i] = operator_function(kBinary[i].function);
      t.in_place[i] = operator_function(kBinary[i].in_place);
      t.method[i] = PyUnicode_InternFromString(kBinary[i].method);
      t.reflected[i] = PyUnicode_InternFromString(kBinary[i].reflected);
      t.in_place_method[i] =
          PyUnicode_InternFromString(kBinary[i].in_place_method);
    }
    for (size_t i = 0; i < 3; ++i) {
      t.unary[i] = operator_function(kUnary[i].function);
      t.unary_method[i] = PyUnicode_InternFromString(kUnary[i].method);
    }
    return t;
  }());
  return *table;
}

Signal unsupported_operands(Context& ctx, bool in_place, int op, V left,
                            V right) {
  std::string symbol = kBinary[op].symbol;
  if (in_place) symbol = op == kPower ? "**=" : symbol + "=";
  std::string message = "unsupported operand type(s) for " + symbol + ": '" +
                        left->type->tp_name + "' and '" + right->type->tp_name +
                        "'";
  // CPython knows those who come from Python 2.
  if (op == kRightShift && !in_place && left->is_constant() &&
      left->object == original_builtin("print"))
    message += ". Did you mean \"print(<message>, file=<output_stream>)\"?";
  return ctx.raise(PyExc_TypeError, message);
}

// The method of an operator. Dicts have theirs in the natives' tables.
// Of a class derived from a sequence's that has one of the two methods of `*`
// itself: CPython then finds the other one by its name, too.
Outcome<V> method_by_name(Context& ctx, V value, PyObject* name) {
  const Operators& table = operators();
  const auto at = static_cast<size_t>(kMultiply);
  const bool is_forward = name == table.method[at];
  if (!(value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
      (!is_forward && name != table.reflected[at]) ||
      !own_special(ctx, value->type,
                   is_forward ? table.reflected[at] : table.method[at]) ||
      own_special(ctx, value->type, name))
    return nullptr;
  PyObject* found = type_lookup(ctx, value->type, name);
  if (!found || !Py_IS_TYPE(found, &PyWrapperDescr_Type)) return nullptr;
  return bind_descriptor(ctx, found, value, value->type, name);
}

Outcome<V> operator_method(Context& ctx, int op, V value, PyObject* name) {
  if (op == kMultiply) {
    MG_TRY(V method, method_by_name(ctx, value, name));
    if (method) return method;
  }
  if (op != kOr ||
      (value->type != &PyDict_Type && value->type != &PyDictProxy_Type))
    return python_method(ctx, value, name);
  PyObject* found = type_lookup(ctx, value->type, name);
  if (!found) return nullptr;
  return bind_descriptor(ctx, found, value, value->type, name);
}

bool repeats(V value) {
  const PySequenceMethods* methods = value->type->tp_as_sequence;
  return methods && methods->sq_repeat;
}

// Whether `*` is that of a sequence only.
bool is_repeated(V value) {
  const PyNumberMethods* numbers = value->type->tp_as_number;
  return repeats(value) && !(numbers && numbers->nb_multiply);
}

bool is_repeated_deque(V value) { return is_deque(value) && repeats(value); }

// The operand of `*` that is repeated; null if neither is. In place, a left one
// that has any method of sequences is asked alone.
V repeated_sequence(V left, V right, bool in_place) {
  if (repeats(left)) return left;
  if (in_place && left->type->tp_as_sequence) return nullptr;
  return repeats(right) ? right : nullptr;
}

// What a sequence says of `+` and `*` with the wrong thing, if no number on
// either side has taken it.
Status check_concatenation(Context& ctx, int op, V left, V right,
                           bool in_place) {
  const bool is_str = PyType_IsSubtype(left->type, &PyUnicode_Type);
  const bool is_bytes = PyType_IsSubtype(left->type, &PyBytes_Type);
  // A class that has an __add__ of its own has none of these.
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  const bool concatenates = methods && methods->sq_concat;
  if (is_str && PyType_IsSubtype(right->type, &PyUnicode_Type)) return done;
  if (op == kAdd && left->type == torch_types().size)
    return ctx.raise(PyExc_TypeError,
                     std::string("can only concatenate tuple (not ") +
                         right->type->tp_name + ") to torch.Size");
  if (op == kAdd && concatenates &&
      (is_list(left) || is_tuple_like(left) || is_str)) {
    const std::string what = is_str ? "str" : is_list(left) ? "list" : "tuple";
    return ctx.raise(PyExc_TypeError, "can only concatenate " + what +
                                          " (not \"" + right->type->tp_name +
                                          "\") to " + what);
  }
  const bool takes_bytes = op == kAdd && shows_memory(right->type);
  if (is_bytes && (takes_bytes || (op == kModulo && !as_constant(ctx, right))))
    return unknown_operator(ctx, kBinary[op].symbol, left, right);
  if (op == kAdd && concatenates && is_bytes)
    return ctx.raise(PyExc_TypeError, std::string("can't concat ") +
                                          right->type->tp_name + " to " +
                                          left->type->tp_name);
  V sequence =
      op == kMultiply ? repeated_sequence(left, right, in_place) : nullptr;
  if (sequence) {
    V other = sequence == left ? right : left;
    if (type_lookup(ctx, other->type, interned().dunder_index)) return done;
    return ctx.raise(PyExc_TypeError,
                     std::string("can't multiply sequence by non-int of type "
                                 "'") +
                         other->type->tp_name + "'");
  }
  return done;
}

// Operators of containers that the trace made or that the caller passed; a
// null value if this is no such case.
Outcome<V> container_operation(Context& ctx, int op, V left, V right,
                               bool in_place) {
  // A class that has an operator of its own has not the slot of the base's.
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  if (op == kAdd && methods) {
    const bool extends = in_place && methods->sq_inplace_concat;
    if (is_list(left) && (extends || (methods->sq_concat && is_list(right))))
      return sequence_add(ctx, left, right, extends);
    if (methods->sq_concat && is_tuple_like(left) && is_tuple_like(right))
      return sequence_add(ctx, left, right, in_place);
    const auto are = [&](auto* is_one) {
      return left->is_constant() && right->is_constant() &&
             is_one(left->object) && is_one(right->object);
    };
    // Where a derived class has declined.
    if (methods->sq_concat &&
        (are(+[](PyObject* each) { return PyUnicode_Check(each) != 0; }) ||
         are(+[](PyObject* each) { return PyBytes_Check(each) != 0; }))) {
      Ref joined = Ref::steal(methods->sq_concat(left->object, right->object));
      if (!joined) return ctx.raise_from_python();
      return ctx.constant(std::move(joined));
    }
  }
  if (op == kMultiply) {
    V sequence = repeated_sequence(left, right, in_place);
    const bool has_items =
        sequence && (is_list(sequence) || is_tuple_like(sequence));
    const bool is_text =
        sequence && sequence->is_constant() && !has_items &&
        (is_safe_constant(sequence) || PyUnicode_Check(sequence->object) ||
         PyBytes_Check(sequence->object));
    if (has_items || is_text) {
      MG_TRY(V count, repetitions(ctx, sequence == left ? right : left));
      if (count && is_text) {
        const Py_ssize_t times =
            PyNumber_AsSsize_t(count->object, PyExc_OverflowError);
        if (times == -1 && PyErr_Occurred()) return ctx.raise_from_python();
        Ref all = Ref::steal(
            sequence->type->tp_as_sequence->sq_repeat(sequence->object, times));
        if (!all) return ctx.raise_from_python();
        return ctx.constant(std::move(all));
      }
      if (count)
        return repeat(
            ctx, sequence, count,
            in_place && sequence == left && methods->sq_inplace_repeat);
    }
  }
  if (is_set(left) && is_set(right)) {
    std::optional<SetOperation> operation;
    if (op == kOr) operation = SetOperation::Union;
    if (op == kAnd) operation = SetOperation::Intersection;
    if (op == kSubtract) operation = SetOperation::Difference;
    if (op == kXor) operation = SetOperation::SymmetricDifference;
    if (operation && in_place && left->kind == Kind::Set &&
        PyType_IsSubtype(left->type, &PySet_Type)) {
      MG_DO(set_update(ctx, *operation, left, right));
      return left;
    }
    if (operation) return set_combine(ctx, *operation, left, {&right, 1});
  }
  return nullptr;
}

bool is_empty_text(V text) {
  return text->is_constant() && PyUnicode_GET_LENGTH(text->object) == 0;
}

}  // namespace

Outcome<V> binary_operation(Context& ctx, int kind, V left, V right) {
  left = ctx.look_open(left);
  right = ctx.look_open(right);
  const bool in_place = kind >= kBinaryCount;
  const int op = in_place ? kind - kBinaryCount : kind;
  const auto at = static_cast<size_t>(op);
  if (op == kAdd && left->type == &PyUnicode_Type &&
      right->type == &PyUnicode_Type) {
    // The other one itself, not a copy.
    if (is_empty_text(left)) return right;
    if (is_empty_text(right)) return left;
    V both[] = {left, right};
    return concatenated(ctx, both);
  }
  left = ctx.look_symbolic(left);
  right = ctx.look_symbolic(right);
  if (has_symbol(left, right)) {
    MG_TRY(V number, symbolic_binary(ctx, op, left, right));
    if (number) return number;
    left = ctx.look(left);
    right = ctx.look(right);
  }
  if (is_safe_constant(left) && is_safe_constant(right)) {
    if (op == kModulo && !PyLong_Check(left->object))
      guard_digits_limit(ctx, right->object);
    const binaryfunc run =
        in_place ? kBinary[op].run_in_place : kBinary[op].run;
    const NumpyErrors errors(is_numpy_number(left->type) ||
                             is_numpy_number(right->type));
    Ref result = Ref::steal(run(left->object, right->object));
    if (!result) return numpy_error(ctx);
    return ctx.constant(std::move(result));
  }
  const Operators& table = operators();
  // A text takes whatever it is given, before a tensor is asked.
  if (op == kModulo && right->kind == Kind::Tensor &&
      left->type == &PyUnicode_Type)
    return percent_format(ctx, left, right);
  if (left->kind == Kind::Tensor || right->kind == Kind::Tensor) {
    if (overrides_attribute_lookup(ctx, right) ||
        (overrides_attribute_lookup(ctx, left) &&
         !own_special(ctx, left->type, table.method[at])))
      return unknown_operator(ctx, kBinary[op].symbol, left, right);
    // A class of the user's may take over with a reflected method.
    if (left->kind == Kind::Tensor &&
        ((right->kind == Kind::Object &&
          !is_instance_of(right, &PyComplex_Type)) ||
         (is_other_sort(right) &&
          own_special(ctx, right->type, table.reflected[at])))) {
      MG_TRY(V reflected, python_method(ctx, right, table.reflected[at]));
      if (reflected) {
        MG_TRY(V result, call(ctx, reflected, {left}));
        if (!is_not_implemented(ctx, result)) return result;
        return unsupported_operands(ctx, in_place, op, left, right);
      }
    }
    // A number's or text's class may have the operator itself.
    if (left->kind != Kind::Tensor &&
        (left->type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
      if (in_place && own_special(ctx, left->type, table.in_place_method[at]))
        return unknown_operator(ctx, kBinary[op].symbol, left, right);
      if (own_special(ctx, left->type, table.method[at])) {
        MG_TRY(V forward, python_method(ctx, left, table.method[at]));
        MG_TRY(V result, call(ctx, forward, {right}));
        if (!is_not_implemented(ctx, result)) return result;
        MG_TRY(V bound, get_attribute(ctx, right, table.reflected[at]));
        MG_TRY(result, call(ctx, bound, {left}));
        if (!is_not_implemented(ctx, result)) return result;
        return unsupported_operands(ctx, in_place, op, left, right);
      }
    }
    V operands[] = {left, right};
    return record_function(
        ctx,
        // What is no tensor can't be written to: `n += x` is `n = n + x`.
        in_place && left->kind == Kind::Tensor ? table.in_place[at]
                                               : table.function[at],
        {.positional = operands});
  }
  // A deque has the operators of a sequence, which wait for those of numbers,
  // as user classes have them.
  if ((is_deque(left) &&
       ((in_place && own_special(ctx, left->type, table.method[at])) ||
        own_special(ctx, right->type, table.reflected[at]))) ||
      (is_deque(right) && op == kMultiply &&
       own_special(ctx, left->type, table.method[at])))
    return unknown_operator(ctx, kBinary[op].symbol, left, right);
  // A class with an __radd__ has the method of numbers, too, which goes before
  // torch.Size's.
  if (op == kAdd && right->type == torch_types().size &&
      own_special(ctx, left->type, table.reflected[at]))
    return unknown_operator(ctx, kBinary[op].symbol, left, right);
  const bool may_repeat =
      op == kMultiply && (is_repeated(left) || is_repeated(right));
  if (!may_repeat && are_made_arrays(left, right))
    return unknown_operator(ctx, kBinary[op].symbol, left, right);
  // A set's own method is one of numbers, which goes first.
  if (in_place && left->type == &PySet_Type && is_set(right)) {
    MG_TRY(V united, container_operation(ctx, op, left, right, in_place));
    if (united) return united;
  }
  // What C code does in place, a class of the user's may do in another way.
  bool in_place_in_c = in_place;
  if (in_place) {
    if (op == kMultiply && is_repeated_deque(left) &&
        !own_special(ctx, left->type, table.in_place_method[at]))
      MG_DO(check_concatenation(ctx, op, left, right, in_place));
    MG_TRY(V method, operator_method(ctx, op, left, table.in_place_method[at]));
    if (method) {
      MG_TRY(V result, call(ctx, method, {right}));
      if (!is_not_implemented(ctx, result)) return result;
      in_place_in_c = !is_users_method(method);
    }
  }
  if ((in_place && is_implemented_in_c(ctx, left, table.in_place_method[at])) ||
      is_implemented_in_c(ctx, left, table.method[at]) ||
      is_implemented_in_c(ctx, right, table.reflected[at]))
    return unknown_operator(ctx, kBinary[op].symbol, left, right);
  MG_TRY(V forward, operator_method(ctx, op, left, table.method[at]));
  V backward = nullptr;
  if (left->type != right->type) {
    MG_TRY(backward, operator_method(ctx, op, right, table.reflected[at]));
  }
  // container_operation() does what these have.
  if (backward && !is_users_method(forward) &&
      (is_list(left) || is_tuple_like(left)))
    forward = nullptr;
  // A deque's is that of a sequence, which takes numbers only.
  if (op == kMultiply &&
      (is_repeated_deque(left) || (is_repeated_deque(right) && !forward))) {
    MG_DO(check_concatenation(ctx, op, left, right, in_place));
    if (!repeated_sequence(left, right, in_place)) backward = nullptr;
  }
  // Numbers' slots go before those of sequences, which user classes don't have.
  const bool users = is_users_method(forward) || is_users_method(backward);
  if (!users) {
    MG_TRY(V contained,
           container_operation(ctx, op, left, right, in_place_in_c));
    if (contained) return contained;
  }
  const OperatorMethods methods{forward, backward, table.method[at],
                                table.reflected[at]};
  // A text has an answer to whatever it is given.
  if (op == kModulo && left->is_constant() && PyUnicode_Check(left->object) &&
      !forward && !is_backward_first(ctx, left, right, methods))
    return percent_format(ctx, left, right);
  if (op == kModulo && left->type == &PyBytes_Type &&
      !is_backward_first(ctx, left, right, methods) && backward)
    return unknown_operator(ctx, kBinary[op].symbol, left, right);
  MG_TRY(V answer,
         answer_of_either(ctx, left, right, methods, kBinary[op].symbol));
  if (answer) return answer;
  if (users) {
    MG_TRY(V contained,
           container_operation(ctx, op, left, right, in_place_in_c));
    if (contained) return contained;
  }
  if (op == kModulo && left->is_constant() && PyUnicode_Check(left->object))
    return percent_format(ctx, left, right);
  MG_DO(check_concatenation(ctx, op, left, right, in_place));
  if (forward || backward) {
    return unsupported_operands(ctx, in_place, op, left, right);
  }

  // Anything else that consists of constants: real objects, freshly built.
  PyObject* a = as_constant(ctx, left);
  PyObject* b = a ? as_constant(ctx, right) : nullptr;
  if (a && b && (!in_place || left->is_constant())) {
    const binaryfunc run =
        in_place ? kBinary[op].run_in_place : kBinary[op].run;
    Ref result = Ref::steal(run(a, b));
    if (!result) return ctx.raise_from_python();
    return from_constant(ctx, std::move(result));
  }
  // All that these have was asked above.
  auto settled = [](V value) {
    return value->type->tp_as_number == nullptr ||
           value->kind == Kind::Object || value->kind == Kind::List ||
           value->kind == Kind::Tuple || value->kind == Kind::Dict ||
           value->kind == Kind::Set || is_safe_constant(value);
  };
  if (settled(left) && settled(right))
    return unsupported_operands(ctx, in_place, op, left, right);
  return unknown_operator(ctx, kBinary[op].symbol, left, right);
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
  const auto at = static_cast<size_t>(kind);
  if (is_safe_constant(operand)) {
    const NumpyErrors errors(is_numpy_number(operand->type));
    Ref result = Ref::steal(kUnary[at].run(operand->object));
    if (!result) return numpy_error(ctx);
    return ctx.constant(std::move(result));
  }
  if (operand->kind == Kind::Tensor)
    return record_function(ctx, operators().unary[at],
                           {.positional = {&operand, 1}});
  MG_TRY(V method, python_method(ctx, operand, operators().unary_method[at]));
  if (method) return call(ctx, method, {});
  if (is_implemented_in_c(ctx, operand, operators().unary_method[at]))
    return unknown_operator(ctx, "a unary operator", operand);
  // A subclass of a number's that keeps its operators.
  if (operand->is_constant() &&
      (PyLong_Check(operand->object) || PyFloat_Check(operand->object) ||
       PyComplex_Check(operand->object))) {
    Ref result = Ref::steal(kUnary[at].run(operand->object));
    if (!result) return ctx.raise_from_python();
    return ctx.constant(std::move(result));
  }
  return ctx.raise(PyExc_TypeError, std::string("bad operand type for unary ") +
                                        (kind == Unary::Positive   ? "+"
                                         : kind == Unary::Negative ? "-"
                                                                   : "~") +
                                        ": '" + operand->type->tp_name + "'");
}

}  // namespace magneto::values
