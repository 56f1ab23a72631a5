// SPDX-License-Identifier: BSD-3-Clause
// Values as the user would name them, where two runs of the trace are compared:
// values that a program can't tell apart read the same.
#include "guards/constant.h"
#include "guards/show.h"
#include "values/model/context.h"
#include "values/types/numpy_values.h"

namespace magneto::values {

namespace {

// Through so many containers.
constexpr int kDeepest = 3;
constexpr size_t kMostItems = 20;

class Description {
 public:
  explicit Description(const Context& ctx) : ctx_(ctx) {}

  std::string of(V value, int depth = 0) const {
    value = ctx_.looked_at(value);
    if (value->is_null()) return "nothing";
    if (value->is_constant() && guards::is_constant(value->object))
      return guards::show(value->object);
    if (value->source.valid()) return ctx_.sources.print(value->source);
    const std::string type = value->type->tp_name;
    switch (value->kind) {
      case Kind::Constant:
        return guards::show(value->object);
      case Kind::Symbol:
        return ctx_.symbols.show(as<SymbolValue>(value)->number);
      case Kind::Text:
        return "a str with numbers that vary in it";
      case Kind::Tensor:
        return of_tensor(fake_of(value));
      case Kind::Tuple:
      case Kind::Slice:
        return type + items(tuple_items(value), depth);
      case Kind::List:
        return type + items(ctx_.heap[value->heap].items, depth);
      case Kind::Dict:
      case Kind::Set:
        return type + entries(*ctx_.heap[value->heap].dict, depth);
      case Kind::Cell: {
        V content = ctx_.heap[value->heap].slots[0];
        return "a cell with " +
               (content && depth < kDeepest ? of(content, depth + 1) : "...");
      }
      case Kind::Object: {
        const HeapId attributes = ctx_.heap[value->heap].attributes;
        if (!attributes.valid()) return "a " + type;
        return "a " + type + entries(*ctx_.heap[attributes].dict, depth);
      }
      default:
        return "a " + type;
    }
  }

 private:
  std::string of_tensor(PyObject* fake) const {
    return "a " + tensor::scalar_type_name(tensor::scalar_type(fake)) +
           ctx_.symbols.show_sizes(fake) + " tensor";
  }

  std::string items(std::span<const V> all, int depth) const {
    if (depth >= kDeepest) return "[...]";
    std::string text = "[";
    for (size_t i = 0; i < all.size(); ++i) {
      if (i) text += ", ";
      if (i == kMostItems) return text + "...]";
      text += all[i] ? of(all[i], depth + 1) : "nothing";
    }
    return text + "]";
  }

  std::string entries(const DictState& dict, int depth) const {
    if (depth >= kDeepest) return "{...}";
    std::string text = "{";
    for (const DictEntry& entry : dict.entries) {
      if (!entry.value) continue;
      if (text.size() > 1) text += ", ";
      text += of(entry.key, depth + 1);
      if (entry.value != entry.key) text += ": " + of(entry.value, depth + 1);
    }
    return text + "}";
  }

  const Context& ctx_;
};

}  // namespace

std::string Wrapping::describe(V value) const {
  return Description(static_cast<const Context&>(*this)).of(value);
}

}  // namespace magneto::values
