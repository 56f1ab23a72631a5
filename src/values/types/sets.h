// SPDX-License-Identifier: BSD-3-Clause
// Sets while tracing: order, membership, algebra.
#pragma once

#include "values/protocol/protocol.h"

namespace magneto::values {

// A set's or frozenset's items in the order in which CPython's set of them
// would be iterated; the heap keeps them in the order of insertion.
std::vector<const DictEntry*> set_entries(Context& ctx, V set);

// What has happened to a set, in order, which decides about the order of its
// items: an item was there from the start, was added, or was removed; or a
// merge, whose items follow as well.
struct SetChange {
  const DictEntry* entry = nullptr;
  bool is_removed = false;
  const SetMerge* merge = nullptr;
};
std::vector<SetChange> set_history(const DictState& set);

// The real set or frozenset, as CPython would have made it, where all its items
// are plain constants; else null, without an error.
Ref plain_set(Context& ctx, V set);

// True if all that ever was in the set is known while tracing, so that the set
// which the program makes has the same table.
bool has_plain_history(const DictState& set);

// Takes out the item that CPython's pop() would, and gives it; null if there is
// none.
Outcome<V> set_pop(Context& ctx, V set);

// Takes out all items.
Status set_clear(Context& ctx, V set);

// An item that is there already stays as it is.
Status set_add(Context& ctx, V set, V item);

// What a set looks for when it is asked for `item`: a set, which has no hash,
// stands for a frozenset.
V set_key(Context& ctx, V item);

// True for a Set, and for a frozenset that is a Constant.
bool is_set(V value);

// The iterable's items as a Set; a Set as it is.
Outcome<V> to_set(Context& ctx, V iterable);

enum class SetOperation : uint8_t {
  Union,
  Intersection,
  Difference,
  SymmetricDifference,
};

// A fresh set of left's kind (set or frozenset), of left and the items of
// `rights`, at least one of any iterables.
Outcome<V> set_combine(Context& ctx, SetOperation operation, V left,
                       std::span<const V> rights);
// The same into `left`, a Set.
Status set_update(Context& ctx, SetOperation operation, V left, V right);
// set.intersection_update(*others)
Status set_keep_common(Context& ctx, V set, std::span<const V> others);

// `kind` is Py_LT .. Py_GE; both are sets.
Outcome<bool> set_compare(Context& ctx, int kind, V left, V right);
// `right` is any iterable.
Outcome<bool> set_is_disjoint(Context& ctx, V left, V right);

// A frozenset that consists of constants becomes a Constant, so that it can be
// hashed; anything else stays as it is.
V settle_frozenset(Context& ctx, V set);

}  // namespace magneto::values
