// SPDX-License-Identifier: BSD-3-Clause
// How an expression stands in ATen's sizes and in torch's symbolic numbers.
#pragma once

#include <c10/core/SymInt.h>
#include <c10/core/SymNodeImpl.h>

#include <typeinfo>

#include "shapes/environment.h"
#include "tensor/symbols.h"

namespace magneto::tensor {

class SymbolNode final : public c10::SymNodeImpl {
 public:
  SymbolNode(EnvironmentRef environment, shapes::E expression)
      : environment_(std::move(environment)), expression_(expression) {}

  const EnvironmentRef& environment() const { return environment_; }
  // With what was found out since it was made.
  shapes::E expression() const { return environment_->simplify(expression_); }

  bool is_int() override { return is_of(shapes::Type::Integer); }
  bool is_float() override { return is_of(shapes::Type::Float); }
  bool is_bool() override { return is_of(shapes::Type::Boolean); }

#define MG_BINARY(name) c10::SymNode name(const c10::SymNode& other) override;
#define MG_UNARY(name) c10::SymNode name() override;
#define MG_STRIDES(name)                               \
  c10::SymNode name(c10::ArrayRef<c10::SymNode> sizes, \
                    c10::ArrayRef<c10::SymNode> strides) override;
#include "tensor/symbol_methods.def"
#undef MG_BINARY
#undef MG_UNARY
#undef MG_STRIDES
  c10::SymNode sym_ite(const c10::SymNode& then_value,
                       const c10::SymNode& else_value) override;

  c10::SymNode clone() override;
  c10::SymNode wrap_int(int64_t value) override;
  c10::SymNode wrap_float(double value) override;
  c10::SymNode wrap_bool(bool value) override;

  // Decisions. What can't be decided without the data raises.
  int64_t guard_int(const char* file, int64_t line) override;
  bool guard_bool(const char* file, int64_t line) override;
  double guard_float(const char* file, int64_t line) override;
  bool guard_size_oblivious(const char* file, int64_t line) override;
  bool guard_or_false(const char* file, int64_t line) override;
  bool guard_or_true(const char* file, int64_t line) override;
  bool statically_known_true(const char* file, int64_t line) override;
  bool expect_true(const char* file, int64_t line) override;
  // See unbacked_size.h.
  bool must_hold();
  // The condition, if the sizes in it that only the graph's run tells are
  // neither zero nor one; none if that doesn't settle it.
  std::optional<bool> usually() const;
  int64_t int_() override { return guard_int(__FILE__, __LINE__); }
  bool bool_() override { return guard_bool(__FILE__, __LINE__); }

  bool has_hint() override;
  std::optional<int64_t> maybe_as_int() override;
  std::optional<int64_t> constant_int() override { return maybe_as_int(); }
  std::optional<bool> constant_bool() override;
  bool is_constant() override { return expression()->is_constant(); }
  bool is_symbolic() override { return !expression()->is_constant(); }
  std::optional<int64_t> nested_int() override { return std::nullopt; }
  std::optional<int64_t> nested_int_coeff() override { return std::nullopt; }
  std::string str() override;
  std::string _graph_repr() override { return str(); }

 private:
  bool is_of(shapes::Type type) const { return expression_->type == type; }
  c10::SymNode computed(shapes::Operation operation,
                        const c10::SymNode& other) const;
  shapes::Number specialized() const;
  bool decided(bool otherwise) const;
  c10::SymNode made(shapes::E result) const;
  shapes::E operand(const c10::SymNode& node) const;

  EnvironmentRef environment_;
  shapes::E expression_;
};

// Null if `node` is another one than ours.
inline SymbolNode* own_node(c10::SymNodeImpl* node) {
  // The class is final: cheaper than a dynamic_cast.
  return node && typeid(*node) == typeid(SymbolNode)
             ? static_cast<SymbolNode*>(node)
             : nullptr;
}

// A size that is known is a plain int.
c10::SymInt to_symint(const EnvironmentRef& environment, shapes::E expression);
// Null for a number of another environment.
shapes::E to_expression(const EnvironmentRef& environment,
                        const c10::SymInt& number);

// What needs no condition to be made and decided about: nothing is guarded.
// Whether two numbers are equal; none where it isn't plain to see.
std::optional<bool> plainly_equal(const c10::SymInt& a, const c10::SymInt& b);
// False where it isn't plain to see.
bool is_plainly_at_least(const c10::SymInt& number, int64_t least);

}  // namespace magneto::tensor
