// SPDX-License-Identifier: BSD-3-Clause
// What an observer is told of an entry that was made.
#pragma once

#include "entry/report/report.h"

namespace magneto::entry {

// The function's bytecode as text.
std::string bytecode_text(PyCodeObject* code);

// Reports "compiled", and "graph_break" if the entry ends with one.
// `symbols`: as SymbolReport lists them.
void report_entry(const CodeCache& cache, const Entry& entry,
                  const values::BreakInfo& info, const Ref& symbols);

}  // namespace magneto::entry
