// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/number_limits.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "shapes/environment.h"
#include "tensor/errors.h"
#include "tensor/op_info.h"
#include "tensor/symbol_node.h"

namespace magneto::tensor {
namespace {

// Tensors of more elements, for which there may be no memory, are compiled for
// anew.
constexpr int64_t kMostElements = int64_t{1} << 32;

template <class T>
Ends ends_of() {
  using Limits = std::numeric_limits<T>;
  const auto most = static_cast<double>(Limits::max());
  // The greatest of 64 bits is none of a double's.
  const bool is_exact = Limits::digits <= 53;
  return {static_cast<double>(Limits::lowest()),
          is_exact ? most : std::nextafter(most, 0.0)};
}

}  // namespace

Ends ends_of(c10::ScalarType type) {
  switch (c10::toRealValueType(type)) {
    case at::kByte:
      return ends_of<uint8_t>();
    case at::kChar:
      return ends_of<int8_t>();
    case at::kShort:
      return ends_of<int16_t>();
    case at::kInt:
      return ends_of<int32_t>();
    case at::kLong:
      return ends_of<int64_t>();
    case at::kHalf:
      return ends_of<at::Half>();
    case at::kBFloat16:
      return ends_of<at::BFloat16>();
    case at::kFloat:
      return ends_of<float>();
    default:
      return ends_of<double>();
  }
}

namespace {

bool holds(const c10::SymBool& condition) {
  return condition.guard_or_true(__FILE__, __LINE__);
}

// Decided by the numbers of the call that is traced, if they tell. torch wraps
// the nodes of floats in ones of its own, so they are asked as theirs.
bool is_within(const c10::SymFloat& number, Ends ends) {
  return holds(number.sym_ge(ends.least)) && holds(number.sym_le(ends.most));
}
bool is_within(const c10::SymInt& number, Ends ends) {
  // Integers of 64 bits hold them all.
  constexpr double kMost = 0x1p62;
  const auto end = [](double value) { return static_cast<int64_t>(value); };
  return (ends.least < -kMost || holds(number.sym_ge(end(ends.least)))) &&
         (ends.most > kMost || holds(number.sym_le(end(ends.most))));
}

bool is_number(const OpInfo& op, uint32_t index) {
  const c10::Type* type = op.handle.schema().arguments()[index].type().get();
  if (type->kind() == c10::TypeKind::OptionalType)
    type = type->containedType(0).get();
  return type->kind() == c10::TypeKind::NumberType;
}

// A size of which nothing says how large it may be, as of a number that the
// caller passes.
bool has_open_size(const at::Tensor& tensor) {
  if (!tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return false;
  return std::ranges::any_of(tensor.sym_sizes(), [](const c10::SymInt& size) {
    const SymbolNode* node = size.is_heap_allocated()
                                 ? own_node(size.toSymNodeImplUnowned())
                                 : nullptr;
    return node && node->environment()->range(node->expression()).most ==
                       shapes::Range::kMost;
  });
}

// Sizes of zero count as one, as they do for strides.
bool has_at_most(const at::Tensor& tensor, int64_t elements) {
  c10::SymInt left = elements;
  for (const c10::SymInt& size : tensor.sym_sizes()) {
    // One by one, as their product may be more than 64 bits hold.
    if (!holds(size.sym_le(left))) return false;
    left = left / size.max(1);
  }
  return true;
}

void limit_size(const at::Tensor& tensor) {
  if (!has_open_size(tensor)) return;
  constexpr int64_t kMostItemSize = 16;
  constexpr int64_t kAddressed =
      std::numeric_limits<int64_t>::max() / kMostItemSize;
  if (!has_at_most(tensor, kMostElements) && !has_at_most(tensor, kAddressed))
    throw_refused("a tensor has more bytes than 64 bits count");
}

}  // namespace

bool is_within(const c10::Scalar& number, Ends ends) {
  if (number.isSymbolic())
    return number.isFloatingPoint() ? is_within(number.toSymFloat(), ends)
                                    : is_within(number.toSymInt(), ends);
  const double value = number.toDouble();
  return ends.least <= value && value <= ends.most;
}

void limit_numbers(const OpInfo& op, const c10::IValue* args,
                   c10::ArrayRef<c10::IValue> outputs) {
  for (uint32_t i = 0; i < op.arity; ++i) {
    const bool is_symbol = args[i].isSymFloat() || args[i].isSymInt();
    if (!is_symbol || !is_number(op, i)) continue;
    const c10::Scalar number = args[i].toScalar();
    const auto limit = [&](const c10::IValue& filled) {
      if (filled.isTensor() && filled.toTensor().defined())
        (void)is_within(number, ends_of(filled.toTensor().scalar_type()));
    };
    std::for_each(args, args + op.arity, limit);
    std::ranges::for_each(outputs, limit);
  }
  for (const c10::IValue& output : outputs)
    if (output.isTensor() && output.toTensor().defined())
      limit_size(output.toTensor());
}

}  // namespace magneto::tensor
