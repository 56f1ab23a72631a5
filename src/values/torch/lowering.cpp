// SPDX-License-Identifier: BSD-3-Clause
#include "values/torch/lowering.h"

#include <algorithm>

#include "python/names.h"
#include "python/sequences.h"
#include "python/types.h"
#include "tensor/operator_effects.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/torch/torch_types.h"
#include "values/types/frozen_dataclasses.h"

namespace magneto::values {

namespace {

// How deep containers may be nested; one that holds itself has no end.
constexpr int kDeepest = 100;

// Whether the operation may see other items in a container than it holds, or
// none: a graph has plain ones only.
bool overrides_iteration(Context& ctx, V value) {
  switch (value->kind) {
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
      break;
    default:
      return false;
  }
  if (value->kind == Kind::List && !is_instance_of(value, &PyList_Type))
    return true;  // a deque
  if (!(value->type->tp_flags & Py_TPFLAGS_HEAPTYPE)) return false;
  for (PyObject* name : {interned().dunder_iter, interned().dunder_getitem,
                         interned().dunder_len, interned().dunder_index})
    if (own_special(ctx, value->type, name)) return true;
  return false;
}

// Whether torch may ask a number or text for another number, or for items: a
// class derived from such may run code then, and does at each look.
bool overrides_conversion(Context& ctx, V value) {
  if (value->kind != Kind::Constant ||
      !(value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) ||
      is_instance_of(value, &PyType_Type) ||
      PyType_IsSubtype(Py_TYPE(value->type), torch_types().enum_meta))
    return false;
  const Names& names = interned();
  return std::ranges::any_of(
      std::initializer_list{names.dunder_index, names.dunder_int,
                            names.dunder_float, names.dunder_len,
                            names.dunder_getitem, names.dunder_iter},
      [&](PyObject* name) { return own_special(ctx, value->type, name); });
}

// Whether torch may ask the class of something that a graph can hold for its
// __torch_function__, which a graph doesn't.
bool may_have_torch_function(Context& ctx, V value) {
  return (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE) &&
         value->kind != Kind::Tensor &&
         (overrides_attribute_lookup(ctx, value) ||
          type_lookup(ctx, value->type, interned().dunder_torch_function));
}

// The node of the graph that is being traced for a tensor.
graph::NodeId node_here(Context& ctx, V tensor) {
  const graph::NodeRef node = ctx.heap[tensor->heap].node;
  if (node.graph != ctx.graph().id()) {
    PyObject* fake = fake_of(tensor);
    ctx.taken_tensors.push_back(
        {fake, tensor::version(fake),
         tensor::operator_effects().is_written(tensor::storage_id(fake))});
  }
  return ctx.tracer.lift(node);
}

Outcome<Both> lower_mapping(Context& ctx, V value, Where where) {
  std::vector<graph::Arg> args;
  Ref real = Ref::steal(PyDict_New());
  MG_CHECK(real, "out of memory");
  for (const DictEntry* entry : dict_entries(ctx, value)) {
    MG_TRY(Both key, lower(ctx, entry->key, where.inside()));
    MG_TRY(Both item, lower(ctx, entry->value, where.inside()));
    args.push_back(key.arg);
    args.push_back(item.arg);
    MG_CHECK(PyDict_SetItem(real, key.real, item.real) == 0,
             "a key of a dict is hashable");
  }
  return Both{ctx.graph().dict(args), ctx.keep(std::move(real))};
}

Outcome<Both> lower_frozen(Context& ctx, V value,
                           const std::vector<PyObject*>& names, Where where) {
  std::vector<graph::Keyword> keywords;
  Ref fields = Ref::steal(PyDict_New());
  MG_CHECK(fields, "out of memory");
  for (PyObject* name : names) {
    MG_TRY(V field, get_attribute(ctx, value, name));
    MG_TRY(Both both, lower(ctx, field, where.inside()));
    keywords.push_back({name, both.arg});
    MG_CHECK(PyDict_SetItem(fields, name, both.real) == 0, "names of fields");
  }
  auto* type = reinterpret_cast<PyObject*>(value->type);
  const Ref nothing = Ref::steal(PyTuple_New(0));
  Ref real = Ref::steal(PyObject_Call(type, nothing, fields));
  if (!real) return ctx.raise_from_python();
  const graph::NodeId node = ctx.graph().call_function(
      type, {}, keywords, real.share(), ctx.inliner->origin());
  return Both{node, ctx.keep(std::move(real))};
}

}  // namespace

Status lower_all(Context& ctx, std::span<const V> items,
                 std::vector<graph::Arg>& args, std::vector<PyObject*>& reals,
                 Where where) {
  for (V item : items) {
    MG_TRY(Both both, lower(ctx, item, where.inside()));
    args.push_back(both.arg);
    reals.push_back(both.real);
  }
  return done;
}

Status lower_each(Context& ctx, std::span<const V> items,
                  std::vector<graph::Arg>& args) {
  std::vector<PyObject*> reals;
  return lower_all(ctx, items, args, reals, {});
}

Outcome<Both> lower(Context& ctx, V value, Where where) {
  if (where.depth > kDeepest)
    return ctx.graph_break("graph-argument",
                           "containers in containers without end as the "
                           "argument of a tensor operation");
  value = ctx.look_symbolic(value);
  if (overrides_iteration(ctx, value))
    return ctx.graph_break("graph-argument",
                           std::string("a ") + python::short_name(value->type) +
                               ", whose class says what its items are, as the "
                               "argument of a tensor operation",
                           "pass a plain tuple, list or dict");
  if (overrides_conversion(ctx, value))
    return ctx.graph_break("graph-argument",
                           std::string("a ") + python::short_name(value->type) +
                               ", whose class makes numbers or items itself, "
                               "as the argument of a tensor operation",
                           "pass a plain number or text");
  if (may_have_torch_function(ctx, value))
    return ctx.graph_break("graph-argument",
                           std::string("a ") + python::short_name(value->type) +
                               ", which torch may ask for its "
                               "__torch_function__, as the argument of a "
                               "tensor operation",
                           "pass a plain number, text or container");
  switch (value->kind) {
    case Kind::Symbol: {
      shapes::E number = as<SymbolValue>(value)->number;
      const graph::Arg arg = ctx.symbols.argument(number);
      return Both{arg, arg.is_node()
                           ? ctx.graph().node(arg.node()).example.get()
                           : arg.constant()};
    }
    case Kind::Constant:
      return Both{ctx.graph().constant(value->object), value->object};
    case Kind::Tensor:
      return Both{node_here(ctx, value), fake_of(value)};
    case Kind::Tuple: {
      std::vector<graph::Arg> args;
      std::vector<PyObject*> reals;
      MG_DO(lower_all(ctx, tuple_items(value), args, reals, where));
      Ref tuple = python::tuple_of(reals);
      MG_CHECK(tuple, "out of memory");
      if (value->type == torch_types().size && !holds_symbol(ctx, value)) {
        if (PyObject* size = as_constant(ctx, value))
          return Both{ctx.graph().constant(size), size};
      }
      return Both{ctx.graph().tuple(args), ctx.keep(std::move(tuple))};
    }
    case Kind::List: {
      std::vector<graph::Arg> args;
      std::vector<PyObject*> reals;
      std::vector<V> items = ctx.heap.items(value->heap);
      MG_DO(lower_all(ctx, items, args, reals, where));
      Ref list = Ref::steal(PyList_New(static_cast<Py_ssize_t>(reals.size())));
      MG_CHECK(list, "out of memory");
      for (size_t i = 0; i < reals.size(); ++i)
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                        Ref::share(reals[i]).release());
      return Both{ctx.graph().list(args), ctx.keep(std::move(list))};
    }
    case Kind::Dict:
      return lower_mapping(ctx, value, where);
    case Kind::Slice: {
      std::vector<graph::Arg> args;
      std::vector<PyObject*> reals;
      MG_DO(lower_all(ctx, tuple_items(value), args, reals, where));
      Ref slice = Ref::steal(PySlice_New(reals[0], reals[1], reals[2]));
      MG_CHECK(slice, "out of memory");
      return Both{ctx.graph().slice(args[0], args[1], args[2]),
                  ctx.keep(std::move(slice))};
    }
    case Kind::Object:
      if (!where.is_marked) break;
      if (const auto names = frozen_fields(ctx, value); !names.empty())
        return lower_frozen(ctx, value, names, where);
      break;
    default:
      break;
  }
  return ctx.graph_break(
      "graph-argument",
      std::string("a ") + python::short_name(value->type) +
          " as the argument of a tensor operation",
      "pass tensors, numbers, strings, or tuples, lists and dicts of them");
}

}  // namespace magneto::values
