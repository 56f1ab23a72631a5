// SPDX-License-Identifier: BSD-3-Clause
// The kinds of guards of one source, and what guards.def says of each.
#pragma once

#include <cstdint>

namespace magneto::guards {

enum class GuardKind : uint8_t {
#define MG_GUARD(Kind, rank, keeps, implied) Kind,
#include "guards/guards.def"
#undef MG_GUARD
};

// What a guard is compared with (Guard::object, if there is one), and so what
// its check has.
enum class Keeps : uint8_t {
  Nothing,   // nothing, or no more than a number
  Object,    // any object: Check::object
  Identity,  // the same; of some, also what it holds: see Fields in check.h
  Held,      // any object, which is kept alive: Check::object
  Constant,  // as in is_constant(): Check::object
  Keys,      // a tuple, of whose items no more is kept than they: Check::keys
  Items,     // a frozenset: if it is a constant, as such, else as Keys
  Snapshot,  // what the tensor room has made: Check::snapshot
};

// Kinds, each as a bit.
using KindSet = uint32_t;

constexpr KindSet bit(GuardKind kind) {
  return KindSet{1} << static_cast<uint32_t>(kind);
}

// A row of guards.def.
struct KindRow {
  int rank;
  Keeps keeps;
  KindSet implied;
};

constexpr KindRow row(GuardKind kind) {
  // What may stand under `implied`.
  enum : KindSet {
    Nothing = 0,
#define MG_GUARD(Kind, rank, keeps, implied) Kind = bit(GuardKind::Kind),
#include "guards/guards.def"
#undef MG_GUARD
  };
  switch (kind) {
#define MG_GUARD(Kind, rank, keeps, implied) \
  case GuardKind::Kind:                      \
    return {rank, Keeps::keeps, implied};
#include "guards/guards.def"
#undef MG_GUARD
  }
  return {};
}

}  // namespace magneto::guards
