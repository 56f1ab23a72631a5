// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/dump.h"

#include <cstdio>

#include "shapes/environment.h"
#include "tensor/ambient.h"
#include "tensor/attention_kernels.h"
#include "tensor/operator_effects.h"

namespace magneto::values {

namespace {

class Dump {
 public:
  template <class... Parts>
  void line(const char* name, const Parts&... parts) {
    text += name;
    (add(parts), ...);
    text += '\n';
  }
  void add(const void* pointer) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, " %p", pointer);
    text += buffer;
  }
  void add(const std::string& part) { text += " " + part; }
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void add(Number number) { text += " " + std::to_string(number); }

  std::string text;
};

void add_argument(Dump& dump, const graph::Arg& arg) {
  dump.add(static_cast<int>(arg.tag()));
  if (arg.is_node())
    dump.add(arg.node().index);
  else if (arg.is_constant())
    dump.add(arg.constant());
  for (const graph::Arg& item : arg.items()) add_argument(dump, item);
}

void add_graph(Dump& dump, const graph::Graph& graph) {
  dump.line("graph", graph.call_count(), graph.inputs().size());
  for (const graph::Node& node : graph.nodes()) {
    dump.line("  node", static_cast<int>(node.op), node.has_effect, node.input,
              node.target.get(), node.example.get(), node.name_hint.get());
    for (const graph::Arg& arg : node.args) add_argument(dump, arg);
    for (const graph::Keyword& keyword : node.kwargs) {
      dump.add(keyword.name);
      add_argument(dump, keyword.value);
    }
  }
}

void add_guards(Dump& dump, const guards::GuardSet& guards) {
  dump.line("guards", guards.class_facts().size());
  for (const guards::Guard& guard : guards.guards())
    dump.line("  guard", static_cast<int>(guard.kind), guard.source.index,
              guard.number, guard.object.get(), guard.snapshot.get());
  for (const guards::Relation& relation : guards.relations()) {
    dump.line("  relation", static_cast<int>(relation.kind));
    for (guards::SourceId member : relation.members)
      dump.line("    of", member.index);
  }
  for (const guards::AmbientGuard& guard : guards.ambients())
    dump.line("  ambient", static_cast<int>(guard.id), guard.value);
}

void add_symbols(Dump& dump, Context& ctx) {
  dump.line("symbols", ctx.symbols.sources().size(), ctx.symbols.needs_rerun());
  if (!ctx.symbols.exist()) return;
  shapes::Environment& environment = *ctx.symbols.environment();
  for (size_t i = 0; i < environment.symbol_count(); ++i) {
    const shapes::E symbol = environment.symbol(shapes::SymbolId(i)).expression;
    const shapes::Range range = environment.range(symbol);
    dump.line("  symbol", environment.show(environment.simplify(symbol)),
              range.least, range.most, ctx.symbols.node_of(symbol).has_value());
  }
  for (const shapes::Decision& decision : environment.decisions())
    dump.line("  decision", environment.show(decision.condition));
}

void add_fake(Dump& dump, PyObject* fake, const Context& ctx) {
  dump.line("  fake", ctx.symbols.show_sizes(fake),
            static_cast<int>(tensor::scalar_type(fake)),
            static_cast<int>(tensor::layout(fake)), tensor::version(fake),
            tensor::requires_grad(fake),
            static_cast<int>(tensor::history(fake)), tensor::storage_id(fake),
            tensor::view_base_id(fake), tensor::is_conj(fake),
            tensor::is_neg(fake));
  if (tensor::has_symbolic_shape(fake)) return;
  dump.add(tensor::storage_offset(fake));
  for (int64_t stride : tensor::strides(fake)) dump.add(stride);
}

void add_tensors(Dump& dump, Context& ctx) {
  dump.line("tensors", ctx.given_tensors.size(), ctx.fakes.dump(),
            tensor::operator_effects().dump());
  for (size_t i = 0; i < ctx.heap.size(); ++i) {
    V owner = std::as_const(ctx.heap).owner(HeapId(i));
    if (owner && owner->kind == Kind::Tensor)
      add_fake(dump, fake_of(owner), ctx);
  }
}

void add_torch_state(Dump& dump, const Context& ctx) {
  dump.line("torch", tensor::grad_mode(), tensor::autograd_state(),
            tensor::autocast_cpu_state(), tensor::autocast_cuda_state(),
            tensor::autocast_other_state(), tensor::autocast_cache(),
            tensor::attention_kernels(), ctx.default_devices.open().size(),
            ctx.entered_contexts.open().size());
}

}  // namespace

std::string dump(Context& ctx) {
  Dump dump;
  dump.line("heap\n", ctx.heap.dump());
  for (size_t i = 0; i < ctx.graph().graph_count(); ++i)
    add_graph(dump, ctx.graph().graph(graph::GraphId(i)));
  dump.line("innermost", ctx.graph().id().index);
  add_guards(dump, ctx.guards);
  add_symbols(dump, ctx);
  add_tensors(dump, ctx);
  add_torch_state(dump, ctx);
  dump.line("calls", ctx.cached_calls.uses().size(),
            ctx.deferred_calls.calls().size());
  dump.line("keys", ctx.object_keys.size(), ctx.own_keys().size(),
            ctx.has_fixed_objects.get());
  if (ctx.inliner) dump.line("interpreter", ctx.inliner->dump());
  return std::move(dump.text);
}

}  // namespace magneto::values
