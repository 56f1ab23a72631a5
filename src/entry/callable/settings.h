// SPDX-License-Identifier: BSD-3-Clause
// `magneto._C.Settings`: what compile() was told. Functions that were compiled
// with the same Settings object share what was compiled; when it dies, so does
// that. The Python side makes one object for each combination.
#pragma once

#include <unordered_set>

#include "python/ref.h"

namespace magneto::entry {

class CodeCache;

struct Settings {
  PyObject_HEAD
      // The callable that compiles, as lookup_backend() gives it. Held weakly
      // where it can be: every CompiledFunction holds it, and a backend that
      // nobody holds is not asked again.
      PyObject* backend;
  bool backend_is_weak;
  bool fullgraph;
  PyObject* dynamic;  // None, True or False
  // Entries for one point of a function; 0: what magneto.config says.
  int32_t recompile_limit;
  PyObject* weakrefs;
  std::unordered_set<CodeCache*>* caches;  // compiled with these settings
};

// The backend, or null without an error if it is gone.
Ref backend_of(Settings* settings);

bool is_settings(PyObject* object) noexcept;
bool init_settings_type(PyObject* module);

}  // namespace magneto::entry
