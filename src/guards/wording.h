// SPDX-License-Identifier: BSD-3-Clause
// Checks in words.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>

#include "guards/node.h"
#include "guards/show.h"

namespace magneto::guards {

struct Wording {
  std::string claim;  // "len(xs) == 3"
  std::string truth;  // "it is 4"; empty when there is nothing to compare
};

// The check, which is of this kind, of what users call `name`. `value` is what
// it doesn't hold for, or null if only the claim is wanted. As everything in
// messages, a wording runs no user code.
#define MG_PRESENCE(Kind, rank)
#define MG_GUARD(Kind, rank, keeps, implied)                       \
  Wording word_##Kind(const Check& check, const std::string& name, \
                      PyObject* value);
#include "guards/guards.def"
#undef MG_GUARD

// The same of a check of any kind.
Wording word_check(const Check& check, const std::string& name,
                   PyObject* value);

// The truth about a value, which `show_value` puts in words; nothing if there
// is none.
template <typename Show>
std::string it_is(PyObject* value, const Show& show_value) {
  if (value == nullptr) return {};
  return "it is " + show_value(value);
}

}  // namespace magneto::guards
