// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/symbol_node.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Contiguity.h>

#include <algorithm>
#include <numeric>

#include "tensor/errors.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {

using shapes::E;
using shapes::Expressions;
using shapes::Number;
using shapes::Operation;
using shapes::Type;

namespace {

// A mix of ints and floats is computed with floats; bools count as ints.
E as_float(Expressions& table, E e) {
  if (e && e->type == Type::Boolean) e = table.make(Operation::ToInteger, e);
  if (e && e->type == Type::Integer) e = table.make(Operation::ToFloat, e);
  return e;
}
E as_number(Expressions& table, E e) {
  return e && e->type == Type::Boolean ? table.make(Operation::ToInteger, e)
                                       : e;
}

E arithmetic(Expressions& table, Operation operation, E a, E b) {
  a = as_number(table, a);
  b = as_number(table, b);
  if (!a || !b) return nullptr;
  if (a->type != b->type) {
    a = as_float(table, a);
    b = as_float(table, b);
  }
  return a && b ? table.make(operation, a, b) : nullptr;
}

}  // namespace

c10::SymInt to_symint(const EnvironmentRef& environment, E expression) {
  expression = environment->simplify(expression);
  if (expression->is_constant()) return expression->value.integer();
  return c10::SymInt(
      c10::SymNode(c10::make_intrusive<SymbolNode>(environment, expression)));
}

namespace {

SymbolNode* node_of(const c10::SymInt& number) {
  return number.is_heap_allocated() ? own_node(number.toSymNodeImplUnowned())
                                    : nullptr;
}

}  // namespace

E to_expression(const EnvironmentRef& environment, const c10::SymInt& number) {
  if (auto* node = node_of(number))
    return node->environment() == environment ? node->expression() : nullptr;
  const auto plain = number.maybe_as_int();
  return plain ? environment->expressions().integer(*plain) : nullptr;
}

namespace {

// None for a number of torch's own on the heap.
std::optional<shapes::Range> plain_range(const c10::SymInt& number) {
  if (!number.is_heap_allocated())
    return shapes::Range{number.as_int_unchecked(), number.as_int_unchecked()};
  const SymbolNode* node = node_of(number);
  if (!node) return std::nullopt;
  return node->environment()->range(node->expression());
}

}  // namespace

std::optional<bool> plainly_equal(const c10::SymInt& a, const c10::SymInt& b) {
  if (!a.is_heap_allocated() && !b.is_heap_allocated())
    return a.as_int_unchecked() == b.as_int_unchecked();
  if (const SymbolNode* left = node_of(a), *right = node_of(b); left && right)
    return left->environment() == right->environment() &&
                   left->expression() == right->expression()
               ? std::optional(true)
               : std::nullopt;
  const auto left = plain_range(a), right = plain_range(b);
  return left && right &&
                 (left->most < right->least || right->most < left->least)
             ? std::optional(false)
             : std::nullopt;
}

bool is_plainly_at_least(const c10::SymInt& number, int64_t least) {
  const auto range = plain_range(number);
  return range && range->least >= least;
}

// ---- Expressions -----------------------------------------------------------

E SymbolNode::operand(const c10::SymNode& node) const {
  if (auto* other = own_node(node.get())) {
    TORCH_CHECK(other->environment_ == environment_,
                "numbers of two traces can't be combined");
    return other->expression();
  }
  Expressions& table = environment_->expressions();
  if (node->is_int()) return table.integer(node->guard_int(__FILE__, __LINE__));
  if (node->is_bool())
    return table.boolean(node->guard_bool(__FILE__, __LINE__));
  return table.real(node->guard_float(__FILE__, __LINE__));
}

c10::SymNode SymbolNode::made(E result) const {
  if (!result) throw_needs_data("a size that 64 bits don't hold");
  return c10::make_intrusive<SymbolNode>(environment_, result);
}

c10::SymNode SymbolNode::clone() {
  return c10::make_intrusive<SymbolNode>(environment_, expression_);
}
c10::SymNode SymbolNode::wrap_int(int64_t value) {
  return made(environment_->expressions().integer(value));
}
c10::SymNode SymbolNode::wrap_float(double value) {
  return made(environment_->expressions().real(value));
}
c10::SymNode SymbolNode::wrap_bool(bool value) {
  return made(environment_->expressions().boolean(value));
}

// Of two numbers; Python raises for a divisor that is zero.
c10::SymNode SymbolNode::computed(Operation operation,
                                  const c10::SymNode& other) const {
  Expressions& table = environment_->expressions();
  E right = as_number(table, operand(other));
  if (shapes::is_division(operation)) {
    E zero = right->type == Type::Float ? table.real(0) : table.integer(0);
    if (environment_->decide(table.make(Operation::Equal, right, zero))
            .value_or(false))
      throw_refused("a division by zero");
  }
  return made(arithmetic(table, operation, expression(), right));
}

#define MG_ARITHMETIC(name, operation)                       \
  c10::SymNode SymbolNode::name(const c10::SymNode& other) { \
    return computed(operation, other);                       \
  }
MG_ARITHMETIC(add, Operation::Add)
MG_ARITHMETIC(mul, Operation::Multiply)
MG_ARITHMETIC(truediv, Operation::TrueDivide)
MG_ARITHMETIC(float_truediv, Operation::TrueDivide)
MG_ARITHMETIC(int_truediv, Operation::TrueDivide)
MG_ARITHMETIC(pow, Operation::Power)
MG_ARITHMETIC(float_pow, Operation::Power)
MG_ARITHMETIC(pow_by_natural, Operation::Power)
MG_ARITHMETIC(floordiv, Operation::FloorDivide)
MG_ARITHMETIC(int_floordiv, Operation::FloorDivide)
MG_ARITHMETIC(mod, Operation::Modulo)
MG_ARITHMETIC(eq, Operation::Equal)
MG_ARITHMETIC(lt, Operation::Less)
MG_ARITHMETIC(le, Operation::LessEqual)
MG_ARITHMETIC(sym_min, Operation::Minimum)
MG_ARITHMETIC(sym_max, Operation::Maximum)
#undef MG_ARITHMETIC

c10::SymNode SymbolNode::sub(const c10::SymNode& other) {
  Expressions& table = environment_->expressions();
  E right = as_number(table, operand(other));
  return made(arithmetic(table, Operation::Add, expression(),
                         right ? table.negate(right) : nullptr));
}
c10::SymNode SymbolNode::ne(const c10::SymNode& other) {
  Expressions& table = environment_->expressions();
  return made(table.logical_not(
      arithmetic(table, Operation::Equal, expression(), operand(other))));
}
c10::SymNode SymbolNode::gt(const c10::SymNode& other) {
  return made(arithmetic(environment_->expressions(), Operation::Less,
                         operand(other), expression()));
}
c10::SymNode SymbolNode::ge(const c10::SymNode& other) {
  return made(arithmetic(environment_->expressions(), Operation::LessEqual,
                         operand(other), expression()));
}
c10::SymNode SymbolNode::sym_or(const c10::SymNode& other) {
  return made(environment_->expressions().make(Operation::Or, expression(),
                                               operand(other)));
}
c10::SymNode SymbolNode::sym_and(const c10::SymNode& other) {
  return made(environment_->expressions().make(Operation::And, expression(),
                                               operand(other)));
}
c10::SymNode SymbolNode::sym_not() {
  return made(environment_->expressions().logical_not(expression()));
}
c10::SymNode SymbolNode::neg() {
  Expressions& table = environment_->expressions();
  return made(table.negate(as_number(table, expression())));
}
c10::SymNode SymbolNode::sym_float() {
  return made(as_float(environment_->expressions(), expression()));
}
c10::SymNode SymbolNode::ceil() {
  if (is_int()) return clone();
  return made(
      environment_->expressions().make(Operation::Ceiling, expression()));
}
c10::SymNode SymbolNode::floor() {
  if (is_int()) return clone();
  return made(environment_->expressions().make(Operation::Floor, expression()));
}
c10::SymNode SymbolNode::sym_ite(const c10::SymNode& then_value,
                                 const c10::SymNode& else_value) {
  return guard_bool(__FILE__, __LINE__) ? then_value : else_value;
}

// ---- Questions about strides
// ------------------------------------------------- Answered by the algorithms
// that torch uses for plain ints, over SymInts: their comparisons are decided
// one by one, most without a guard, since strides are written as products of
// sizes.

namespace {

using Nodes = c10::ArrayRef<c10::SymNode>;

c10::SymDimVector numbers(Nodes nodes) {
  c10::SymDimVector result;
  for (const c10::SymNode& node : nodes) {
    if (auto plain = node->maybe_as_int())
      result.emplace_back(*plain);
    else
      result.emplace_back(c10::SymInt(node));
  }
  return result;
}

c10::SymInt numel_of(const c10::SymDimVector& sizes) {
  c10::SymInt result = 1;
  for (const c10::SymInt& size : sizes) result = multiplied(result, size);
  return result;
}

bool or_false(const c10::SymBool& condition) {
  return condition.guard_or_false(__FILE__, __LINE__);
}

bool or_true(const c10::SymBool& condition) {
  return condition.guard_or_true(__FILE__, __LINE__);
}

// Whether every element is addressed once, without gaps: dimensions are taken
// one by one, from the innermost on.
bool is_dense(const c10::SymDimVector& sizes,
              const c10::SymDimVector& strides) {
  std::vector<size_t> left;
  for (size_t i = 0; i < sizes.size(); ++i)
    if (or_true(sizes[i].sym_ne(1))) left.push_back(i);
  // Strides may be products of sizes, or of what is one for a size of zero.
  c10::SymInt product = 1, expected = 1;
  while (!left.empty()) {
    auto next = left.begin();
    for (auto each = next + 1; each != left.end(); ++each)
      if (or_false(strides[*each].sym_lt(strides[*next]))) next = each;
    const c10::SymInt& stride = strides[*next];
    if (!or_false(stride.sym_eq(expected)) && !or_false(stride.sym_eq(product)))
      return false;
    expected = multiplied(expected, sizes[*next].max(1));
    product = multiplied(product, sizes[*next]);
    left.erase(next);
  }
  return true;
}

}  // namespace

c10::SymNode SymbolNode::is_contiguous(Nodes sizes, Nodes strides) {
  c10::SymDimVector s = numbers(sizes);
  return wrap_bool(
      or_false(c10::_compute_contiguous_sym(s, numbers(strides), numel_of(s))));
}
c10::SymNode SymbolNode::is_channels_last_contiguous_2d(Nodes sizes,
                                                        Nodes strides) {
  return wrap_bool(or_false(c10::_compute_channels_last_contiguous_2d_sym(
      numbers(sizes), numbers(strides))));
}
c10::SymNode SymbolNode::is_channels_last_contiguous_3d(Nodes sizes,
                                                        Nodes strides) {
  return wrap_bool(or_false(c10::_compute_channels_last_contiguous_3d_sym(
      numbers(sizes), numbers(strides))));
}
c10::SymNode SymbolNode::is_channels_last_strides_2d(Nodes sizes,
                                                     Nodes strides) {
  return wrap_bool(c10::is_channels_last_strides_2d_s4<c10::SymInt>(
                       numbers(sizes), numbers(strides)) &&
                   sizes.size() == 4);
}
c10::SymNode SymbolNode::is_channels_last_strides_3d(Nodes sizes,
                                                     Nodes strides) {
  return wrap_bool(c10::is_channels_last_strides_3d_s5<c10::SymInt>(
                       numbers(sizes), numbers(strides)) &&
                   sizes.size() == 5);
}
c10::SymNode SymbolNode::is_non_overlapping_and_dense(Nodes sizes,
                                                      Nodes strides) {
  return wrap_bool(is_dense(numbers(sizes), numbers(strides)));
}

// ---- Decisions
// ---------------------------------------------------------------

Number SymbolNode::specialized() const {
  std::optional<Number> value = environment_->specialize(expression());
  if (!value)
    throw_needs_data("the number " + environment_->show_to_user(expression()) +
                     " is known only when the graph runs");
  return *value;
}

// What is decided where neither what is known nor a hint tells.
bool SymbolNode::decided(bool otherwise) const {
  return environment_->decide(expression()).value_or(otherwise);
}

int64_t SymbolNode::guard_int(const char*, int64_t) {
  return specialized().integer();
}
double SymbolNode::guard_float(const char*, int64_t) {
  return specialized().real();
}
bool SymbolNode::guard_bool(const char*, int64_t) {
  std::optional<bool> answer = environment_->decide(expression());
  if (!answer) answer = presumed(*this);
  if (!answer)
    throw_needs_data("whether " + environment_->show_to_user(expression()) +
                     " is known only when the graph runs");
  return *answer;
}
std::optional<bool> SymbolNode::usually() const {
  shapes::Expressions& table = environment_->expressions();
  const E usual = table.substitute(expression(), [&](shapes::SymbolId id) -> E {
    const shapes::Symbol& symbol = environment_->symbol(id);
    if (symbol.is_backed || symbol.type != Type::Integer ||
        environment_->range(symbol.expression).least < 0)
      return nullptr;
    return table.add(symbol.expression, table.integer(2));
  });
  return usual ? environment_->known(usual) : std::nullopt;
}
bool SymbolNode::guard_size_oblivious(const char*, int64_t) {
  if (const auto answer = environment_->decide(expression())) return *answer;
  return usually().value_or(false);
}
bool SymbolNode::guard_or_false(const char*, int64_t) { return decided(false); }
bool SymbolNode::guard_or_true(const char*, int64_t) { return decided(true); }
bool SymbolNode::statically_known_true(const char*, int64_t) {
  return environment_->known(expression()).value_or(false);
}
bool SymbolNode::must_hold() {
  const E condition = expression();
  if (const auto answer = environment_->decide(condition)) return *answer;
  return environment_->assume(condition);
}

namespace {

// `0 <= u`, of a symbol.
bool is_sign(E condition) {
  if (condition->operation != Operation::LessEqual) return false;
  const E left = condition->operands[0], right = condition->operands[1];
  return (left->is_constant() && right->is_symbol()) ||
         (right->is_constant() &&
          (left->is_symbol() || left->operation == Operation::Multiply));
}

}  // namespace

// Asked by torch's composite kernels of their arguments. Most operators raise
// where it doesn't hold, but not all: of two sizes, one of which is broadcast
// if it is one, kernels ask that they be equal. So the graph asserts it. A size
// that might be -1, which is then inferred: kernels ask for one that isn't.
bool SymbolNode::expect_true(const char* file, int64_t line) {
  const E condition = expression();
  if (is_sign(condition)) return guard_bool(file, line);
  if (const auto answer = environment_->decide(condition)) return *answer;
  if (assert_in_graph(condition)) return true;
  // Of what comes out of the call itself.
  return condition->operation == Operation::Equal ? guard_bool(file, line)
                                                  : must_hold();
}

bool SymbolNode::has_hint() {
  return environment_->hint(expression()).has_value();
}
std::optional<int64_t> SymbolNode::maybe_as_int() {
  E now = expression();
  if (now->type != Type::Integer || !now->is_constant()) return std::nullopt;
  return now->value.integer();
}
std::optional<bool> SymbolNode::constant_bool() {
  E now = expression();
  if (now->type != Type::Boolean || !now->is_constant()) return std::nullopt;
  return now->value.truth();
}
std::string SymbolNode::str() { return environment_->show(expression()); }

}  // namespace magneto::tensor
