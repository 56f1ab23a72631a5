// SPDX-License-Identifier: BSD-3-Clause
// Which sizes and numbers of a call become symbols: what compile(dynamic=...)
// says, what the user has marked on the tensor, and what has been seen to vary.
#pragma once

#include <string>
#include <unordered_set>

#include "entry/cache.h"
#include "values/context.h"

namespace magneto::entry {

class FrameSymbols final : public values::SymbolPolicy {
 public:
  FrameSymbols(const CodeCache& cache, const guards::SourceTable& sources);

  std::vector<bool> symbolic_sizes(PyObject* tensor,
                                   guards::SourceId source) override;
  bool is_symbolic(PyObject* number, guards::SourceId source) override;

 private:
  enum class Mode : uint8_t { Never, Varied, Always };

  const std::unordered_set<std::string>& varied_;
  const guards::SourceTable& sources_;
  Mode mode_;
};

// Notes in the cache which sizes and numbers of this call differ from those
// that its entries were made for.
void note_variations(CodeCache& cache, const python::FrameRequest& request);

}  // namespace magneto::entry
