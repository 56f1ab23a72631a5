// SPDX-License-Identifier: BSD-3-Clause
// Calls of functions behind functools.lru_cache: what they gave earlier in the
// trace, and which a compiled piece makes for the sake of the cache, which
// counts them and knows what was used last. Rollback forgets those since.
#pragma once

#include <vector>

#include "python/ref.h"
#include "support/journal.h"
#include "values/model/inliner.h"
#include "values/model/value.h"

namespace magneto::values {

// When the caller's objects are in the state that a call needs, as a number of
// Heap::callers_writes(): before the piece has written to any, or after what it
// writes, if that many writes are all.
inline constexpr size_t kBeforeWrites = 0;

// A call of the caller's function.
struct CacheUse {
  LateCall call;
  size_t writes = kBeforeWrites;
};

class CachedCalls final : public UnseenJournaled {
 public:
  struct Known {
    V result = nullptr;    // null if there was no such call
    bool is_used = false;  // with use(),
    size_t writes = kBeforeWrites;
  };
  // `key`: as lru_cache makes it, of plain data and objects that are compared
  // by their address.
  Known find(PyObject* function, PyObject* key) const;
  void add(Journal& journal, PyObject* function, Ref key, Known known);

  std::span<const CacheUse> uses() const { return uses_; }
  // `inside`: how many uses there were before the call began; those since are
  // made by it.
  void use(Journal& journal, CacheUse use, size_t inside);

  void undo(uint64_t what, uint64_t uses) noexcept override;

 private:
  struct Call {
    Ref function;
    Ref key;  // (its address, key)
    Known known;
  };
  enum Undo : uint64_t { kCall, kUse };
  std::vector<Call> calls_;
  std::vector<CacheUse> uses_;
  Ref index_;  // key -> index in calls_; null while there are none
};

}  // namespace magneto::values
