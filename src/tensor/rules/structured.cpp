// SPDX-License-Identifier: BSD-3-Clause
// Torch's structured operators have their shape logic in C++ already: it is
// called on copies of the arguments that say "meta" for their device, and what
// it makes becomes fake. Rules of our own go first: they are faster, and sizes
// that are symbols stay symbols in them.
#include <ATen/MetaFunctions.h>
#include <ATen/Operators.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "support/check.h"
#include "support/torch_release.h"
#include "tensor/elementwise.h"
#include "tensor/op_info.h"
#include "tensor/rule.h"

namespace magneto::tensor {
namespace {

class MetaCopies {
 public:
  c10::IValue copy(const c10::IValue& value) {
    if (value.isTensor()) return copy(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& each : value.toTensorVector()) {
        list.push_back(copy(each));
      }
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& each : value.toOptionalTensorVector()) {
        list.push_back(each ? std::optional(copy(*each)) : std::nullopt);
      }
      return list;
    }
    return value;
  }

  c10::Device device() const {
    return seen_.empty() ? c10::Device(c10::kCPU) : common_device(seen_);
  }

 private:
  at::Tensor copy(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    seen_.push_back(tensor);
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        c10::Storage(c10::Storage::use_byte_size_t(), 0,
                     c10::DataPtr(nullptr, c10::Device(c10::kMeta)), nullptr,
                     false),
        c10::DispatchKeySet(c10::DispatchKey::Meta), tensor.dtype());
    // Their code asks for plain numbers.
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides());
    const c10::TensorImpl* from = tensor.unsafeGetTensorImpl();
    if (from->is_wrapped_number()) impl->set_wrapped_number(true);
    return at::Tensor(std::move(impl));
  }

  TensorVec seen_;
};

template <auto F>
void structured(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  MetaCopies copies;
  c10::SmallVector<c10::IValue, 8> meta_args;
  for (uint32_t i = 0; i < op.arity; ++i) {
    meta_args.push_back(copies.copy(args[i]));
  }
  {
    c10::impl::ExcludeDispatchKeyGuard exclude(kFakeKey);
    detail::Typed<F>::run(op, meta_args.data(), outputs);
  }
  c10::Device device = copies.device();
  for (c10::IValue& output : outputs) {
    const at::Tensor& meta = output.toTensor();
    output = make_tensor(meta.sym_sizes(), meta.sym_strides(),
                         meta.scalar_type(), device);
  }
}

constexpr Rule kRules[] = {
#define X(function, op, name) \
  {name, &structured<static_cast<at::_ops::op::schema*>(&at::meta::function)>},
#include "tensor/structured_ops.inc"
#undef X
};

}  // namespace

std::span<const Rule> structured_rules() { return kRules; }

RuleFn structured_rule(std::string_view name) {
  for (const Rule& row : kRules) {
    if (row.name == name) return row.run;
  }
  MG_CHECK(false, "a structured operator of that name exists");
}

}  // namespace magneto::tensor
