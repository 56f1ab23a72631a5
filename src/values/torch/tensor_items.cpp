// SPDX-License-Identifier: BSD-3-Clause
#include "values/torch/tensor_items.h"

#include <algorithm>

#include "python/find.h"
#include "python/names.h"
#include "values/model/attribute_forever.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"

namespace magneto::values {

namespace {

struct Functions {
  explicit Functions(const char* name)
      : plain(find_object((std::string("_operator.") + name).c_str())) {
    Ref module = import_module("magneto.tensor_index");
    MG_CHECK(plain && module, "functions of subscripts");
    with_data = PyObject_GetAttrString(module, name);
    MG_CHECK(with_data, "functions of subscripts");
  }

  PyObject* plain;
  PyObject* with_data;  // the same on fakes, where data is about
};

bool is_mask(V tensor) {
  const auto type = tensor::number_type(fake_of(tensor));
  return type && (type->type == shapes::Type::Boolean ||
                  type->range == shapes::Range{0, 255});
}

// A position that isn't known.
bool is_symbolic_position(V item) {
  return is_symbol(item) && item->type == &PyLong_Type;
}

bool is_tensor_position(V item) {
  return item->kind == Kind::Tensor && !is_mask(item) &&
         tensor::dim(fake_of(item)) == 0;
}

// How many dimensions an item of a key is about.
int64_t width(V item) {
  if (item->kind == Kind::Tensor && is_mask(item))
    return tensor::dim(fake_of(item));
  return item->type == &PyBool_Type ? 0 : 1;
}

bool is_full_slice(Context& ctx, V item) {
  return item->kind == Kind::Slice &&
         std::ranges::all_of(tuple_items(item), [&](V bound) {
           return ctx.look_symbolic(bound) == ctx.none();
         });
}

struct Part {
  V tensor;
  V key;
  bool has_tensor_position = false;
  bool is_whole = false;  // no more to be selected from the tensor
};

// The view that the symbols in a key select, by one call for each, and the rest
// of the key: torch's own subscripts take no symbols for positions. Dimensions
// that the key adds are added in between, for the strides that they get.
Outcome<Part> selected(Context& ctx, V tensor, V key) {
  static PyObject* const select = find_object("torch.select");
  static PyObject* const unsqueeze = find_object("torch.unsqueeze");
  std::vector<V> items{key};
  if (key->kind == Kind::Tuple)
    items.assign(tuple_items(key).begin(), tuple_items(key).end());
  for (V& item : items) item = ctx.look_symbolic(item);
  Part part{tensor, key};
  for (V item : items) part.has_tensor_position |= is_tensor_position(item);
  if (!std::ranges::any_of(items, is_symbolic_position)) return part;
  const auto is_ellipsis = [](V item) { return item->object == Py_Ellipsis; };
  if (std::ranges::count_if(items, is_ellipsis) > 1) {
    // Which dimension comes next is told by torch alone.
    for (V& item : items) item = ctx.look(item);
    part.key = ctx.tuple(items);
    return part;
  }
  std::vector<V> rest;
  int64_t dim = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    V item = items[i];
    if (is_symbolic_position(item)) {
      V call[] = {part.tensor, ctx.integer(dim), item};
      MG_TRY(part.tensor, record_function(ctx, select, {.positional = call}));
      continue;
    }
    if (item == ctx.none()) {
      V call[] = {part.tensor, ctx.integer(dim)};
      MG_TRY(part.tensor,
             record_function(ctx, unsqueeze, {.positional = call}));
      item = ctx.slice(item, item, item);
    }
    rest.push_back(item);
    if (item->object == Py_Ellipsis) {
      dim = tensor::dim(as<TensorValue>(part.tensor)->fake);
      for (V later : std::span(items).subspan(i + 1))
        if (later != ctx.none()) dim -= width(later);
    } else {
      dim += width(item);
    }
  }
  part.key = ctx.tuple(rest);
  const auto is_whole = [&](V item) {
    return is_ellipsis(item) || is_full_slice(ctx, item);
  };
  const auto slices =
      std::ssize(rest) - std::ranges::count_if(rest, is_ellipsis);
  part.is_whole = std::ranges::all_of(rest, is_whole) &&
                  slices <= tensor::dim(fake_of(part.tensor));
  return part;
}

// A slice with the numbers that tensors in it are. What it has else is asked
// for its number in its turn, the step first.
Outcome<V> slice_with_numbers(Context& ctx, V slice) {
  V bounds[3];
  bool has_tensor = false;
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = ctx.look_symbolic(tuple_items(slice)[i]);
    has_tensor |= bounds[i]->kind == Kind::Tensor;
  }
  if (!has_tensor) return slice;
  for (size_t i : {2, 0, 1}) {
    V& bound = bounds[i];
    const bool is_number = is_symbol(bound) && bound->type != &PyFloat_Type;
    if (bound == ctx.none() || is_number) continue;
    if (bound->kind == Kind::Tensor) {
      MG_TRY(bound, call_method(ctx, bound, interned().dunder_index, {}));
      continue;
    }
    if (!has_index(ctx, bound->type))
      return ctx.raise(PyExc_TypeError,
                       "slice indices must be integers or None or have an "
                       "__index__ method");
    MG_TRY(bound, as_index(ctx, bound));
  }
  return ctx.slice(bounds[0], bounds[1], bounds[2]);
}

// Tensors in slices are numbers.
Outcome<V> with_numbers(Context& ctx, V key) {
  key = ctx.look_symbolic(key);
  if (key->kind == Kind::Slice) return slice_with_numbers(ctx, key);
  if (key->kind != Kind::Tuple) return key;
  std::vector<V> items;
  bool is_changed = false;
  for (V item : tuple_items(key)) {
    MG_TRY(V now, with_numbers(ctx, item));
    is_changed = is_changed || now != ctx.look_symbolic(item);
    items.push_back(now);
  }
  return is_changed ? ctx.tuple(items, key->type) : key;
}

// Whether there are only tensors and integers in a key.
bool has_only_positions(Context& ctx, V key) {
  key = ctx.look_symbolic(key);
  if (key->kind == Kind::Tuple)
    return std::ranges::all_of(tuple_items(key), [&](V item) {
      return has_only_positions(ctx, item);
    });
  return key->kind == Kind::Tensor || key->type == &PyLong_Type;
}

// See ItemsBy.
Outcome<V> item_by_position(Context& ctx, V tensor, V key) {
  static PyObject* const getitem = find_object("_operator.getitem");
  static PyObject* const item =
      attribute_forever("magneto.polyfills.torch_flex", "item");
  V operands[] = {tensor, key};
  if (ctx.items_by == ItemsBy::PositionLater)
    return record_function_as(ctx, getitem, item, {.positional = operands});
  return ctx.inliner->inline_function(ctx.known(item),
                                      {.positional = operands});
}

}  // namespace

Outcome<V> get_tensor_item(Context& ctx, V tensor, V key) {
  static const Functions getitem("getitem");
  if (ctx.items_by != ItemsBy::Number && has_only_positions(ctx, key))
    return item_by_position(ctx, tensor, key);
  MG_TRY(key, with_numbers(ctx, key));
  MG_TRY(const Part part, selected(ctx, tensor, key));
  if (part.is_whole) return part.tensor;
  V operands[] = {part.tensor, part.key};
  return record_function_as(
      ctx, getitem.plain,
      part.has_tensor_position ? getitem.with_data : getitem.plain,
      {.positional = operands});
}

Status set_tensor_item(Context& ctx, V tensor, V key, V value) {
  static const Functions setitem("setitem");
  // What can't be assigned is refused before the key is looked at.
  value = ctx.look_symbolic(value);
  if (value->kind == Kind::Tensor || is_symbol(value) ||
      (value->is_constant() && PyNumber_Check(value->object))) {
    MG_TRY(key, with_numbers(ctx, key));
  }
  MG_TRY(const Part part, selected(ctx, tensor, key));
  const bool has_data = part.has_tensor_position || ctx.symbols.exist_of_data();
  return record_effect(ctx, setitem.plain,
                       has_data ? setitem.with_data : setitem.plain,
                       {part.tensor, part.key, value});
}

}  // namespace magneto::values
