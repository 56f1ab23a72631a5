// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/trace_symbols.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/uses.h"
#include "guards/draw.h"
#include "guards/program.h"
#include "python/find.h"
#include "python/gil.h"
#include "shapes/environment.h"
#include "tensor/operator_effects.h"
#include "values/model/context.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/types/texts.h"

namespace magneto::values {

using guards::IntKind;
using guards::IntSource;
using shapes::E;
using shapes::Number;
using shapes::Operation;
using shapes::Range;
using shapes::Type;

namespace {

// Where sizes, strides and offsets of tensors are.
constexpr Range kSizes{0, int64_t{1} << 62};
constexpr Range kOwnStrides{2, kSizes.most};

}  // namespace

TraceSymbols::TraceSymbols(Context& ctx)
    : ctx_(ctx),
      sources_(ctx.journal),
      groups_(ctx.journal),
      nodes_(ctx.journal),
      needs_rerun_(ctx.journal) {}

TraceSymbols::~TraceSymbols() {
  // Fakes in the graph may outlive the trace, and their sizes the journal.
  if (environment_) environment_->detach();
}

tensor::EnvironmentRef TraceSymbols::data_environment() {
  return ctx_.takes_data ? environment() : nullptr;
}

const tensor::EnvironmentRef& TraceSymbols::environment() {
  if (!environment_) {
    environment_ = std::make_shared<shapes::Environment>(&ctx_.journal);
    static_assert(shapes::kNoPlace == graph::LocationId::kNone);
    // Rules of fake tensors ask without the interpreter's lock.
    environment_->set_place([this] {
      const GilHeld gil;
      return ctx_.inliner ? ctx_.inliner->location().index : shapes::kNoPlace;
    });
    environment_->set_names([this](shapes::SymbolId id) {
      const GilHeld gil;
      return name(id);
    });
  }
  return environment_;
}

E TraceSymbols::make(Number hint, const IntSource& source, Type type,
                     Range range, Range always) {
  E symbol = environment()->backed(type, hint, range, always);
  remember_source(symbol, source);
  return symbol;
}

void TraceSymbols::remember_source(E symbol, const IntSource& source,
                                   const std::string& group) {
  // Numbers of the graph's in between have none.
  while (sources_.size() < symbol->symbol.index) {
    sources_.push_back({});
    groups_.push_back({});
  }
  sources_.push_back(source);
  groups_.push_back(group);
}

V TraceSymbols::drawn(const IntSource& source, Type type, Range range) {
  const E number = environment()->unbacked(type, range, true);
  remember_source(number, source);
  ++drawn_count_;
  return value(number);
}

bool TraceSymbols::comes_of_draws(E number) const {
  bool comes = true;
  shapes::for_each_symbol(number, [&](shapes::SymbolId id) {
    const shapes::Symbol& symbol = environment_->symbol(id);
    comes = comes &&
            (symbol.is_backed ||
             (symbol.is_given && guards::is_drawn(sources_[id.index].kind)));
  });
  return comes;
}

std::string TraceSymbols::name(shapes::SymbolId symbol) const {
  if (!environment_->symbol(symbol).is_given) return {};
  const IntSource& source = sources_[symbol.index];
  if (source.draw) return source.draw->name;
  return guards::number_name(ctx_.sources.print(source.source), source.kind,
                             source.dim);
}

std::string TraceSymbols::show(E number) const {
  return environment_->show_to_user(number);
}

std::string TraceSymbols::show_sizes(PyObject* fake) const {
  std::string text;
  const auto add = [&](const std::string& size) {
    text += (text.empty() ? "" : ", ") + size;
  };
  if (tensor::has_symbolic_shape(fake) && environment_)
    for (E size : tensor::size_expressions(environment_, fake)) add(show(size));
  else
    for (int64_t size : tensor::sizes(fake)) add(std::to_string(size));
  return "[" + text + "]";
}

// Of a dimension that is marked as one whose size nobody looks at, or of one
// that varies. `size` is what it is in the call.
E TraceSymbols::size_symbol(const SymbolPolicy::Size& wanted, int64_t size,
                            const IntSource& source) {
  if (!wanted.is_unbacked)
    return make(Number::of(size), source, Type::Integer, wanted.range, kSizes);
  shapes::Expressions& table = environment()->expressions();
  const E symbol = environment_->unbacked(Type::Integer, kSizes, true);
  remember_source(symbol, source, wanted.group);
  environment_->require(
      table.less_equal(table.integer(wanted.range.least), symbol));
  environment_->require(
      table.less_equal(symbol, table.integer(wanted.range.most)));
  for (size_t i = 0; i < symbol->symbol.index && !wanted.group.empty(); ++i) {
    if (groups_[i] != wanted.group) continue;
    environment_->require(table.equal(
        environment_->symbol(shapes::SymbolId(i)).expression, symbol));
    break;
  }
  return symbol;
}

V TraceSymbols::value(E number, SourceId source) {
  number = environment()->simplify(number);
  if (number->is_constant()) {
    switch (number->type) {
      case Type::Integer:
        return ctx_.integer(number->value.integer());
      case Type::Float:
        return ctx_.constant(
            Ref::steal(PyFloat_FromDouble(number->value.real())));
      case Type::Boolean:
        return ctx_.boolean(number->value.truth());
    }
  }
  SymbolValue value{};
  value.kind = Kind::Symbol;
  value.source = source;
  value.type = number->type == Type::Integer ? &PyLong_Type
               : number->type == Type::Float ? &PyFloat_Type
                                             : &PyBool_Type;
  value.number = number;
  return ctx_.arena.make<SymbolValue>(value);
}

V TraceSymbols::simplified(V symbol) {
  E number = as<SymbolValue>(symbol)->number;
  E now = environment_->simplify(number);
  return now == number ? symbol : value(now, symbol->source);
}

void TraceSymbols::leave_varying(SourceId source, const std::string& name) {
  ctx_.symbol_policy->leave(source);
  throw BreakException{{"varying-value", name, ""}};
}

V TraceSymbols::specialized(V symbol) {
  E number = as<SymbolValue>(symbol)->number;
  if (ctx_.symbol_policy) {
    shapes::for_each_symbol(
        environment_->simplify(number), [this](shapes::SymbolId id) {
          if (!environment_->symbol(id).is_given) return;
          const IntSource& number_source = sources_[id.index];
          if (guards::is_drawn(number_source.kind)) return;
          const SourceId source = number_source.source;
          if (source.valid() &&
              ctx_.symbol_policy->has_enough_of_symbol(source))
            leave_varying(source, name(id));
        });
  }
  const std::optional<Number> known = environment_->specialize(number);
  if (!known) {
    throw BreakException{
        {"data-dependent", "the number " + unknown(ctx_, number), ""}};
  }
  // What was computed with floats is known under its guard, but isn't replaced.
  return value(environment_->expressions().constant(number->type, *known));
}

V TraceSymbols::wrap_number(PyObject* object, SourceId source) {
  Number hint;
  Type type = Type::Float;
  if (PyFloat_CheckExact(object)) {
    const double real = PyFloat_AS_DOUBLE(object);
    // Those that aren't finite stand for something.
    if (!std::isfinite(real)) return nullptr;
    hint = Number::of(real);
  } else if (PyLong_CheckExact(object)) {
    int overflow = 0;
    const int64_t integer = PyLong_AsLongLongAndOverflow(object, &overflow);
    // Nothing is computed with what 64 bits hardly hold.
    if (overflow || integer < -kSizes.most || integer > kSizes.most)
      return nullptr;
    hint = Number::of(integer);
    type = Type::Integer;
  } else {
    return nullptr;
  }
  if (!ctx_.symbol_policy->is_symbolic(object, source)) return nullptr;
  ctx_.guards.type_is(source, Py_TYPE(object));
  return value(make(hint, {IntKind::Value, source}, type), source);
}

// Which sizes of an input are symbols, and its strides in terms of them. What
// follows from the sizes is a relation that the guards check; other strides are
// what they are, until they vary.
std::optional<tensor::SymbolicShape> TraceSymbols::shape_of(
    PyObject* real, SourceId source, tensor::TensorSnapshot& snapshot) {
  if (!ctx_.symbol_policy || !snapshot.plain) return {};
  const SymbolPolicy::Sizes wanted =
      ctx_.symbol_policy->symbolic_sizes(real, source);
  // One of 0 or 1 says how the tensor lies in memory: PyTorch refuses to write
  // to a dimension whose items are all in one place.
  const auto has_own_stride = [&](size_t i) {
    return snapshot.strides.span()[i] > 1 &&
           ctx_.symbol_policy->is_symbolic_stride(source, i);
  };
  bool is_symbolic = false;
  for (size_t i = 0; i < wanted.size(); ++i)
    is_symbolic = is_symbolic || wanted[i].has_value() || has_own_stride(i);
  if (!is_symbolic) return {};
  shapes::Expressions& table = environment()->expressions();
  tensor::SymbolicShape shape;
  const std::vector<int64_t> sizes(snapshot.sizes.span().begin(),
                                   snapshot.sizes.span().end());
  const std::vector<int64_t> strides(snapshot.strides.span().begin(),
                                     snapshot.strides.span().end());
  is_symbolic = false;
  for (uint32_t i = 0; i < sizes.size(); ++i) {
    // A size of 0 or 1 has a meaning of its own: what broadcasts, what is
    // empty.
    const std::optional<SymbolPolicy::Size>& size = wanted[i];
    if (!size || (!size->is_unbacked && (sizes[i] == 0 || sizes[i] == 1))) {
      shape.sizes.push_back(table.integer(sizes[i]));
      continue;
    }
    is_symbolic = true;
    shape.sizes.push_back(
        size_symbol(*size, sizes[i], {IntKind::Size, source, i}));
    snapshot.mark_dynamic(i);
  }
  for (size_t i = 0; i < sizes.size(); ++i)
    is_symbolic = is_symbolic || has_own_stride(i);
  if (!is_symbolic) return {};
  std::vector<uint32_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  // From the innermost dimension on; of equal strides, sizes of one first (or
  // of zero, which count as one), the last dimension before others.
  auto extent = [&](uint32_t i) { return std::max<int64_t>(sizes[i], 1); };
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (strides[a] != strides[b]) return strides[a] < strides[b];
    return extent(a) != extent(b) ? extent(a) < extent(b) : a > b;
  });
  shape.strides.resize(sizes.size());
  std::vector<uint32_t> placed;
  for (uint32_t i : order) {
    E stride = table.integer(strides[i]);
    for (uint32_t j : placed) {
      if (extent(j) * strides[j] != strides[i]) continue;
      E least =
          table.make(Operation::Maximum, shape.sizes[j], table.integer(1));
      E product =
          table.multiply(environment()->simplify(least), shape.strides[j]);
      if (!product || product->is_constant()) continue;
      stride = product;
    }
    if (!stride->is_constant() || has_own_stride(i)) {
      E own = make(Number::of(strides[i]), {IntKind::Stride, source, i},
                   Type::Integer, has_own_stride(i) ? kOwnStrides : Range{},
                   kSizes);
      if (stride->is_constant())
        stride = own;
      else
        environment()->require(table.equal(own, stride));
      snapshot.mark_stride_dynamic(i);
    }
    shape.strides[i] = stride;
    placed.push_back(i);
  }
  return shape;
}

// -- in the graph
// --------------------------------------------------------------

namespace {

// "_operator.add". It lives as long as its module.
PyObject* function_at(const char* path) {
  PyObject* found = find_object(path);
  MG_CHECK(found, std::string("the function of an operation: ") + path);
  return found;
}

PyObject* function_of(Operation operation) {
  static PyObject* functions[256] = {};
  PyObject*& known = functions[static_cast<size_t>(operation)];
  if (!known) known = function_at(shapes::row_of(operation).function);
  return known;
}

PyObject* subtraction() {
  static PyObject* const function = function_at("_operator.sub");
  return function;
}

// The positive form of a term that is subtracted; null for another one.
E negated(shapes::Expressions& table, E term) {
  if (term->is_constant())
    return term->value.integer() < 0 ? table.negate(term) : nullptr;
  if (term->operation != Operation::Multiply) return nullptr;
  for (E factor : term->operands)
    if (factor->is_constant() && factor->value.integer() < 0)
      return table.negate(term);
  return nullptr;
}

// A comparison as a user writes it: what `sum <= 0` or `sum == 0` says, with
// negative terms on the other side, and a lone constant on the right.
struct Comparison {
  const char* function;
  E left;
  E right;
};

std::optional<Comparison> comparison(shapes::Expressions& table, E e) {
  const bool is_negated = e->operation == Operation::Not;
  if (is_negated) e = e->operands[0];
  const bool is_equality = e->operation == Operation::Equal;
  if (!is_equality && (is_negated || e->operation != Operation::LessEqual))
    return {};
  E left = e->operands[0], right = e->operands[1];
  if (left->type != Type::Integer) {
    if (!is_equality) return {};
    return Comparison{is_negated ? "_operator.ne" : "_operator.eq", left,
                      right};
  }
  E positive = table.integer(0);
  E negative = right;
  const std::span<const E> terms = left->operation == Operation::Add
                                       ? left->operands
                                       : std::span<const E>(&left, 1);
  for (E term : terms) {
    if (E other = negated(table, term))
      negative = table.add(negative, other);
    else
      positive = table.add(positive, term);
    if (!positive || !negative) return {};
  }
  const bool is_reversed = positive->is_constant();
  if (is_reversed) std::swap(positive, negative);
  const char* function = !is_equality
                             ? is_reversed ? "_operator.ge" : "_operator.le"
                         : is_negated ? "_operator.ne"
                                      : "_operator.eq";
  return Comparison{function, positive, negative};
}

}  // namespace

std::optional<graph::NodeRef> TraceSymbols::node_of(E number) const {
  const graph::NodeRef* found = nodes_.find(number);
  return found && ctx_.tracer.can_lift(*found) ? std::optional(*found)
                                               : std::nullopt;
}

graph::Arg TraceSymbols::argument(E number) {
  number = environment()->simplify(number);
  if (number->is_constant())
    return ctx_.graph().constant(
        ctx_.keep(tensor::symbol_object(environment(), number)));
  return number_node(number);
}

// PyTorch's compilers would compile for the number's value if the graph
// computed it.
bool TraceSymbols::is_computed_before_graph(E number) const {
  if (shapes::row_of(number->operation).in_torch != shapes::InTorch::Opaque)
    return false;
  bool is_given = true;
  shapes::for_each_symbol(number, [&](shapes::SymbolId id) {
    is_given = is_given && environment_->symbol(id).is_given;
  });
  return is_given;
}

// A node of the graph that is being traced.
void TraceSymbols::remember_node(E number, graph::NodeRef node) {
  nodes_.set(number, node);
}

E TraceSymbols::expect_number(Type type, Range range) {
  return environment()->unbacked(type, range);
}

Ref TraceSymbols::example(E number) const {
  return tensor::symbol_object(environment_, number);
}

graph::NodeRef TraceSymbols::number_input(E number) {
  graph::InputSpec input{.source = graph::kNoSource,
                         .source_name = {},
                         .kind = graph::InputKind::Number,
                         .number = number->id};
  std::string name = environment_->show(number);
  if (number->is_symbol()) {
    if (!environment_->symbol(number->symbol).is_given)
      throw BreakException{
          {"data-dependent",
           "the number " + name + " is one that no result of a call tells",
           ""}};
    const IntSource& source = sources_[number->symbol.index];
    input.source = source.source.index;
    if (source.kind == IntKind::Value)
      name = ctx_.sources.torch_name(source.source);
  }
  input.source_name = name;
  graph::Graph& root = ctx_.tracer.root();
  return {root.id(),
          root.placeholder(input, tensor::symbol_object(environment_, number))};
}

graph::NodeId TraceSymbols::number_node(E number) {
  // What data gives may be too much for an operator that gets it.
  if (environment()->has_unbacked_symbols())
    tensor::operator_effects().may_fail();
  if (const auto found = node_of(number)) return ctx_.tracer.lift(*found);
  shapes::Expressions& table = environment()->expressions();
  graph::NodeId node;
  if (number->is_symbol() || is_computed_before_graph(number)) {
    const graph::NodeRef input = number_input(number);
    nodes_.set(number, input);
    return ctx_.tracer.lift(input);
  } else {
    auto call = [&](PyObject* function, std::initializer_list<graph::Arg> args,
                    E result) {
      return ctx_.graph().call_function(
          function, args, {}, tensor::symbol_object(environment(), result),
          ctx_.inliner ? ctx_.inliner->origin() : graph::Origin{});
    };
    PyObject* function = function_of(number->operation);
    const auto operands = number->operands;
    if (const auto written = comparison(table, number)) {
      graph::Arg left = argument(written->left);
      node = call(function_at(written->function),
                  {left, argument(written->right)}, number);
    } else if (operands.size() == 1) {
      node = call(function, {argument(operands[0])}, number);
    } else {
      // The terms of a sum, the factors of a product: one by one.
      E whole = operands[0];
      graph::Arg left = argument(whole);
      const bool is_sum =
          number->operation == Operation::Add && number->type == Type::Integer;
      for (E operand : operands.subspan(1)) {
        whole = table.make(number->operation, whole, operand);
        E positive = is_sum ? negated(table, operand) : nullptr;
        node = positive ? call(subtraction(), {left, argument(positive)}, whole)
                        : call(function, {left, argument(operand)}, whole);
        left = node;
      }
    }
  }
  remember_node(number, ctx_.tracer.ref(node));
  return node;
}

bool TraceSymbols::assert_in_graph(E condition) {
  bool is_known = true;
  shapes::for_each_symbol(condition, [&](shapes::SymbolId id) {
    const shapes::Symbol& symbol = environment_->symbol(id);
    is_known = is_known && (symbol.is_given || node_of(symbol.expression));
  });
  if (is_known) assert_in_graph(condition, {});
  return is_known;
}

void TraceSymbols::assert_in_graph(E condition, const std::string& text) {
  if (text.empty()) needs_rerun_ = true;
  static PyObject* const function =
      function_at("torch.ops.aten._assert_scalar.default");
  V message = ctx_.string(
      text.empty() ? "Expected " + environment_->show_to_user(condition) +
                         " to be True, but got False."
                   : text);
  ctx_.graph().call_function(
      function, {argument(condition), ctx_.graph().constant(message->object)},
      {}, Ref::share(Py_None), ctx_.inliner->origin());
  MG_CHECK(environment_->assume(condition), "a condition that is open");
}

V TraceSymbols::node_number(
    Type type, Range range,
    const std::function<graph::NodeId(Ref)>& make_node) {
  const E number = expect_number(type, range);
  remember_node(number, ctx_.tracer.ref(make_node(example(number))));
  return value(number);
}

// Sizes that only the graph's run tells are read off the tensor that has them
// first. What nobody uses is cleaned up in the end.
void TraceSymbols::remember_sizes(PyObject* fake, graph::NodeRef ref) {
  if (!environment_ || !environment_->has_unbacked_symbols() ||
      !tensor::has_symbolic_shape(fake))
    return;
  auto is_new = [&](E number) {
    return number->is_symbol() &&
           !environment_->symbol(number->symbol).is_given && !node_of(number);
  };
  const graph::NodeId node = ctx_.tracer.lift(ref);
  auto read = [&](PyObject* function, E number,
                  std::initializer_list<graph::Arg> args) {
    if (!is_new(number)) return;
    remember_node(number, ctx_.tracer.ref(ctx_.graph().call_function(
                              function, args, {}, example(number),
                              ctx_.inliner->origin())));
  };
  static PyObject* const size = function_at("torch.ops.aten.sym_size.int");
  static PyObject* const offset =
      function_at("torch.ops.aten.sym_storage_offset.default");
  long dimension = 0;
  for (E number : tensor::size_expressions(environment_, fake)) {
    Ref index = Ref::steal(PyLong_FromLong(dimension++));
    read(size, number, {node, ctx_.graph().constant(index)});
  }
  read(offset, tensor::storage_offset_expression(environment_, fake), {node});
}

// PyTorch's compilers find the value of each symbol in a size among the inputs.
void TraceSymbols::keep_sizes_of_inputs(std::span<const graph::Arg> outputs) {
  graph::Graph& root = ctx_.tracer.root();
  if (!environment_ || root.call_count() == 0) return;
  std::vector<uint32_t> uses = graph::count_uses(root);
  for (const graph::Arg& output : outputs)
    graph::visit_nodes(output, [&](graph::NodeId id) { ++uses[id.index]; });
  auto keep = [&](E number) {
    shapes::for_each_symbol(number, [&](shapes::SymbolId id) {
      const shapes::Symbol& symbol = environment_->symbol(id);
      if (!symbol.is_given) return;
      if (!node_of(symbol.expression))
        nodes_.set(symbol.expression, number_input(symbol.expression));
      root.keep_input(node_of(symbol.expression)->node);
    });
  };
  const size_t count = root.inputs().size();
  for (size_t i = 0; i < count; ++i) {
    const graph::NodeId input = root.inputs()[i].node;
    // (A copy: adding inputs moves the nodes.)
    const Ref fake = Ref::share(root.node(input).example);
    if (uses[input.index] == 0 || !tensor::is_fake(fake) ||
        !tensor::has_symbolic_shape(fake))
      continue;
    std::ranges::for_each(tensor::size_expressions(environment_, fake), keep);
    std::ranges::for_each(tensor::stride_expressions(environment_, fake), keep);
    keep(tensor::storage_offset_expression(environment_, fake));
  }
}

}  // namespace magneto::values
