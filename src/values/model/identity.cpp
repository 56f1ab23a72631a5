// SPDX-License-Identifier: BSD-3-Clause
#include "values/model/identity.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "guards/constant.h"
#include "python/key_token.h"
#include "python/layout.h"
#include "values/protocol/hashing.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/torch/tensor_choice.h"

namespace magneto::values {
namespace {

// Of which equal ones are one object: None, the bools and the small integers.
bool is_told_by_value(PyObject* object) {
  if (!PyLong_CheckExact(object))
    return object == Py_None || PyBool_Check(object) || object == Py_Ellipsis ||
           object == Py_NotImplemented;
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(object, &overflow);
  constexpr long kLeast = -5, kMost = 256;  // that CPython makes at its start
  return !overflow && value >= kLeast && value <= kMost;
}

bool is_nan(PyObject* object) {
  return PyFloat_CheckExact(object) && std::isnan(PyFloat_AS_DOUBLE(object));
}

// A constant, and where the caller brings it.
struct Held {
  PyObject* object;
  SourceId source;
};

// Where a tuple that is found at `source` holds what equals `wanted`.
Status find_held(Context& ctx, PyObject* tuple, SourceId source,
                 PyObject* wanted, std::vector<Held>& held) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    const auto index = static_cast<size_t>(i);
    if (Py_TYPE(item) == Py_TYPE(wanted)) {
      const int equal = PyObject_RichCompareBool(item, wanted, Py_EQ);
      if (equal < 0) return ctx.raise_from_python();
      if (equal || (is_nan(item) && is_nan(wanted)))
        held.push_back({item, ctx.sources.tuple_item(source, index)});
    }
    if (PyTuple_CheckExact(item))
      MG_DO(find_held(ctx, item, ctx.sources.tuple_item(source, index), wanted,
                      held));
  }
  return done;
}

// Where two equal constants are found. The caller's tuples of constants are
// constants, too, and what was taken out of one doesn't say where it was.
Status find_places(Context& ctx, Held left, Held right,
                   std::vector<Held>& places) {
  for (const guards::Guard& guard : ctx.guards.guards())
    if (guard.kind == guards::GuardKind::ConstantEquals &&
        PyTuple_CheckExact(guard.object.get()))
      MG_DO(find_held(ctx, guard.object.get(), guard.source, left.object,
                      places));
  for (const Held& one : {left, right}) {
    if (one.source.valid())
      places.push_back(one);
    else if (std::ranges::find(places, one.object, &Held::object) ==
             places.end())
      places.push_back({one.object, ctx.sources.constant(one.object)});
  }
  return done;
}

// Guards tell the caller's constants by their value; which of two that have the
// same one are one object is guarded, too.
Outcome<bool> identical_constants(Context& ctx, Held left, Held right) {
  const bool same = left.object == right.object;
  if (Py_TYPE(left.object) != Py_TYPE(right.object) ||
      is_told_by_value(left.object))
    return same;
  const int equal = PyObject_RichCompareBool(left.object, right.object, Py_EQ);
  if (equal < 0) return ctx.raise_from_python();
  if (!equal && !(is_nan(left.object) && is_nan(right.object))) return false;
  std::vector<Held> places;
  MG_DO(find_places(ctx, left, right, places));
  std::vector<Held> distinct;
  for (const Held& place : places) {
    const auto one = std::ranges::find(distinct, place.object, &Held::object);
    if (one == distinct.end())
      distinct.push_back(place);
    else if (one->source != place.source)
      ctx.guards.same_object(one->source, place.source);
  }
  std::vector<SourceId> sources;
  for (const Held& place : distinct) sources.push_back(place.source);
  if (sources.size() > 1) ctx.guards.distinct(sources);
  return same;
}

// The caller's object itself: of a number that varies, what was looked at is
// another one with the same value.
PyObject* object_of(V given, V looked) {
  return given->kind == Kind::Lazy ? given->object : looked->object;
}

// Where the caller's object is found; invalid for what the program made.
SourceId place_of(V given, V looked) {
  return looked->source.valid() || given->kind != Kind::Lazy ? looked->source
                                                             : given->source;
}

}  // namespace

Outcome<bool> identical(Context& ctx, V left, V right) {
  if (left == right) return true;
  // Nothing that is made while tracing is one of the singletons; and a caller's
  // object that is compared with None needs no more than that guard.
  const V given[] = {left, right};
  left = ctx.look_function(left);
  right = ctx.look_function(right);
  const auto is_vague = [](V value) {
    return is_open(value) || is_any_function(value);
  };
  if (is_vague(left) || is_vague(right)) {
    // A number is none of the objects that aren't numbers, a function none that
    // isn't one. Whether two are one object is as for those that are known.
    if (left->type != right->type) return false;
    left = ctx.look(left);
    right = ctx.look(right);
  }
  if (left->kind == Kind::Tensor && right->kind == Kind::Tensor &&
      fake_of(left) == fake_of(right))
    return true;
  if (is_chosen(ctx, left) || is_chosen(ctx, right))
    return ctx.graph_break(kTensorChoice);
  if (left->object && right->object) {
    if (left->is_constant() && right->is_constant() &&
        guards::is_constant(left->object) && guards::is_constant(right->object))
      return identical_constants(
          ctx, {object_of(given[0], left), place_of(given[0], left)},
          {object_of(given[1], right), place_of(given[1], right)});
    if (left->object == right->object) return true;
    if (left->source.valid() && right->source.valid() &&
        !(left->is_constant() && right->is_constant())) {
      SourceId both[] = {left->source, right->source};
      ctx.guards.distinct(both);
    }
  }
  if (left == right) return true;
  if (left->heap.valid() && right->heap.valid() && left->type == right->type) {
    ctx.heap.touch(left->heap);
    ctx.heap.touch(right->heap);
  }
  return false;
}

namespace {

// What a key is for a container that isn't the trace's.
enum class Origin : uint8_t {
  Fixed,   // a constant, or an object that is the same in each call
  Caller,  // one that the call brings
  Trace,   // made while tracing
};

Origin origin_of(Context& ctx, V key) {
  if (key->is_constant()) return Origin::Fixed;
  if (key->kind == Kind::Tuple) {
    Origin origin = Origin::Fixed;
    for (V item : tuple_items(key))
      origin = std::max(origin, origin_of(ctx, ctx.look(item)));
    return origin;
  }
  if (key->kind == Kind::Set) {
    Origin origin = Origin::Fixed;
    for (const DictEntry* entry : dict_entries(ctx, key))
      origin = std::max(origin, origin_of(ctx, ctx.look(entry->key)));
    return origin;
  }
  if (!key->object) return Origin::Trace;
  const bool is_callers =
      key->source.valid() &&
      ctx.sources[key->source].kind != guards::SourceKind::Constant;
  if (key->kind == Kind::Tensor && !key->source.valid()) return Origin::Trace;
  return is_callers ? Origin::Caller : Origin::Fixed;
}

// Keys that were in a container of the caller's have no source that they could
// be compared with: where there are such, the others are told by identity.
void guard_keys(Context& ctx) {
  std::vector<SourceId> keys;
  std::unordered_set<V> seen;
  for (V key : ctx.object_keys) {
    if (!seen.insert(key).second) continue;
    if (ctx.has_fixed_objects)
      ctx.guards.identity(key->source, key->object);
    else
      keys.push_back(key->source);
  }
  if (keys.size() > 1) ctx.guards.distinct(keys);
}

bool is_variable(const Context& ctx, V value) {
  if (!value || !value->source.valid()) return false;
  const guards::SourceKind kind = ctx.sources[value->source].kind;
  return kind == guards::SourceKind::Local ||
         kind == guards::SourceKind::CellContents;
}

// A dict that one variable holds may be the attributes of the object that
// another one holds, where the trace has taken them for two.
void guard_instance_dicts(Context& ctx) {
  std::vector<SourceId> dicts;
  std::vector<V> objects;
  bool is_written = false;
  for (size_t i = 0; i < ctx.heap.size(); ++i) {
    const HeapObject& state = ctx.heap[HeapId(i)];
    const bool of_object = state.attributes_of.valid();
    V owner = of_object ? ctx.heap[state.attributes_of].owner : state.owner;
    if (!is_variable(ctx, owner)) continue;
    if (of_object && python::dict_slot(owner->object))
      objects.push_back(owner);
    else if (!of_object && owner->type == &PyDict_Type)
      dicts.push_back(owner->source);
    else
      continue;
    is_written = is_written || state.changes != 0;
  }
  if (!is_written || dicts.empty() || objects.empty()) return;
  for (V object : objects) {
    const SourceId source =
        ctx.sources.field(object->source, guards::SourceKind::InstanceDict);
    if (*python::dict_slot(object->object))
      dicts.push_back(source);
    else
      ctx.guards.absent(source);
  }
  if (dicts.size() > 1) ctx.guards.distinct(dicts);
}

V object_of(const Heap& heap, HeapId id) {
  const HeapObject& state = heap[id];
  return state.attributes_of.valid() ? heap[state.attributes_of].owner
                                     : state.owner;
}

}  // namespace

PyObject* callers_key(Context& ctx, V key, PyObject* token) {
  if (!ctx.own_keys().empty() && python::holds_key_token(token))
    throw BreakException{
        {"dict-key",
         std::string("a key of type ") + key->type->tp_name +
             ", whose class has an __eq__ of its own, of a dict that the "
             "program didn't make here"}};
  switch (origin_of(ctx, key)) {
    case Origin::Fixed:
      return token;
    case Origin::Trace:
      return nullptr;
    case Origin::Caller:
      break;
  }
  if (key->kind == Kind::Tuple || key->kind == Kind::Set)
    throw BreakException{
        {"dict-key",
         std::string("a key of type ") + key->type->tp_name +
             " that holds objects of the caller's",
         "use keys of strings and numbers, or the objects themselves"}};
  ctx.guards.identity(key->source, key->object);
  return key->object;
}

namespace {

// Whether these are the numbers that the call has, as far as it has them.
bool are_as_given(Context& ctx, const std::vector<shapes::E>& expressions,
                  std::span<const int64_t> given) {
  for (size_t i = 0; i < given.size(); ++i) {
    const auto hint = ctx.symbols.environment()->hint(expressions[i]);
    if (hint && *hint != shapes::Number::of(given[i])) return false;
  }
  return true;
}

// Whether an in-place operation has given the tensor a history or another
// shape: of its values the trace knows nothing anyway.
bool has_other_metadata(Context& ctx, V tensor) {
  PyObject* fake = fake_of(tensor);
  PyObject* real = tensor->object;
  if (tensor::version(fake) == tensor::version(real)) return false;
  if (tensor::requires_grad(fake) != tensor::requires_grad(real) ||
      tensor::dim(fake) != tensor::dim(real))
    return true;
  if (tensor::has_symbolic_shape(fake))
    return !are_as_given(
               ctx, tensor::size_expressions(ctx.symbols.environment(), fake),
               tensor::sizes(real)) ||
           !are_as_given(
               ctx, tensor::stride_expressions(ctx.symbols.environment(), fake),
               tensor::strides(real));
  return !std::ranges::equal(tensor::sizes(fake), tensor::sizes(real)) ||
         !std::ranges::equal(tensor::strides(fake), tensor::strides(real));
}

// What one tensor has become, others haven't.
void guard_tensors(Context& ctx) {
  bool has_changed = false;
  std::vector<SourceId> tensors;
  std::vector<PyObject*> objects;
  for (size_t i = 0; i < ctx.heap.size(); ++i) {
    V owner = ctx.heap[HeapId(i)].owner;
    if (!owner || owner->kind != Kind::Tensor || !owner->source.valid() ||
        !owner->object)
      continue;
    tensors.push_back(owner->source);
    objects.push_back(owner->object);
    has_changed = has_changed || has_other_metadata(ctx, owner);
  }
  if (!has_changed) return;
  ctx.guards.distinct(tensors);
  // A tensor shares its history with its base, and that with its views.
  ctx.guards.views(tensors, objects);
}

}  // namespace

V address_of(Context& ctx, V value) {
  value = ctx.look(value);
  if (!value->object || (!value->source.valid() && !value->is_constant()))
    return nullptr;
  const auto address =
      static_cast<int64_t>(reinterpret_cast<intptr_t>(value->object));
  if (!value->source.valid()) return ctx.integer(address);
  return ctx.symbols.value(ctx.symbols.make(
      shapes::Number::of(address), {guards::IntKind::Address, value->source},
      shapes::Type::Integer));
}

void guard_identities(Context& ctx) {
  guard_tensors(ctx);
  guard_keys(ctx);
  guard_instance_dicts(ctx);
  std::vector<PyTypeObject*> types;
  std::unordered_map<PyTypeObject*, std::vector<SourceId>> written;
  for (HeapId id : ctx.heap.modified()) {
    V object = object_of(ctx.heap, id);
    if (object && object->source.valid() &&
        written.try_emplace(object->type).second)
      types.push_back(object->type);
  }
  if (written.empty()) return;
  for (size_t i = 0; i < ctx.heap.size(); ++i) {
    const HeapId id(i);
    if (ctx.heap[id].attributes_of.valid()) continue;
    V object = ctx.heap[id].owner;
    if (!object || !object->source.valid()) continue;
    const auto found = written.find(object->type);
    if (found != written.end()) found->second.push_back(object->source);
  }
  for (PyTypeObject* type : types)
    if (written[type].size() > 1) ctx.guards.distinct(written[type]);
}

}  // namespace magneto::values
