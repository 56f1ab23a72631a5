// SPDX-License-Identifier: BSD-3-Clause
// Iterators that the caller has begun. Those of lists, tuples, texts, ranges,
// dicts, sets and deques, reversed ones too, are read from where they are: what
// is guarded is that there are as many items as the trace takes, and, if it
// takes all of them, no more; how far the iterator was doesn't matter. Their
// heap number is how many were taken, -1 at the end. Those around others have
// the slots of ones that the trace made (iterators.h). What was taken is
// replayed when the piece ends.
#include <opcode.h>

#include "python/deque_layout.h"
#include "python/iterator_layout.h"
#include "python/itertools_layout.h"
#include "values/model/callers_objects.h"
#include "values/protocol/hashing.h"
#include "values/protocol/protocol.h"
#include "values/types/caller_itertools.h"

namespace magneto::values {

namespace {

using guards::Reading;
using guards::SourceKind;

V begun(Context& ctx, PyObject* object, SourceId source,
        std::span<const V> slots, int64_t number = 0) {
  V made = callers_object(ctx, Kind::Iterator, object, source);
  HeapObject& state = ctx.heap.initial(made->heap);
  state.slots.assign(slots.begin(), slots.end());
  state.number = number;
  return made;
}

// Null where there is nothing.
V part(Context& ctx, PyObject* object, SourceId source, SourceKind kind) {
  const Reading reading = guards::read_field(kind, object);
  if (!reading.is_present()) return nullptr;
  const SourceId at = ctx.sources.field(source, kind);
  ctx.guards.present(at);
  return ctx.lazy(reading.value(), at);
}

// Appends the iterators in the tuple that is such a part.
void parts(Context& ctx, PyObject* object, SourceId source, SourceKind kind,
           std::vector<V>& slots) {
  V tuple = part(ctx, object, source, kind);
  MG_CHECK(tuple, "a zip or map has iterators");
  const Status unpacked = unpack(ctx, tuple, slots);
  MG_CHECK(unpacked, "a tuple can be unpacked");
}

// The number that a counting iterator gives next: a symbol, so that a loop with
// a graph break in it isn't compiled for each step, unless the user wants none.
V position(Context& ctx, PyObject* object, SourceId source, int64_t next) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (next <= kMost && next >= -kMost && ctx.symbol_policy &&
      ctx.symbol_policy->is_symbolic(object, source))
    return ctx.symbols.value(ctx.symbols.make(
        shapes::Number::of(next), {guards::IntKind::Position, source},
        shapes::Type::Integer));
  ctx.guards.iterator_position(source, next);
  return ctx.integer(next);
}

// What the iterator goes over that can change; null if there is no such, or the
// iterator is at its end.
PyObject* container_of(PyObject* iterator) {
  const auto table = python::table_iterator(iterator);
  if (table.is_one) return table.table;
  PyObject* sequence = python::sequence_iterator(iterator).sequence;
  return sequence && (PyList_Check(sequence) || python::is_deque(sequence))
             ? sequence
             : nullptr;
}

// Whether the trace has written to it. That it is none of the others to which
// it has is guarded.
bool is_written(Context& ctx, V iterator, PyObject* container) {
  std::vector<SourceId> others{
      ctx.sources.field(iterator->source, SourceKind::IteratedOver)};
  for (HeapId id : ctx.heap.modified()) {
    const HeapObject& state = ctx.heap[id];
    // The dictionary of an object's attributes has no source.
    if (state.attributes_of.valid()) {
      if (PyDict_Check(container)) return true;
      continue;
    }
    V owner = state.owner;
    if (!owner || !owner->source.valid() || !owner->object) continue;
    if (owner->object == container) return true;
    if (owner->kind == Kind::List || owner->kind == Kind::Dict ||
        owner->kind == Kind::Set)
      others.push_back(owner->source);
  }
  if (others.size() > 1) ctx.guards.distinct(others);
  return false;
}

// To skip the entries before takes longer with each.
constexpr int64_t kMostEntries = 256;

}  // namespace

V caller_iterator(Context& ctx, PyObject* object, SourceId source) {
  PyTypeObject* type = Py_TYPE(object);
  const auto counting = python::counting_iterator(object);
  if (python::sequence_iterator(object).is_one)
    return begun(ctx, object, source, {});
  if (const auto table = python::table_iterator(object); table.is_one) {
    // An OrderedDict's have one class for all that they give.
    if (type == &PyODictIter_Type)
      ctx.guards.iterator_trait(source, static_cast<int64_t>(table.gives));
    return begun(ctx, object, source, {});
  }
  if (type == &PyRangeIter_Type) {
    ctx.guards.iterator_trait(source, counting.step);
    V slots[] = {position(ctx, object, source, counting.next)};
    return begun(ctx, object, source, slots);
  }
  if (type == &PyEnum_Type && counting.is_one) {
    V iterator = part(ctx, object, source, SourceKind::IteratedOver);
    if (!iterator) return nullptr;
    V slots[] = {iterator, position(ctx, object, source, counting.next)};
    return begun(ctx, object, source, slots);
  }
  std::vector<V> slots;
  if (type == &PyZip_Type) {
    const bool is_strict = python::zip_is_strict(object);
    ctx.guards.iterator_trait(source, is_strict);
    parts(ctx, object, source, SourceKind::ZippedIterators, slots);
    return begun(ctx, object, source, slots, is_strict);
  }
  if (type == &PyMap_Type) {
    slots = {part(ctx, object, source, SourceKind::MappedFunction)};
    parts(ctx, object, source, SourceKind::MappedIterators, slots);
    return begun(ctx, object, source, slots);
  }
  if (type == &PyFilter_Type) {
    slots = {part(ctx, object, source, SourceKind::FilterFunction),
             part(ctx, object, source, SourceKind::FilteredIterator)};
    return begun(ctx, object, source, slots);
  }
  if (V state = caller_itertools_state(ctx, object, source)) {
    V made = begun(ctx, object, source, {&state, 1});
    ctx.heap.initial(state->heap).slots = {made};
    return made;
  }
  return nullptr;
}

bool is_begun(V iterator) {
  PyTypeObject* type = iterator->type;
  return iterator->source.valid() && type != &PyEnum_Type &&
         type != &PyZip_Type && type != &PyMap_Type && type != &PyFilter_Type &&
         !python::has_iterator_words(iterator->object);
}

Outcome<V> next_begun(Context& ctx, V iterator) {
  const int64_t taken = ctx.heap[iterator->heap].number;
  PyTypeObject* type = iterator->type;
  PyObject* container = container_of(iterator->object);
  // A deque's looks whether the deque has changed at its end, too.
  const bool looks_at_end =
      std::string_view(type->tp_name) == "_collections._deque_iterator";
  if (taken < 0 && !looks_at_end) return nullptr;
  if (container && is_written(ctx, iterator, container))
    return ctx.graph_break("caller-iterator",
                           std::string("a ") + Py_TYPE(container)->tp_name +
                               " that changes while it is gone over",
                           "go over a copy of it");
  if (taken < 0) return nullptr;
  // An OrderedDict's asks for the hash of each key.
  if (container && type == &PyODictIter_Type && has_own_keys(container))
    return ctx.graph_break("caller-iterator",
                           "an OrderedDict with keys that are hashed in Python",
                           "go over a copy of it");
  const auto table = python::table_iterator(iterator->object);
  if (table.is_one && taken >= kMostEntries)
    return ctx.graph_break("caller-iterator",
                           std::string("a ") + type->tp_name +
                               " that was made outside of the trace",
                           "make the iterator inside of the compiled "
                           "function, or pass a list");
  const auto at = static_cast<size_t>(taken);
  const SourceId source = ctx.sources.iterator_item(iterator->source, at);
  const Reading item = guards::read_iterator_item(iterator->object, at);
  if (item.is_unreadable())
    return ctx.graph_break(
        "caller-iterator",
        std::string("a ") + type->tp_name + " of something that has changed",
        "go over a copy of it");
  if (!item.is_present()) {
    ctx.guards.absent(source);
    ctx.heap.set_number(iterator->heap, -1);
    return nullptr;
  }
  ctx.guards.present(source);
  V value = ctx.lazy(item.value(), source);
  if (table.gives == python::TableIterator::Gives::Pairs) {
    const SourceId second =
        ctx.sources.iterator_pair_value(iterator->source, at);
    ctx.guards.present(second);
    V pair[] = {value, ctx.lazy(python::table_entry(iterator->object, at).value,
                                second)};
    value = ctx.tuple(pair);
  } else if (type == &PyRangeIter_Type) {
    const auto counting = python::counting_iterator(iterator->object);
    MG_TRY(value,
           binary_operation(ctx, NB_ADD, ctx.heap[iterator->heap].slots[0],
                            ctx.integer(taken * counting.step)));
  }
  ctx.heap.set_number(iterator->heap, taken + 1);
  return value;
}

}  // namespace magneto::values
