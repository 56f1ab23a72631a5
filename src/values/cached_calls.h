// SPDX-License-Identifier: BSD-3-Clause
// What calls of functions behind functools.lru_cache gave earlier in the trace.
// Rollback forgets those since.
#pragma once

#include <vector>

#include "python/ref.h"
#include "support/journal.h"
#include "values/value.h"

namespace magneto::values {

class CachedCalls final : public Journaled {
 public:
  // `key`: as lru_cache makes it, of plain data and objects that are compared
  // by their address. Null if there was no such call.
  V find(PyObject* function, PyObject* key) const;
  void add(Journal& journal, PyObject* function, Ref key, V result);

  void undo(uint64_t, uint64_t) noexcept override;

 private:
  struct Call {
    Ref function;
    Ref key;  // (its address, key)
    V result;
  };
  std::vector<Call> calls_;
  Ref index_;  // key -> index in calls_; null while there are none
};

}  // namespace magneto::values
