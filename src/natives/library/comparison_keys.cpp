// SPDX-License-Identifier: BSD-3-Clause
// functools.cmp_to_key: keys that a function of two arguments compares.
#include "natives/signature.h"
#include "python/layout.h"

namespace magneto::natives {

namespace {

using guards::SourceKind;
using python::PrivateField;

// Heap slots of a key that the trace made. What cmp_to_key gives is a key
// without an object.
enum Part : size_t { kFunction, kObject };

// Null if it has none.
V part_of(Context& ctx, V key, Part part) {
  if (!key->object) {
    const auto& slots = ctx.heap[key->heap].slots;
    return part < slots.size() ? slots[part] : nullptr;
  }
  static constexpr std::pair<PrivateField, SourceKind> kFields[] = {
      {PrivateField::KeyFunction, SourceKind::KeyFunction},
      {PrivateField::KeyObject, SourceKind::KeyObject}};
  const auto [field, kind] = kFields[part];
  PyObject** place = python::private_field(key->object, field);
  MG_CHECK(place, "a key of functools'");
  const guards::SourceId source = ctx.sources.field(key->source, kind);
  if (*place) return ctx.lazy(*place, source);
  ctx.guards.absent(source);
  return nullptr;
}

V make_key(Context& ctx, std::initializer_list<V> parts) {
  return ctx.iterator(python::comparison_key_type(), parts, 0, Kind::Object);
}

Outcome<V> make_class(Context& ctx, const Arguments& args) {
  return make_key(ctx, {argument(args, 0, name<"mycmp">())});
}

Outcome<V> make_object(Context& ctx, const Arguments& args) {
  V key = ctx.look(args.positional[0]);
  return make_key(
      ctx, {part_of(ctx, key, kFunction), argument(args, 1, name<"obj">())});
}

Outcome<V> read_object(Context& ctx, const Arguments& args) {
  V object = part_of(ctx, ctx.look(args.positional[0]), kObject);
  return object ? object : ctx.none();
}

template <int kind>
Outcome<V> compare_keys(Context& ctx, const Arguments& args) {
  V left = ctx.look(args.positional[0]);
  V right = ctx.look(args.positional[1]);
  if (right->type != left->type)
    return ctx.raise(PyExc_TypeError, "other argument must be K instance");
  V left_object = part_of(ctx, left, kObject);
  V right_object = part_of(ctx, right, kObject);
  if (!left_object || !right_object)
    return ctx.raise(PyExc_AttributeError, "object");
  MG_TRY(V answer,
         call(ctx, part_of(ctx, left, kFunction), {left_object, right_object}));
  return compare(ctx, kind, answer, ctx.integer(0));
}

constexpr const char* kKey = "<types>";

constexpr Row kRows[] = {
    {"functools", "cmp_to_key", make_class, 1, 1, "mycmp"},
    {kKey, "KeyWrapper.__call__", make_object, 2, 2, "obj"},
    {kKey, "KeyWrapper.obj", read_object, 1, 1, nullptr},
    {kKey, "KeyWrapper.__lt__", compare_keys<Py_LT>, 2, 2, nullptr},
    {kKey, "KeyWrapper.__le__", compare_keys<Py_LE>, 2, 2, nullptr},
    {kKey, "KeyWrapper.__eq__", compare_keys<Py_EQ>, 2, 2, nullptr},
    {kKey, "KeyWrapper.__ne__", compare_keys<Py_NE>, 2, 2, nullptr},
    {kKey, "KeyWrapper.__gt__", compare_keys<Py_GT>, 2, 2, nullptr},
    {kKey, "KeyWrapper.__ge__", compare_keys<Py_GE>, 2, 2, nullptr},
};

}  // namespace

std::span<const Row> comparison_key_rows() { return kRows; }

}  // namespace magneto::natives
