// SPDX-License-Identifier: BSD-3-Clause
#include "natives/builtins/ordering.h"

#include <algorithm>

#include "natives/builtins/merge_sort.h"
#include "natives/signature.h"
#include "python/int_conversions.h"
#include "python/names.h"

namespace magneto::natives {

Status sort(Context& ctx, std::vector<V>& items, const Arguments& args) {
  V key = args.keyword(interned().key);
  if (key) key = callable_argument(ctx, key);
  bool reverse = false;
  if (V given = args.keyword(interned().reverse)) {
    MG_TRY(V number, as_index(ctx, given));
    const int flag = python::to_c_int(number->object);
    if (flag == -1 && PyErr_Occurred()) return ctx.raise_from_python();
    reverse = flag != 0;
  }
  std::vector<Keyed> keyed(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    keyed[i] = {items[i], items[i]};
    if (key) {
      MG_TRY(keyed[i].key, call(ctx, key, {items[i]}));
    }
  }
  // Equal items keep their order when the order is reversed, too.
  if (reverse) std::reverse(keyed.begin(), keyed.end());
  const Status sorted = merge_sort(ctx, keyed);
  if (reverse) std::reverse(keyed.begin(), keyed.end());
  for (size_t i = 0; i < items.size(); ++i) items[i] = keyed[i].item;
  return sorted;
}

}  // namespace magneto::natives
