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

// PyTorch's own books, which lose an entry: torch.compile keeps one of modules.
bool is_torchs(PyObject* callback) {
  PyObject* module =
      PyFunction_Check(callback) ? PyFunction_GET_MODULE(callback) : nullptr;
  const char* name =
      module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  return name && std::string_view(name).starts_with("torch.");
}

bool is_called_back(PyObject* object) {
  if (!PyType_SUPPORTS_WEAKREFS(Py_TYPE(object))) return false;
  auto* reference = *reinterpret_cast<PyWeakReference**>(
      PyObject_GET_WEAKREFS_LISTPTR(object));
  for (; reference; reference = reference->wr_next)
    if (reference->wr_callback && !is_watching(reference->wr_callback) &&
        !is_torchs(reference->wr_callback))
      return true;
  return false;
}

// An inference mode that nobody has left ends with this object.
bool ends_inference_mode(PyTypeObject* type) {
  return !PyType_IS_GC(type) &&
         std::string_view(type->tp_name) == "torch._C._InferenceMode";
}

// Breadth first: what is near is looked at however much there is behind it.
class Search {
 public:
  // Whether the object, or something that it holds, has a finalizer.
  bool look(PyObject* object) {
    visit(object);
    while (!is_over_ && next_ < count_) visit_held_by(found_[next_++]);
    return has_finalizer_;
  }

 private:
  static constexpr size_t kMost = 300;

  void visit(PyObject* object) {
    if (++visited_ == kMost) is_over_ = true;
    if (never_has_finalizer(object)) return;
    PyTypeObject* type = Py_TYPE(object);
    if (type->tp_finalize || type->tp_del || is_called_back(object) ||
        ends_inference_mode(type))
      has_finalizer_ = is_over_ = true;
    else if (type->tp_traverse && PyObject_IS_GC(object))
      found_[count_++] = object;
  }
  void visit_held_by(PyObject* object) {
    if (!PyFunction_Check(object)) {
      Py_TYPE(object)->tp_traverse(object, visit_next, this);
      return;
    }
    for (PyObject* held : held_by_function(object))
      if (held && !is_over_) visit(held);
  }
  static int visit_next(PyObject* object, void* data) noexcept {
    auto* search = static_cast<Search*>(data);
    search->visit(object);
    return search->is_over_ ? 1 : 0;
  }

  std::array<PyObject*, kMost> found_;
  size_t count_ = 0;  // of them
  size_t next_ = 0;   // the first one whose contents haven't been looked at
  size_t visited_ = 0;
  bool has_finalizer_ = false;
  bool is_over_ = false;
};

}  // namespace

bool never_has_finalizer(PyObject* object) noexcept {
  const auto is_tensor = hooks().tensor.is_tensor;
  return is_constant(object) || lives_with_code(object) ||
         (is_tensor && is_tensor(object));
}

bool has_finalizer(PyObject* object) noexcept { return Search().look(object); }

bool deque_has_finalizer(PyObject* deque) noexcept {
  for (Py_ssize_t i = 0; i < Py_SIZE(deque); ++i) {
    PyObject* item = python::deque_item(deque, i);
    if (!never_has_finalizer(item) && has_finalizer(item)) return true;
  }
  return false;
}

}  // namespace magneto::guards
