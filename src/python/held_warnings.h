// SPDX-License-Identifier: BSD-3-Clause
// Keeps warnings back while torch's code runs on fake tensors: it warns when
// the graph runs, and should not have done so before.
#pragma once

#include "python/ref.h"

namespace magneto::python {

// While one exists, warnings are ignored, and the registries that remember
// which were shown already (`__warningregistry__`) learn nothing. Warnings of
// other threads are lost, too, so it should not live long.
class HeldWarnings {
 public:
  HeldWarnings() noexcept;
  ~HeldWarnings();
  HeldWarnings(const HeldWarnings&) = delete;
  HeldWarnings& operator=(const HeldWarnings&) = delete;

 private:
  Ref filters_;  // the list that was warnings.filters; null if there was none
};

}  // namespace magneto::python
