// SPDX-License-Identifier: BSD-3-Clause
// The caller's tensors that a trace has met, and what their guards compare.
#pragma once

#include <memory>
#include <vector>

#include "support/journal.h"
#include "tensor/tensor_snapshot.h"
#include "values/model/value.h"

namespace magneto::values {

class GivenTensors final : public UnseenJournaled {
 public:
  explicit GivenTensors(Journal& journal) : journal_(journal) {}

  void add(V tensor, std::shared_ptr<tensor::TensorSnapshot> snapshot);
  size_t size() const { return tensors_.size(); }

  // Whether one of them shares memory with a tensor.
  bool has_memory_of(V tensor) const;

  // Guards what history a tensor of the caller's that requires grad has, such
  // as none; false if it is no such tensor.
  bool guard_history(V tensor);

  // -- at the end of a trace
  // torch refuses to write to leaves that require grad, and to some views, so
  // of what was written to, guards say whether it is one.
  void guard_written_leaves();
  // Of a piece that writes to tensors and shows where it fails: such a failure
  // can't be undone, so no view of the caller's may cause one.
  void guard_refusals();

  void undo(uint64_t what, uint64_t extra) noexcept override;

 private:
  struct Given {
    V tensor;
    std::shared_ptr<tensor::TensorSnapshot> snapshot;
  };
  Journal& journal_;
  std::vector<Given> tensors_;
};

}  // namespace magneto::values
