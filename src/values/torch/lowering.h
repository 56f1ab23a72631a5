// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a call of torch's: values become what a node of the graph
// refers to, and what the call on fakes is given.
#pragma once

#include <span>
#include <vector>

#include "values/model/context.h"

namespace magneto::values {

// One argument, as the graph has it and as the fake call gets it.
struct Both {
  graph::Arg arg;
  PyObject* real = nullptr;  // kept alive by the trace
};

// Where an argument stands: in how many containers, and whether it is one of a
// function that the program has marked with allow_in_graph.
struct Where {
  int depth = 0;
  bool is_marked = false;

  Where inside() const { return {depth + 1, is_marked}; }
};

// Breaks the graph where it can't hold such a thing.
Outcome<Both> lower(Context& ctx, V value, Where where);
// Of each; they are appended.
Status lower_all(Context& ctx, std::span<const V> items,
                 std::vector<graph::Arg>& args, std::vector<PyObject*>& reals,
                 Where where);

// The same, for nodes whose result is known without a call on fakes.
Status lower_each(Context& ctx, std::span<const V> items,
                  std::vector<graph::Arg>& args);

}  // namespace magneto::values
