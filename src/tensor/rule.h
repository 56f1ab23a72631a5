// SPDX-License-Identifier: BSD-3-Clause
// Shape rules: what an operator gives on fake tensors. A rule is a plain
// function with the operator's own C++ signature that looks at its arguments'
// metadata and returns fresh fakes or views; it never touches data, and never
// writes to its arguments unless it is the rule of an in-place operator.
//
// A rule for the functional form of an operator serves its in-place and out=
// forms as well (out_variants.h), so those need none of their own.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tensor/fake_impl.h"

namespace magneto::tensor {

struct OpInfo;

using Outputs = c10::SmallVector<c10::IValue, 3>;
// Reads the arguments at `args`, appends the results to `outputs`.
using RuleFn = void (*)(const OpInfo& op, c10::IValue* args, Outputs& outputs);

// One row of a rule table: "aten::add.Tensor" or, for the overload without a
// name, "aten::mm".
struct Rule {
  std::string_view name;
  RuleFn run;
};

namespace detail {

// How a rule's parameter of type T is read from the stack. The holder lives as
// long as the call; converting it gives the argument.
template <class T>
struct Argument {
  static decltype(auto) read(c10::IValue& value) { return value.to<T>(); }
};
template <>
struct Argument<const at::Tensor&> {
  static const at::Tensor& read(c10::IValue& value) { return value.toTensor(); }
};
template <>
struct Argument<const c10::Scalar&> {
  static c10::Scalar read(c10::IValue& value) { return value.toScalar(); }
};
template <>
struct Argument<c10::SymIntArrayRef> {
  static DimVec read(c10::IValue& value) {
    if (value.isInt() || value.isSymInt()) return DimVec{value.toSymInt()};
    const auto list = value.toListRef();
    DimVec dims(list.size());
    for (size_t i = 0; i < list.size(); ++i) dims[i] = list[i].toSymInt();
    return dims;
  }
};
template <>
struct Argument<c10::IntArrayRef> {
  static c10::DimVector read(c10::IValue& value) {
    const auto list = value.toListRef();
    c10::DimVector dims(list.size());
    for (size_t i = 0; i < list.size(); ++i) dims[i] = list[i].toInt();
    return dims;
  }
};
template <>
struct Argument<at::TensorList> {
  static std::vector<at::Tensor> read(c10::IValue& value) {
    return value.toTensorVector();
  }
};
struct TensorListHolder {
  std::vector<at::Tensor> tensors;
  operator at::ITensorListRef() const { return at::TensorList(tensors); }
};
template <>
struct Argument<const at::ITensorListRef&> {
  static TensorListHolder read(c10::IValue& value) {
    return {value.toTensorVector()};
  }
};
template <class T>
struct OptionalArrayHolder {
  std::optional<T> values;
  template <class Element>
  operator c10::OptionalArrayRef<Element>() const {
    if (!values) return std::nullopt;
    return c10::ArrayRef<Element>(values->data(), values->size());
  }
};
template <>
struct Argument<c10::OptionalArrayRef<c10::SymInt>> {
  static OptionalArrayHolder<DimVec> read(c10::IValue& value) {
    if (value.isNone()) return {};
    return {Argument<c10::SymIntArrayRef>::read(value)};
  }
};
template <>
struct Argument<c10::OptionalIntArrayRef> {
  static OptionalArrayHolder<c10::DimVector> read(c10::IValue& value) {
    if (value.isNone()) return {};
    return {Argument<c10::IntArrayRef>::read(value)};
  }
};
template <>
struct Argument<const std::optional<at::Tensor>&> {
  static std::optional<at::Tensor> read(c10::IValue& value) {
    if (value.isNone()) return std::nullopt;
    return value.toTensor();
  }
};
template <>
struct Argument<const std::optional<c10::Scalar>&> {
  static std::optional<c10::Scalar> read(c10::IValue& value) {
    if (value.isNone()) return std::nullopt;
    return value.toScalar();
  }
};
// Which generator is used makes no difference to shapes.
template <>
struct Argument<const std::optional<at::Generator>&> {
  static std::optional<at::Generator> read(c10::IValue&) { return {}; }
};
template <>
struct Argument<const c10::List<std::optional<at::Tensor>>&> {
  static c10::List<std::optional<at::Tensor>> read(c10::IValue& value) {
    return value.toOptionalTensorList();
  }
};
template <>
struct Argument<std::string_view> {
  static std::string_view read(c10::IValue& value) {
    return value.toStringView();
  }
};
template <>
struct Argument<std::optional<std::string_view>> {
  static std::optional<std::string_view> read(c10::IValue& value) {
    if (value.isNone()) return std::nullopt;
    return value.toStringView();
  }
};

template <class T>
void push(Outputs& outputs, T&& value) {
  outputs.emplace_back(std::forward<T>(value));
}
template <class... Ts>
void push(Outputs& outputs, std::tuple<Ts...>&& values) {
  std::apply([&](auto&&... each) { (push(outputs, std::move(each)), ...); },
             std::move(values));
}

template <auto F>
struct Typed;
template <class Result, class... Args, Result (*F)(Args...)>
struct Typed<F> {
  static void run(const OpInfo&, c10::IValue* args, Outputs& outputs) {
    call(args, outputs, std::index_sequence_for<Args...>());
  }

 private:
  template <size_t... I>
  static void call(c10::IValue* args, Outputs& outputs,
                   std::index_sequence<I...>) {
    if constexpr (std::is_void_v<Result>) {
      F(Argument<Args>::read(args[I])...);
    } else {
      push(outputs, F(Argument<Args>::read(args[I])...));
    }
  }
};

}  // namespace detail

// A row for a rule that is an ordinary typed function.
template <auto F>
constexpr Rule rule(std::string_view name) {
  return {name, &detail::Typed<F>::run};
}

// The tables of rules, one for each family; more are in partial_rule.h.
std::span<const Rule> attention_rules();
std::span<const Rule> convolution_rules();
std::span<const Rule> copy_rules();
std::span<const Rule> data_rules();
std::span<const Rule> factory_rules();
std::span<const Rule> index_rules();
std::span<const Rule> like_rules();
std::span<const Rule> loss_rules();
std::span<const Rule> matmul_rules();
std::span<const Rule> metadata_rules();
std::span<const Rule> norm_rules();
std::span<const Rule> pointwise_rules();
std::span<const Rule> reduce_rules();
std::span<const Rule> structured_rules();
std::span<const Rule> view_rules();

// The rule of that name from any table, or null.
const Rule* find_rule(std::string_view name);
// Torch's own shape function of a structured operator, for rules that only
// handle the common case themselves.
RuleFn structured_rule(std::string_view name);

}  // namespace magneto::tensor
