// SPDX-License-Identifier: BSD-3-Clause
#include "guards/source.h"

#include <algorithm>

#include "guards/read.h"
#include "guards/show.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

uint64_t mix(uint64_t hash, uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdu;
}

// Operands are told apart by identity, so that 1, 1.0 and True stay different
// keys. Names are interned first, other equal keys may get two sources, which
// costs a second read and nothing else.
bool same_operand(PyObject* a, PyObject* b) {
  return a == b || (a != nullptr && b != nullptr && same_constant(a, b));
}

uint64_t operand_hash(const Source& source) {
  if (source.object == nullptr) return 0;
  if (source.kind == SourceKind::DictItem) {
    return static_cast<uint64_t>(source.hash);
  }
  return reinterpret_cast<uintptr_t>(source.object) >> 4;
}

bool takes_no_operand(SourceKind kind) {
  enum class SourceOperand { None, Index, Name, Object };
  switch (kind) {
#define MG_SOURCE(Kind, operand, printed) \
  case SourceKind::Kind:                  \
    return SourceOperand::operand == SourceOperand::None;
#include "guards/sources.def"
#undef MG_SOURCE
  }
  return false;
}

// The upper half: a multiplication mixes the lower bits least.
uint32_t hash_of(const Source& s) {
  const uint64_t hash = mix(static_cast<uint64_t>(s.kind), s.base.index);
  return static_cast<uint32_t>(mix(mix(hash, s.index), operand_hash(s)) >> 32);
}

bool are_same(const Source& a, const Source& b) {
  return a.kind == b.kind && a.base == b.base && a.index == b.index &&
         same_operand(a.object, b.object);
}

}  // namespace

void SourceTable::grow() {
  std::vector<Slot> old(std::max<size_t>(256, slots_.size() * 2));
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kFree) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id != kFree) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

SourceId SourceTable::intern(Source source) {
  if (sources_.size() * 2 >= slots_.size()) grow();
  const uint32_t hash = hash_of(source);
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  for (; slots_[at].id != kFree; at = (at + 1) & mask) {
    const SourceId id(slots_[at].id);
    if (slots_[at].hash == hash && are_same(sources_[id.index], source))
      return id;
  }
  const SourceId id(sources_.size());
  slots_[at] = {hash, id.index};
  sources_.push_back(source);
  if (source.object != nullptr) kept_.push_back(Ref::share(source.object));
  return id;
}

SourceId SourceTable::named(SourceId base, SourceKind kind, PyObject* name) {
  MG_CHECK(base.valid(), "a source needs a base");
  MG_CHECK(PyUnicode_CheckExact(name), "a name is an exact str");
  Ref interned = Ref::share(name);
  if (!PyUnicode_CHECK_INTERNED(name)) PyUnicode_InternInPlace(interned.slot());
  return intern({.kind = kind,
                 .base = base,
                 .object = interned,
                 .hash = PyObject_Hash(interned)});
}

SourceId SourceTable::indexed(SourceId base, SourceKind kind, size_t i) {
  MG_CHECK(base.valid(), "a source needs a base");
  return intern(
      {.kind = kind, .base = base, .index = static_cast<uint32_t>(i)});
}

SourceId SourceTable::local(size_t index, PyObject* name) {
  return intern({.kind = SourceKind::Local,
                 .index = static_cast<uint32_t>(index),
                 .object = name});
}

SourceId SourceTable::closure_cell(size_t index, PyObject* name) {
  return intern({.kind = SourceKind::ClosureCell,
                 .index = static_cast<uint32_t>(index),
                 .object = name});
}

SourceId SourceTable::constant(PyObject* object) {
  if (PyDict_CheckExact(object))
    if (auto place = places_.find(object); place != places_.end())
      return place->second;
  return intern({.kind = SourceKind::Constant, .object = object});
}

SourceId SourceTable::field(SourceId base, SourceKind kind) {
  MG_CHECK(base.valid(), "a source needs a base");
  MG_CHECK(!is_root(kind) && takes_no_operand(kind),
           "field() is for kinds without an operand");
  return intern({.kind = kind, .base = base});
}

SourceId SourceTable::instance_attr(SourceId object, PyObject* name) {
  return named(object, SourceKind::InstanceAttr, name);
}

SourceId SourceTable::slot_member(SourceId object, PyObject* member) {
  MG_CHECK(is_slot_member(member), "the descriptor of a __slots__ name");
  return intern(
      {.kind = SourceKind::SlotMember, .base = object, .object = member});
}

SourceId SourceTable::dict_item(SourceId dict, PyObject* key) {
  MG_CHECK(is_plain_key(key), "a key whose hash may run user code");
  const Py_hash_t hash = PyObject_Hash(key);
  if (hash == -1) PyErr_Clear();
  MG_CHECK(hash != -1, "a plain key that can't be hashed");
  return dict_item(dict, key, hash);
}

SourceId SourceTable::dict_item(SourceId dict, PyObject* key, Py_hash_t hash) {
  MG_CHECK(dict.valid(), "a source needs a base");
  return intern({.kind = SourceKind::DictItem,
                 .base = dict,
                 .object = key,
                 .hash = hash});
}

SourceId SourceTable::dict_key_at(SourceId dict, size_t i) {
  return indexed(dict, SourceKind::DictKeyAt, i);
}

SourceId SourceTable::dict_value_at(SourceId dict, size_t i) {
  return indexed(dict, SourceKind::DictValueAt, i);
}

SourceId SourceTable::list_item(SourceId list, size_t i) {
  return indexed(list, SourceKind::ListItem, i);
}

SourceId SourceTable::deque_item(SourceId deque, size_t i) {
  return indexed(deque, SourceKind::DequeItem, i);
}

SourceId SourceTable::tuple_item(SourceId tuple, size_t i) {
  return indexed(tuple, SourceKind::TupleItem, i);
}

SourceId SourceTable::iterator_item(SourceId iterator, size_t i) {
  return indexed(iterator, SourceKind::IteratorItem, i);
}

SourceId SourceTable::iterator_pair_value(SourceId iterator, size_t i) {
  return indexed(iterator, SourceKind::IteratorPairValue, i);
}

SourceId SourceTable::iterator_word(SourceId iterator, size_t word) {
  return indexed(iterator, SourceKind::IteratorWord, word);
}

SourceId SourceTable::type_attr(SourceId type, PyObject* name) {
  return named(type, SourceKind::TypeAttr, name);
}

SourceId SourceTable::type_own_attr(SourceId type, PyObject* name) {
  return named(type, SourceKind::TypeOwnAttr, name);
}

SourceId SourceTable::subclass(SourceId type, size_t i) {
  return indexed(type, SourceKind::Subclass, i);
}

Reading SourceTable::read(SourceId id, const CallView& view) const {
  const Source& source = sources_[id.index];
  if (!source.base.valid()) return read_root(source, view);
  const Reading base = read(source.base, view);
  return base.is_present() ? read_step(source, base.value()) : base;
}

std::string SourceTable::print(SourceId id) const {
  return print_path(sources_, id, PathStyle::User);
}

std::string SourceTable::torch_name(SourceId id) const {
  return print_path(sources_, id, PathStyle::Torch);
}

}  // namespace magneto::guards
