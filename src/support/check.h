// SPDX-License-Identifier: BSD-3-Clause
// Defects: what can't happen. MG_CHECK throws InternalError, which only the
// trace driver catches; it rolls back, warns, and runs the frame in plain
// Python. Nothing here aborts the process.
#pragma once

#include <stdexcept>
#include <string>

namespace magneto {

class InternalError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Out of line, so that a check costs one branch where it stands.
[[noreturn]] void fail_check(const char* file, int line, const char* condition,
                             const std::string& message);

}  // namespace magneto

// MG_CHECK(condition, "sentence that says what must hold").
#define MG_CHECK(condition, message)                                    \
  do {                                                                  \
    if (!(condition)) [[unlikely]]                                      \
      ::magneto::fail_check(__FILE__, __LINE__, #condition, (message)); \
  } while (0)

#ifdef MAGNETO_DEBUG
#define MG_DCHECK(condition, message) MG_CHECK(condition, message)
#else
#define MG_DCHECK(condition, message) \
  do {                                \
  } while (0)
#endif
