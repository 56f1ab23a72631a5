// SPDX-License-Identifier: BSD-3-Clause
#include "natives/higher_order/body.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "python/find.h"
#include "python/sequences.h"
#include "tensor/operator_effects.h"
#include "values/model/reachable.h"

namespace magneto::natives {

namespace {

std::string place_of(const values::BreakInfo& info) {
  if (info.stack.empty()) return {};
  const guards::FrameSummary& at = info.stack.back();
  return " at " + at.file + ":" + std::to_string(at.line) + " in " +
         at.function;
}

}  // namespace

Body::Body(Context& ctx, std::string whose)
    : ctx_(ctx),
      whose_(std::move(whose)),
      speculation_(ctx),
      graph_(&ctx.tracer.begin()),
      taken_(ctx.taken_tensors.size()) {}

Outcome<V> Body::trace(V function, const Arguments& args) {
  MG_TRY(V result, trace_writer(function, args));
  MG_DO(expect_writes_to({}));
  return result;
}

Outcome<V> Body::trace_writer(V function, const Arguments& args) {
  Outcome<V> result = values::call(ctx_, function, args);
  return result ? result : refuse(result.signal());
}

Signal Body::refuse(Signal signal) {
  values::BreakInfo info = ctx_.break_info();
  raised_ = signal == Signal::Raised;
  std::string why;
  if (raised_) {
    V exception = ctx_.take_exception();
    why = std::string(" raises ") + exception->type->tp_name;
    const auto stack = ctx_.exception_stack();
    info = {.stack = stack};
    info.hint = "raise it outside of the function";
  } else {
    why = std::string(" breaks the graph (") + info.reason.id() +
          (info.detail.empty() ? "" : ": " + info.detail) + ")";
    if (info.hint.empty()) info.hint = info.reason.definition().hint;
  }
  speculation_.rollback();
  (void)ctx_.graph_break("higher-order-body", whose_ + why + place_of(info),
                         info.hint);
  return Signal::Break;
}

bool Body::is_own(V value) const {
  return value->kind == Kind::Tensor &&
         ctx_.heap[value->heap].node.graph == graph_->id();
}

std::vector<V> Body::tensors_in(V value) const {
  std::vector<V> found;
  std::unordered_set<V> seen;
  const auto add = [&](V each) {
    if (is_own(each) && seen.insert(each).second) found.push_back(each);
  };
  // Those in plain containers in the order that they have there.
  const auto walk = [&](const auto& self, V each) -> void {
    each = ctx_.looked_at(each);
    add(each);
    if (each->kind != Kind::Tuple && each->kind != Kind::List &&
        each->kind != Kind::Dict)
      return;
    if (!seen.insert(each).second) return;
    if (each->kind == Kind::Tuple) {
      for (V item : values::tuple_items(each)) self(self, item);
      return;
    }
    if (!each->heap.valid()) return;
    const values::HeapObject& state = ctx_.heap[each->heap];
    for (V item : state.items) self(self, item);
    if (!state.dict) return;
    for (const values::DictEntry& entry : state.dict->entries)
      if (entry.value) self(self, entry.value);
  };
  walk(walk, value);
  // Others in the order in which they were computed.
  values::Reachable reachable(ctx_);
  reachable.add(value);
  const size_t in_containers = found.size();
  for (V each : reachable) add(each);
  std::sort(found.begin() + static_cast<ptrdiff_t>(in_containers), found.end(),
            [&](V a, V b) {
              return ctx_.heap[a->heap].node.node <
                     ctx_.heap[b->heap].node.node;
            });
  return found;
}

V Body::add_input(Ref fake, const char* name, bool is_written) {
  const graph::NodeRef input = ctx_.tracer.ref(
      graph_->placeholder({.source = graph::kNoSource, .source_name = name},
                          fake.share(), ctx_.inliner->origin()));
  ctx_.symbols.remember_sizes(fake, input);
  PyTypeObject* type = Py_TYPE(fake.get());
  V value = ctx_.tensor(std::move(fake), input, type);
  inputs_.push_back(
      {fake_of(value), tensor::version(fake_of(value)), is_written});
  return value;
}

V Body::add_number() {
  return ctx_.symbols.node_number(shapes::Type::Integer, {}, [&](Ref example) {
    return graph_->placeholder(
        {.source = graph::kNoSource, .source_name = "number"},
        std::move(example), ctx_.inliner->origin());
  });
}

bool Body::is_new(V value, std::span<const V> others) const {
  if (!is_own(value)) return false;
  const auto shares = [&](PyObject* other) {
    return tensor::shares_storage(fake_of(value), other);
  };
  return std::ranges::none_of(taken(),
                              [&](auto& t) { return shares(t.fake); }) &&
         std::ranges::none_of(inputs_,
                              [&](auto& i) { return shares(i.fake); }) &&
         std::ranges::none_of(others, [&](V other) {
           return other->kind == Kind::Tensor && shares(fake_of(other));
         });
}

// By whichever name.
Status Body::expect_writes_to(std::span<const V> tensors) {
  const auto is_allowed = [&](const values::TakenTensor& taken) {
    return std::ranges::any_of(tensors, [&](V tensor) {
      return tensor::shares_storage(taken.fake, fake_of(tensor));
    });
  };
  const auto refuse = [&](const char* which) {
    return ctx_.graph_break("higher-order-body",
                            whose_ + " writes to a tensor that it " + which,
                            "let it return what it computes");
  };
  for (const Input& input : inputs_)
    if (!input.is_written && tensor::version(input.fake) != input.version)
      return refuse("is given");
  for (const values::TakenTensor& taken : this->taken()) {
    const bool is_written =
        tensor::version(taken.fake) != taken.version ||
        (!taken.was_written &&
         tensor::operator_effects().is_written(tensor::storage_id(taken.fake)));
    if (is_written && !is_allowed(taken)) return refuse("takes from outside");
  }
  return done;
}

Status Body::expect_no_effects() const {
  const std::string write = this->write();
  if (write.empty()) return done;
  return ctx_.graph_break("higher-order-body", whose_ + ": " + write,
                          "let it return what it computes");
}

bool Body::takes_gradients() const {
  return std::ranges::any_of(taken(), [](const values::TakenTensor& taken) {
    return tensor::requires_grad(taken.fake);
  });
}

std::string Body::write() const {
  const auto changes = speculation_.changes();
  return changes.empty() ? std::string() : "it writes to " + changes[0].name;
}

std::string Body::write_that_needs_it() const {
  values::Reachable reachable(ctx_);
  const auto objects = speculation_.written_objects();
  if (!objects) return write();
  for (values::HeapId object : *objects) reachable.add_state(object);
  return std::ranges::any_of(reachable, [&](V each) { return is_own(each); })
             ? write()
             : std::string();
}

void Body::end(std::span<const V> tensors) {
  std::vector<graph::Arg> outputs;
  for (V tensor : tensors)
    outputs.push_back(ctx_.tracer.lift(ctx_.heap[tensor->heap].node));
  end(graph_->tuple(outputs));
}

void Body::end(graph::Arg output) {
  graph_->output(output);
  ctx_.tracer.end();
}

bool needs_gradient(V value) {
  return value->kind == Kind::Tensor && tensor::requires_grad(fake_of(value));
}

graph::NodeRef item_of(Context& ctx, graph::NodeId node, size_t index,
                       PyObject* example) {
  static PyObject* const getitem = find_object("_operator.getitem");
  V number = ctx.integer(static_cast<int64_t>(index));
  return ctx.tracer.ref(ctx.graph().call_function(
      getitem, {node, ctx.graph().constant(number->object)}, {},
      Ref::share(example), ctx.inliner->origin()));
}

void become_items(Context& ctx, graph::NodeId node,
                  std::span<const V> tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    PyObject* fake = fake_of(tensors[i]);
    const graph::NodeRef item = item_of(ctx, node, i, fake);
    ctx.heap.set_node(tensors[i]->heap, item);
    ctx.symbols.remember_sizes(fake, item);
  }
}

void record_wrapped(Context& ctx, Body& body, PyObject* operation,
                    std::span<const graph::Keyword> options, V result) {
  const std::vector<V> tensors = body.tensors_in(result);
  body.end(tensors);
  graph::Graph& graph = ctx.graph();
  const graph::Origin origin = ctx.inliner->origin();
  std::vector<graph::Arg> operands{
      graph.install(body.graph(), "wrap_body", origin)};
  for (graph::NodeId taken : graph::lifted_operands(body.graph()))
    operands.push_back(taken);
  const graph::NodeId node = graph.call_function(operation, operands, options,
                                                 fakes_of(tensors), origin);
  become_items(ctx, node, tensors);
}

Ref fakes_of(std::span<const V> tensors) {
  std::vector<PyObject*> items;
  for (V tensor : tensors) items.push_back(fake_of(tensor));
  Ref fakes = python::tuple_of(items);
  MG_CHECK(fakes, "out of memory");
  return fakes;
}

}  // namespace magneto::natives
