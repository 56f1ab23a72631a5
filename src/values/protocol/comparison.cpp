// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/types.h"
#include "support/forever.h"
#include "values/model/recursion.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/types/numpy_values.h"
#include "values/types/sets.h"

namespace magneto::values {

namespace {

struct CompareRow {
  const char* function;
  const char* method;
  const char* symbol;
  int reflected;
};
constexpr CompareRow kCompare[] = {
    {"lt", "__lt__", "<", Py_GT},  {"le", "__le__", "<=", Py_GE},
    {"eq", "__eq__", "==", Py_EQ}, {"ne", "__ne__", "!=", Py_NE},
    {"gt", "__gt__", ">", Py_LT},  {"ge", "__ge__", ">=", Py_LE}};

// Functions of the operator module and interned method names, found once; they
// live as long as the process, as the module itself does.
struct Comparisons {
  std::array<PyObject*, std::size(kCompare)> function, method;
};

const Comparisons& comparisons() {
  static const Comparisons* const table = forever([] {
    Comparisons t;
    for (size_t i = 0; i < std::size(kCompare); ++i) {
      t.function[i] = operator_function(kCompare[i].function);
      t.method[i] = PyUnicode_InternFromString(kCompare[i].method);
    }
    return t;
  }());
  return *table;
}

bool is_sequence(V value) {
  return value->kind == Kind::List || is_tuple_like(value);
}

Outcome<V> compare_sequences(Context& ctx, int kind, V left, V right) {
  for (V each : {left, right})
    if (is_deque(each) && own_special(ctx, each->type, interned().dunder_iter))
      return unknown_operator(ctx, kCompare[kind].symbol, left, right);
  std::vector<V> a = items_of(ctx, left), b = items_of(ctx, right);
  // Lists, not tuples, are unequal at once.
  if (a.size() != b.size() && (kind == Py_EQ || kind == Py_NE) &&
      left->kind == Kind::List)
    return ctx.boolean(kind == Py_NE);
  size_t i = 0;
  for (; i < a.size() && i < b.size(); ++i) {
    MG_TRY(bool same, identical_or_equal(ctx, a[i], b[i]));
    if (!same) break;
  }
  if (i < a.size() && i < b.size()) {
    // A deque asks the operator itself whether the items are so.
    if (is_deque(left)) {
      MG_TRY(V answer, compare(ctx, kind, a[i], b[i]));
      MG_TRY(bool holds, truth(ctx, answer));
      return ctx.boolean(holds);
    }
    if (kind == Py_EQ) return ctx.boolean(false);
    if (kind == Py_NE) return ctx.boolean(true);
    return compare(ctx, kind, a[i], b[i]);
  }
  switch (kind) {
    case Py_EQ:
      return ctx.boolean(a.size() == b.size());
    case Py_NE:
      return ctx.boolean(a.size() != b.size());
    case Py_LT:
      return ctx.boolean(a.size() < b.size());
    case Py_LE:
      return ctx.boolean(a.size() <= b.size());
    case Py_GT:
      return ctx.boolean(a.size() > b.size());
    default:
      return ctx.boolean(a.size() >= b.size());
  }
}

// A slice's start, stop and step.
std::vector<V> parts_of_slice(Context& ctx, V slice) {
  if (slice->kind == Kind::Slice) {
    auto items = tuple_items(slice);
    return {items.begin(), items.end()};
  }
  const auto* real = reinterpret_cast<PySliceObject*>(slice->object);
  return {ctx.constant_share(real->start), ctx.constant_share(real->stop),
          ctx.constant_share(real->step)};
}

Outcome<V> compare_mappings(Context& ctx, int kind, V left, V right) {
  auto a = dict_entries(ctx, left);
  bool same = a.size() == dict_entries(ctx, right).size();
  for (size_t i = 0; same && i < a.size(); ++i) {
    MG_TRY(V other, dict_get(ctx, right, a[i]->key));
    if (other == nullptr) {
      same = false;
    } else {
      MG_TRY(same, identical_or_equal(ctx, a[i]->value, other));
    }
  }
  return ctx.boolean(same == (kind == Py_EQ));
}

// Two OrderedDicts are equal only if their keys come in the same order.
Outcome<bool> same_order(Context& ctx, V left, V right) {
  auto a = dict_entries(ctx, left), b = dict_entries(ctx, right);
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    MG_TRY(bool same, identical_or_equal(ctx, a[i]->key, b[i]->key));
    if (!same) return false;
  }
  return true;
}

// Objects that keep object's comparison are equal only to themselves.
Outcome<V> compare_identity(Context& ctx, int kind, V left, V right) {
  MG_TRY(bool same, identical(ctx, left, right));
  return ctx.boolean(same == (kind == Py_EQ));
}

// Neither has said how they compare.
Outcome<V> compare_declined(Context& ctx, int kind, V left, V right) {
  if (kind == Py_EQ || kind == Py_NE)
    return compare_identity(ctx, kind, left, right);
  return ctx.raise(PyExc_TypeError,
                   std::string("'") + kCompare[kind].symbol +
                       "' not supported between instances of '" +
                       left->type->tp_name + "' and '" + right->type->tp_name +
                       "'");
}

// Methods are equal that call equal functions with the same object.
Outcome<V> compare_methods(Context& ctx, int kind, V left, V right) {
  const auto* a = as<MethodValue>(left);
  const auto* b = as<MethodValue>(right);
  MG_TRY(bool same, equal(ctx, a->function, b->function));
  if (same) {
    MG_TRY(same, identical(ctx, a->self, b->self));
  }
  return ctx.boolean(same == (kind == Py_EQ));
}

// Whether no C code of its own says how a value compares.
bool has_plain_method(V value, int kind) {
  PyObject* name = comparisons().method[static_cast<size_t>(kind)];
  return python::mro_lookup(value->type, name) ==
         python::mro_lookup(&PyBaseObject_Type, name);
}

// The same of what the cases of plain_compare() leave.
bool compares_as_object(V value, int kind) {
  switch (value->kind) {
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set:
    case Kind::BoundMethod:
      return true;
    default:
      return is_safe_type(value->type) || has_plain_method(value, kind);
  }
}

// Containers that C code compares with each other.
bool are_alike(V left, V right, bool equality) {
  return (is_list(left) && is_list(right)) ||
         (is_tuple_like(left) && is_tuple_like(right)) ||
         (is_set(left) && is_set(right)) ||
         (equality && left->kind == Kind::Dict && right->kind == Kind::Dict);
}

}  // namespace

Outcome<V> compare(Context& ctx, int kind, V left, V right) {
  const RecursionScope scope;
  MG_DO(scope.check(ctx, " in comparison"));
  left = ctx.look_symbolic(left);
  right = ctx.look_symbolic(right);
  if (has_symbol(left, right)) {
    MG_TRY(V condition, symbolic_compare(ctx, kind, left, right));
    if (condition) return condition;
    left = ctx.look(left);
    right = ctx.look(right);
  }
  if (is_safe_constant(left) && is_safe_constant(right)) {
    Ref result =
        Ref::steal(PyObject_RichCompare(left->object, right->object, kind));
    if (!result) return ctx.raise_from_python();
    return ctx.constant(std::move(result));
  }
  const Comparisons& table = comparisons();
  const auto at = static_cast<size_t>(kind);
  if (left->kind == Kind::Tensor || right->kind == Kind::Tensor) {
    // A class derived from a number's or a text's may say itself how it
    // compares; the tensor says nothing about a text.
    const auto mirrored = static_cast<size_t>(kCompare[kind].reflected);
    const auto unknown = [&] {
      return unknown_operator(ctx, kCompare[kind].symbol, left, right);
    };
    if (overrides_attribute_lookup(ctx, right)) return unknown();
    const bool left_first = left->kind != Kind::Tensor &&
                            left->kind != Kind::Object &&
                            own_special(ctx, left->type, table.method[at]);
    if (left_first || (is_other_sort(right) &&
                       own_special(ctx, right->type, table.method[mirrored]))) {
      V asked = left_first ? left : right, other = left_first ? right : left;
      PyObject* name = table.method[left_first ? at : mirrored];
      MG_TRY(V method, python_method(ctx, asked, name));
      MG_TRY(V answer,
             answer_to(ctx, method, asked, other, name, kCompare[kind].symbol));
      if (answer) return answer;
      if (overrides_attribute_lookup(ctx, left)) return unknown();
      // Both have declined.
      if (is_other_sort(asked)) return compare_declined(ctx, kind, left, right);
      // The operator would ask the number again.
      V operands[] = {right, left};
      return record_function(ctx, table.function[mirrored],
                             {.positional = operands});
    }
    if (overrides_attribute_lookup(ctx, left)) return unknown();
    V operands[] = {left, right};
    return record_function(ctx, table.function[at], {.positional = operands});
  }
  const bool equality = kind == Py_EQ || kind == Py_NE;
  const auto mirrored = static_cast<size_t>(kCompare[kind].reflected);
  if (is_implemented_in_c(ctx, left, table.method[at]) ||
      is_implemented_in_c(ctx, right, table.method[mirrored]) ||
      are_made_arrays(left, right))
    return unknown_operator(ctx, kCompare[kind].symbol, left, right);
  MG_TRY(V forward, python_method(ctx, left, table.method[at]));
  MG_TRY(V backward, python_method(ctx, right, table.method[mirrored]));
  if (forward || backward) {
    const bool backward_first = backward && left->type != right->type &&
                                PyType_IsSubtype(right->type, left->type);
    for (const bool is_forward : {!backward_first, backward_first}) {
      V method = is_forward ? forward : backward;
      V value = is_forward ? left : right, other = is_forward ? right : left;
      if (!method && are_alike(value, other, equality))
        return plain_compare(ctx, kind, left, right);
      MG_TRY(V result, answer_to(ctx, method, value, other,
                                 table.method[is_forward ? at : mirrored],
                                 kCompare[kind].symbol));
      if (result) return result;
    }
    return compare_declined(ctx, kind, left, right);
  }
  // __ne__ is the opposite of a __eq__ that Python code defines.
  if (kind == Py_NE && has_plain_method(left, Py_NE)) {
    MG_TRY(V eq, python_method(ctx, left, table.method[Py_EQ]));
    if (eq) {
      MG_TRY(bool same, equal(ctx, left, right));
      return ctx.boolean(!same);
    }
  }
  return plain_compare(ctx, kind, left, right);
}

Outcome<V> plain_compare(Context& ctx, int kind, V left, V right) {
  const bool equality = kind == Py_EQ || kind == Py_NE;
  if ((left->kind == Kind::List && right->kind == Kind::List &&
       is_list(left) == is_list(right)) ||
      (is_tuple_like(left) && is_tuple_like(right)))
    return compare_sequences(ctx, kind, left, right);
  if (is_set(left) && is_set(right)) {
    MG_TRY(bool result, set_compare(ctx, kind, left, right));
    return ctx.boolean(result);
  }
  if (equality && left->kind == Kind::Dict && right->kind == Kind::Dict) {
    if (is_instance_of(left, &PyODict_Type) &&
        is_instance_of(right, &PyODict_Type)) {
      MG_TRY(bool same, same_order(ctx, left, right));
      if (!same) return ctx.boolean(kind == Py_NE);
    }
    return compare_mappings(ctx, kind, left, right);
  }
  // As tuples, in which what is one object is equal.
  if (left->type == &PySlice_Type && right->type == &PySlice_Type &&
      (left->kind == Kind::Slice || right->kind == Kind::Slice))
    return compare_sequences(ctx, kind, ctx.tuple(parts_of_slice(ctx, left)),
                             ctx.tuple(parts_of_slice(ctx, right)));
  // C code of another class may know how to compare with a container.
  if (equality &&
      (is_sequence(left) || left->kind == Kind::Dict || is_sequence(right) ||
       right->kind == Kind::Dict) &&
      compares_as_object(left, kind) && compares_as_object(right, kind))
    return ctx.boolean(kind == Py_NE);
  if (equality && left->kind == Kind::BoundMethod &&
      right->kind == Kind::BoundMethod)
    return compare_methods(ctx, kind, left, right);
  PyObject* a = as_constant(ctx, left);
  PyObject* b = as_constant(ctx, right);
  if (a && b) {
    Ref result = Ref::steal(PyObject_RichCompare(a, b, kind));
    if (!result) return ctx.raise_from_python();
    return from_constant(ctx, std::move(result));
  }
  if (!compares_as_object(left, kind) || !compares_as_object(right, kind))
    return ctx.graph_break("operator",
                           std::string(kCompare[kind].symbol) + " of " +
                               python::short_name(left->type) + " and " +
                               python::short_name(right->type));
  return compare_declined(ctx, kind, left, right);
}

Outcome<bool> equal(Context& ctx, V left, V right) {
  left = ctx.look_symbolic(left);
  right = ctx.look_symbolic(right);
  if (left == right) return true;
  MG_TRY(V result, compare(ctx, Py_EQ, left, right));
  return truth(ctx, result);
}

Outcome<bool> identical_or_equal(Context& ctx, V left, V right) {
  V a = ctx.look_symbolic(left), b = ctx.look_symbolic(right);
  // Numbers that are one object are equal, but for a NaN.
  const bool is_vague = is_symbol(a) || is_symbol(b);
  if (!is_vague && is_safe_constant(a) && is_safe_constant(b)) {
    MG_TRY(V result, compare(ctx, Py_EQ, a, b));
    MG_TRY(bool same, truth(ctx, result));
    if (same || !PyFloat_Check(a->object) || !PyFloat_Check(b->object))
      return same || a->object == b->object;
    return identical(ctx, left, right);
  }
  if (!is_vague) {
    MG_TRY(bool same, identical(ctx, left, right));
    if (same) return true;
  }
  return equal(ctx, left, right);
}

}  // namespace magneto::values
