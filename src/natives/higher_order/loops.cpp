// SPDX-License-Identifier: BSD-3-Clause
// Operators that call a function many times: while_loop, scan, map and
// associative_scan. The function becomes a graph, traced once, for any step.
//
// Its graph is given first what changes from step to step, then what it takes
// from outside; so are the operators:
//
//   while_loop(cond_fn, body_fn, (*carried,), (*taken,))
//   scan(combine_fn, [*carried], [*stacked], [*taken])
//   map_impl(f, [*stacked], [*taken])
//   associative_scan(combine_fn, [*stacked], (*taken,))
#include <algorithm>

#include "natives/higher_order/body.h"
#include "natives/higher_order/tree.h"
#include "natives/torch/rows.h"
#include "python/sequences.h"
#include "tensor/ambient.h"
#include "values/torch/lowering.h"

namespace magneto::natives {

namespace {

bool is_tensor(V value) { return value->kind == Kind::Tensor; }
bool is_integer(V value) {
  return value->type == &PyLong_Type &&
         (value->is_constant() || value->kind == Kind::Symbol);
}

Ref alike(V tensor) {
  return call_on_fakes<"torch_loops.alike">({fake_of(tensor)});
}

// One of the operators, as it is called.
struct Loop {
  const char* name = nullptr;
  // Carried from step to step, cut in slices, and given to each step as it is.
  std::vector<V> carried, stacked, given;
  // Whether what the function gives has gradients, and so what is carried.
  bool is_differentiated = false;

  Signal refuse(Context& ctx, const std::string& why, const char* hint) const {
    return ctx.graph_break("higher-order-body", std::string(name) + ": " + why,
                           hint);
  }
};

// A function of an operator's, traced for one step.
struct Step {
  Step(Context& ctx, const Loop& of, const char* which)
      : loop(of),
        whose(which),
        body(ctx, std::string(of.name) + ": " + which) {}

  const Loop& loop;
  const char* whose;
  Body body;
  std::vector<V> inputs = {};
  V form = nullptr;
  std::vector<V> leaves = {};

  Status add_input(Context& ctx, Ref fake);
  // Gives the function what is carried: tensors alike the ones of the first
  // step, and numbers of which nothing is known.
  Status add_carried(Context& ctx);
  Status add_slices(Context& ctx);
  // The function's result, as it is, or flattened: `leaves` and `form`.
  Outcome<V> trace(Context& ctx, V function);
  Status trace_flattened(Context& ctx, V function);
  // The graph gives the leaves.
  Status end(Context& ctx);
  // Whether what it takes from outside has gradients, which was not known.
  bool takes_gradients() const {
    return !loop.is_differentiated && tensor::grad_mode() &&
           body.takes_gradients();
  }
};

Status Step::add_input(Context& ctx, Ref fake) {
  if (!fake) return ctx.raise_from_python();
  if (loop.is_differentiated && tensor::can_require_grad(fake))
    tensor::set_requires_grad(fake, true);
  inputs.push_back(body.add_input(std::move(fake)));
  return done;
}

Status Step::add_carried(Context& ctx) {
  for (V value : loop.carried) {
    if (is_integer(value))
      inputs.push_back(body.add_number());
    else
      MG_DO(add_input(ctx, alike(value)));
  }
  return done;
}

Status Step::add_slices(Context& ctx) {
  for (V value : loop.stacked)
    MG_DO(add_input(ctx,
                    call_on_fakes<"torch_loops.slice_of">({fake_of(value)})));
  return done;
}

Outcome<V> Step::trace(Context& ctx, V function) {
  std::vector<V> args = inputs;
  args.insert(args.end(), loop.given.begin(), loop.given.end());
  MG_TRY(V result, body.trace(function, {.positional = args}));
  MG_DO(body.expect_no_effects());
  return result;
}

Status Step::trace_flattened(Context& ctx, V function) {
  MG_TRY(V flattened, polyfill(ctx, "torch_loops.flattened"));
  inputs.insert(inputs.begin(), function);
  MG_TRY(V result, trace(ctx, flattened));
  inputs.erase(inputs.begin());
  const auto parts = values::tuple_items(ctx.look(result));
  form = parts[1];
  MG_DO(values::unpack(ctx, ctx.look(parts[0]), leaves));
  for (V& leaf : leaves) leaf = ctx.look_symbolic(leaf);
  return done;
}

Status Step::end(Context& ctx) {
  std::vector<graph::Arg> outputs;
  MG_DO(values::lower_each(ctx, leaves, outputs));
  body.end(ctx.graph().tuple(outputs));
  return done;
}

std::string nth(size_t i) { return "[" + std::to_string(i) + "]"; }

// What a step gives for the next one must be as what it was given: both are
// inputs of one graph.
Status expect_carried(Context& ctx, const Step& step, size_t count) {
  const Loop& loop = step.loop;
  if (step.leaves.size() < count)
    return loop.refuse(ctx,
                       std::string(step.whose) + " gives " +
                           std::to_string(step.leaves.size()) +
                           " values, where it is given " +
                           std::to_string(count) + " of a step before",
                       "let it give as many");
  for (size_t i = 0; i < count; ++i) {
    V before = step.inputs[i], after = step.leaves[i];
    std::string differ;
    if (is_tensor(before) && is_tensor(after))
      differ = difference(ctx, before, after);
    else if (!is_integer(before) || !is_integer(after))
      differ = ctx.describe(before) + " and " + ctx.describe(after);
    if (!differ.empty())
      return loop.refuse(
          ctx, "carried" + nth(i) + " before and after a step: " + differ,
          "let each step give what the next one can be given");
  }
  return done;
}

// What the operators can't give: something from outside, or that a step is
// given, or one tensor twice.
Status expect_own(Context& ctx, const Step& step) {
  for (size_t i = 0; i < step.leaves.size(); ++i) {
    V leaf = step.leaves[i];
    if (is_integer(leaf)) continue;
    if (!is_tensor(leaf))
      return step.loop.refuse(
          ctx, std::string(step.whose) + " gives " + ctx.describe(leaf),
          "return tensors");
    const auto before = std::span(step.leaves).first(i);
    if (!step.body.is_new(leaf, before))
      return step.loop.refuse(
          ctx,
          "output" + nth(i) + " of " + step.whose +
              " is an input, or shares memory with one or with another output",
          "return a clone()");
    if (tensor::can_require_grad(fake_of(leaf)) &&
        needs_gradient(leaf) != step.loop.is_differentiated)
      return step.loop.refuse(
          ctx,
          "output" + nth(i) + " of " + step.whose +
              (step.loop.is_differentiated
                   ? " has no gradient, though others have"
                   : " has a gradient, though no input has"),
          "detach() it behind the call");
  }
  return done;
}

// What the operators may be called with; sets whether they are differentiated.
Status expect_operands(Context& ctx, Loop& loop) {
  for (V value : loop.carried)
    if (!is_tensor(value) && !is_integer(value))
      return loop.refuse(ctx, "it carries " + ctx.describe(value),
                         "carry tensors and ints");
  for (V value : loop.stacked)
    if (!is_tensor(value) || tensor::dim(fake_of(value)) == 0)
      return loop.refuse(ctx, "it goes over " + ctx.describe(value),
                         "pass tensors that have a first dimension");
  ctx.guards.ambient(guards::Ambient::GradMode);
  const auto any = [](const std::vector<V>& values) {
    return std::ranges::any_of(values, needs_gradient);
  };
  loop.is_differentiated =
      tensor::grad_mode() &&
      (any(loop.carried) || any(loop.stacked) || any(loop.given));
  return done;
}

Status read_row(Context& ctx, V row, std::vector<V>& items) {
  MG_DO(values::unpack(ctx, ctx.look(row), items));
  for (V& item : items) item = ctx.look_symbolic(item);
  return done;
}

// The values that the operator gives, one after the other.
class Results {
 public:
  Results(Context& ctx, const Loop& loop) : ctx_(ctx), loop_(loop) {}

  Status add(Ref fake) {
    if (!fake) return ctx_.raise_from_python();
    if (loop_.is_differentiated && tensor::can_require_grad(fake))
      tensor::set_requires_grad(fake, true);
    examples_.push_back(ctx_.keep(std::move(fake)));
    numbers_.push_back(nullptr);
    return done;
  }
  void add_number() {
    const shapes::E number = ctx_.symbols.expect_number(shapes::Type::Integer);
    numbers_.push_back(number);
    examples_.push_back(ctx_.keep(ctx_.symbols.example(number)));
  }

  // Records the operator, and gives a tuple of what it gives.
  V record(PyObject* operation, std::span<const graph::Arg> args) {
    Ref all = python::tuple_of(examples_);
    MG_CHECK(all, "out of memory");
    const graph::NodeId node = ctx_.graph().call_function(
        operation, args, {}, std::move(all), ctx_.inliner->origin());
    std::vector<V> items;
    for (size_t i = 0; i < examples_.size(); ++i) {
      PyObject* example = examples_[i];
      const graph::NodeRef item = item_of(ctx_, node, i, example);
      if (numbers_[i]) {
        ctx_.symbols.remember_node(numbers_[i], item);
        items.push_back(ctx_.symbols.value(numbers_[i]));
      } else {
        ctx_.symbols.remember_sizes(example, item);
        items.push_back(
            ctx_.tensor(Ref::share(example), item, Py_TYPE(example)));
      }
    }
    return ctx_.tuple(items);
  }

 private:
  Context& ctx_;
  const Loop& loop_;
  std::vector<PyObject*> examples_;
  std::vector<shapes::E> numbers_;  // null: a tensor
};

graph::Arg container(Context& ctx, std::span<const graph::Arg> items,
                     bool is_list) {
  return is_list ? ctx.graph().list(items) : ctx.graph().tuple(items);
}

// The operands, as the graph has them.
Outcome<graph::Arg> operands(Context& ctx, std::span<const V> values,
                             bool is_list) {
  std::vector<graph::Arg> items;
  MG_DO(values::lower_each(ctx, values, items));
  return container(ctx, items, is_list);
}

graph::Arg operands(Context& ctx, std::span<const graph::NodeId> nodes,
                    bool is_list) {
  const std::vector<graph::Arg> items(nodes.begin(), nodes.end());
  return container(ctx, items, is_list);
}

// PyTorch's compilers want operands that share no memory with each other, nor
// with what the functions take from outside: those that do are copied first.
Status copy_aliases(Context& ctx, Loop& loop,
                    std::initializer_list<const Step*> steps) {
  std::vector<PyObject*> others;
  for (const Step* step : steps)
    for (const values::TakenTensor& taken : step->body.taken())
      others.push_back(taken.fake);
  for (auto* operands : {&loop.carried, &loop.stacked}) {
    for (V& value : *operands) {
      if (!is_tensor(value)) continue;
      const bool is_alias = std::ranges::any_of(others, [&](PyObject* other) {
        return tensor::shares_storage(fake_of(value), other);
      });
      if (is_alias) {
        MG_TRY(value, values::call_method(ctx, value, name<"clone">(), {}));
      }
      others.push_back(fake_of(value));
    }
  }
  return done;
}

// (leaves, form), as magneto.polyfills.torch_loops wants it.
V result_of(Context& ctx, V leaves, V form) {
  V parts[] = {leaves, form};
  return ctx.tuple(parts);
}

// -- while_loop --------------------------------------------------------------

// What cond_fn gives: a tensor or a number in its graph, or a constant.
Status expect_truth(Context& ctx, const Step& condition, V truth) {
  const bool is_one =
      is_tensor(truth)
          ? !tensor::has_symbolic_shape(fake_of(truth)) &&
                tensor::dim(fake_of(truth)) == 0 &&
                tensor::scalar_type_name(tensor::scalar_type(fake_of(truth))) ==
                    "bool"
          : truth->type == &PyBool_Type;
  if (is_one) return done;
  return condition.loop.refuse(
      ctx, "cond_fn gives " + ctx.describe(truth),
      "let it give a bool, or a tensor of one that has no dimension");
}

Outcome<V> trace_while_loop(Context& ctx, Loop& loop, V cond_fn, V body_fn) {
  Step condition(ctx, loop, "cond_fn");
  MG_DO(condition.add_carried(ctx));
  MG_TRY(V truth, condition.trace(ctx, cond_fn));
  truth = ctx.look_symbolic(truth);
  MG_DO(expect_truth(ctx, condition, truth));
  if (truth->object == Py_False) {
    condition.body.discard();
    return result_of(ctx, ctx.tuple(loop.carried), ctx.none());
  }
  if (truth->object == Py_True)
    return loop.refuse(ctx, "cond_fn is always true", "let it end");
  MG_TRY(const values::Both lowered, values::lower(ctx, truth, {}));
  condition.body.end(lowered.arg);
  Step step(ctx, loop, "body_fn");
  MG_DO(step.add_carried(ctx));
  MG_DO(step.trace_flattened(ctx, body_fn));
  if (step.takes_gradients() || condition.takes_gradients()) {
    condition.body.discard();
    loop.is_differentiated = true;
    return trace_while_loop(ctx, loop, cond_fn, body_fn);
  }
  MG_DO(expect_carried(ctx, step, loop.carried.size()));
  if (step.leaves.size() != loop.carried.size())
    return loop.refuse(ctx, "body_fn gives more than is carried",
                       "let it give as many");
  MG_DO(expect_own(ctx, step));
  MG_DO(step.end(ctx));
  Results results(ctx, loop);
  for (V value : loop.carried) {
    if (is_tensor(value))
      MG_DO(results.add(alike(value)));
    else
      results.add_number();
  }
  graph::Graph* bodies[] = {&condition.body.graph(), &step.body.graph()};
  const auto taken = graph::share_operands(bodies);
  MG_DO(copy_aliases(ctx, loop, {&condition, &step}));
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  const graph::NodeId reads[] = {graph.install(*bodies[0], "cond_fn", origin),
                                 graph.install(*bodies[1], "body_fn", origin)};
  MG_TRY(const graph::Arg carried, operands(ctx, loop.carried, false));
  const graph::Arg args[] = {reads[0], reads[1], carried,
                             operands(ctx, taken, false)};
  V leaves =
      results.record(object_at<"torch.ops.higher_order.while_loop">(), args);
  return result_of(ctx, leaves, step.form);
}

Outcome<V> while_loop(Context& ctx, const Arguments& args) {
  Loop loop{.name = "torch.while_loop"};
  MG_DO(read_row(ctx, args.positional[2], loop.carried));
  MG_DO(read_row(ctx, args.positional[3], loop.given));
  MG_DO(expect_operands(ctx, loop));
  return trace_while_loop(ctx, loop, args.positional[0], args.positional[1]);
}

// -- over slices -------------------------------------------------------------

// One of the operators that cut tensors in slices.
struct OverSlices {
  const char* name;
  const char* function;  // the parameter's name,
  const char* body;      // and the graph's
  PyObject* (*operation)();
  size_t slices;  // of each tensor, that a step is given
  bool is_given_list;
};

constexpr OverSlices kScan = {"torch.scan",
                              "combine_fn",
                              "scan_combine_fn",
                              object_at<"torch.ops.higher_order.scan">,
                              1,
                              true};
constexpr OverSlices kMap = {
    "torch.map", "f", "map_body", object_at<"torch.ops.higher_order.map_impl">,
    1,           true};
constexpr OverSlices kAssociativeScan = {
    "torch.associative_scan",
    "combine_fn",
    "associative_scan_combine_fn",
    object_at<"torch.ops.higher_order.associative_scan">,
    2,
    false};

Outcome<V> record_over_slices(Context& ctx, Loop& loop, const OverSlices& what,
                              Step& step) {
  MG_DO(expect_own(ctx, step));
  Results results(ctx, loop);
  for (size_t i = 0; i < step.leaves.size(); ++i) {
    if (i < loop.carried.size())
      MG_DO(results.add(alike(loop.carried[i])));
    else
      MG_DO(results.add(call_on_fakes<"torch_loops.stack_of">(
          {fake_of(step.leaves[i]), fake_of(loop.stacked[0])})));
  }
  MG_DO(step.end(ctx));
  MG_DO(copy_aliases(ctx, loop, {&step}));
  graph::Graph& graph = ctx.graph();
  std::vector<graph::Arg> args{
      graph.install(step.body.graph(), what.body, ctx.inliner->origin())};
  if (!loop.carried.empty()) {
    MG_TRY(const graph::Arg carried, operands(ctx, loop.carried, true));
    args.push_back(carried);
  }
  MG_TRY(const graph::Arg stacked, operands(ctx, loop.stacked, true));
  args.push_back(stacked);
  args.push_back(operands(ctx, graph::lifted_operands(step.body.graph()),
                          what.is_given_list));
  return result_of(ctx, results.record(what.operation(), args), step.form);
}

Outcome<V> trace_over_slices(Context& ctx, Loop& loop, const OverSlices& what,
                             V function) {
  Step step(ctx, loop, what.function);
  MG_DO(step.add_carried(ctx));
  for (size_t i = 0; i < what.slices; ++i) MG_DO(step.add_slices(ctx));
  MG_DO(step.trace_flattened(ctx, function));
  if (step.takes_gradients()) {
    step.body.discard();
    loop.is_differentiated = true;
    return trace_over_slices(ctx, loop, what, function);
  }
  // Slices are combined with such as were combined.
  const bool is_associative = what.slices == 2;
  const size_t carried =
      is_associative ? loop.stacked.size() : loop.carried.size();
  MG_DO(expect_carried(ctx, step, carried));
  if (is_associative && step.leaves.size() != carried)
    return loop.refuse(ctx, "combine_fn gives more than a slice of each",
                       "let it give as many as it is given");
  return record_over_slices(ctx, loop, what, step);
}

// (combine_fn, init, xs, additional_inputs)
Outcome<V> scan(Context& ctx, const Arguments& args) {
  Loop loop{.name = kScan.name};
  MG_DO(read_row(ctx, args.positional[1], loop.carried));
  MG_DO(read_row(ctx, args.positional[2], loop.stacked));
  MG_DO(read_row(ctx, args.positional[3], loop.given));
  MG_DO(expect_operands(ctx, loop));
  return trace_over_slices(ctx, loop, kScan, args.positional[0]);
}

// (f, xs, pos_args), and (combine_fn, xs, additional_inputs)
template <const OverSlices& what>
Outcome<V> over_slices(Context& ctx, const Arguments& args) {
  Loop loop{.name = what.name};
  MG_DO(read_row(ctx, args.positional[1], loop.stacked));
  MG_DO(read_row(ctx, args.positional[2], loop.given));
  MG_DO(expect_operands(ctx, loop));
  return trace_over_slices(ctx, loop, what, args.positional[0]);
}

constexpr const char* kLoops = "magneto.polyfills.torch_loops";

constexpr Row kRows[] = {
    row::polyfill("torch._higher_order_ops.while_loop", "WhileLoopOp.__call__",
                  "torch_loops.while_loop", 5, 5),
    row::polyfill("torch._higher_order_ops.scan", "ScanOp.__call__",
                  "torch_loops.scan", 5, 5),
    row::polyfill("torch._higher_order_ops.map", "MapImpl.__call__",
                  "torch_loops.map_slices", 4, 4),
    row::polyfill("torch._higher_order_ops.associative_scan",
                  "AssociativeScanOp.__call__", "torch_loops.associative_scan",
                  4, 4),
    {kLoops, "record_while_loop", while_loop, 4, 4, ""},
    {kLoops, "record_scan", scan, 4, 4, ""},
    {kLoops, "record_map", over_slices<kMap>, 3, 3, ""},
    {kLoops, "record_associative_scan", over_slices<kAssociativeScan>, 3, 3,
     ""},
};

}  // namespace

std::span<const Row> loop_rows() { return kRows; }

}  // namespace magneto::natives
