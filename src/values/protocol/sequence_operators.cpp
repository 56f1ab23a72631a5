// SPDX-License-Identifier: BSD-3-Clause
#include "values/protocol/sequence_operators.h"

#include "python/names.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"

namespace magneto::values {

namespace {

// A longer sequence isn't worth a value for each item.
constexpr size_t kMostRepeated = 1 << 20;

}  // namespace

Outcome<V> repetitions(Context& ctx, V count) {
  if (is_safe_constant(count) ||
      (count->is_constant() && PyLong_Check(count->object)))
    return PyIndex_Check(count->object) ? count : nullptr;
  return own_position(ctx, count);
}

bool repeats(V value) {
  const PySequenceMethods* methods = value->type->tp_as_sequence;
  return methods && methods->sq_repeat;
}

bool is_repeated(V value) {
  const PyNumberMethods* numbers = value->type->tp_as_number;
  return repeats(value) && !(numbers && numbers->nb_multiply);
}

bool is_repeated_deque(V value) { return is_deque(value) && repeats(value); }

V repeated_sequence(V left, V right, bool in_place) {
  if (repeats(left)) return left;
  if (in_place && left->type->tp_as_sequence) return nullptr;
  return repeats(right) ? right : nullptr;
}

namespace {

Status check_repeated(Context& ctx, V left, V right, bool in_place) {
  V sequence = repeated_sequence(left, right, in_place);
  if (!sequence) return done;
  V other = sequence == left ? right : left;
  if (type_lookup(ctx, other->type, interned().dunder_index)) return done;
  return ctx.raise(PyExc_TypeError,
                   std::string("can't multiply sequence by non-int of type '") +
                       other->type->tp_name + "'");
}

Status check_added(Context& ctx, V left, V right) {
  if (left->type == torch_types().size)
    return ctx.raise(PyExc_TypeError,
                     std::string("can only concatenate tuple (not ") +
                         right->type->tp_name + ") to torch.Size");
  const bool is_bytes = PyType_IsSubtype(left->type, &PyBytes_Type);
  if (is_bytes && shows_memory(right->type))
    return unknown_operator(ctx, info(BinaryOperator::Add).symbol, left, right);
  // A class that has an __add__ of its own has not the slot.
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  if (!methods || !methods->sq_concat) return done;
  if (is_bytes)
    return ctx.raise(PyExc_TypeError, std::string("can't concat ") +
                                          right->type->tp_name + " to " +
                                          left->type->tp_name);
  const char* what = PyType_IsSubtype(left->type, &PyUnicode_Type) ? "str"
                     : is_list(left)                               ? "list"
                     : is_tuple_like(left)                         ? "tuple"
                                                                   : nullptr;
  if (!what) return done;
  return ctx.raise(PyExc_TypeError,
                   std::string("can only concatenate ") + what + " (not \"" +
                       right->type->tp_name + "\") to " + what);
}

}  // namespace

Status check_concatenation(Context& ctx, BinaryOperator op, V left, V right,
                           bool in_place) {
  if (PyType_IsSubtype(left->type, &PyUnicode_Type) &&
      PyType_IsSubtype(right->type, &PyUnicode_Type))
    return done;
  if (op == BinaryOperator::Add) return check_added(ctx, left, right);
  if (op == BinaryOperator::Multiply)
    return check_repeated(ctx, left, right, in_place);
  if (op == BinaryOperator::Modulo &&
      PyType_IsSubtype(left->type, &PyBytes_Type) && !as_constant(ctx, right))
    return unknown_operator(ctx, info(op).symbol, left, right);
  return done;
}

Outcome<V> sequence_add(Context& ctx, V left, V right, bool in_place) {
  if (left->kind == Kind::List && in_place) {
    MG_DO(list_extend(ctx, left, right));
    return left;
  }
  std::vector<V> items = items_of(ctx, left);
  const std::vector<V> more = items_of(ctx, right);
  // CPython gives a tuple itself where nothing is added.
  if (items.empty() && right->type == &PyTuple_Type &&
      left->type != torch_types().size)
    return right;
  if (more.empty() && left->type == &PyTuple_Type &&
      right->type != torch_types().size)
    return left;
  items.insert(items.end(), more.begin(), more.end());
  if (left->kind == Kind::List) return ctx.list(items);
  V added = ctx.tuple(items);
  // A torch.Size on either side makes one.
  PyTypeObject* size = torch_types().size;
  if (left->type != size && right->type != size) return added;
  return call(ctx, ctx.constant_share(reinterpret_cast<PyObject*>(size)),
              {added});
}

Outcome<V> repeat(Context& ctx, V sequence, V count, bool in_place) {
  Py_ssize_t times = PyNumber_AsSsize_t(count->object, PyExc_OverflowError);
  if (times == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  const std::vector<V> once = items_of(ctx, sequence);
  if (times > 0 && once.size() > kMostRepeated / static_cast<size_t>(times))
    return ctx.graph_break("long-computation",
                           "a sequence of more than a million items",
                           "make it outside of the compiled function");
  if (sequence->type == &PyTuple_Type && (times == 1 || once.empty()))
    return sequence;
  std::vector<V> all;
  for (Py_ssize_t i = 0; i < times; ++i)
    all.insert(all.end(), once.begin(), once.end());
  if (sequence->kind == Kind::List) {
    if (in_place) {
      ctx.heap.splice(sequence->heap, 0, once.size(), all);
      return sequence;
    }
    return ctx.list(all);
  }
  PyTypeObject* size = torch_types().size;
  return sequence->type == size ? ctx.tuple(all, size) : ctx.tuple(all);
}

}  // namespace magneto::values
