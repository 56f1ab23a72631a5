// SPDX-License-Identifier: BSD-3-Clause
#include "values/tensor_items.h"

#include "python/find.h"
#include "python/names.h"
#include "values/protocol.h"
#include "values/symbolic.h"

namespace magneto::values {

namespace {

struct Functions {
  explicit Functions(const char* name)
      : plain(find_object((std::string("_operator.") + name).c_str())) {
    Ref module = Ref::steal(PyImport_ImportModule("magneto.tensor_index"));
    MG_CHECK(plain && module, "functions of subscripts");
    symbolic = PyObject_GetAttrString(module, name);
    MG_CHECK(symbolic, "functions of subscripts");
  }

  PyObject* plain;
  PyObject* symbolic;  // what it does to fakes, where a position is a symbol
};

bool is_position(Context& ctx, V item) {
  item = ctx.look_symbolic(item);
  if (item->kind == Kind::Tensor)
    return tensor::dim(as<TensorValue>(item)->fake) == 0;
  return is_symbol(item) && item->type == &PyLong_Type;
}

// Whether an element is selected by a number that isn't known.
bool selects_by_symbol(Context& ctx, V key) {
  if (key->kind != Kind::Tuple) return is_position(ctx, key);
  for (V item : tuple_items(key))
    if (is_position(ctx, item)) return true;
  return false;
}

// Tensors in slices are numbers.
Outcome<V> with_numbers(Context& ctx, V key) {
  key = ctx.look_symbolic(key);
  const bool is_slice = key->kind == Kind::Slice;
  if (!is_slice && key->kind != Kind::Tuple) return key;
  std::vector<V> items;
  bool is_changed = false;
  for (V item : tuple_items(key)) {
    V now = ctx.look_symbolic(item);
    if (!is_slice) {
      MG_TRY(now, with_numbers(ctx, now));
    } else if (now->kind == Kind::Tensor) {
      MG_TRY(now, call_method(ctx, now, interned().dunder_index, {}));
    }
    is_changed = is_changed || now != ctx.look_symbolic(item);
    items.push_back(now);
  }
  if (!is_changed) return key;
  return is_slice ? ctx.slice(items[0], items[1], items[2])
                  : ctx.tuple(items, key->type);
}

}  // namespace

Outcome<V> get_tensor_item(Context& ctx, V tensor, V key) {
  static const Functions getitem("getitem");
  MG_TRY(key, with_numbers(ctx, key));
  V operands[] = {tensor, key};
  return record_function_as(
      ctx, getitem.plain,
      selects_by_symbol(ctx, key) ? getitem.symbolic : getitem.plain,
      {.positional = operands});
}

Status set_tensor_item(Context& ctx, V tensor, V key, V value) {
  static const Functions setitem("setitem");
  MG_TRY(key, with_numbers(ctx, key));
  return record_effect(
      ctx, setitem.plain,
      selects_by_symbol(ctx, key) ? setitem.symbolic : setitem.plain,
      {tensor, key, value});
}

}  // namespace magneto::values
