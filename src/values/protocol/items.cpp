// SPDX-License-Identifier: BSD-3-Clause
// Items and lengths of containers.
#include <algorithm>

#include "python/int_conversions.h"
#include "python/key_token.h"
#include "python/names.h"
#include "values/protocol/hashing.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/torch/tensor_items.h"
#include "values/torch/torch_types.h"
#include "values/types/aliases.h"
#include "values/types/exceptions.h"
#include "values/types/keys_by_place.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

// The method, where it is the program's own; null otherwise.
Outcome<V> overridden(Context& ctx, V value, PyObject* name) {
  PyObject* found = own_special(ctx, value->type, name);
  if (!found) return nullptr;
  return bind_descriptor(ctx, found, value, value->type, name);
}

// What an __index__ of the program's own gives; null where there is none.
Outcome<V> own_index(Context& ctx, V value) {
  MG_TRY(V method, overridden(ctx, value, interned().dunder_index));
  if (!method) return nullptr;
  MG_TRY(V called, call(ctx, method, {}));
  V number = ctx.look(called);
  if (number->is_constant() && PyLong_CheckExact(number->object)) return number;
  if (!PyType_IsSubtype(number->type, &PyLong_Type))
    return ctx.raise(PyExc_TypeError,
                     std::string("__index__ returned non-int (type ") +
                         number->type->tp_name + ")");
  // With a warning of Python's.
  return ctx.graph_break(
      "c-protocol",
      std::string("the index that a ") + value->type->tp_name + " stands for",
      "use a plain int");
}

}  // namespace

bool has_index(Context& ctx, PyTypeObject* type) {
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    return type_lookup(ctx, type, interned().dunder_index);
  return type->tp_as_number && type->tp_as_number->nb_index;
}

Outcome<V> own_position(Context& ctx, V value) {
  // An int is one, whatever the __index__ of its class says.
  if (PyType_IsSubtype(value->type, &PyLong_Type)) return nullptr;
  MG_TRY(V number, own_index(ctx, value));
  if (!number) return nullptr;
  // Some of Python's functions clamp it, some raise, each in words of its own.
  if (PyLong_AsSsize_t(number->object) == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    return ctx.graph_break("c-protocol",
                           std::string("the index that a ") +
                               value->type->tp_name +
                               " stands for, which is no position",
                           "use a plain int");
  }
  return number;
}

Outcome<V> as_index(Context& ctx, V value) {
  value = ctx.look(value);
  if (value->is_constant() && PyLong_CheckExact(value->object)) return value;
  // Whatever the __index__ of a class derived from int says.
  if (value->is_constant() && PyLong_Check(value->object))
    return ctx.constant(python::to_plain_int(value->object));
  MG_TRY(V own, own_index(ctx, value));
  if (own) return own;
  if (value->is_constant() && is_safe_type(value->type)) {
    Ref number = Ref::steal(PyNumber_Index(value->object));
    if (!number) return ctx.raise_from_python();
    return ctx.constant(std::move(number));
  }
  if (!type_lookup(ctx, value->type, interned().dunder_index))
    return ctx.raise(PyExc_TypeError,
                     std::string("'") + value->type->tp_name +
                         "' object cannot be interpreted as an integer");
  return ctx.graph_break(
      "c-protocol",
      std::string("the index that a ") + value->type->tp_name + " stands for",
      "use a plain int");
}

namespace {

struct Index {
  bool is_slice = false;
  Py_ssize_t position = 0;
  Py_ssize_t start = 0, stop = 0, step = 1, count = 0;
};

enum class Access : uint8_t { Read, Write, Delete };

// Whether a key, or a bound of it, is of a class with an __index__ of its own;
// which may be derived from that of a constant.
bool has_own_index(Context& ctx, V key) {
  key = ctx.look(key);
  if (key->kind == Kind::Slice)
    return std::ranges::any_of(
        tuple_items(key), [&](V bound) { return has_own_index(ctx, bound); });
  return own_special(ctx, key->type, interned().dunder_index);
}

// The integer or slice of integers that a key is; null if it is neither.
Outcome<PyObject*> index_object(Context& ctx, V key) {
  key = ctx.look(key);
  if (key->kind == Kind::Tensor)
    return ctx.graph_break("tensor-as-index",
                           "a list or tuple is indexed with a tensor",
                           "index with a Python integer");
  if (!has_own_index(ctx, key)) {
    if (PyObject* real = as_constant(ctx, key)) return real;
  }
  if (key->kind == Kind::Slice) {
    PyObject* bounds[3];
    auto given = tuple_items(key);
    for (size_t i : {2, 0, 1}) {  // CPython asks for the step first
      MG_TRY(bounds[i], index_object(ctx, given[i]));
      if (!bounds[i] || (bounds[i] != Py_None && !PyIndex_Check(bounds[i])))
        return ctx.raise(PyExc_TypeError,
                         "slice indices must be integers or None or have an "
                         "__index__ method");
      if (i == 2 && PyLong_Check(bounds[i]) && !PyObject_IsTrue(bounds[i]))
        return ctx.raise(PyExc_ValueError, "slice step cannot be zero");
    }
    Ref slice = Ref::steal(PySlice_New(bounds[0], bounds[1], bounds[2]));
    MG_CHECK(slice, "out of memory");
    return ctx.keep(std::move(slice));
  }
  if (key->is_constant() && PyLong_Check(key->object)) {
    MG_TRY(key, as_index(ctx, key));
    return key->object;
  }
  if (key->type == &PySlice_Type)
    return ctx.graph_break("c-protocol",
                           "a slice of the caller's with bounds "
                           "that aren't plain numbers",
                           "use plain ints");
  MG_TRY(V number, own_position(ctx, key));
  if (number) return number->object;
  if (!has_index(ctx, key->type)) return nullptr;
  MG_TRY(number, as_index(ctx, key));
  return number->object;
}

Py_ssize_t size_of(Context& ctx, V sequence) {
  return static_cast<Py_ssize_t>(sequence->kind == Kind::List
                                     ? ctx.heap.items(sequence->heap).size()
                                     : tuple_items(sequence).size());
}

// A key of a sequence: an integer or a slice of integers. What the key runs to
// give them may change the sequence.
Outcome<Index> sequence_index(Context& ctx, V container, V key,
                              Access access = Access::Read) {
  key = ctx.look(key);
  const bool deque = is_deque(container);
  PyObject* real = nullptr;
  // A deque asks no slice for its bounds.
  if (!deque || key->type != &PySlice_Type) {
    MG_TRY(real, index_object(ctx, key));
  }
  const Py_ssize_t size = size_of(ctx, container);
  Index index;
  if (real && PySlice_Check(real)) {
    index.is_slice = true;
    if (PySlice_Unpack(real, &index.start, &index.stop, &index.step) < 0)
      return ctx.raise_from_python();
    index.count =
        PySlice_AdjustIndices(size, &index.start, &index.stop, index.step);
    return index;
  }
  const std::string what = deque                           ? "deque"
                           : container->kind == Kind::List ? "list"
                                                           : "tuple";
  if (!real || !PyIndex_Check(real)) {
    // A class that has one of the two methods calls the other one by name.
    const bool is_called =
        access != Access::Read &&
        (own_special(ctx, container->type, interned().dunder_setitem) ||
         own_special(ctx, container->type, interned().dunder_delitem));
    if (deque && is_called)
      return ctx.raise(PyExc_TypeError,
                       std::string("'") + key->type->tp_name +
                           "' object cannot be interpreted as an integer");
    if (deque)
      return ctx.raise(PyExc_TypeError,
                       std::string("sequence index must be integer, not '") +
                           key->type->tp_name + "'");
    return ctx.raise(PyExc_TypeError,
                     what + " indices must be integers or slices, not " +
                         key->type->tp_name);
  }
  index.position = PyNumber_AsSsize_t(real, PyExc_IndexError);
  if (index.position == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  if (index.position < 0) index.position += size;
  if (index.position < 0 || index.position >= size)
    return ctx.raise(
        PyExc_IndexError,
        what + (access != Access::Read && !deque ? " assignment" : "") +
            " index out of range");
  return index;
}

std::vector<V> slice_of(std::span<const V> items, const Index& index) {
  std::vector<V> part;
  for (Py_ssize_t i = 0, at = index.start; i < index.count;
       ++i, at += index.step)
    part.push_back(items[static_cast<size_t>(at)]);
  return part;
}

Signal key_error(Context& ctx, V key) {
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_KeyError), {&key, 1}));
}

Outcome<V> get_dict_item(Context& ctx, V container, V key) {
  MG_TRY(V value, dict_get(ctx, container, key));
  if (value) return value;
  if (container->type != &PyDict_Type) {
    PyObject* missing =
        type_lookup(ctx, container->type, interned().dunder_missing);
    if (missing) {
      MG_TRY(V method, bind_descriptor(ctx, missing, container, container->type,
                                       interned().dunder_missing));
      return call(ctx, method, {key});
    }
  }
  return key_error(ctx, ctx.look(key));
}

// A class subscripted: list[int], Optional[Tensor], a user's __class_getitem__.
Outcome<V> get_class_item(Context& ctx, V container, V key) {
  auto* type = reinterpret_cast<PyTypeObject*>(container->object);
  PyTypeObject* meta = Py_TYPE(container->object);
  PyObject* in_meta = type_lookup(ctx, meta, interned().dunder_getitem);
  PyObject* hook = type_lookup(ctx, type, interned().dunder_class_getitem);
  const bool is_in_c = !hook || Py_IS_TYPE(hook, &PyClassMethodDescr_Type);
  // A metaclass of the program's may have a __getattr__.
  if (!in_meta && (!is_in_c || (meta->tp_flags & Py_TPFLAGS_HEAPTYPE))) {
    MG_TRY(V method,
           find_attribute(ctx, container, interned().dunder_class_getitem));
    if (method) method = ctx.look(method);
    if (method && !(method->is_constant() && method->object == Py_None))
      return call(ctx, method, {key});
  }
  if (PyObject* real = as_constant(ctx, key)) {
    Ref item = Ref::steal(PyObject_GetItem(container->object, real));
    if (!item) return ctx.raise_from_python();
    return is_alias(item) ? alias_value(ctx, std::move(item))
                          : ctx.constant(std::move(item));
  }
  return ctx.graph_break("class-item",
                         std::string("item of class ") + type->tp_name);
}

// `cls.__dict__["name"]`, which is what the class has; null for any other item.
V item_of_namespace(Context& ctx, V container, V key) {
  PyTypeObject* type = ctx.class_of_namespace(container);
  PyObject* name = type ? as_constant(ctx, key) : nullptr;
  if (!name || !PyUnicode_CheckExact(name)) return nullptr;
  PyObject* found = PyDict_GetItemWithError(type->tp_dict, name);
  if (!found) return nullptr;
  return ctx.known(
      found,
      ctx.sources.type_own_attr(
          ctx.sources.constant(reinterpret_cast<PyObject*>(type)), name));
}

}  // namespace

Outcome<V> get_item(Context& ctx, V container, V key) {
  container = ctx.look(container);
  if (container->kind == Kind::Tensor)
    return get_tensor_item(ctx, container, key);
  MG_TRY(V method, overridden(ctx, container, interned().dunder_getitem));
  if (method) return call(ctx, method, {key});
  return plain_get_item(ctx, container, key);
}

Outcome<V> plain_get_item(Context& ctx, V container, V key) {
  switch (container->kind) {
    case Kind::Constant: {
      if (PyType_Check(container->object))
        return get_class_item(ctx, container, key);
      if (V attribute = item_of_namespace(ctx, container, key))
        return attribute;
      const PySequenceMethods* sequence = container->type->tp_as_sequence;
      const bool takes_positions = (sequence && sequence->sq_item) ||
                                   container->type == torch_types().match;
      PyObject* real = nullptr;
      if (takes_positions && has_own_index(ctx, key)) {
        MG_TRY(real, index_object(ctx, key));
      } else {
        real = as_constant(ctx, key);
      }
      if (!real)
        return ctx.graph_break("tensor-as-index",
                               std::string("a ") + container->type->tp_name +
                                   " is indexed with a value that isn't known");
      Ref item = Ref::steal(PyObject_GetItem(container->object, real));
      if (!item) return ctx.raise_from_python();
      return from_constant(ctx, std::move(item));
    }
    case Kind::Tuple: {
      auto items = tuple_items(container);
      MG_TRY(Index index, sequence_index(ctx, container, key));
      if (!index.is_slice) return items[static_cast<size_t>(index.position)];
      if (container->type == &PyTuple_Type && index.step == 1 &&
          index.start == 0 && index.count == std::ssize(items))
        return container;
      return ctx.tuple(slice_of(items, index),
                       container->type == torch_types().size ? container->type
                                                             : &PyTuple_Type);
    }
    case Kind::List: {
      MG_TRY(Index index, sequence_index(ctx, container, key));
      const auto& items = ctx.heap.items(container->heap);
      if (!index.is_slice) return items[static_cast<size_t>(index.position)];
      return ctx.list(slice_of(items, index));
    }
    case Kind::Dict:
      return get_dict_item(ctx, container, key);
    default:
      break;
  }
  MG_TRY(V item,
         call_special(ctx, container, interned().dunder_getitem, {key}));
  if (item) return item;
  return ctx.raise(PyExc_TypeError, std::string("'") +
                                        container->type->tp_name +
                                        "' object is not subscriptable");
}

namespace {

// Whether the type has the C function that stands for both of __setitem__ and
// __delitem__.
bool writes_items(Context& ctx, PyTypeObject* type, V key) {
  (void)type_lookup(ctx, type, interned().dunder_setitem);
  (void)type_lookup(ctx, type, interned().dunder_delitem);
  return (type->tp_as_mapping && type->tp_as_mapping->mp_ass_subscript) ||
         (type->tp_as_sequence && type->tp_as_sequence->sq_ass_item &&
          has_index(ctx, key->type));
}

// What has neither: CPython takes the key for a position, and asks it which,
// before it says that the container takes none.
Status ask_for_position(Context& ctx, V container, V key) {
  if (!container->type->tp_as_sequence || !has_index(ctx, key->type))
    return done;
  if (is_symbol(key)) return done;
  MG_TRY(V number, as_index(ctx, key));
  if (PyLong_AsSsize_t(number->object) != -1 || !PyErr_Occurred()) return done;
  PyErr_Clear();
  return ctx.raise(PyExc_IndexError, std::string("cannot fit '") +
                                         key->type->tp_name +
                                         "' into an index-sized integer");
}

}  // namespace

Status set_item(Context& ctx, V container, V key, V value) {
  container = ctx.look(container);
  if (container->kind == Kind::Tensor)
    return set_tensor_item(ctx, container, key, value);
  MG_TRY(V method, overridden(ctx, container, interned().dunder_setitem));
  if (method) {
    MG_TRY(V ignored, call(ctx, method, {key, value}));
    (void)ignored;
    return done;
  }
  return plain_set_item(ctx, container, key, value);
}

Status plain_set_item(Context& ctx, V container, V key, V value) {
  switch (container->kind) {
    case Kind::List: {
      MG_TRY(Index index, sequence_index(ctx, container, key, Access::Write));
      if (!index.is_slice) {
        ctx.heap.set_item(container->heap, static_cast<size_t>(index.position),
                          value);
        return done;
      }
      const Py_ssize_t size = size_of(ctx, container);
      std::vector<V> items;
      if (ctx.look(value) == container) {  // whatever its own __iter__ says
        items = ctx.heap.items(container->heap);
      } else {
        MG_TRY(V iterator, iterator_or_error(ctx, iterate(ctx, value), [&] {
                 return index.step == 1 ? "can only assign an iterable"
                                        : "must assign iterable to extended "
                                          "slice";
               }));
        MG_DO(unpack_to_list(ctx, iterator, items));
      }
      if (size_of(ctx, container) != size)
        return ctx.graph_break(
            "c-protocol", "a list that changes while a slice of it is assigned",
            "make a list of the items before");
      if (index.step == 1) {
        ctx.heap.splice(
            container->heap, static_cast<size_t>(index.start),
            static_cast<size_t>(std::max<Py_ssize_t>(index.count, 0)), items);
        return done;
      }
      if (static_cast<Py_ssize_t>(items.size()) != index.count)
        return ctx.raise(PyExc_ValueError,
                         "attempt to assign sequence of size " +
                             std::to_string(items.size()) +
                             " to extended slice of size " +
                             std::to_string(index.count));
      for (Py_ssize_t i = 0, at = index.start; i < index.count;
           ++i, at += index.step)
        ctx.heap.set_item(container->heap, static_cast<size_t>(at),
                          items[static_cast<size_t>(i)]);
      return done;
    }
    case Kind::Dict:
      return dict_set(ctx, container, key, value);
    default:
      break;
  }
  MG_TRY(V answer,
         call_special(ctx, container, interned().dunder_setitem, {key, value}));
  if (answer) return done;
  key = ctx.look_symbolic(key);
  if (writes_items(ctx, container->type, key))
    return ctx.raise(PyExc_AttributeError, "__setitem__");
  MG_DO(ask_for_position(ctx, container, key));
  return ctx.raise(PyExc_TypeError,
                   std::string("'") + container->type->tp_name +
                       "' object does not support item assignment");
}

Status delete_item(Context& ctx, V container, V key) {
  container = ctx.look(container);
  MG_TRY(V method, overridden(ctx, container, interned().dunder_delitem));
  if (method) {
    MG_TRY(V ignored, call(ctx, method, {key}));
    (void)ignored;
    return done;
  }
  return plain_delete_item(ctx, container, key);
}

Status plain_delete_item(Context& ctx, V container, V key) {
  switch (container->kind) {
    case Kind::List: {
      MG_TRY(Index index, sequence_index(ctx, container, key, Access::Delete));
      if (!index.is_slice) {
        ctx.heap.splice(container->heap, static_cast<size_t>(index.position), 1,
                        {});
        // Iterators over a deque want to know (natives/library/deques.cpp).
        if (is_deque(container))
          ctx.heap.set_number(container->heap,
                              ctx.heap[container->heap].number + 1);
        return done;
      }
      std::vector<Py_ssize_t> positions;
      for (Py_ssize_t i = 0, at = index.start; i < index.count;
           ++i, at += index.step)
        positions.push_back(at);
      std::sort(positions.rbegin(), positions.rend());
      for (Py_ssize_t at : positions)
        ctx.heap.splice(container->heap, static_cast<size_t>(at), 1, {});
      return done;
    }
    case Kind::Dict: {
      MG_TRY(V old, dict_pop(ctx, container, key));
      if (!old) return key_error(ctx, ctx.look(key));
      return done;
    }
    default:
      break;
  }
  MG_TRY(V answer,
         call_special(ctx, container, interned().dunder_delitem, {key}));
  if (answer) return done;
  key = ctx.look_symbolic(key);
  if (writes_items(ctx, container->type, key))
    return ctx.raise(PyExc_AttributeError, "__delitem__");
  MG_DO(ask_for_position(ctx, container, key));
  const bool by_position =
      container->type->tp_as_sequence && has_index(ctx, key->type);
  return ctx.raise(PyExc_TypeError, std::string("'") +
                                        container->type->tp_name + "' object " +
                                        (by_position ? "doesn't" : "does not") +
                                        " support item deletion");
}

namespace {

// What __len__ returned, as len() takes it.
Outcome<V> checked_length(Context& ctx, V count) {
  MG_TRY(V number, as_index(ctx, count));
  const Py_ssize_t size =
      PyNumber_AsSsize_t(number->object, PyExc_OverflowError);
  const bool is_negative = Py_SIZE(number->object) < 0;
  if (is_negative) {
    PyErr_Clear();
    return ctx.raise(PyExc_ValueError, "__len__() should return >= 0");
  }
  if (size == -1) return ctx.raise_from_python();
  return ctx.integer(size);
}

}  // namespace

Outcome<V> length(Context& ctx, V container) {
  container = ctx.look(container);
  const bool is_torchs = container->kind == Kind::Tensor &&
                         ctx.natives->has(type_lookup(ctx, container->type,
                                                      interned().dunder_len));
  if (!is_torchs) {
    MG_TRY(V method, overridden(ctx, container, interned().dunder_len));
    if (method) {
      MG_TRY(V count, call(ctx, method, {}));
      return checked_length(ctx, count);
    }
  }
  return plain_length(ctx, container);
}

Outcome<V> first_size(Context& ctx, V tensor) {
  PyObject* fake = fake_of(tensor);
  if (tensor::has_symbolic_shape(fake))
    return ctx.symbols.value(
        tensor::size_expressions(ctx.symbols.environment(), fake).front());
  return ctx.integer(tensor::sizes(fake)[0]);
}

Outcome<V> plain_length(Context& ctx, V container) {
  if (container->is_constant()) {
    const Py_ssize_t size = PyObject_Size(container->object);
    if (size < 0) return ctx.raise_from_python();
    return ctx.integer(size);
  }
  if (const auto length_of = type_slot(&TypeRow::length, container))
    return length_of(ctx, container);
  MG_TRY(V count, call_special(ctx, container, interned().dunder_len, {}));
  if (count) return count;
  return ctx.raise(PyExc_TypeError, std::string("object of type '") +
                                        container->type->tp_name +
                                        "' has no len()");
}

}  // namespace magneto::values
