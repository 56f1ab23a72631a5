// SPDX-License-Identifier: BSD-3-Clause
// Making fake tensors and their storages; no shape rule belongs here.
#include "tensor/fake_impl.h"

#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <utility>

#include "tensor/current_device.h"
#include "tensor/metadata_log.h"
#include "tensor/operator_effects.h"
#include "tensor/shape.h"
#include "tensor/symbol_node.h"

namespace magneto::tensor {

FakeImpl::Metadata FakeImpl::metadata() const {
  return {
      storage_,
      sizes_and_strides_,
      storage_offset_,
      data_type_,
      key_set_,
      device_opt_,
      extra_meta_ ? std::make_unique<c10::ExtraMeta>(*extra_meta_) : nullptr,
      has_symbolic_sizes_strides_};
}

void FakeImpl::restore(Metadata metadata) {
  storage_ = std::move(metadata.storage);
  sizes_and_strides_ = std::move(metadata.sizes_and_strides);
  storage_offset_ = metadata.storage_offset;
  data_type_ = metadata.dtype;
  key_set_ = metadata.keys;
  device_opt_ = metadata.device;
  extra_meta_ = std::move(metadata.extra);
  has_symbolic_sizes_strides_ = metadata.symbolic;
  refresh_sizes_strides_policy();
  if (!has_symbolic_sizes_strides_) {
    refresh_numel();
    refresh_contiguous();
  }
}

c10::intrusive_ptr<c10::TensorImpl> FakeImpl::shallow_copy_and_detach(
    const c10::VariableVersion& version,
    bool allow_tensor_metadata_change) const {
  auto copy = c10::make_intrusive<FakeImpl>(storage_, key_set_, data_type_);
  copy_tensor_metadata(this, copy.get(), version, allow_tensor_metadata_change);
  return copy;
}

c10::intrusive_ptr<c10::TensorImpl> FakeImpl::shallow_copy_and_detach(
    c10::VariableVersion&& version, bool allow_tensor_metadata_change) const {
  auto copy = c10::make_intrusive<FakeImpl>(storage_, key_set_, data_type_);
  copy_tensor_metadata(this, copy.get(), std::move(version),
                       allow_tensor_metadata_change);
  return copy;
}

void FakeImpl::shallow_copy_from(
    const c10::intrusive_ptr<c10::TensorImpl>& impl) {
  record_before_write(this);
  TensorImpl::shallow_copy_from(impl);
}

namespace {

c10::DimVector specialized(DimList dims) {
  c10::DimVector numbers;
  for (const Dim& dim : dims)
    numbers.push_back(dim.guard_int(__FILE__, __LINE__));
  return numbers;
}

}  // namespace

c10::IntArrayRef FakeImpl::sizes_custom() const {
  if (!has_symbolic_sizes_strides_) return sizes_default();
  specialized_sizes_ = specialized(sym_sizes_default());
  return specialized_sizes_;
}
c10::IntArrayRef FakeImpl::strides_custom() const {
  if (!has_symbolic_sizes_strides_) return strides_default();
  specialized_strides_ = specialized(sym_strides_default());
  return specialized_strides_;
}
int64_t FakeImpl::size_custom(int64_t dim) const {
  dim = c10::maybe_wrap_dim(dim, this->dim(), /*wrap_scalar=*/false);
  return sym_sizes_custom()[static_cast<size_t>(dim)].guard_int(__FILE__,
                                                                __LINE__);
}
int64_t FakeImpl::numel_custom() const {
  return sym_numel_custom().guard_int(__FILE__, __LINE__);
}
int64_t FakeImpl::storage_offset_custom() const {
  return sym_storage_offset_custom().guard_int(__FILE__, __LINE__);
}

c10::Storage make_storage(const Dim& bytes, c10::Device device) {
  // As their allocators do, of which there is one each.
  if (device.is_cpu() || device.is_meta())
    device = device.type();
  else
    operator_effects().note_accelerator();
  auto storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, c10::DataPtr(nullptr, device),
      /*allocator=*/nullptr,
      /*resizable=*/false);
  // Whoever asks for the pointer gets an exception, not null.
  storage->release_data_and_set_meta_custom_data_ptr_error_msg_(std::nullopt);
  return c10::Storage(std::move(storage));
}

bool refuses_data(c10::StorageImpl* storage) {
  return storage->_mutable_data_ptr_no_checks().get() == nullptr;
}

Dim storage_bytes(DimList sizes, DimList strides, const Dim& offset,
                  size_t item_size) {
  Dim last = offset + 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].sym_eq(0).guard_or_false(__FILE__, __LINE__)) return 0;
    last += (sizes[i] - 1) * strides[i];
  }
  return last * static_cast<int64_t>(item_size);
}

namespace {

// The backend's own key is there, too, though never reached from outside: some
// of torch's code excludes the fake key for a while (torch.tensor() of a list),
// and then a kernel that asks for data is better than no kernel at all.
c10::DispatchKeySet fake_keys(c10::Device device) {
  auto backend = c10::BackendComponent::CPUBit;
  if (!device.is_cpu()) {
    backend = c10::toBackendComponent(
        c10::computeDispatchKey(std::nullopt, c10::kStrided, device));
  }
  return c10::DispatchKeySet({kFakeKey, c10::DispatchKey::Dense}) |
         c10::DispatchKeySet(backend);
}

// The number of elements, if sizes or strides are symbols and each stride is
// written as the product of the sizes behind it: then the tensor is contiguous
// whatever the symbols are. Null: plain numbers, or another way to write them.
shapes::E contiguous_numel(DimList sizes, DimList strides,
                           const SymbolNode** node) {
  const auto is_symbolic = [](const Dim& dim) { return dim.is_symbolic(); };
  auto any = std::find_if(sizes.begin(), sizes.end(), is_symbolic);
  if (any == sizes.end()) return nullptr;
  *node = own_node(any->toSymNodeImplUnowned());
  if (!*node) return nullptr;
  const EnvironmentRef& environment = (*node)->environment();
  shapes::Expressions& table = environment->expressions();
  shapes::E product = table.integer(1);
  for (size_t i = sizes.size(); i-- > 0;) {
    if (to_expression(environment, strides[i]) != product) return nullptr;
    product = table.multiply(product, to_expression(environment, sizes[i]));
    if (!product) return nullptr;
    product = environment->simplify(product);
  }
  return product;
}

Dim bytes_of(const SymbolNode& node, shapes::E count, size_t itemsize) {
  const EnvironmentRef& environment = node.environment();
  shapes::Expressions& table = environment->expressions();
  const auto size = static_cast<int64_t>(itemsize);
  const shapes::E bytes = table.multiply(count, table.integer(size));
  return bytes ? to_symint(environment, bytes)
               : to_symint(environment, count) * size;
}

// Torch's TensorImpl has it for itself and those that derive from it.
struct ShapeAccess : c10::TensorImpl {
  static c10::SymbolicShapeMeta& of(c10::TensorImpl& impl) {
    return *(impl.*&ShapeAccess::extra_meta_)->symbolic_shape_meta_;
  }
};

// Whether it is plain to see that the elements, which there are, don't lie one
// behind the other: so if a stride is another number than it would be.
bool is_surely_strided(const EnvironmentRef& environment, DimList sizes,
                       DimList strides) {
  shapes::Expressions& table = environment->expressions();
  shapes::E expected = table.integer(1);
  bool is_strided = false;
  for (size_t i = sizes.size(); i-- > 0;) {
    const shapes::E size = to_expression(environment, sizes[i]);
    if (!size || environment->range(size).least < 1) return false;
    if (is_strided || size == table.integer(1)) continue;
    const shapes::E stride = to_expression(environment, strides[i]);
    if (!stride || environment->range(size).least < 2) return false;
    if (stride != expected) {
      if (!stride->is_constant() || !expected->is_constant()) return false;
      is_strided = true;
      continue;
    }
    expected = table.multiply(expected, size);
    if (!expected) return false;
    expected = environment->simplify(expected);
  }
  return is_strided;
}

// Whether it is plain to see that the elements lie without gaps: so if each
// stride is the product of the sizes inside of it, in some order.
bool is_plainly_dense(const EnvironmentRef& environment, DimList sizes,
                      DimList strides) {
  shapes::Expressions& table = environment->expressions();
  shapes::E expected = table.integer(1);
  c10::SmallVector<std::pair<shapes::E, shapes::E>, 5> left;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const shapes::E size = to_expression(environment, sizes[i]);
    if (size != table.integer(1))
      left.emplace_back(size, to_expression(environment, strides[i]));
  }
  while (!left.empty()) {
    const auto inner = std::ranges::find(
        left, expected, &std::pair<shapes::E, shapes::E>::second);
    if (inner == left.end() || !inner->first) return false;
    expected = table.multiply(expected, inner->first);
    if (!expected) return false;
    expected = environment->simplify(expected);
    left.erase(inner);
  }
  return true;
}

// Plain numbers that say that channels aren't innermost.
bool has_outer_channels(DimList sizes, DimList strides) {
  const auto is_not_one = [](const Dim& dim) {
    return !dim.is_heap_allocated() && dim.as_int_unchecked() != 1;
  };
  return sizes.size() < 2 || (is_not_one(sizes[1]) && is_not_one(strides[1]));
}

// What torch would find out in many steps when it is first asked. `node`: of
// one of the symbols, if there are any.
void say_layout(c10::TensorImpl& impl, DimList sizes, DimList strides,
                const SymbolNode* node, bool is_contiguous) {
  if (!node) return;
  c10::SymbolicShapeMeta& shape = ShapeAccess::of(impl);
  if (is_contiguous) {
    shape.assume_contiguous();
    shape.assume_non_overlapping_and_dense();
  } else {
    if (is_surely_strided(node->environment(), sizes, strides))
      shape.assume_contiguous(false);
    if (is_plainly_dense(node->environment(), sizes, strides))
      shape.assume_non_overlapping_and_dense();
  }
  if (sizes.size() != 4) shape.assume_channels_last(false);
  if (sizes.size() != 5) shape.assume_channels_last_3d(false);
  const bool has_outer = has_outer_channels(sizes, strides);
  if (has_outer || sizes.size() != 4)
    shape.assume_channels_last_contiguous(false);
  if (has_outer || sizes.size() != 5)
    shape.assume_channels_last_3d_contiguous(false);
}

}  // namespace

at::Tensor make_tensor(DimList sizes, DimList strides, c10::ScalarType dtype,
                       c10::Device device) {
  device = numbered(device);
  caffe2::TypeMeta type = c10::scalarTypeToTypeMeta(dtype);
  const SymbolNode* node = nullptr;
  const shapes::E count = contiguous_numel(sizes, strides, &node);
  const Dim bytes = count ? bytes_of(*node, count, type.itemsize())
                          : storage_bytes(sizes, strides, 0, type.itemsize());
  auto impl = c10::make_intrusive<FakeImpl>(make_storage(bytes, device),
                                            fake_keys(device), type);
  impl->set_sizes_and_strides(sizes, strides);
  say_layout(*impl, sizes, strides, node, count != nullptr);
  return at::Tensor(std::move(impl));
}

at::Tensor make_contiguous(DimList sizes, c10::ScalarType dtype,
                           c10::Device device) {
  return make_tensor(sizes, contiguous_strides(sizes), dtype, device);
}

at::Tensor make_view(const at::Tensor& base, DimList sizes, DimList strides,
                     const Dim& offset) {
  return make_view(base, sizes, strides, offset, base.scalar_type());
}

at::Tensor make_view(const at::Tensor& base, DimList sizes, DimList strides,
                     const Dim& offset, c10::ScalarType dtype) {
  const c10::TensorImpl* from = base.unsafeGetTensorImpl();
  bool fake = is_fake(from);
  // The keys of a view are its base's: a view of an inference tensor is one.
  c10::DispatchKeySet keys = from->key_set() | c10::DispatchKeySet(kFakeKey);
  auto impl = c10::make_intrusive<FakeImpl>(
      fake ? from->unsafe_storage()
           : make_storage(from->unsafe_storage().sym_nbytes(), base.device()),
      keys, c10::scalarTypeToTypeMeta(dtype));
  impl->set_keys(keys);
  impl->set_sizes_and_strides(sizes, strides, offset);
  const SymbolNode* node = nullptr;
  const bool is_contiguous = contiguous_numel(sizes, strides, &node) != nullptr;
  say_layout(*impl, sizes, strides, node, is_contiguous);
  return at::Tensor(std::move(impl));
}

}  // namespace magneto::tensor
