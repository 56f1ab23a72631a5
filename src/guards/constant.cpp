// SPDX-License-Identifier: BSD-3-Clause
// Which values can be compared without running user code, and how. Exact types
// only: a subclass may bring a __eq__ or __hash__ of its own.
#include "guards/constant.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "guards/hooks.h"
#include "python/names.h"
#include "python/set_items.h"
#include "python/set_table.h"

namespace magneto::guards {
namespace {

// Nested tuples deeper than this are not looked into.
constexpr int kMaxDepth = 64;

struct ValueType {
  PyTypeObject* type;
  SameValue same;
};

std::vector<ValueType>& value_types() {
  // Types of extension modules; they live as long as the process.
  static std::vector<ValueType> types;
  return types;
}

const ValueType* value_type(PyTypeObject* type) {
  const auto& types = value_types();
  const auto found = std::ranges::find(types, type, &ValueType::type);
  return found == types.end() ? nullptr : &*found;
}

bool is_value_type(PyTypeObject* type) { return value_type(type) != nullptr; }

// Whether two objects show the same bytes through the buffer protocol.
bool same_bytes(PyObject* a, PyObject* b) {
  Py_buffer x{}, y{};
  if (PyObject_GetBuffer(a, &x, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
    return false;
  }
  bool same = false;
  if (PyObject_GetBuffer(b, &y, PyBUF_SIMPLE) < 0) {
    PyErr_Clear();
  } else {
    same = x.len == y.len &&
           std::memcmp(x.buf, y.buf, static_cast<size_t>(x.len)) == 0;
    PyBuffer_Release(&y);
  }
  PyBuffer_Release(&x);
  return same;
}

bool is_scalar(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value) ||
         PyBytes_CheckExact(value) || PyComplex_CheckExact(value) ||
         value == Py_Ellipsis || value == Py_NotImplemented;
}

// Applies `accepts` to every item of a tuple, or of a set or frozenset.
template <class Accepts>
bool all_items(PyObject* value, Accepts accepts) {
  if (PyTuple_Check(value)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value); ++i) {
      PyObject* item = PyTuple_GET_ITEM(value, i);
      if (item == nullptr || !accepts(item)) return false;
    }
    return true;
  }
  python::SetItems items(value);
  while (PyObject* item = items.next()) {
    if (!accepts(item)) return false;
  }
  return true;
}

bool is_plain_key(PyObject* key, int depth) {
  if (is_scalar(key)) return true;
  if (PyTuple_CheckExact(key) || PyFrozenSet_CheckExact(key)) {
    return depth < kMaxDepth && all_items(key, [depth](PyObject* item) {
             return is_plain_key(item, depth + 1);
           });
  }
  return has_identity_hash(Py_TYPE(key)) || is_value_type(Py_TYPE(key));
}

bool is_constant(PyObject* value, int depth) {
  if (is_scalar(value) || PyRange_Check(value)) return true;
  const auto nested = [depth](PyObject* item) {
    return is_constant(item, depth + 1);
  };
  if (depth >= kMaxDepth) return false;
  if (PyTuple_CheckExact(value) || PyFrozenSet_CheckExact(value)) {
    return all_items(value, nested);
  }
  if (PySlice_Check(value)) {
    const auto* slice = reinterpret_cast<PySliceObject*>(value);
    return nested(slice->start) && nested(slice->stop) && nested(slice->step);
  }
  // A torch.Size may hold numbers of the program's, which compare in Python.
  if (PyTuple_Check(value) &&
      !all_items(value, [](PyObject* item) { return PyLong_CheckExact(item); }))
    return false;
  return is_value_type(Py_TYPE(value));
}

// Only for values whose comparison is C code.
bool equal_in_c(PyObject* a, PyObject* b) {
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// 1 == True and 0.0 == -0.0, so equal sets may still differ. Whether that can
// be so is told from the items' types.
bool needs_pairing(PyObject* set) {
  return !all_items(set, [](PyObject* item) {
    return PyUnicode_CheckExact(item) || PyLong_CheckExact(item) ||
           PyBytes_CheckExact(item) || item == Py_None;
  });
}

bool same_tuple(PyObject* a, PyObject* b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i) {
    if (!same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) {
      return false;
    }
  }
  return true;
}

// Equal ranges have equal numbers, but may end in different ones.
bool same_range(PyObject* a, PyObject* b) {
  if (!equal_in_c(a, b)) return false;
  for (PyObject* part : {interned().start, interned().stop, interned().step}) {
    Ref x = Ref::steal(PyObject_GetAttr(a, part));
    Ref y = Ref::steal(PyObject_GetAttr(b, part));
    if (!x || !y) {
      PyErr_Clear();
      return false;
    }
    if (!same_constant(x, y)) return false;
  }
  return true;
}

// In one order, too: what is done with it may depend on that.
bool same_frozenset(PyObject* a, PyObject* b) {
  if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b) || !is_constant(b, 0))
    return false;
  python::SetItems others(b);
  const bool same = all_items(a, [&others](PyObject* item) {
    PyObject* other = others.next();
    return other && same_constant(item, other);
  });
  return same && python::set_layout(a) == python::set_layout(b);
}

}  // namespace

void add_value_type(PyTypeObject* type, SameValue same) {
  if (!is_value_type(type)) value_types().push_back({type, same});
}

bool is_plain_key(PyObject* key) noexcept { return is_plain_key(key, 0); }

bool has_identity_hash(PyTypeObject* type) noexcept {
  return type->tp_hash == PyBaseObject_Type.tp_hash &&
         type->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

bool is_constant(PyObject* value) noexcept { return is_constant(value, 0); }

bool same_constant(PyObject* a, PyObject* b) noexcept {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (Py_TYPE(b) != type) return false;
  if (type == &PyLong_Type || type == &PyUnicode_Type ||
      type == &PyBytes_Type) {
    return equal_in_c(a, b);
  }
  if (type == &PyRange_Type) return same_range(a, b);
  if (type == &PyFloat_Type) {
    return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  }
  if (type == &PyComplex_Type) {
    const Py_complex x = reinterpret_cast<PyComplexObject*>(a)->cval;
    const Py_complex y = reinterpret_cast<PyComplexObject*>(b)->cval;
    return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
  }
  if (PyTuple_Check(a)) return same_tuple(a, b);
  if (type == &PyFrozenSet_Type) return same_frozenset(a, b);
  if (type == &PySlice_Type) {
    const auto* x = reinterpret_cast<PySliceObject*>(a);
    const auto* y = reinterpret_cast<PySliceObject*>(b);
    return same_constant(x->start, y->start) &&
           same_constant(x->stop, y->stop) && same_constant(x->step, y->step);
  }
  const ValueType* value = value_type(type);
  if (!value) return false;
  return value->same == SameValue::Bytes ? same_bytes(a, b) : equal_in_c(a, b);
}

bool same_items(PyObject* set, PyObject* items) noexcept {
  if (PySet_GET_SIZE(set) != PySet_GET_SIZE(items)) return false;
  const bool pair = needs_pairing(set) || needs_pairing(items);
  return all_items(set, [items, pair](PyObject* item) {
    if (!is_constant(item)) return false;
    const int found = PySet_Contains(items, item);
    if (found < 0) PyErr_Clear();
    if (found != 1 || !pair) return found == 1;
    return !all_items(items,
                      [item](PyObject* y) { return !same_constant(item, y); });
  });
}

int plain_key_equal(PyObject* stored, PyObject* key) noexcept {
  if (!is_plain_key(stored) || !is_plain_key(key)) return -1;
  const int equal = PyObject_RichCompareBool(stored, key, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal;
}

}  // namespace magneto::guards
