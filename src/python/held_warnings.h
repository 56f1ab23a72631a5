// SPDX-License-Identifier: BSD-3-Clause
// Keeps warnings back while code runs ahead of its time: torch's on fake
// tensors, which warns when the graph runs, and functions computed while
// tracing, which have to be called by the program if they warn.
#pragma once

#include "python/ref.h"

namespace magneto::python {

// While one exists, what this thread warns of isn't shown, and the registries
// that remember what was (`__warningregistry__`) learn nothing. Other threads
// warn as ever.
class HeldWarnings {
 public:
  enum class How : uint8_t {
    Dropped,  // the code that warns goes on
    Raised,   // it stops with the warning as its exception
  };

  explicit HeldWarnings(How how) noexcept;
  ~HeldWarnings();
  HeldWarnings(const HeldWarnings&) = delete;
  HeldWarnings& operator=(const HeldWarnings&) = delete;

  // Whether there was one.
  bool any() const noexcept { return any_; }

  // What the filter asks: whether a warning of this thread is to be treated
  // so; takes note of it.
  static bool meets(How how) noexcept;

 private:
  How how_;
  bool any_ = false;
  HeldWarnings* outer_;  // of this thread
  Ref filters_;          // the list that was warnings.filters, or null
};

}  // namespace magneto::python
