// SPDX-License-Identifier: BSD-3-Clause
#include "guards/check.h"

#include <algorithm>

#include "guards/constant.h"
#include "guards/finalizer.h"
#include "python/deque_layout.h"
#include "python/iterator_layout.h"
#include "python/itertools_layout.h"
#include "python/layout.h"
#include "python/set_items.h"
#include "python/set_table.h"
#include "python/type_version.h"

namespace magneto::guards {
namespace {

// One key against one that was recorded; the latter is alive.
bool same_key(PyObject* key, PyObject* recorded) {
  return key == recorded || same_constant(key, recorded);
}

bool has_keys(PyObject* dict, KeyList keys) {
  if (!PyDict_Check(dict) ||
      PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(keys.size())) {
    return false;
  }
  python::DictKeys present(dict);
  for (PyObject* recorded : keys) {
    PyObject* key = present.next();
    if (key == nullptr || !same_key(key, recorded)) return false;
  }
  return true;
}

bool has_instance_keys(PyObject* object, KeyList keys) {
  PyObject** slot = python::dict_slot(object);
  if (slot != nullptr && *slot != nullptr) return has_keys(*slot, keys);
  const Py_ssize_t n = python::inline_count(object);
  if (n < 0) return keys.empty();
  if (n != static_cast<Py_ssize_t>(keys.size())) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!same_key(python::inline_name(object, i), keys[i])) return false;
  }
  return true;
}

// As many items, each of them among the recorded ones.
bool has_items(PyObject* set, const Check& check) {
  if (!PyAnySet_Check(set)) return false;
  if (check.object != nullptr) return same_items(set, check.object);
  const KeyList items = check.keys;
  if (PySet_GET_SIZE(set) != static_cast<Py_ssize_t>(items.size())) {
    return false;
  }
  python::SetItems present(set);
  while (PyObject* item = present.next()) {
    const auto is_item = [item](PyObject* recorded) {
      return same_key(item, recorded);
    };
    if (std::none_of(items.begin(), items.end(), is_item)) return false;
  }
  return true;
}

// The recorded items in their order, with the recorded gaps.
bool has_table(PyObject* set, const Check& check) {
  if (!PyAnySet_Check(set)) return false;
  const auto count = static_cast<Py_ssize_t>(check.keys.size());
  if (PySet_GET_SIZE(set) != count) return false;
  python::SetItems present(set);
  for (PyObject* recorded : check.keys) {
    PyObject* item = present.next();
    if (!item || !same_key(item, recorded)) return false;
  }
  return python::set_layout(set) == check.number;
}

// Objects that were found by the same address and hold the same things. What
// they hold is alive, so this can't mix up two objects that behave differently.
bool has_fields(PyObject* object, KeyList fields) {
  Fields now;
  fields_of(object, now);
  return std::equal(fields.begin(), fields.end(), now.begin(), now.end());
}

bool is_unmodified(PyObject* type, const Check& check) {
  return type == check.object &&
         *python::type_version(reinterpret_cast<PyTypeObject*>(type)) ==
             static_cast<unsigned int>(check.number);
}

}  // namespace

bool fields_of(PyObject* object, Fields& fields) noexcept {
  using python::PrivateField;
  PyTypeObject* type = Py_TYPE(object);
  fields = {reinterpret_cast<PyObject*>(type)};
  const auto field = [object](PrivateField which) {
    return *python::private_field(object, which);
  };
  if (type == &PyProperty_Type) {
    fields[1] = field(PrivateField::PropertyGetter);
    fields[2] = field(PrivateField::PropertySetter);
    fields[3] = field(PrivateField::PropertyDeleter);
  } else if (type == &PyStaticMethod_Type) {
    fields[1] = field(PrivateField::StaticMethodTarget);
  } else if (type == &PyClassMethod_Type) {
    fields[1] = field(PrivateField::ClassMethodTarget);
  } else if (type == &PyMemberDescr_Type || type == &PyGetSetDescr_Type) {
    auto* descriptor = reinterpret_cast<PyDescrObject*>(object);
    fields[1] = reinterpret_cast<PyObject*>(descriptor->d_type);
    fields[2] = descriptor->d_name;
  } else {
    return false;
  }
  return true;
}

namespace {

bool has_numbers(PyObject* iterator, PyObject* numbers) noexcept {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(numbers); ++i) {
    PyObject* wanted = PyTuple_GET_ITEM(numbers, i);
    if (wanted == Py_None) continue;
    int64_t number = 0;
    if (!python::iterator_number(iterator, static_cast<size_t>(i), &number) ||
        number != PyLong_AsLongLong(wanted))
      return false;
  }
  return true;
}

}  // namespace

int64_t iterator_trait(PyObject* value) noexcept {
  if (Py_IS_TYPE(value, &PyZip_Type)) return python::zip_is_strict(value);
  const auto table = python::table_iterator(value);
  if (table.is_one) return static_cast<int64_t>(table.gives);
  const auto iterator = python::counting_iterator(value);
  return iterator.is_one ? iterator.step : 0;
}

Py_ssize_t plain_length(PyObject* value) noexcept {
  if (PyList_Check(value) || PyTuple_Check(value) || PyBytes_Check(value) ||
      PyByteArray_Check(value)) {
    return Py_SIZE(value);
  }
  if (PyDict_Check(value)) return PyDict_GET_SIZE(value);
  if (PyAnySet_Check(value)) return PySet_GET_SIZE(value);
  if (PyUnicode_Check(value)) return PyUnicode_GET_LENGTH(value);
  if (python::is_deque(value)) return Py_SIZE(value);
  return -1;
}

bool check_slow(const Check& check, PyObject* value) noexcept {
  switch (check.kind) {
    case GuardKind::Identity:
      return has_fields(value, check.keys);
    case GuardKind::ConstantEquals:
      return same_constant(value, check.object);
    case GuardKind::TypeUnmodified:
      return is_unmodified(value, check);
    case GuardKind::Length:
      return plain_length(value) == check.number;
    case GuardKind::DequeLimit:
      return python::is_deque(value) &&
             python::deque_limit(value) == check.number;
    case GuardKind::IteratorPosition: {
      const auto iterator = python::counting_iterator(value);
      return iterator.is_one && iterator.next == check.number;
    }
    case GuardKind::IteratorNumbers:
      return has_numbers(value, check.object);
    case GuardKind::IteratorTrait:
      return iterator_trait(value) == check.number;
    case GuardKind::DictKeys:
      return has_keys(value, check.keys);
    case GuardKind::InstanceKeys:
      return has_instance_keys(value, check.keys);
    case GuardKind::SetItems:
      return has_items(value, check);
    case GuardKind::SetTable:
      return has_table(value, check);
    case GuardKind::NoFinalizerInDeque:
      return python::is_deque(value) && !deque_has_finalizer(value);
    case GuardKind::NoFinalizer:
      return !has_finalizer(value);
    default:
      return false;
  }
}

}  // namespace magneto::guards
