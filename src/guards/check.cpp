// SPDX-License-Identifier: BSD-3-Clause
// From a kind to its predicate and its wording, which stand in kinds/.
#include "guards/check.h"

#include "guards/wording.h"

namespace magneto::guards {

bool holds_of_any_kind(const Check& check, PyObject* value) noexcept {
  switch (check.kind) {
#define MG_PRESENCE(Kind, rank) \
  case GuardKind::Kind:         \
    break;
#define MG_GUARD(Kind, rank, keeps, implied) \
  case GuardKind::Kind:                      \
    return check_##Kind(check, value);
#include "guards/guards.def"
#undef MG_GUARD
  }
  return false;
}

Wording word_check(const Check& check, const std::string& name,
                   PyObject* value) {
  switch (check.kind) {
#define MG_PRESENCE(Kind, rank) \
  case GuardKind::Kind:         \
    break;
#define MG_GUARD(Kind, rank, keeps, implied) \
  case GuardKind::Kind:                      \
    return word_##Kind(check, name, value);
#include "guards/guards.def"
#undef MG_GUARD
  }
  return {};
}

}  // namespace magneto::guards
