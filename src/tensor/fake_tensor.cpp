// SPDX-License-Identifier: BSD-3-Clause
// The public functions that read tensors, and the mode scopes.
#include "tensor/fake_tensor.h"

#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/Dtype.h>
#include <torch/csrc/DynamicTypes.h>

#include "tensor/current_device.h"
#include "tensor/fake_impl.h"
#include "tensor/metadata_log.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {

bool is_tensor(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  auto* base = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  return type == base || PyType_IsSubtype(type, base);
}

bool is_fake(PyObject* object) noexcept {
  return is_tensor(object) && is_fake(impl_of(object));
}

// ---- Scopes ----------------------------------------------------------------

FakeModeScope::FakeModeScope()
    : whose_(true),
      was_on_(c10::impl::tls_is_dispatch_key_included(kFakeKey)),
      was_observed_(at::isRecordFunctionEnabled()) {
  c10::impl::tls_set_dispatch_key_included(kFakeKey, true);
  // Profilers read what operators are given, as if it had data.
  at::enableRecordFunction(false);
  forget_current_device();
}
FakeModeScope::~FakeModeScope() {
  at::enableRecordFunction(was_observed_);
  c10::impl::tls_set_dispatch_key_included(kFakeKey, was_on_);
}

RealModeScope::RealModeScope()
    : whose_(false),
      was_on_(c10::impl::tls_is_dispatch_key_included(kFakeKey)) {
  c10::impl::tls_set_dispatch_key_included(kFakeKey, false);
}
RealModeScope::~RealModeScope() {
  c10::impl::tls_set_dispatch_key_included(kFakeKey, was_on_);
}

// ---- Writes ----------------------------------------------------------------

void record_metadata(PyObject* fake) { record_before_write(impl_of(fake)); }

bool set_requires_grad(PyObject* fake, bool value) {
  record_metadata(fake);
  Ref attribute = Ref::share(value ? Py_True : Py_False);
  return PyObject_SetAttrString(fake, "requires_grad", attribute) == 0;
}

// ---- Metadata --------------------------------------------------------------

int64_t dim(PyObject* tensor) { return impl_of(tensor)->dim(); }

std::span<const int64_t> sizes(PyObject* tensor) {
  c10::IntArrayRef values = impl_of(tensor)->sizes();
  return {values.data(), values.size()};
}

std::span<const int64_t> strides(PyObject* tensor) {
  c10::IntArrayRef values = impl_of(tensor)->strides();
  return {values.data(), values.size()};
}

int64_t storage_offset(PyObject* tensor) {
  return impl_of(tensor)->storage_offset();
}

int64_t numel(PyObject* tensor) { return impl_of(tensor)->numel(); }

bool is_contiguous(PyObject* tensor) {
  return impl_of(tensor)->is_contiguous();
}

bool has_symbolic_shape(PyObject* tensor) {
  return impl_of(tensor)->has_symbolic_sizes_strides();
}

int8_t scalar_type(PyObject* tensor) {
  return static_cast<int8_t>(tensor_of(tensor).scalar_type());
}

std::pair<int8_t, int8_t> device(PyObject* tensor) {
  c10::Device where = impl_of(tensor)->device();
  return {static_cast<int8_t>(where.type()),
          static_cast<int8_t>(where.index())};
}

int8_t layout(PyObject* tensor) {
  return static_cast<int8_t>(impl_of(tensor)->layout());
}

bool requires_grad(PyObject* tensor) {
  return impl_of(tensor)->requires_grad();
}

bool can_require_grad(PyObject* tensor) {
  const auto type = impl_of(tensor)->dtype().toScalarType();
  return c10::isFloatingType(type) || c10::isComplexType(type);
}

ViewRule view_rule(PyObject* tensor) {
  using torch::autograd::CreationMeta;
  const auto* view =
      torch::autograd::impl::get_view_autograd_meta(tensor_of(tensor));
  if (!view || !view->has_bw_view()) return ViewRule::Writable;
  switch (view->get_creation_meta()) {
    case CreationMeta::IN_CUSTOM_FUNCTION:
      return ViewRule::OfFunction;
    case CreationMeta::MULTI_OUTPUT_NODE:
      return ViewRule::OneOfSeveral;
    case CreationMeta::NO_GRAD_MODE:
      return ViewRule::Undifferentiated;
    case CreationMeta::INFERENCE_MODE:
      return ViewRule::Inference;
    case CreationMeta::DEFAULT:
      break;
  }
  const at::Tensor& base = view->get_backward_view().base_;
  return base.is_leaf() && base.requires_grad() ? ViewRule::OfLeaf
                                                : ViewRule::Writable;
}

bool is_refused(PyObject* tensor) {
  const at::Tensor& of = tensor_of(tensor);
  const auto* view = torch::autograd::impl::get_view_autograd_meta(of);
  return view && view->has_bw_view() &&
         view->get_creation_meta() != torch::autograd::CreationMeta::DEFAULT &&
         view->get_attr_version() != of._version();
}

void set_gradient(PyObject* tensor, PyObject* gradient) noexcept {
  tensor_of(tensor).mutable_grad() =
      gradient == Py_None ? at::Tensor() : tensor_of(gradient);
}

bool has_grad_fn(PyObject* tensor) {
  try {
    return tensor_of(tensor).grad_fn() != nullptr;
  } catch (const c10::Error&) {
    // Torch doesn't tell of a view that it refuses: the program asks it itself.
    return true;
  }
}

History history(PyObject* tensor) {
  const at::Tensor& of = tensor_of(tensor);
  if (!of.is_leaf()) return History::Known;
  const auto* view = torch::autograd::impl::get_view_autograd_meta(of);
  const bool is_due = view && view->has_bw_view() &&
                      view->get_backward_view().base_.requires_grad() &&
                      view->get_attr_version() != of._version();
  return is_due ? History::Due : History::None;
}

bool is_view(PyObject* tensor) { return tensor_of(tensor).is_view(); }

bool is_inference(PyObject* tensor) { return impl_of(tensor)->is_inference(); }

bool is_conj(PyObject* tensor) { return tensor_of(tensor).is_conj(); }

bool is_neg(PyObject* tensor) { return tensor_of(tensor).is_neg(); }

int64_t version(PyObject* tensor) {
  const c10::VariableVersion& counter = impl_of(tensor)->version_counter();
  return counter.enabled() ? counter.current_version() : 0;
}

Ref dtype_object(PyObject* tensor) {
  return Ref::share(reinterpret_cast<PyObject*>(
      torch::getTHPDtype(tensor_of(tensor).scalar_type())));
}

Ref device_object(PyObject* tensor) {
  return Ref::steal(THPDevice_New(impl_of(tensor)->device()));
}

std::string scalar_type_name(int8_t scalar_type) {
  // Python's own name of the dtype, without "torch.".
  auto* dtype = torch::getTHPDtype(static_cast<c10::ScalarType>(scalar_type));
  return dtype->name;
}

bool shares_storage(PyObject* a, PyObject* b) {
  uintptr_t id = storage_id(a);
  return id != 0 && id == storage_id(b);
}

const void* tensor_id(PyObject* tensor) { return impl_of(tensor); }

const void* view_base_id(PyObject* tensor) {
  const at::Tensor& view = tensor_of(tensor);
  return view.is_view() ? view._base().unsafeGetTensorImpl() : impl_of(tensor);
}

uintptr_t storage_id(PyObject* tensor) {
  return reinterpret_cast<uintptr_t>(
      impl_of(tensor)->unsafe_storage().unsafeGetStorageImpl());
}

}  // namespace magneto::tensor
