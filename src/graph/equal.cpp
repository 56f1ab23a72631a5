// SPDX-License-Identifier: BSD-3-Clause
#include "graph/equal.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace magneto::graph {

namespace {

using IsAlike = std::function<bool(PyObject*, PyObject*)>;

// Constants that a program can't tell apart. Runs no user code.
bool are_same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  // -0.0 is not 0.0, and a NaN is itself.
  if (PyFloat_CheckExact(a))
    return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(a)) ==
           std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(b));
  const bool is_plain = PyLong_CheckExact(a) || PyUnicode_CheckExact(a) ||
                        PyBytes_CheckExact(a) ||
                        std::string_view(Py_TYPE(a)->tp_name) == "torch.device";
  if (!is_plain) return false;
  const int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

class Comparison {
 public:
  Comparison(const Graph& first, const Graph& second, const IsAlike& is_alike)
      : first_(first), second_(second), is_alike_(is_alike) {}

  bool run() {
    std::vector<NodeId> ours, theirs;
    for (NodeId id : first_.live()) ours.push_back(id);
    for (NodeId id : second_.live()) theirs.push_back(id);
    return std::ranges::equal(ours, theirs,
                              [&](NodeId a, NodeId b) {
                                matches_[a] = b;
                                return nodes(first_.node(a), second_.node(b));
                              }) &&
           std::ranges::equal(first_.inputs(), second_.inputs(),
                              [&](const Input& a, const Input& b) {
                                return a.kind == b.kind &&
                                       is_match(a.node, b.node);
                              });
  }

 private:
  bool is_match(NodeId a, NodeId b) const {
    const auto found = matches_.find(a);
    return found != matches_.end() && found->second == b;
  }

  bool nodes(const Node& a, const Node& b) {
    return a.op == b.op && a.nested.valid() == b.nested.valid() &&
           (a.nested.valid()
                ? are_equal(first_.graph(a.nested), second_.graph(b.nested),
                            is_alike_)
                : a.op == Op::Placeholder || are_same(a.target, b.target)) &&
           a.has_effect == b.has_effect &&
           std::ranges::equal(
               a.args, b.args,
               [&](const Arg& x, const Arg& y) { return arguments(x, y); }) &&
           std::ranges::equal(a.kwargs, b.kwargs,
                              [&](const Keyword& x, const Keyword& y) {
                                return are_same(x.name, y.name) &&
                                       arguments(x.value, y.value);
                              }) &&
           is_alike_(a.example, b.example);
  }

  bool arguments(const Arg& a, const Arg& b) const {
    if (a.tag() != b.tag()) return false;
    if (a.is_node()) return is_match(a.node(), b.node());
    if (a.is_constant()) return are_same(a.constant(), b.constant());
    return std::ranges::equal(
        a.items(), b.items(),
        [&](const Arg& x, const Arg& y) { return arguments(x, y); });
  }

  const Graph& first_;
  const Graph& second_;
  const IsAlike& is_alike_;
  std::unordered_map<NodeId, NodeId> matches_;
};

}  // namespace

bool are_equal(const Graph& first, const Graph& second,
               const IsAlike& is_alike) {
  return Comparison(first, second, is_alike).run();
}

}  // namespace magneto::graph
