// SPDX-License-Identifier: BSD-3-Clause
// From the real tensors that a trace meets to their fakes.
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <optional>
#include <unordered_map>

#include "tensor/fake_impl.h"
#include "tensor/fake_tensor.h"
#include "tensor/symbol_node.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {
namespace {

using torch::autograd::AutogradMeta;
using torch::autograd::DifferentiableViewMeta;

// Stands as grad_fn of a fake whose real tensor has one: the history before
// the traced code is nobody's business, only that there is one.
struct EarlierHistory : torch::autograd::Node {
  EarlierHistory() = default;
  torch::autograd::variable_list apply(
      torch::autograd::variable_list&&) override {
    TORCH_CHECK(false, "a fake tensor's earlier history can't be run backward");
  }
  std::string name() const override { return "EarlierHistory"; }
};

c10::DispatchKeySet fake_keys_of(const c10::TensorImpl* real) {
  return real->key_set() | c10::DispatchKeySet(kFakeKey);
}

// Why a tensor can't be faked, or null.
const char* refusal(const c10::TensorImpl* real) {
  if (real->layout() != c10::kStrided) return "its layout isn't strided";
  if (real->is_python_dispatch()) {
    return "its class handles operations with __torch_dispatch__";
  }
  if (real->is_nested()) return "it is a nested tensor";
  if (real->key_set().has_any(c10::functorch_transforms_ks)) {
    return "it belongs to a functorch transform";
  }
  if (real->key_set().has(c10::DispatchKey::Functionalize)) {
    return "it is a functional tensor";
  }
  if (!real->key_set().has(c10::DispatchKey::Dense)) {
    return "it isn't a dense tensor";
  }
  return nullptr;
}

struct SymbolicSizes {
  DimVec sizes;
  DimVec strides;
};

}  // namespace

struct FakeInputs::State {
  // What a record of the journal is about: the key is the address.
  enum What : uint64_t { kFake, kStorage };

  FakeInputs* owner = nullptr;
  Journal* journal = nullptr;
  std::unordered_map<c10::TensorImpl*, at::Tensor> fakes;
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages;
  std::vector<at::Tensor> kept;  // so that no address is used anew

  at::Tensor fake_of(const at::Tensor& real,
                     const SymbolicSizes* symbolic = nullptr) {
    c10::TensorImpl* impl = real.unsafeGetTensorImpl();
    if (is_fake(impl)) return real;
    auto known = fakes.find(impl);
    if (known != fakes.end()) {
      // It may be known as the base of a view only.
      if (symbolic)
        set_sizes(known->second.unsafeGetTensorImpl(), impl, *symbolic);
      return known->second;
    }
    if (const char* reason = refusal(impl)) {
      TORCH_CHECK(false, "this tensor can't be traced: ", reason);
    }
    kept.push_back(real);
    // In inference mode a new tensor would become an inference tensor.
    std::optional<c10::InferenceMode> off;
    if (!impl->is_inference()) off.emplace(false);
    at::Tensor fake = bare_fake(impl, symbolic);
    copy_history(real, fake);
    fakes.emplace(impl, fake);
    record(kFake, impl);
    return fake;
  }

 private:
  void record(What what, const void* key) {
    if (journal) journal->record(owner, what, reinterpret_cast<uintptr_t>(key));
  }

  static void set_sizes(c10::TensorImpl* fake, c10::TensorImpl* real,
                        const SymbolicSizes& symbolic) {
    fake->set_sizes_and_strides(symbolic.sizes, symbolic.strides,
                                real->sym_storage_offset());
  }

  at::Tensor bare_fake(c10::TensorImpl* real, const SymbolicSizes* symbolic) {
    c10::StorageImpl* of_real = real->unsafe_storage().unsafeGetStorageImpl();
    c10::Storage& storage = storages[of_real];
    if (!storage) {
      record(kStorage, of_real);
      // Of a storage whose size the guards don't know, the tensor's own part.
      Dim bytes = symbolic ? storage_bytes(symbolic->sizes, symbolic->strides,
                                           real->sym_storage_offset(),
                                           real->dtype().itemsize())
                           : real->unsafe_storage().sym_nbytes();
      storage = make_storage(bytes, real->device());
    }
    auto impl = c10::make_intrusive<FakeImpl>(storage, fake_keys_of(real),
                                              real->dtype());
    impl->set_keys(fake_keys_of(real));
    if (symbolic)
      set_sizes(impl.get(), real, *symbolic);
    else
      impl->set_sizes_and_strides(real->sym_sizes(), real->sym_strides(),
                                  real->sym_storage_offset());
    if (real->is_wrapped_number()) impl->set_wrapped_number(true);
    return at::Tensor(std::move(impl));
  }

  void copy_history(const at::Tensor& real, const at::Tensor& fake) {
    c10::TensorImpl* from = real.unsafeGetTensorImpl();
    c10::TensorImpl* to = fake.unsafeGetTensorImpl();
    auto* meta = static_cast<AutogradMeta*>(from->autograd_meta());
    if (from->is_inference()) {
      // It may require grad all the same, to no effect.
      if (meta && meta->requires_grad_) to->set_requires_grad(true);
      return;
    }
    if (meta && meta->is_view_ &&
        static_cast<DifferentiableViewMeta*>(meta)->has_bw_view()) {
      make_view_of_base(static_cast<DifferentiableViewMeta*>(meta), real, fake);
      return;
    }
    c10::VariableVersion version = to->version_counter();
    version.set_version(from->version_counter().current_version());
    if (!meta) return;
    if (meta->grad_fn_) {
      torch::autograd::create_gradient_edge(
          const_cast<at::Tensor&>(fake), c10::make_intrusive<EarlierHistory>());
    } else if (meta->requires_grad_) {
      to->set_requires_grad(true);
    }
  }

  // A view whose base autograd knows: the fake becomes a view of the base's
  // fake, so that in-place operations meet the same rules.
  void make_view_of_base(DifferentiableViewMeta* meta, const at::Tensor& real,
                         const at::Tensor& fake) {
    at::Tensor base = fake_of(meta->get_backward_view().base_);
    torch::autograd::impl::set_version_counter(
        fake, torch::autograd::impl::version_counter(base));
    fake.unsafeGetTensorImpl()->set_autograd_meta(
        std::make_unique<DifferentiableViewMeta>(
            fake.unsafeGetTensorImpl(),
            torch::autograd::ViewInfo(base, nullptr, nullptr), std::nullopt,
            /*shared_view_info=*/true, meta->get_creation_meta()));
    auto* copy = static_cast<DifferentiableViewMeta*>(
        fake.unsafeGetTensorImpl()->autograd_meta());
    // Asked for, a view's history may be made anew, which can be seen.
    if (!real.is_leaf()) {
      torch::autograd::create_gradient_edge(
          const_cast<at::Tensor&>(fake), c10::make_intrusive<EarlierHistory>());
    } else if (meta->requires_grad_) {
      copy->requires_grad_ = true;
    }
    const uint32_t now =
        fake.unsafeGetTensorImpl()->version_counter().current_version();
    const bool is_current =
        meta->get_attr_version() ==
        torch::autograd::impl::version_counter(real).current_version();
    copy->set_attr_version(is_current ? now : now - 1);
  }
};

FakeInputs::FakeInputs(Journal* journal) : state_(new State) {
  state_->owner = this;
  state_->journal = journal;
}
FakeInputs::~FakeInputs() { delete state_; }

void FakeInputs::undo(uint64_t what, uint64_t key) noexcept {
  if (what == State::kFake)
    state_->fakes.erase(reinterpret_cast<c10::TensorImpl*>(key));
  else
    state_->storages.erase(reinterpret_cast<c10::StorageImpl*>(key));
}

std::string FakeInputs::dump() const {
  return std::to_string(state_->fakes.size()) + " fakes, " +
         std::to_string(state_->storages.size()) + " storages";
}

Ref FakeInputs::fake_of(PyObject* real) {
  HANDLE_TH_ERRORS
  return Ref::steal(THPVariable_Wrap(state_->fake_of(tensor_of(real))));
  END_HANDLE_TH_ERRORS_RET(Ref())
}

Ref FakeInputs::fake_of(PyObject* real, const EnvironmentRef& environment,
                        const SymbolicShape& shape) {
  HANDLE_TH_ERRORS
  SymbolicSizes symbolic;
  for (shapes::E size : shape.sizes)
    symbolic.sizes.push_back(to_symint(environment, size));
  for (shapes::E stride : shape.strides)
    symbolic.strides.push_back(to_symint(environment, stride));
  return Ref::steal(
      THPVariable_Wrap(state_->fake_of(tensor_of(real), &symbolic)));
  END_HANDLE_TH_ERRORS_RET(Ref())
}

Ref make_fake(PyObject* real) { return FakeInputs().fake_of(real); }

}  // namespace magneto::tensor
