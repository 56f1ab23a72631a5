// SPDX-License-Identifier: BSD-3-Clause
// Which sizes and numbers of a call become symbols: what compile(dynamic=...)
// says, what the user has marked on the tensor, and what has been seen to vary.
// A mark may be a promise: that the program takes other sizes, too.
#pragma once

#include <string>
#include <unordered_set>

#include "entry/cache.h"
#include "entry/named_sources.h"
#include "values/model/context.h"

namespace magneto::entry {

class FrameSymbols final : public values::SymbolPolicy {
 public:
  FrameSymbols(CodeCache& cache, const guards::SourceTable& sources);

  Sizes symbolic_sizes(PyObject* tensor, guards::SourceId source) override;
  bool is_symbolic_stride(guards::SourceId source, size_t dimension) override;
  bool is_symbolic(PyObject* number, guards::SourceId source) override;
  bool has_symbolic_items(PyObject* tuple, guards::SourceId source) override;
  bool has_enough_of_symbol(guards::SourceId source) const override;
  bool has_enough_of_constant(guards::SourceId source) const override;
  void leave(guards::SourceId source) override;

  // The first promise that the trace didn't keep: a size that it needs to be
  // what it is. Or one that nobody could keep.
  struct Broken {
    std::string size;  // "x.size(0)"
    int64_t value;
    graph::LocationId place;         // where that was decided; may be invalid
    std::string contradiction = {};  // what the marks say that can't be
  };
  std::optional<Broken> broken_promise(values::Context& ctx) const;

 private:
  struct Promise {
    guards::SourceId source;
    size_t dimension;
  };
  void find_contradiction(PyObject* dict, PyObject* tensor,
                          guards::SourceId source, const Sizes& sizes);
  void apply_marks(PyObject* tensor, guards::SourceId source, Sizes& sizes);
  void apply_names(PyObject* tensor, guards::SourceId source, Sizes& sizes);

  enum class Mode : uint8_t { Never, Varied, Always };

  bool is_known_to_vary(guards::SourceId source) const;
  // Of mark_dynamic() or mark_unbacked(), not a hint as maybe_mark_dynamic().
  bool has_hard_mark(guards::SourceId source, size_t dimension,
                     const std::optional<Size>& size) const;

  const std::unordered_set<std::string>& varied_;
  std::unordered_set<std::string>& varies_too_much_;  // the code's
  size_t locals_;  // what comes after them is on the stack
  const guards::SourceTable& sources_;
  NamedSources named_;
  Mode mode_;
  bool takes_data_;
  bool is_behind_break_;
  bool has_enough_;
  std::vector<Promise> promises_;
  std::optional<Broken> contradiction_;  // the first
};

// Notes in the cache which sizes and numbers of this call differ from those
// that its entries were made for.
void note_variations(CodeCache& cache, const python::FrameRequest& request);

}  // namespace magneto::entry
