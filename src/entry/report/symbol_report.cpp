// SPDX-License-Identifier: BSD-3-Clause
#include "entry/report/symbol_report.h"

#include "entry/report/report.h"
#include "graph/names.h"
#include "shapes/environment.h"
#include "tensor/symbols.h"

namespace magneto::entry {
namespace {

using shapes::Type;

const char* name_of(Type type) {
  switch (type) {
    case Type::Integer:
      return "int";
    case Type::Float:
      return "float";
    case Type::Boolean:
      return "bool";
  }
  return "?";
}

// No bound where it says nothing: any size and stride is below the last.
Ref bound(int64_t number) {
  constexpr int64_t kNone = int64_t{1} << 62;
  return number <= -kNone || number >= kNone
             ? Ref::share(Py_None)
             : Ref::steal(PyLong_FromLongLong(number));
}

std::optional<graph::NodeId> first_operand(const values::Context& ctx,
                                           graph::NodeId id) {
  const graph::Node& node = ctx.tracer.root().node(id);
  if (!graph::is_call(node.op) || node.args.empty() ||
      !node.args[0].is_node() ||
      ctx.tracer.root().node(node.args[0].node()).erased)
    return {};
  return node.args[0].node();
}

}  // namespace

void SymbolReport::collect(values::Context& ctx) {
  if (!ctx.symbols.exist()) return;
  const shapes::Environment& environment = *ctx.symbols.environment();
  const graph::Names names = graph::assign_names(ctx.tracer.root());
  for (size_t i = 0; i < environment.symbol_count(); ++i) {
    const shapes::SymbolId id(i);
    const shapes::Symbol& symbol = environment.symbol(id);
    if (symbol.is_given &&
        ctx.symbols.sources()[i].kind == guards::IntKind::Stride)
      continue;
    Note note{id, {}, {}};
    const auto ref = ctx.symbols.node_of(symbol.expression);
    std::optional<graph::NodeId> node;
    if (ref) node = ref->node;
    // A read of a tensor's size that nobody uses was cleaned up.
    if (node && ctx.tracer.root().node(*node).erased)
      node = first_operand(ctx, *node);
    if (node) note.node = names.nodes[node->index];
    note.stack = ctx.stack_of(graph::LocationId(environment.place_of(id)));
    notes_.push_back(std::move(note));
  }
}

Ref SymbolReport::list(values::Context& ctx) const {
  Ref all = Ref::steal(PyList_New(0));
  for (const Note& note : notes_) {
    shapes::Environment& environment = *ctx.symbols.environment();
    const shapes::Symbol& symbol = environment.symbol(note.symbol);
    const shapes::E now = environment.simplify(symbol.expression);
    const std::string source = ctx.symbols.name(note.symbol);
    Details details;
    auto text_or_none = [&](const char* key, const std::string& text) {
      text.empty() ? details.add(key, Py_None) : details.add(key, text);
    };
    details.add("name", environment.show(symbol.expression))
        .add("type", std::string(name_of(symbol.type)));
    text_or_none("source", source);
    text_or_none("node", note.node);
    text_or_none("equals",
                 now == symbol.expression ? "" : environment.show(now));
    const shapes::Range range = symbol.type == Type::Integer
                                    ? environment.range(symbol.expression)
                                    : shapes::Range{};
    const Ref least = bound(range.least), most = bound(range.most);
    const Ref value =
        symbol.is_backed
            ? tensor::symbol_object(
                  ctx.symbols.environment(),
                  environment.expressions().constant(symbol.type, symbol.hint))
            : Ref::share(Py_None);
    const Ref stack = stack_object(note.stack);
    details.add("least", least.get())
        .add("most", most.get())
        .add("value", value.get())
        .add("stack", stack.get());
    if (!all || PyList_Append(all, details.dict()) != 0) return nullptr;
  }
  return all;
}

}  // namespace magneto::entry
