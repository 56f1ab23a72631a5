// SPDX-License-Identifier: BSD-3-Clause
// Numbers in tensors that the program makes of numbers: torch.tensor(3),
// torch.div(8, 2) - 1. They are known, though a fake tensor has no data.
#include <algorithm>
#include <array>

#include "python/find.h"
#include "support/forever.h"
#include "values/model/context.h"

namespace magneto::values {

namespace {

// Calls that give the same for the same numbers. To add one, add a row.
constexpr const char* kCalls[] = {
    "torch.tensor",      "torch.scalar_tensor", "torch.div",
    "torch.add",         "torch.sub",           "torch.mul",
    "torch.true_divide", "torch.floor_divide",  "_operator.add",
    "_operator.sub",     "_operator.mul",       "_operator.truediv",
    "_operator.mod",     "_operator.floordiv",  "_operator.neg",
};

// Calls within calls; more are no number of a program.
constexpr int kMostDepth = 8;

bool is_known_call(PyObject* target) {
  static const auto* const functions = forever([] {
    std::array<PyObject*, std::size(kCalls)> found{};
    std::ranges::transform(kCalls, found.begin(), find_object);
    return found;
  }());
  return std::ranges::find(*functions, target) != functions->end();
}

class Evaluation {
 public:
  explicit Evaluation(const graph::Graph& graph) : graph_(graph) {}

  // What the node gives, for real; null if that isn't known, or raises.
  Ref value(graph::NodeId id, int depth = 0) {
    const graph::Node& node = graph_.node(id);
    if (node.op != graph::Op::CallFunction || depth > kMostDepth ||
        !is_known_call(node.target) || !tensor::is_tensor(node.example) ||
        tensor::dim(node.example) != 0 || tensor::version(node.example) != 0)
      return {};
    Ref args =
        Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(node.args.size())));
    Ref keywords = Ref::steal(PyDict_New());
    MG_CHECK(args && keywords, "out of memory");
    for (size_t i = 0; i < node.args.size(); ++i) {
      Ref arg = argument(node.args[i], depth);
      if (!arg) return {};
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(i), arg.release());
    }
    for (const graph::Keyword& keyword : node.kwargs) {
      Ref arg = argument(keyword.value, depth);
      if (!arg || PyDict_SetItem(keywords, keyword.name, arg) < 0) return {};
    }
    return Ref::steal(PyObject_Call(node.target, args, keywords));
  }

 private:
  Ref argument(const graph::Arg& arg, int depth) {
    if (arg.is_node()) return value(arg.node(), depth + 1);
    return arg.is_constant() && arg.constant() ? Ref::share(arg.constant())
                                               : Ref();
  }

  const graph::Graph& graph_;
};

}  // namespace

Ref TraceSymbols::known_number(PyObject* fake) {
  V tensor = ctx_.tensor_of(fake);
  if (!tensor) return {};
  const tensor::RealModeScope real;
  const graph::NodeRef node = ctx_.heap[tensor->heap].node;
  Ref value = Evaluation(ctx_.graph().graph(node.graph)).value(node.node);
  Ref number =
      Ref::steal(value ? PyObject_CallMethod(value, "item", nullptr) : nullptr);
  const bool is_plain =
      number && (PyLong_Check(number.get()) || PyFloat_Check(number.get()));
  PyErr_Clear();  // then the graph raises it, or finds the number
  return is_plain ? std::move(number) : Ref();
}

}  // namespace magneto::values
