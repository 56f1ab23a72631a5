// SPDX-License-Identifier: BSD-3-Clause
// What a body gives, as a tree: tuples, named tuples, lists and dicts, with
// tensors and plain data in them.
#pragma once

#include <string>
#include <vector>

#include "natives/registry.h"

namespace magneto::natives {

struct Tree {
  struct Leaf {
    V tensor;
    std::string path;  // "output['h'][1]"
  };
  std::vector<Leaf> leaves;  // in the order of torch.utils._pytree
  // All but the leaves, which are stars: "(*, {'h': [*, None]})"; and the
  // classes of the containers.
  std::string form;
  std::vector<PyTypeObject*> types;

  std::vector<V> tensors() const;
  bool has_form_of(const Tree& other) const {
    return form == other.form && types == other.types;
  }
};

// False where something in there has no place in a tree; then `tree.form` says
// what, and where.
bool flatten(Context& ctx, V value, Tree& tree);

// How two tensors differ in what an operator must know of its results:
// "float32[2, 3] and float32[3, 3]"; empty if in nothing.
std::string difference(Context& ctx, V first, V second);

}  // namespace magneto::natives
