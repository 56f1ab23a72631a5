// SPDX-License-Identifier: BSD-3-Clause
// How optimizers and gradient clipping sort tensors for torch's _foreach
// functions: lists of tensors, by device and dtype.
#include "natives/torch/rows.h"
#include "values/protocol/operands.h"

namespace magneto::natives {
namespace {

bool is_sequence(V value) {
  return value->kind == Kind::List || values::is_tuple_like(value);
}

Signal not_lists(Context& ctx) {
  return ctx.graph_break("native-call",
                         "grouping what aren't lists of tensors by device and "
                         "dtype",
                         "group them outside of the compiled function");
}

// Fakes and None as torch's own function takes them; null where there is
// anything else.
Ref fakes_of(std::span<const std::vector<V>> lists) {
  Ref all = Ref::steal(PyList_New(0));
  for (const std::vector<V>& list : lists) {
    Ref fakes = Ref::steal(PyList_New(0));
    MG_CHECK(all && fakes, "out of memory");
    for (V each : list) {
      const bool is_none = each->is_constant() && each->object == Py_None;
      if (!is_none && each->kind != Kind::Tensor) return {};
      PyObject* fake = is_none ? Py_None : fake_of(each);
      MG_CHECK(PyList_Append(fakes, fake) == 0, "out of memory");
    }
    MG_CHECK(PyList_Append(all, fakes) == 0, "out of memory");
  }
  return all;
}

Outcome<V> group_tensors(Context& ctx, const Arguments& args) {
  V nested = ctx.look(args.positional[0]);
  if (!is_sequence(nested)) return not_lists(ctx);
  std::vector<std::vector<V>> lists;
  for (V item : values::items_of(ctx, nested)) {
    V list = ctx.look(item);
    if (!is_sequence(list)) return not_lists(ctx);
    lists.push_back(values::items_of(ctx, list));
    for (V& each : lists.back()) each = ctx.look(each);
  }
  const Ref fakes = fakes_of(lists);
  if (!fakes) return not_lists(ctx);
  bool with_indices = false;
  if (args.count() > 1) {
    MG_TRY(with_indices, values::truth(ctx, args.positional[1]));
  }

  // Torch's own answer, {(device, dtype): ([list, ...], indices)}: it checks
  // the lists and decides on the order of the groups.
  const Ref groups = Ref::steal(PyObject_CallFunctionObjArgs(
      object_at<"torch._C._group_tensors_by_device_and_dtype">(), fakes.get(),
      Py_True, nullptr));
  if (!groups) return ctx.raise_from_python();
  V result = ctx.dict();
  PyObject *key = nullptr, *group = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(groups, &at, &key, &group);) {
    PyObject* members = PyTuple_GET_ITEM(group, 1);
    std::vector<V> indices, chosen;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(members); ++i)
      indices.push_back(ctx.constant_share(PyList_GET_ITEM(members, i)));
    for (const std::vector<V>& list : lists) {
      std::vector<V> part;
      for (V index : indices)
        if (!list.empty()) part.push_back(list[PyLong_AsSize_t(index->object)]);
      chosen.push_back(ctx.list(part));
    }
    if (!with_indices) indices.clear();
    const V parts[] = {ctx.list(chosen), ctx.list(indices)};
    MG_DO(values::dict_set(ctx, result, ctx.constant_share(key),
                           ctx.tuple(parts)));
  }
  return result;
}

constexpr Row kRows[] = {
    {"torch._C", "_group_tensors_by_device_and_dtype", group_tensors, 1, 2,
     nullptr},
};

}  // namespace

std::span<const Row> torch_group_rows() { return kRows; }

}  // namespace magneto::natives
