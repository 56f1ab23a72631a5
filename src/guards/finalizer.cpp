// SPDX-License-Identifier: BSD-3-Clause
#include "guards/finalizer.h"

#include <frameobject.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>

#include "guards/constant.h"
#include "guards/hooks.h"
#include "guards/watch.h"
#include "python/deque_layout.h"

namespace magneto::guards {

namespace {

// What a function holds besides its code and its module; each may be null.
std::array<PyObject*, 3> held_by_function(PyObject* function) {
  return {PyFunction_GET_DEFAULTS(function),
          PyFunction_GET_KW_DEFAULTS(function),
          PyFunction_GET_CLOSURE(function)};
}

bool lives_with_code(PyObject* object) {
  if (PyFunction_Check(object))
    return std::ranges::none_of(held_by_function(object), std::identity());
  if (PyCFunction_Check(object)) {
    PyObject* self = PyCFunction_GET_SELF(object);
    return !self || PyModule_Check(self) || PyType_Check(self);
  }
  return PyType_Check(object) || PyModule_Check(object) || PyCode_Check(object);
}

bool is_called_back(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  auto* reference = *reinterpret_cast<PyWeakReference**>(
      PyObject_GET_WEAKREFS_LISTPTR(object));
  for (; reference; reference = reference->wr_next)
    if (reference->wr_callback && !is_watching(reference->wr_callback))
      return true;
  return false;
}

// An inference mode that nobody has left ends with this object.
bool ends_inference_mode(PyTypeObject* type) {
  return !PyType_IS_GC(type) &&
         std::string_view(type->tp_name) == "torch._C._InferenceMode";
}

struct Search {
  int depth_left;
  int objects_left;
  bool found = false;
};

int visit(PyObject* object, void* search) noexcept;

bool look(PyObject* object, Search& search) {
  if (never_has_finalizer(object)) return false;
  PyTypeObject* type = Py_TYPE(object);
  if (type->tp_finalize || type->tp_del || is_called_back(object) ||
      ends_inference_mode(type))
    return true;
  if (search.depth_left == 0 || !type->tp_traverse || !PyObject_IS_GC(object))
    return false;
  // An exception's way to the variables of the frames that it has left is long.
  const int steps = PyTraceBack_Check(object) || PyFrame_Check(object) ? 0 : 1;
  search.depth_left -= steps;
  if (PyFunction_Check(object))
    (void)std::ranges::any_of(held_by_function(object), [&](PyObject* held) {
      return held && visit(held, &search);
    });
  else
    type->tp_traverse(object, visit, &search);
  search.depth_left += steps;
  return search.found;
}

int visit(PyObject* object, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  if (--search.objects_left < 0) return 1;
  search.found = look(object, search);
  return search.found;
}

}  // namespace

bool never_has_finalizer(PyObject* object) noexcept {
  const auto is_tensor = hooks().tensor.is_tensor;
  return is_constant(object) || lives_with_code(object) ||
         (is_tensor && is_tensor(object));
}

bool has_finalizer(PyObject* object) noexcept {
  constexpr int kDeepest = 4;
  constexpr int kMost = 300;
  Search search{kDeepest, kMost};
  return look(object, search);
}

bool deque_has_finalizer(PyObject* deque) noexcept {
  for (Py_ssize_t i = 0; i < Py_SIZE(deque); ++i) {
    PyObject* item = python::deque_item(deque, i);
    if (!never_has_finalizer(item) && has_finalizer(item)) return true;
  }
  return false;
}

}  // namespace magneto::guards
