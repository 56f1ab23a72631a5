// SPDX-License-Identifier: BSD-3-Clause
#include "natives/higher_order/tree.h"

#include <algorithm>

#include "guards/show.h"
#include "tensor/symbols.h"

namespace magneto::natives {

namespace {

// How deep containers may be nested; one that holds itself has no end.
constexpr int kDeepest = 50;

class Flattening {
 public:
  Flattening(Context& ctx, Tree& tree) : ctx_(ctx), tree_(tree) {}

  bool add(V value, const std::string& path, int depth) {
    value = ctx_.look(value);
    if (value->kind == Kind::Tensor) {
      tree_.leaves.push_back({value, path});
      tree_.form += '*';
      return true;
    }
    if (depth < kDeepest) {
      tree_.types.push_back(value->type);
      switch (value->kind) {
        case Kind::Tuple:
          if (!PyType_IsSubtype(value->type, &PyTuple_Type)) break;
          return add_items(values::tuple_items(value), "()", path, depth);
        case Kind::List: {
          if (value->type != &PyList_Type) break;
          const std::vector<V> items = ctx_.heap.items(value->heap);
          return add_items(items, "[]", path, depth);
        }
        case Kind::Dict:
          if (value->type != &PyDict_Type) break;
          return add_entries(value, path, depth);
        default:
          break;
      }
    }
    PyObject* plain = values::as_constant(ctx_, value);
    if (plain && (plain == Py_None || PyLong_Check(plain))) {
      tree_.form += guards::show(plain);
      return true;
    }
    tree_.form = path + " is " + ctx_.describe(value);
    return false;
  }

 private:
  bool add_items(std::span<const V> items, const char* brackets,
                 const std::string& path, int depth) {
    tree_.form += brackets[0];
    for (size_t i = 0; i < items.size(); ++i) {
      if (i) tree_.form += ", ";
      if (!add(items[i], path + '[' + std::to_string(i) + ']', depth + 1))
        return false;
    }
    tree_.form += brackets[1];
    return true;
  }

  bool add_entries(V dict, const std::string& path, int depth) {
    tree_.form += '{';
    bool is_first = true;
    for (const values::DictEntry* entry : values::dict_entries(ctx_, dict)) {
      V key = ctx_.look(entry->key);
      if (!key->is_constant()) {
        tree_.form = "a key of " + path + " is " + ctx_.describe(key);
        return false;
      }
      const std::string name = guards::show(key->object);
      if (!is_first) tree_.form += ", ";
      is_first = false;
      tree_.form += name;
      tree_.form += ": ";
      std::string place = path;
      place.append("[").append(name).append("]");
      if (!add(entry->value, place, depth + 1)) return false;
    }
    tree_.form += '}';
    return true;
  }

  Context& ctx_;
  Tree& tree_;
};

std::string text_of(Ref object) {
  Ref text = Ref::steal(object ? PyObject_Str(object) : nullptr);
  const char* chars = text ? PyUnicode_AsUTF8(text) : nullptr;
  if (!chars) PyErr_Clear();
  return chars ? chars : "?";
}

}  // namespace

std::vector<V> Tree::tensors() const {
  std::vector<V> all;
  for (const Leaf& leaf : leaves) all.push_back(leaf.tensor);
  return all;
}

bool flatten(Context& ctx, V value, Tree& tree) {
  return Flattening(ctx, tree).add(value, "output", 0);
}

std::string difference(Context& ctx, V first, V second) {
  PyObject* a = fake_of(first);
  PyObject* b = fake_of(second);
  const auto head = [&](PyObject* fake) {
    return tensor::scalar_type_name(tensor::scalar_type(fake)) +
           ctx.symbols.show_sizes(fake);
  };
  const std::string heads[] = {head(a), head(b)};
  if (heads[0] != heads[1]) return heads[0] + " and " + heads[1];
  const auto both = [&](const std::string& what, const std::string& x,
                        const std::string& y) {
    return heads[0] + ' ' + what + ' ' + x + " and " + y;
  };
  if (tensor::device(a) != tensor::device(b))
    return both("on", text_of(tensor::device_object(a)),
                text_of(tensor::device_object(b)));
  const auto strides = [&](PyObject* fake) {
    std::string text = "[";
    if (tensor::has_symbolic_shape(fake)) return std::string();
    for (int64_t stride : tensor::strides(fake))
      text += (text.size() > 1 ? ", " : "") + std::to_string(stride);
    return text + "]";
  };
  if (strides(a) != strides(b))
    return both("with strides", strides(a), strides(b));
  if (tensor::requires_grad(a) != tensor::requires_grad(b))
    return both("with requires_grad",
                tensor::requires_grad(a) ? "True" : "False",
                tensor::requires_grad(b) ? "True" : "False");
  return {};
}

}  // namespace magneto::natives
