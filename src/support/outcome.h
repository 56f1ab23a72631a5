// SPDX-License-Identifier: BSD-3-Clause
// Outcome<T>: what a step of tracing ends with. Either a value, or one of the
// signals below; the details of a signal (which exception, which reason) are
// kept by the trace's context, so an Outcome stays two words and copies free.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "support/check.h"

namespace magneto {

enum class Signal : uint8_t {
  Raised,  // the traced program raised; the context holds the exception
  Break,   // the graph ends here; the context holds reason, place and hint
  Skip,    // this frame is not to be compiled at all
};

template <class T>
class [[nodiscard]] Outcome {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr Outcome(T value) : value_(value), has_value_(true) {}
  constexpr Outcome(Signal signal) : signal_(signal), has_value_(false) {}

  constexpr explicit operator bool() const { return has_value_; }
  constexpr bool has_value() const { return has_value_; }
  constexpr T value() const {
    MG_DCHECK(has_value_, "an outcome without a value was read");
    return value_;
  }
  constexpr T operator*() const { return value(); }
  constexpr Signal signal() const { return signal_; }

 private:
  union {
    T value_;
    Signal signal_;
  };
  bool has_value_;
};

struct Done {};
using Status = Outcome<Done>;
inline constexpr Done done{};

}  // namespace magneto

#define MG_CONCAT_(a, b) a##b
#define MG_CONCAT(a, b) MG_CONCAT_(a, b)

// MG_TRY(auto x, expr): x becomes expr's value, or the signal is returned.
#define MG_TRY(declaration, expression)              \
  auto MG_CONCAT(outcome_, __LINE__) = (expression); \
  if (!MG_CONCAT(outcome_, __LINE__)) [[unlikely]]   \
    return MG_CONCAT(outcome_, __LINE__).signal();   \
  declaration = MG_CONCAT(outcome_, __LINE__).value()

// MG_DO(expr): as MG_TRY, when there is no value to keep.
#define MG_DO(expression)         \
  do {                            \
    auto outcome_ = (expression); \
    if (!outcome_) [[unlikely]]   \
      return outcome_.signal();   \
  } while (0)
