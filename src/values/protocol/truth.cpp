// SPDX-License-Identifier: BSD-3-Clause
// Questions with a yes or no: truth, identity, containment, class.
#include <opcode.h>

#include "python/names.h"
#include "values/model/identity.h"
#include "values/protocol/hashing.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/torch/torch_types.h"
#include "values/types/keys_by_place.h"
#include "values/types/sets.h"

namespace magneto::values {

Outcome<bool> truth(Context& ctx, V value) {
  value = ctx.look_function(value);
  switch (value->kind) {
    case Kind::Text:
      return true;  // no number is written as nothing
    case Kind::Constant: {
      if (value->object == Py_True) return true;
      if (value->object == Py_False || value->object == Py_None) return false;
      break;
    }
    case Kind::Symbol:
      return symbolic_truth(ctx, value);
    case Kind::Tensor:
      return ctx.graph_break("data-dependent-branch",
                             "the truth of a tensor depends on its data",
                             "use torch.where or torch.cond, or move the "
                             "condition out of the compiled function");
    default:
      break;
  }
  MG_TRY(V method, python_method(ctx, value, interned().dunder_bool));
  if (method) {
    MG_TRY(V called, call(ctx, method, {}));
    V result = ctx.look(called);
    if (result->is_constant() && PyBool_Check(result->object))
      return result->object == Py_True;
    return ctx.raise(PyExc_TypeError,
                     std::string("__bool__ should return bool, returned ") +
                         result->type->tp_name);
  }
  switch (value->kind) {
    case Kind::Constant: {
      // Numbers don't look at a __len__ of their class's.
      const PyNumberMethods* number = value->type->tp_as_number;
      if (!(number && number->nb_bool) &&
          own_special(ctx, value->type, interned().dunder_len)) {
        MG_TRY(V count, length(ctx, value));
        return truth(ctx, count);
      }
      if (value->object == Py_NotImplemented)
        return ctx.graph_break("c-protocol",
                               "the truth of NotImplemented, which warns",
                               "compare with `is NotImplemented`");
      int result = PyObject_IsTrue(value->object);
      if (result < 0) return ctx.raise_from_python();
      return result == 1;
    }
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
    case Kind::Set: {
      MG_TRY(V count, length(ctx, value));
      return truth(ctx, count);
    }
    case Kind::Object: {
      if (is_implemented_in_c(ctx, value, interned().dunder_bool) ||
          is_implemented_in_c(ctx, value, interned().dunder_len))
        return unknown_operator(ctx, "the truth", value);
      MG_TRY(V len, python_method(ctx, value, interned().dunder_len));
      if (!len) return true;
      MG_TRY(V count, length(ctx, value));
      return truth(ctx, count);
    }
    default:
      return true;
  }
}

Outcome<bool> contains(Context& ctx, V container, V item) {
  container = ctx.look(container);
  V method = nullptr;
  if (container->kind != Kind::Tensor) {
    if (own_special(ctx, container->type, interned().dunder_contains) ==
        Py_None)
      return ctx.raise(PyExc_TypeError, std::string("'") +
                                            container->type->tp_name +
                                            "' object is not a container");
    MG_TRY(method, python_method(ctx, container, interned().dunder_contains));
  }
  if (method) {
    MG_TRY(V result, call(ctx, method, {item}));
    return truth(ctx, result);
  }
  return plain_contains(ctx, container, item);
}

namespace {

Outcome<bool> contains_by_iteration(Context& ctx, V container, V item) {
  // Lists and tuples look into themselves, whatever a subclass's __iter__ says.
  const bool has_items = is_list(container) || is_tuple_like(container);
  // So does a deque, whose own iterator isn't had through that method.
  if (is_deque(container) &&
      own_special(ctx, container->type, interned().dunder_iter)) {
    const std::vector<V> items = ctx.heap.items(container->heap);
    const int64_t changes = ctx.heap[container->heap].number;
    for (V candidate : items) {
      MG_TRY(bool same, identical_or_equal(ctx, candidate, item));
      if (same) return true;
      if (ctx.heap[container->heap].number != changes)
        return ctx.raise(PyExc_RuntimeError, "deque mutated during iteration");
    }
    return false;
  }
  const Outcome<V> begun =
      has_items ? plain_iterate(ctx, container) : iterate(ctx, container);
  MG_TRY(V iterator, iterator_or_error(ctx, begun, [&] {
           return std::string("argument of type '") + container->type->tp_name +
                  "' is not iterable";
         }));
  for (;;) {
    MG_TRY(V candidate, next(ctx, iterator));
    if (!candidate) return false;
    MG_TRY(bool same, identical_or_equal(ctx, candidate, item));
    if (same) return true;
  }
}

// A number that isn't known, in a range: by its bounds, not number by number.
Outcome<bool> range_contains(Context& ctx, PyObject* range, V number) {
  auto field = [&](const char* name) {
    return ctx.constant(Ref::steal(PyObject_GetAttrString(range, name)));
  };
  V start = field("start"), stop = field("stop"), step = field("step");
  const bool upwards = PyLong_AsLongLong(step->object) > 0;
  MG_TRY(V begun, compare(ctx, upwards ? Py_LE : Py_GE, start, number));
  MG_TRY(bool holds, truth(ctx, begun));
  if (!holds) return false;
  MG_TRY(V not_over, compare(ctx, upwards ? Py_LT : Py_GT, number, stop));
  MG_TRY(holds, truth(ctx, not_over));
  if (!holds) return false;
  MG_TRY(V distance, binary_operation(ctx, NB_SUBTRACT, number, start));
  MG_TRY(V rest, binary_operation(ctx, NB_REMAINDER, distance, step));
  return equal(ctx, rest, ctx.integer(0));
}

// Whatever __iter__ a derived class has.
Outcome<bool> bytes_contain(Context& ctx, PyObject* bytes, V item) {
  if (!is_safe_constant(item)) {
    if (type_lookup(ctx, item->type, interned().dunder_index)) {
      const Outcome<V> number = own_position(ctx, item);
      if (number && number.value()) {
        item = number.value();
      } else if (!number && number.signal() != Signal::Raised) {
        return number.signal();
      }
    } else if (!shows_memory(item->type)) {
      return ctx.raise(PyExc_TypeError,
                       std::string("a bytes-like object is required, not '") +
                           item->type->tp_name + "'");
    }
    const bool is_derived = item->is_constant() && PyBytes_Check(item->object);
    if (!is_safe_constant(item) && !is_derived)
      return ctx.graph_break(
          "native-call",
          std::string("whether bytes contain a ") + item->type->tp_name,
          "use Python's bytes and ints");
  }
  const int found = PySequence_Contains(bytes, item->object);
  if (found < 0) return ctx.raise_from_python();
  return found == 1;
}

}  // namespace

namespace {

// Where it is, no key is in it, whichever that is.
bool is_empty_dict(Context& ctx, V dict) {
  const DictState& state = *ctx.heap[dict->heap].dict;
  const bool may_be = state.complete
                          ? state.live == 0
                          : dict->kind == Kind::Dict && dict->object &&
                                PyDict_GET_SIZE(dict->object) == 0 &&
                                state.entries.empty();
  if (may_be) ctx.heap.dict_complete(dict->heap, ctx);
  return may_be;
}

}  // namespace

Outcome<bool> plain_contains(Context& ctx, V container, V item) {
  if (container->is_constant() && is_symbol(ctx.look_symbolic(item))) {
    if (PyRange_Check(container->object))
      return range_contains(ctx, container->object, ctx.look_symbolic(item));
    if (PyTuple_Check(container->object) ||
        PyFrozenSet_Check(container->object))
      return contains_by_iteration(ctx, container, item);
  }
  switch (container->kind) {
    case Kind::Constant: {
      // A metaclass of the program's says what is in a class.
      if (PyType_Check(container->object) &&
          (own_special(ctx, container->type, interned().dunder_iter) ||
           own_special(ctx, container->type, interned().dunder_getitem)))
        return contains_by_iteration(ctx, container, item);
      V looked = ctx.look(item);
      if (is_safe_type(container->type) && is_safe_constant(looked) &&
          PySequence_Check(container->object)) {
        int found = PySequence_Contains(container->object, looked->object);
        if (found < 0) return ctx.raise_from_python();
        return found == 1;
      }
      if (PyUnicode_Check(container->object)) {
        PyObject* text =
            is_instance_of(looked, &PyUnicode_Type) ? looked->object : nullptr;
        if (!text)
          return ctx.raise(PyExc_TypeError,
                           std::string("'in <string>' requires string as left "
                                       "operand, not ") +
                               looked->type->tp_name);
        return PyUnicode_Contains(container->object, text) == 1;
      }
      if (PyBytes_Check(container->object) ||
          PyByteArray_Check(container->object))
        return bytes_contain(ctx, container->object, looked);
      if (PyFrozenSet_Check(container->object)) {
        looked = ctx.look(set_key(ctx, looked));
        MG_TRY(PyObject * token, key_token(ctx, looked));
        PyObject* real = callers_key(ctx, looked, token);
        if (!real) return false;
        int found = PySequence_Contains(container->object, real);
        if (found < 0) return ctx.raise_from_python();
        return found == 1;
      }
      // An enum class and the like: C and standard library code on constants.
      if (PyType_Check(container->object) && looked->is_constant()) {
        int found = PySequence_Contains(container->object, looked->object);
        if (found < 0) return ctx.raise_from_python();
        return found == 1;
      }
      break;
    }
    case Kind::Dict:
    case Kind::Set: {
      if (is_unknown_key(ctx, item) && is_empty_dict(ctx, container))
        return false;
      if (container->kind == Kind::Set) item = set_key(ctx, item);
      MG_TRY(V found, dict_get(ctx, container, item));
      return found != nullptr;
    }
    case Kind::Tensor: {
      PyObject* name = interned().dunder_contains;
      V args[] = {container, item};
      MG_TRY(V result, record_method(ctx, name, {.positional = args}));
      return truth(ctx, result);
    }
    default:
      if (is_implemented_in_c(ctx, container, interned().dunder_contains))
        return unknown_operator(ctx, "in", item, container);
      break;
  }
  return contains_by_iteration(ctx, container, item);
}

bool is_instance_of(V value, PyTypeObject* type) {
  return value->type && PyType_IsSubtype(value->type, type);
}

}  // namespace magneto::values
