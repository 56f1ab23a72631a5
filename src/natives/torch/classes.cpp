// SPDX-License-Identifier: BSD-3-Clause
// Torch's small classes: device, Size, finfo and the like.
#include <opcode.h>

#include <utility>

#include "natives/torch/rows.h"
#include "values/protocol/symbolic.h"
#include "values/torch/torch_types.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

namespace {

// One item: an int (which may be a symbol), or what stands for one. A number of
// a class derived from int stays what it is, and so does one of NumPy's.
Outcome<V> size_item(Context& ctx, V given, size_t position) {
  V item = ctx.look_symbolic(given);
  if (item->type == &PyLong_Type) return item;
  if (item->is_constant() && PyLong_Check(item->object) &&
      !PyBool_Check(item->object))
    return item;
  Outcome<V> number = operator_index(ctx, item);
  if (number && values::is_numpy_number(item->type)) return item;
  if (number || number.signal() != Signal::Raised) return number;
  (void)ctx.take_exception();
  return ctx.raise(PyExc_TypeError,
                   "torch.Size() takes an iterable of 'int' (item " +
                       std::to_string(position) + " is '" +
                       item->type->tp_name + "')");
}

// torch.Size(iterable of ints).
Outcome<V> make_size(Context& ctx, const Arguments& args) {
  std::vector<V> items;
  if (args.count())
    MG_DO(values::unpack_to_list(ctx, args.positional[0], items));
  bool is_known = true;
  for (size_t i = 0; i < items.size(); ++i) {
    MG_TRY(items[i], size_item(ctx, items[i], i));
    is_known = is_known && items[i]->is_constant() &&
               PyLong_CheckExact(items[i]->object);
  }
  V made = ctx.tuple(items, values::torch_types().size);
  if (!is_known) return made;
  // Of numbers that are known it is one object.
  if (PyObject* real = values::as_constant(ctx, made))
    return ctx.constant_share(real);
  return made;
}

// Whether a number that varies is far from the ends of 64 bits.
Outcome<bool> is_moderate(Context& ctx, V number) {
  constexpr int64_t kBound = int64_t{1} << 62;
  for (const auto& [comparison, bound] :
       {std::pair{Py_LE, kBound}, std::pair{Py_GE, -kBound}}) {
    MG_TRY(V within,
           values::compare(ctx, comparison, number, ctx.integer(bound)));
    MG_TRY(bool is_within, values::truth(ctx, within));
    if (!is_within) return false;
  }
  return true;
}

// The product of a torch.Size's items.
Outcome<V> size_numel(Context& ctx, const Arguments& args) {
  V size = ctx.look_symbolic(args.positional[0]);
  std::vector<V> items;
  MG_DO(values::unpack(ctx, size, items));
  V product = ctx.integer(1);
  for (V item : items) {
    item = ctx.look_symbolic(item);
    if (is_symbol(item)) {
      MG_TRY(bool is_small, is_moderate(ctx, item));
      if (!is_small) item = ctx.look(item);
    }
    int overflow = 0;
    if (item->is_constant() && PyLong_Check(item->object) &&
        PyLong_AsLongLongAndOverflow(item->object, &overflow) && overflow)
      return ctx.raise(PyExc_ValueError, "Overflow when unpacking long long");
    // One of NumPy's is kept as it is.
    if (!is_symbol(item)) {
      MG_TRY(item, values::as_index(ctx, item));
    }
    MG_TRY(product, values::binary_operation(ctx, NB_MULTIPLY, product, item));
  }
  return product;
}

#define MG_REAL(module, function) \
  { module, function, call_real<module "." function> }

constexpr Row kRows[] = {
    {"torch", "Size", make_size, 0, 1, nullptr},
    {"torch", "Size.numel", size_numel, 1, 1, nullptr},
    MG_REAL("torch", "device"),
    MG_REAL("torch", "finfo"),
    MG_REAL("torch", "iinfo"),
};

}  // namespace

std::span<const Row> torch_class_rows() { return kRows; }

}  // namespace magneto::natives
