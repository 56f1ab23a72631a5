// SPDX-License-Identifier: BSD-3-Clause
// The operator module: the protocol's operations as functions, and the objects
// that itemgetter, attrgetter and methodcaller make.
#include "natives/builtins/lists.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"
#include "values/protocol/operands.h"
#include "values/torch/torch_types.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

namespace {

// CPython's NB_* numbers; in place from 13.
enum Operation : int {
  kAdd,
  kAnd,
  kFloorDivide,
  kLeftShift,
  kMatrixMultiply,
  kMultiply,
  kRemainder,
  kOr,
  kPower,
  kRightShift,
  kSubtract,
  kTrueDivide,
  kXor,
  kInPlace
};

template <int operation>
Outcome<V> binary(Context& ctx, const Arguments& args) {
  return binary_operation(ctx, operation, args.positional[0],
                          args.positional[1]);
}

template <Unary operation>
Outcome<V> unary(Context& ctx, const Arguments& args) {
  return unary_operation(ctx, operation, args.positional[0]);
}

template <int kind>
Outcome<V> compared(Context& ctx, const Arguments& args) {
  return compare(ctx, kind, args.positional[0], args.positional[1]);
}

template <bool wanted>
Outcome<V> is(Context& ctx, const Arguments& args) {
  MG_TRY(bool same, identical(ctx, args.positional[0], args.positional[1]));
  return ctx.boolean(same == wanted);
}

template <bool wanted>
Outcome<V> truth_of(Context& ctx, const Arguments& args) {
  MG_TRY(bool holds, truth(ctx, args.positional[0]));
  return ctx.boolean(holds == wanted);
}

Outcome<V> get(Context& ctx, const Arguments& args) {
  return get_item(ctx, args.positional[0], args.positional[1]);
}

Outcome<V> set(Context& ctx, const Arguments& args) {
  MG_DO(set_item(ctx, args.positional[0], args.positional[1],
                 args.positional[2]));
  return ctx.none();
}

Outcome<V> remove(Context& ctx, const Arguments& args) {
  MG_DO(delete_item(ctx, args.positional[0], args.positional[1]));
  return ctx.none();
}

Outcome<V> contains_item(Context& ctx, const Arguments& args) {
  MG_TRY(bool found, contains(ctx, args.positional[0], args.positional[1]));
  return ctx.boolean(found);
}

Outcome<V> index(Context& ctx, const Arguments& args) {
  return operator_index(ctx, args.positional[0]);
}

// What operator's functions look through.
Outcome<V> searched(Context& ctx, V sequence) {
  Outcome<V> iterator = iterate(ctx, sequence);
  if (!iterator && iterator.signal() == Signal::Raised &&
      ctx.exception_is(PyExc_TypeError)) {
    (void)ctx.take_exception();
    return ctx.raise(PyExc_TypeError, std::string("argument of type '") +
                                          ctx.look(sequence)->type->tp_name +
                                          "' is not iterable");
  }
  return iterator;
}

Outcome<V> index_of(Context& ctx, const Arguments& args) {
  MG_TRY(V iterator, searched(ctx, args.positional[0]));
  for (int64_t i = 0;; ++i) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) break;
    MG_TRY(Py_ssize_t at, find_item(ctx, {&item, 1}, args.positional[1], 0, 1));
    if (at == 0) return ctx.integer(i);
  }
  return ctx.raise(PyExc_ValueError, "sequence.index(x): x not in sequence");
}

Outcome<V> count_of(Context& ctx, const Arguments& args) {
  std::vector<V> items;
  MG_TRY(V iterator, searched(ctx, args.positional[0]));
  MG_DO(values::take_all(ctx, iterator, items));
  int64_t count = 0;
  for (V item : items) {
    MG_TRY(Py_ssize_t at, find_item(ctx, {&item, 1}, args.positional[1], 0, 1));
    count += at == 0;
  }
  return ctx.integer(count);
}

Outcome<V> call_object(Context& ctx, const Arguments& args) {
  return call(ctx, args.positional[0], without(args, 1));
}

// -- itemgetter, attrgetter, methodcaller -------------------------------------

PyTypeObject* class_of(const char* class_name) {
  Ref module = import_module("operator");
  MG_CHECK(module, "the operator module");
  // Lives as long as the module.
  return reinterpret_cast<PyTypeObject*>(
      PyObject_GetAttrString(module, class_name));
}

template <Literal class_name>
Outcome<V> make_getter(Context& ctx, const Arguments& args) {
  static PyTypeObject* const type = class_of(class_name.text);
  for (V value : args.positional) {
    if (class_name.text[0] != 'a') break;
    V attribute = ctx.look(value);
    if (!attribute->is_constant() || !PyUnicode_Check(attribute->object))
      return ctx.raise(PyExc_TypeError, "attribute name must be a string");
  }
  return ctx.iterator(type, args.positional, 0, Kind::Object);
}

// What the getter was made with, also if the caller made it.
Status parts_of(Context& ctx, V getter, std::vector<V>& parts) {
  if (!getter->object) {
    parts = ctx.heap[getter->heap].slots;
    return done;
  }
  Ref reduced = Ref::steal(PyObject_CallMethodNoArgs(
      guarded_object(ctx, getter), name<"__reduce__">()));
  if (!reduced) return ctx.raise_from_python();
  PyObject* args = PyTuple_GET_ITEM(reduced.get(), 1);
  return unpack(ctx, ctx.constant_share(args), parts);
}

Outcome<V> one_or_tuple(Context& ctx, const std::vector<V>& found) {
  return found.size() == 1 ? found[0] : ctx.tuple(found);
}

Outcome<V> get_items(Context& ctx, const Arguments& args) {
  std::vector<V> keys, found;
  MG_DO(parts_of(ctx, ctx.look(args.positional[0]), keys));
  for (V key : keys) {
    MG_TRY(V item, get_item(ctx, args.positional[1], key));
    found.push_back(item);
  }
  return one_or_tuple(ctx, found);
}

Outcome<V> get_attributes(Context& ctx, const Arguments& args) {
  std::vector<V> paths, found;
  MG_DO(parts_of(ctx, ctx.look(args.positional[0]), paths));
  for (V path : paths) {
    Ref dot = Ref::steal(PyUnicode_FromString("."));
    Ref steps = Ref::steal(PyUnicode_Split(path->object, dot, -1));
    if (!steps) return ctx.raise_from_python();
    V object = args.positional[1];
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(steps.get()); ++i) {
      Ref step = Ref::share(PyList_GET_ITEM(steps.get(), i));
      PyUnicode_InternInPlace(step.slot());
      MG_TRY(object, get_attribute(ctx, object, ctx.keep(std::move(step))));
    }
    found.push_back(object);
  }
  return one_or_tuple(ctx, found);
}

// methodcaller(name, ...): slots are the arguments it was made with.
Outcome<V> make_caller(Context& ctx, const Arguments& args) {
  static PyTypeObject* const type = class_of("methodcaller");
  V method = ctx.look(args.positional[0]);
  if (!method->is_constant() || !PyUnicode_Check(method->object))
    return ctx.raise(PyExc_TypeError, "method name must be a string");
  if (args.has_keywords())
    return ctx.graph_break("native-call", "methodcaller with keywords",
                           "use a lambda");
  return ctx.iterator(type, args.positional, 0, Kind::Object);
}

Outcome<V> call_named_method(Context& ctx, const Arguments& args) {
  V caller = ctx.look(args.positional[0]);
  std::vector<V> parts;
  MG_DO(parts_of(ctx, caller, parts));
  V method = parts.empty() ? ctx.none() : ctx.look(parts[0]);
  if (!method->is_constant() || !PyUnicode_Check(method->object))
    return ctx.graph_break("native-call", "methodcaller with keywords",
                           "use a lambda");
  MG_TRY(PyObject * key, attribute_name(ctx, method));
  MG_TRY(V found, get_attribute(ctx, args.positional[1], key));
  return call(ctx, found, Arguments{.positional = std::span(parts).subspan(1)});
}

// concat() is `+` of sequences only.
template <int operation>
Outcome<V> concatenate(Context& ctx, const Arguments& args) {
  V left = ctx.look(args.positional[0]);
  V right = ctx.look(args.positional[1]);
  const PySequenceMethods* methods = left->type->tp_as_sequence;
  const auto has_items = [&](V value) {
    return values::is_sequence_type(ctx, value->type);
  };
  const auto adds = [&](V value) {
    (void)type_lookup(ctx, value->type, name<"__add__">());
    (void)type_lookup(ctx, value->type, name<"__radd__">());
    return value->type->tp_as_number && value->type->tp_as_number->nb_add;
  };
  // Both are asked, for the guards.
  const bool add = adds(left) | adds(right);
  const bool may_add = has_items(left) && has_items(right) && add;
  if (!(methods && methods->sq_concat) && !may_add)
    return ctx.raise(PyExc_TypeError, std::string("'") + left->type->tp_name +
                                          "' object can't be concatenated");
  // A tuple's own, whatever is added to it.
  const bool is_of_tuple =
      methods && methods->sq_concat == PyTuple_Type.tp_as_sequence->sq_concat;
  if (is_of_tuple && values::is_tuple_like(right)) {
    std::vector<V> items = values::items_of(ctx, left);
    const std::vector<V> more = values::items_of(ctx, right);
    items.insert(items.end(), more.begin(), more.end());
    return ctx.tuple(items);
  }
  // `+` asks these for their own operators first.
  const auto has_own = [&](V value) {
    return (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
           value->kind == Kind::Tensor ||
           value->type == values::torch_types().size ||
           values::is_numpy_number(value->type);
  };
  if (has_own(left) || has_own(right))
    return ctx.graph_break("native-call",
                           std::string("operator.concat of a ") +
                               left->type->tp_name + " and a " +
                               right->type->tp_name,
                           "use +");
  return binary<operation>(ctx, args);
}

constexpr const char* kOperator = "_operator";

#define MG_BINARY(function, in_place, operation)                     \
  {kOperator, function, binary<operation>, 2, 2, nullptr}, {         \
    kOperator, in_place, binary<kInPlace + operation>, 2, 2, nullptr \
  }

constexpr Row kRows[] = {
    MG_BINARY("add", "iadd", kAdd),
    MG_BINARY("and_", "iand", kAnd),
    {kOperator, "concat", concatenate<kAdd>, 2, 2, nullptr},
    {kOperator, "iconcat", concatenate<kInPlace + kAdd>, 2, 2, nullptr},
    {kOperator, "methodcaller", make_caller, 1, kAny, "/ *"},
    {kOperator, "methodcaller.__call__", call_named_method, 2, 2, nullptr},
    MG_BINARY("floordiv", "ifloordiv", kFloorDivide),
    MG_BINARY("lshift", "ilshift", kLeftShift),
    MG_BINARY("matmul", "imatmul", kMatrixMultiply),
    MG_BINARY("mul", "imul", kMultiply),
    MG_BINARY("mod", "imod", kRemainder),
    MG_BINARY("or_", "ior", kOr),
    MG_BINARY("pow", "ipow", kPower),
    MG_BINARY("rshift", "irshift", kRightShift),
    MG_BINARY("sub", "isub", kSubtract),
    MG_BINARY("truediv", "itruediv", kTrueDivide),
    MG_BINARY("xor", "ixor", kXor),
    {kOperator, "neg", unary<Unary::Negative>, 1, 1, nullptr},
    {kOperator, "pos", unary<Unary::Positive>, 1, 1, nullptr},
    {kOperator, "inv", unary<Unary::Invert>, 1, 1, nullptr},
    {kOperator, "invert", unary<Unary::Invert>, 1, 1, nullptr},
    {kOperator, "lt", compared<Py_LT>, 2, 2, nullptr},
    {kOperator, "le", compared<Py_LE>, 2, 2, nullptr},
    {kOperator, "eq", compared<Py_EQ>, 2, 2, nullptr},
    {kOperator, "ne", compared<Py_NE>, 2, 2, nullptr},
    {kOperator, "gt", compared<Py_GT>, 2, 2, nullptr},
    {kOperator, "ge", compared<Py_GE>, 2, 2, nullptr},
    {kOperator, "is_", is<true>, 2, 2, nullptr},
    {kOperator, "is_not", is<false>, 2, 2, nullptr},
    {kOperator, "truth", truth_of<true>, 1, 1, nullptr},
    {kOperator, "not_", truth_of<false>, 1, 1, nullptr},
    {kOperator, "getitem", get, 2, 2, nullptr},
    {kOperator, "setitem", set, 3, 3, nullptr},
    {kOperator, "delitem", remove, 2, 2, nullptr},
    {kOperator, "contains", contains_item, 2, 2, nullptr},
    {kOperator, "index", index, 1, 1, nullptr},
    {kOperator, "indexOf", index_of, 2, 2, nullptr},
    {kOperator, "countOf", count_of, 2, 2, nullptr},
    {kOperator, "call", call_object, 1, kAny, "/ *"},
    {kOperator, "itemgetter", make_getter<"itemgetter">, 1, kAny, nullptr},
    {kOperator, "itemgetter.__call__", get_items, 2, 2, nullptr},
    {kOperator, "attrgetter", make_getter<"attrgetter">, 1, kAny, nullptr},
    {kOperator, "attrgetter.__call__", get_attributes, 2, 2, nullptr},
};

#undef MG_BINARY

}  // namespace

std::span<const Row> operator_rows() { return kRows; }

}  // namespace magneto::natives
