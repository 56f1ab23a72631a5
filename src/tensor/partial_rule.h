// SPDX-License-Identifier: BSD-3-Clause
// Partial rules, which handle the usual arguments only. Such a rule gives
// nothing where its arguments are wrong (torch has the messages for that) or
// where only torch itself knows the result; then what would run without the
// rule runs. Symbolic sizes stay symbols in the rule; what runs otherwise makes
// them numbers.
#pragma once

#include <algorithm>

#include "tensor/rule.h"

namespace magneto::tensor {

// What runs where a rule gives nothing.
enum class Otherwise : uint8_t {
  Structured,  // torch's shape function of a structured operator
  Composite,   // torch's kernel that is made of other operators
  Python,      // PyTorch's own Python FakeTensorMode
};

void run_otherwise(Otherwise what, std::string_view name, const OpInfo& op,
                   c10::IValue* args, Outputs& outputs);

namespace detail {

// An operator's name as an argument of a template.
template <size_t Size>
struct OpName {
  consteval OpName(const char (&name)[Size]) { std::copy_n(name, Size, text); }
  constexpr std::string_view view() const { return {text, Size - 1}; }

  char text[Size];
};

template <auto F>
struct Tried;
template <class Result, class... Args, std::optional<Result> (*F)(Args...)>
struct Tried<F> {
  static bool run(c10::IValue* args, Outputs& outputs) {
    return call(args, outputs, std::index_sequence_for<Args...>());
  }

 private:
  template <size_t... I>
  static bool call(c10::IValue* args, Outputs& outputs,
                   std::index_sequence<I...>) {
    std::optional<Result> result = F(Argument<Args>::read(args[I])...);
    if (result) push(outputs, std::move(*result));
    return result.has_value();
  }
};

template <OpName Name, auto F, Otherwise What>
void attempted(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  if (!Tried<F>::run(args, outputs))
    run_otherwise(What, Name.view(), op, args, outputs);
}

// The row's name must outlive the table, so it is a view of this.
template <OpName Name>
inline constexpr auto kKeptName = Name;

}  // namespace detail

template <detail::OpName Name, auto F, Otherwise What = Otherwise::Structured>
constexpr Rule attempt() {
  return {detail::kKeptName<Name>.view(), &detail::attempted<Name, F, What>};
}

using MaybeTensor = std::optional<at::Tensor>;
using TwoTensors = std::tuple<at::Tensor, at::Tensor>;

// The tables of such rules.
std::span<const Rule> join_rules();
std::span<const Rule> linalg_rules();
std::span<const Rule> order_rules();
std::span<const Rule> pad_rules();
std::span<const Rule> pool_rules();
std::span<const Rule> resample_rules();
std::span<const Rule> scatter_rules();

}  // namespace magneto::tensor
