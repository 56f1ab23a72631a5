// SPDX-License-Identifier: BSD-3-Clause
// The Journaled store behind set_journal(). A journal record's first word says
// which stack of saved states undo() pops.
#include "tensor/metadata_log.h"

#include <torch/csrc/autograd/variable.h>

#include "support/journal.h"
#include "tensor/fake_impl.h"
#include "tensor/fake_tensor.h"
#include "tensor/operator_effects.h"

namespace magneto::tensor {
namespace {

using torch::autograd::AutogradMeta;
using torch::autograd::CreationMeta;
using torch::autograd::DifferentiableViewMeta;

// What autograd remembers of one tensor. A tensor without an AutogradMeta is
// the same as one with a default-made one, so undoing never has to remove it.
struct HistoryState {
  c10::intrusive_ptr<c10::TensorImpl> impl;
  c10::intrusive_ptr<torch::autograd::Node> grad_fn;
  uint32_t output_nr = 0;
  bool requires_grad = false;
  bool retains_grad = false;
  // Of a view that autograd knows: when its grad_fn was made, and how.
  bool is_view = false;
  uint32_t attr_version = 0;
  CreationMeta creation_meta = CreationMeta::DEFAULT;
};

DifferentiableViewMeta* view_meta(AutogradMeta* meta) {
  if (!meta || !meta->is_view_) return nullptr;
  auto* view = static_cast<DifferentiableViewMeta*>(meta);
  return view->has_bw_view() ? view : nullptr;
}

AutogradMeta* autograd_meta(c10::TensorImpl* impl) {
  return static_cast<AutogradMeta*>(impl->autograd_meta());
}

HistoryState save_history(c10::TensorImpl* impl) {
  HistoryState state;
  state.impl = c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(impl);
  if (AutogradMeta* meta = autograd_meta(impl)) {
    state.grad_fn = meta->grad_fn_;
    state.output_nr = meta->output_nr_;
    state.requires_grad = meta->requires_grad_;
    state.retains_grad = meta->retains_grad_;
    if (DifferentiableViewMeta* view = view_meta(meta)) {
      state.is_view = true;
      state.attr_version = view->get_attr_version();
      state.creation_meta = view->get_creation_meta();
    }
  }
  return state;
}

void restore_history(HistoryState& state) {
  AutogradMeta* meta = autograd_meta(state.impl.get());
  if (!meta) return;
  meta->grad_fn_ = std::move(state.grad_fn);
  meta->output_nr_ = state.output_nr;
  meta->requires_grad_ = state.requires_grad;
  meta->retains_grad_ = state.retains_grad;
  if (DifferentiableViewMeta* view = view_meta(meta); view && state.is_view) {
    view->set_attr_version(state.attr_version);
    view->set_creation_meta(state.creation_meta);
  }
}

struct TensorState {
  HistoryState history;
  std::optional<HistoryState> base;  // in-place on a view rewrites its base's
  FakeImpl::Metadata metadata;
  c10::VariableVersion version;
  uint32_t version_number = 0;
};

struct StorageState {
  c10::intrusive_ptr<c10::StorageImpl> storage;
  c10::SymInt bytes;
};

class MetadataLog final : public UnseenJournaled {
 public:
  void attach(Journal* journal) {
    journal_ = journal;
    tensors_.clear();
    storages_.clear();
  }

  void tensor_write(FakeImpl* impl) {
    if (!journal_) return;
    TensorState state{save_history(impl), std::nullopt, impl->metadata(),
                      impl->version_counter()};
    if (state.version.enabled()) {
      state.version_number = state.version.current_version();
    }
    if (DifferentiableViewMeta* view = view_meta(autograd_meta(impl))) {
      state.base =
          save_history(view->get_backward_view().base_.unsafeGetTensorImpl());
    }
    tensors_.push_back(std::move(state));
    journal_->record(this, kTensor);
  }

  void storage_write(c10::StorageImpl* storage) {
    if (!journal_) return;
    storages_.push_back(
        {c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(storage),
         storage->sym_nbytes()});
    journal_->record(this, kStorage);
  }

  void undo(uint64_t what, uint64_t) noexcept override {
    if (what == kStorage) {
      storages_.back().storage->set_nbytes(storages_.back().bytes);
      storages_.pop_back();
      return;
    }
    TensorState state = std::move(tensors_.back());
    tensors_.pop_back();
    auto* impl = static_cast<FakeImpl*>(state.history.impl.get());
    impl->restore(std::move(state.metadata));
    if (!impl->is_inference()) {
      impl->set_version_counter(state.version);
      if (state.version.enabled()) {
        state.version.set_version(state.version_number);
      }
    }
    restore_history(state.history);
    if (state.base) restore_history(*state.base);
  }

 private:
  enum : uint64_t { kTensor, kStorage };
  Journal* journal_ = nullptr;
  std::vector<TensorState> tensors_;
  std::vector<StorageState> storages_;
};

MetadataLog& log() {
  thread_local MetadataLog instance;
  return instance;
}

}  // namespace

void record_before_write(c10::TensorImpl* impl) {
  if (auto* fake = dynamic_cast<FakeImpl*>(impl)) log().tensor_write(fake);
}

void record_before_resize(c10::StorageImpl* storage) {
  log().storage_write(storage);
}

void set_journal(Journal* journal) {
  log().attach(journal);
  operator_effects().attach(journal);
}

}  // namespace magneto::tensor
