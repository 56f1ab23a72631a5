// SPDX-License-Identifier: BSD-3-Clause
// What the tables of sequences share.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// The receiver, if the trace has it as a List; breaks the graph otherwise.
Outcome<V> list_receiver(Context& ctx, const Arguments& args);

// The first position in [start, stop) of an item that is or equals `wanted`,
// or -1. Negative bounds count from the end.
Outcome<Py_ssize_t> find_item(Context& ctx, std::span<const V> items, V wanted,
                              Py_ssize_t start, Py_ssize_t stop);

// Breaks the graph if what compared its items has changed the list or deque:
// C code looks at it while it searches.
Status expect_unchanged(Context& ctx, V list, std::span<const V> items);

// A bound of a search: an integer, through __index__.
Outcome<Py_ssize_t> bound_argument(Context& ctx, V value);

}  // namespace magneto::natives
