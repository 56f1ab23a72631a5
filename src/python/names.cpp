// SPDX-License-Identifier: BSD-3-Clause
#include "python/names.h"

#include "support/check.h"

namespace magneto {

namespace {

Names make_names() {
  Names names;
#define MG_NAME(identifier, text)                      \
  names.identifier = PyUnicode_InternFromString(text); \
  MG_CHECK(names.identifier, "out of memory");
#include "python/names.def"
#undef MG_NAME
  return names;
}

}  // namespace

const Names& interned() {
  static const Names names = make_names();
  return names;
}

}  // namespace magneto
