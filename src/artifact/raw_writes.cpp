// SPDX-License-Identifier: BSD-3-Clause
#include "artifact/raw_writes.h"

#include <string_view>

#include "python/deque_layout.h"
#include "python/mro_lookup.h"
#include "python/sequences.h"
#include "support/check.h"

namespace magneto::artifact {
namespace {

// A method of the built-in type itself, whatever the object's class overrides.
bool call_builtin_method(PyTypeObject* type, const char* name, PyObject* self,
                         PyObject* argument) {
  Ref method = Ref::steal(
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), name));
  if (!method) return false;
  Ref result =
      Ref::steal(PyObject_CallFunctionObjArgs(method, self, argument, nullptr));
  return static_cast<bool>(result);
}

// The class, of those that `type` inherits from, whose tp_new is C code.
PyTypeObject* builtin_maker(PyTypeObject* type) {
  for (; type != nullptr; type = type->tp_base) {
    // PyType_Ready puts a builtin with the type as its `self` in the
    // dictionary of each type that brings a tp_new of its own.
    PyObject* maker = PyDict_GetItemString(type->tp_dict, "__new__");
    if (maker && PyCFunction_Check(maker) &&
        PyCFunction_GET_SELF(maker) == reinterpret_cast<PyObject*>(type)) {
      return type;
    }
  }
  return &PyBaseObject_Type;
}

}  // namespace

Ref new_instance(PyTypeObject* type, PyObject* args) {
  return Ref::steal(builtin_maker(type)->tp_new(type, args, nullptr));
}

namespace {

// Whether what failed only says that there was nothing to delete.
bool was_absent(PyObject* value, PyObject* error) {
  if (value != nullptr || !PyErr_ExceptionMatches(error)) return false;
  PyErr_Clear();
  return true;
}

}  // namespace

bool write_attribute(PyObject* object, PyObject* name, PyObject* value) {
  auto written = [value](int failed) {
    return failed == 0 || was_absent(value, PyExc_AttributeError);
  };
  if (PyType_Check(object))
    return written(PyType_Type.tp_setattro(object, name, value));
  PyObject* found = python::mro_lookup(Py_TYPE(object), name);
  const descrsetfunc set = found ? Py_TYPE(found)->tp_descr_set : nullptr;
  if (set == nullptr)
    return written(PyObject_GenericSetAttr(object, name, value));
  const bool is_of_all_objects =
      PyUnicode_CompareWithASCIIString(name, "__dict__") == 0 ||
      PyUnicode_CompareWithASCIIString(name, "__class__") == 0;
  if (!is_of_all_objects && (Py_IS_TYPE(found, &PyMemberDescr_Type) ||
                             Py_IS_TYPE(found, &PyGetSetDescr_Type))) {
    Ref descriptor = Ref::share(found);
    return written(set(descriptor, object, value));
  }
  // A property, __class__ or another descriptor hides the instance's entry; the
  // program wrote to __dict__ behind it.
  Ref dict = Ref::steal(PyObject_GenericGetDict(object, nullptr));
  return dict && write_item(dict, name, value);
}

bool clear_attributes(PyObject* object) {
  Ref dict = Ref::steal(PyObject_GenericGetDict(object, nullptr));
  return dict && clear_dict(dict);
}

bool write_item(PyObject* dict, PyObject* key, PyObject* value) {
  const bool ordered = PyODict_Check(dict);
  if (value)
    return (ordered ? PyODict_SetItem(dict, key, value)
                    : PyDict_SetItem(dict, key, value)) == 0;
  return (ordered ? PyODict_DelItem(dict, key) : PyDict_DelItem(dict, key)) ==
             0 ||
         was_absent(value, PyExc_KeyError);
}

bool clear_dict(PyObject* dict) {
  if (PyODict_Check(dict))
    return call_builtin_method(&PyODict_Type, "clear", dict, nullptr);
  PyDict_Clear(dict);
  return true;
}

bool move_to_end(PyObject* ordered_dict, PyObject* key) {
  return call_builtin_method(&PyODict_Type, "move_to_end", ordered_dict, key);
}

bool assign_items(PyObject* container, std::span<PyObject* const> items) {
  Ref list = python::list_of(items);
  if (!list) return false;
  if (PyList_Check(container))
    return PyList_SetSlice(container, 0, PY_SSIZE_T_MAX, list) == 0;
  MG_CHECK(python::is_deque(container), "a list or deque");
  PyTypeObject* deque = python::deque_type();
  return call_builtin_method(deque, "clear", container, nullptr) &&
         call_builtin_method(deque, "extend", container, list);
}

bool set_deque_item(PyObject* deque, PyObject* position, PyObject* item) {
  return python::deque_type()->tp_as_sequence->sq_ass_item(
             deque, PyLong_AsSsize_t(position), item) == 0;
}

bool shift_deque(PyObject* deque, PyObject* dropped,
                 std::span<PyObject* const> items) {
  PyTypeObject* type = python::deque_type();
  for (Py_ssize_t i = PyLong_AsSsize_t(dropped); i > 0; --i)
    if (!call_builtin_method(type, "popleft", deque, nullptr)) return false;
  for (PyObject* item : items)
    if (!call_builtin_method(type, "append", deque, item)) return false;
  return true;
}

bool splice_list(PyObject* list, PyObject* start, PyObject* stop,
                 std::span<PyObject* const> items) {
  Ref new_items = python::list_of(items);
  return new_items && PyList_SetSlice(list, PyLong_AsSsize_t(start),
                                      PyLong_AsSsize_t(stop), new_items) == 0;
}

bool add_items(PyObject* set, std::span<PyObject* const> items) {
  for (PyObject* item : items)
    if (PySet_Add(set, item) != 0) return false;
  return true;
}

bool discard_items(PyObject* set, std::span<PyObject* const> items) {
  for (PyObject* item : items)
    if (PySet_Discard(set, item) < 0) return false;
  return true;
}

}  // namespace magneto::artifact
