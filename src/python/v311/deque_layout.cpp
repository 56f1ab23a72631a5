// SPDX-License-Identifier: BSD-3-Clause
#include "python/deque_layout.h"

#include "python/find.h"
#include "python/v311/deque.h"

namespace magneto::python {

PyTypeObject* deque_type() noexcept {
  static PyObject* const type = find_object("collections.deque");
  return reinterpret_cast<PyTypeObject*>(type);
}

bool is_deque(PyObject* object) noexcept {
  return PyType_IsSubtype(Py_TYPE(object), deque_type());
}

Py_ssize_t deque_limit(PyObject* deque) noexcept {
  return reinterpret_cast<Deque*>(deque)->limit;
}

PyObject* deque_item(PyObject* deque, Py_ssize_t i) noexcept {
  if (i >= Py_SIZE(deque)) return nullptr;
  const auto* self = reinterpret_cast<Deque*>(deque);
  Py_ssize_t at = self->left_index + i;
  const DequeBlock* block = self->left;
  for (; at >= kDequeBlockSize; at -= kDequeBlockSize) block = block->right;
  return block->items[at];
}

}  // namespace magneto::python
