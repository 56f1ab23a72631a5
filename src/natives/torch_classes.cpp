// SPDX-License-Identifier: BSD-3-Clause
// Torch's small classes: device, Size, finfo and the like.
#include "natives/torch_rows.h"
#include "values/torch_types.h"

namespace magneto::natives {

namespace {

// torch.Size(iterable of ints).
Outcome<V> make_size(Context& ctx, const Arguments& args) {
  std::vector<V> items;
  if (args.count()) MG_DO(values::unpack(ctx, args.positional[0], items));
  V made = ctx.tuple(items, values::torch_types().size);
  // Of numbers that are known it is one object.
  if (PyObject* real = values::as_constant(ctx, made))
    return ctx.constant_share(real);
  return made;
}

#define MG_REAL(module, function) \
  { module, function, call_real<module "." function> }

constexpr Row kRows[] = {
    {"torch", "Size", make_size, 0, 1, nullptr},
    MG_REAL("torch", "device"),
    MG_REAL("torch", "finfo"),
    MG_REAL("torch", "iinfo"),
};

}  // namespace

std::span<const Row> torch_class_rows() { return kRows; }

}  // namespace magneto::natives
