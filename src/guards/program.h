// SPDX-License-Identifier: BSD-3-Clause
// A guard set compiled to one flat list of steps. Each source is read once,
// into a slot, and checked; a run allocates nothing and runs no Python code.
//
// What hangs below an object that lives longer than a call (a module, the
// globals) is *pinned*: after a successful run the program remembers the words
// of memory that the reads went through (type pointers, dict versions, item
// pointers). While those words are unchanged, the steps below hold without
// being run, and the slots still hold the right values. A changed word is not
// a failed guard: the precise steps run, and if they hold the words are
// renewed. docs/internals/guards.md says why no freed memory is touched.
//
// A program keeps no object of the user's alive, except plain constants (ints,
// strings, ...) and objects that can't be referred to weakly. Objects that it
// compares by identity are watched: when one dies, so does the program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "guards/source.h"

namespace magneto::guards {

class GuardProgram {
 public:
  virtual ~GuardProgram() = default;

  // True if every guard holds for this call; then `inputs` (input_count()
  // pointers, may be null if there are none) receives the requested sources,
  // in the order of the requests. They are borrowed: alive as long as the
  // caller's values hold them, that is until user code runs.
  virtual bool run(const CallView& view, PyObject** inputs) noexcept = 0;

  virtual size_t input_count() const = 0;

  // False once an object that the guards compare with has been freed: it will
  // never match again and can be dropped.
  virtual bool alive() const = 0;

  // The first guard that doesn't hold for this call, with both values:
  // "self.training is True, but it is False". Empty if all hold.
  virtual std::string explain_failure(const CallView& view) const = 0;

  // One line per guard, in the order of checking.
  virtual std::vector<std::string> describe() const = 0;
};

// Compiles the guards, and the reads of `requests`: the sources of the graph's
// inputs, in order. A requested source must be present for a run to succeed.
std::unique_ptr<GuardProgram> compile(const SourceTable& sources,
                                      const GuardSet& guards,
                                      std::span<const SourceId> requests);

}  // namespace magneto::guards
