// SPDX-License-Identifier: BSD-3-Clause
// The private structures of an OrderedDict (Objects/odictobject.c), for those
// who read its own order.
#pragma once

#include "python/v311/only.h"

namespace magneto::python {

struct OrderedNode {
  PyObject* key;
  Py_hash_t hash;
  OrderedNode* next;
  OrderedNode* previous;
};
struct OrderedDict {
  PyDictObject dict;
  OrderedNode* first;
  OrderedNode* last;
  OrderedNode** fast_nodes;
  Py_ssize_t fast_nodes_size;
  void* resize_sentinel;
  size_t state;
};

}  // namespace magneto::python
