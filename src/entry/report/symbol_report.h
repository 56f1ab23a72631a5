// SPDX-License-Identifier: BSD-3-Clause
// What an observer is told of a trace's symbols: where each came from, its
// value in the call that is traced, and what is known of it.
#pragma once

#include <string>
#include <vector>

#include "python/ref.h"
#include "values/model/context.h"

namespace magneto::entry {

class SymbolReport {
 public:
  // Notes what needs the graph, which the backend takes over. Only for somebody
  // who wants to hear of it.
  void collect(values::Context& ctx);

  // A list of dicts, one for each symbol, in the order of making: `name` ("s0",
  // "u0"), `type`, `source` ("x.size(0)"; None: the graph computes it), `node`
  // (the one that gives it, or None), `value` (None: it isn't known), `least`
  // and `most` (None: no bound), `equals` (what it has turned out to be, or
  // None) and `stack` (file, line and function of each frame). Without strides
  // that follow from sizes. Null with a Python error set.
  Ref list(values::Context& ctx) const;

 private:
  struct Note {
    shapes::SymbolId symbol;
    std::string node;
    std::vector<values::FrameSummary> stack;
  };
  std::vector<Note> notes_;
};

}  // namespace magneto::entry
