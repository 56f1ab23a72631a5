// SPDX-License-Identifier: BSD-3-Clause
// Iterators of CPython 3.11: private structures, written down here; the tests
// compare what is read with what the iterators give.
#define Py_BUILD_CORE 1
#include "python/iterator_layout.h"

#include <internal/pycore_dict.h>

#include "python/deque_layout.h"
#include "python/find.h"
#include "python/function_object.h"
#include "python/v311/deque.h"
#include "python/v311/only.h"
#include "python/v311/ordered_dict.h"

namespace magneto::python {
namespace {

// Objects/listobject.c, tupleobject.c, enumobject.c (reversed),
// unicodeobject.c, bytesobject.c
struct OverSequence {
  PyObject_HEAD Py_ssize_t position;
  PyObject* sequence;
};
// Objects/dictobject.c, setobject.c
struct OverDict {
  PyObject_HEAD PyObject* dict;
  Py_ssize_t used;
  Py_ssize_t position;
  PyObject* result;
  Py_ssize_t left;
};
struct OverSet {
  PyObject_HEAD PyObject* set;
  Py_ssize_t used;
  Py_ssize_t position;
  Py_ssize_t left;
};
// Objects/odictobject.c
struct OverOrdered {
  PyObject_HEAD int kind;
  OrderedDict* dict;
  Py_ssize_t size;
  size_t state;
  PyObject* current;  // the key that comes next
  PyObject* result;
};
constexpr int kReversed = 1, kKeys = 2, kValues = 4;
// Modules/_collectionsmodule.c
struct OverDeque {
  PyObject_HEAD DequeBlock* block;
  Py_ssize_t index;
  PyObject* deque;
  size_t state;
  Py_ssize_t left;
};
// Objects/rangeobject.c
struct OverRange {
  PyObject_HEAD long position;
  long start;
  long step;
  long length;
};
// Objects/enumobject.c
struct Enumerate {
  PyObject_HEAD Py_ssize_t position;
  PyObject* iterator;
};
// Python/bltinmodule.c
struct Zip {
  PyObject_HEAD Py_ssize_t count;
  PyObject* iterators;
  PyObject* result;
  int strict;
};
struct Map {
  PyObject_HEAD PyObject* iterators;
  PyObject* function;
};
struct Filter {
  PyObject_HEAD PyObject* function;
  PyObject* iterator;
};

template <class T>
T* as(PyObject* object) {
  return reinterpret_cast<T*>(object);
}

PyTypeObject* type_at(const char* path) {
  return reinterpret_cast<PyTypeObject*>(find_object(path));
}

PyTypeObject* deque_iterator(bool is_reversed) {
  static PyTypeObject* const types[] = {
      type_at("_collections._deque_iterator"),
      type_at("_collections._deque_reverse_iterator")};
  return types[is_reversed ? 1 : 0];
}

bool is_over_deque(PyObject* object) {
  return Py_IS_TYPE(object, deque_iterator(false)) ||
         Py_IS_TYPE(object, deque_iterator(true));
}

using Gives = TableIterator::Gives;

struct DictRow {
  PyTypeObject* type;
  Gives gives;
  bool is_reversed;
};
const DictRow kDictRows[] = {
    {&PyDictIterKey_Type, Gives::Keys, false},
    {&PyDictIterValue_Type, Gives::Values, false},
    {&PyDictIterItem_Type, Gives::Pairs, false},
    {&PyDictRevIterKey_Type, Gives::Keys, true},
    {&PyDictRevIterValue_Type, Gives::Values, true},
    {&PyDictRevIterItem_Type, Gives::Pairs, true},
};

// Null if the object isn't the iterator of a dict.
const DictRow* dict_row(PyObject* object) {
  for (const DictRow& row : kDictRows)
    if (Py_IS_TYPE(object, row.type)) return &row;
  return nullptr;
}

bool is_over_ordered(PyObject* object) {
  return Py_IS_TYPE(object, &PyODictIter_Type);
}

// Objects/dictobject.c, dictreviter_iternext: the entry at `position` or the
// first before it; -1 if there is none.
Py_ssize_t entry_before(PyObject* object, Py_ssize_t position,
                        TableEntry* entry) {
  auto* dict = as<PyDictObject>(object);
  PyDictKeysObject* keys = dict->ma_keys;
  *entry = {};
  if (position < 0) return -1;
  if (dict->ma_values) {
    const auto* order = reinterpret_cast<const uint8_t*>(dict->ma_values) - 3;
    const size_t i = order[-position];
    *entry = {DK_UNICODE_ENTRIES(keys)[i].me_key, dict->ma_values->values[i]};
    return position;
  }
  for (; position >= 0; --position) {
    if (DK_IS_UNICODE(keys)) {
      const PyDictUnicodeEntry& at = DK_UNICODE_ENTRIES(keys)[position];
      *entry = {at.me_key, at.me_value};
    } else {
      const PyDictKeyEntry& at = DK_ENTRIES(keys)[position];
      *entry = {at.me_key, at.me_value};
    }
    if (entry->value) return position;
  }
  *entry = {};
  return -1;
}

// The position behind `count` entries, and the entry there.
Py_ssize_t skip_back(PyObject* dict, Py_ssize_t position, size_t count,
                     TableEntry* entry) {
  for (size_t i = 0;; ++i) {
    const Py_ssize_t at = entry_before(dict, position, entry);
    if (i == count || at < 0) return i == count ? position : -1;
    position = at - 1;
  }
}

Py_ssize_t skip_entries(PyObject* table, Py_ssize_t position, size_t count,
                        TableEntry* entry) {
  Py_hash_t hash = 0;
  const bool is_set = PyAnySet_Check(table);
  for (size_t i = 0; i <= count; ++i) {
    const Py_ssize_t before = position;
    *entry = {};
    if (!(is_set ? _PySet_NextEntry(table, &position, &entry->key, &hash)
                 : PyDict_Next(table, &position, &entry->key, &entry->value)))
      return before;
    if (i == count) return before;
  }
  return position;
}

// The node that comes `count` behind the current one; null behind the end.
const OrderedNode* ordered_node(const OverOrdered* iterator, size_t count) {
  if (!iterator->current) return nullptr;
  const OrderedNode* node = iterator->dict->first;
  while (node && node->key != iterator->current) node = node->next;
  for (size_t i = 0; node && i < count; ++i)
    node = iterator->kind & kReversed ? node->previous : node->next;
  return node;
}

struct DequePlace {
  DequeBlock* block;
  Py_ssize_t index;
};

// Where the deque's iterator is when it has given `count` more.
DequePlace deque_place(PyObject* object, Py_ssize_t count) {
  const auto* iterator = as<OverDeque>(object);
  DequePlace at{iterator->block, iterator->index};
  const bool back = Py_IS_TYPE(object, deque_iterator(true));
  for (Py_ssize_t i = 1; i <= count; ++i) {
    at.index += back ? -1 : 1;
    if (i == iterator->left || (at.index >= 0 && at.index < kDequeBlockSize))
      continue;
    at = back ? DequePlace{at.block->left, kDequeBlockSize - 1}
              : DequePlace{at.block->right, 0};
  }
  return at;
}

}  // namespace

PyTypeObject* ascii_iterator() noexcept {
  static PyTypeObject* const type = [] {
    PyObject* text = PyUnicode_FromString("a");
    PyObject* iterator = text ? PyObject_GetIter(text) : nullptr;
    PyTypeObject* found = iterator ? Py_TYPE(iterator) : nullptr;
    Py_XDECREF(iterator);
    Py_XDECREF(text);
    PyErr_Clear();
    return found;
  }();
  return type;
}

SequenceIterator sequence_iterator(PyObject* object) noexcept {
  PyTypeObject* type = Py_TYPE(object);
  const bool forwards = type == &PyListIter_Type || type == &PyTupleIter_Type ||
                        type == &PyUnicodeIter_Type ||
                        type == &PyBytesIter_Type || type == ascii_iterator();
  const auto* iterator = as<OverSequence>(object);
  if (forwards) return {true, iterator->sequence, iterator->position, 1};
  if (type == &PyListRevIter_Type)
    return {true, iterator->sequence, iterator->position, -1};
  // Others are asked for their items.
  if (type != &PyReversed_Type) return {};
  PyObject* sequence = iterator->sequence;
  const bool is_plain = !sequence || PyTuple_CheckExact(sequence) ||
                        PyUnicode_CheckExact(sequence) ||
                        PyBytes_CheckExact(sequence);
  if (!is_plain) return {};
  return {true, sequence, iterator->position, -1};
}

bool sequence_entry(const SequenceIterator& iterator, size_t i,
                    PyObject** item) noexcept {
  *item = nullptr;
  PyObject* sequence = iterator.sequence;
  if (!sequence) return true;
  const Py_ssize_t at =
      iterator.position + iterator.step * static_cast<Py_ssize_t>(i);
  if (at < 0) return true;
  if (PyList_Check(sequence) || PyTuple_Check(sequence)) {
    if (at < PySequence_Fast_GET_SIZE(sequence))
      *item = PySequence_Fast_GET_ITEM(sequence, at);
    return true;
  }
  // Letters of Latin-1 and small ints live as long as the process.
  if (PyBytes_Check(sequence)) {
    if (at >= PyBytes_GET_SIZE(sequence)) return true;
    *item = PyLong_FromLong(
        static_cast<unsigned char>(PyBytes_AS_STRING(sequence)[at]));
  } else {
    if (at >= PyUnicode_GET_LENGTH(sequence)) return true;
    const Py_UCS4 letter = PyUnicode_READ_CHAR(sequence, at);
    if (letter >= 256) return false;
    *item = PyUnicode_FromOrdinal(static_cast<int>(letter));
  }
  Py_DECREF(*item);
  return true;
}

CountingIterator counting_iterator(PyObject* object) noexcept {
  if (Py_IS_TYPE(object, &PyRangeIter_Type)) {
    const auto* range = as<OverRange>(object);
    return {true, range->start + range->position * range->step, range->step,
            range->length - range->position};
  }
  if (!Py_IS_TYPE(object, &PyEnum_Type)) return {};
  const Py_ssize_t position = as<Enumerate>(object)->position;
  // From there on it counts with ints of any size.
  if (position == PY_SSIZE_T_MAX) return {};
  return {.is_one = true, .next = position};
}

TableIterator table_iterator(PyObject* object) noexcept {
  if (const DictRow* row = dict_row(object)) {
    const auto* iterator = as<OverDict>(object);
    PyObject* dict = iterator->dict;
    return {true, dict,
            dict && (iterator->used != PyDict_GET_SIZE(dict) ||
                     PyODict_Check(dict)),
            row->gives};
  }
  if (is_over_ordered(object)) {
    const auto* iterator = as<OverOrdered>(object);
    auto* dict = reinterpret_cast<PyObject*>(iterator->dict);
    const int gives = iterator->kind & (kKeys | kValues);
    return {true, iterator->current ? dict : nullptr,
            dict && (iterator->state != iterator->dict->state ||
                     iterator->size != PyDict_GET_SIZE(dict)),
            gives == kKeys     ? Gives::Keys
            : gives == kValues ? Gives::Values
                               : Gives::Pairs};
  }
  if (is_over_deque(object)) {
    const auto* iterator = as<OverDeque>(object);
    return {true, iterator->deque,
            iterator->state != as<Deque>(iterator->deque)->state};
  }
  if (!Py_IS_TYPE(object, &PySetIter_Type)) return {};
  const auto* iterator = as<OverSet>(object);
  PyObject* set = iterator->set;
  return {true, set, set && iterator->used != PySet_GET_SIZE(set)};
}

TableEntry table_entry(PyObject* object, size_t i) noexcept {
  const TableIterator iterator = table_iterator(object);
  TableEntry entry;
  if (!iterator.table) return entry;
  if (is_over_ordered(object)) {
    if (const OrderedNode* node = ordered_node(as<OverOrdered>(object), i)) {
      PyObject* value =
          _PyDict_GetItem_KnownHash(iterator.table, node->key, node->hash);
      entry = {.key = node->key, .value = value, .is_extra = value == nullptr};
    }
    return entry;
  }
  if (is_over_deque(object)) {
    if (static_cast<Py_ssize_t>(i) >= as<OverDeque>(object)->left) return entry;
    const DequePlace at = deque_place(object, static_cast<Py_ssize_t>(i));
    entry.key = at.block->items[at.index];
    return entry;
  }
  const DictRow* row = dict_row(object);
  const auto* over_dict = as<OverDict>(object);
  if (row && row->is_reversed) {
    (void)skip_back(iterator.table, over_dict->position, i, &entry);
    return entry;
  }
  (void)skip_entries(iterator.table,
                     row ? over_dict->position : as<OverSet>(object)->position,
                     i, &entry);
  entry.is_extra =
      row && entry.key && static_cast<Py_ssize_t>(i) >= over_dict->left;
  return entry;
}

namespace {

void advance_dict(PyObject* object, bool is_reversed, Py_ssize_t count) {
  TableEntry entry;
  auto* iterator = as<OverDict>(object);
  if (count < 0) {
    Py_CLEAR(iterator->dict);
    return;
  }
  iterator->position = (is_reversed ? skip_back : skip_entries)(
      iterator->dict, iterator->position, static_cast<size_t>(count), &entry);
  iterator->left -= count;
}

void advance_set(PyObject* object, Py_ssize_t count) {
  TableEntry entry;
  auto* iterator = as<OverSet>(object);
  if (count < 0) {
    Py_CLEAR(iterator->set);
    return;
  }
  iterator->position = skip_entries(iterator->set, iterator->position,
                                    static_cast<size_t>(count), &entry);
  iterator->left -= count;
}

void advance_ordered(PyObject* object, Py_ssize_t count) {
  auto* iterator = as<OverOrdered>(object);
  const OrderedNode* node =
      count < 0 ? nullptr : ordered_node(iterator, static_cast<size_t>(count));
  Py_XSETREF(iterator->current, node ? Py_NewRef(node->key) : nullptr);
  if (count < 0) Py_CLEAR(iterator->dict);
}

void advance_deque(PyObject* object, Py_ssize_t count) {
  auto* iterator = as<OverDeque>(object);
  if (count < 0) count = iterator->left;
  const DequePlace at = deque_place(object, count);
  iterator->block = at.block;
  iterator->index = at.index;
  iterator->left -= count;
}

}  // namespace

void advance_iterator(PyObject* object, Py_ssize_t count) noexcept {
  if (const DictRow* row = dict_row(object))
    return advance_dict(object, row->is_reversed, count);
  if (Py_IS_TYPE(object, &PySetIter_Type)) return advance_set(object, count);
  if (is_over_ordered(object)) return advance_ordered(object, count);
  if (is_over_deque(object)) return advance_deque(object, count);
  if (Py_IS_TYPE(object, &PyRangeIter_Type)) {
    auto* range = as<OverRange>(object);
    range->position = count < 0 ? range->length : range->position + count;
    return;
  }
  const SequenceIterator known = sequence_iterator(object);
  auto* iterator = as<OverSequence>(object);
  if (count >= 0) {
    iterator->position += known.step * count;
    return;
  }
  if (known.step < 0) iterator->position = -1;
  Py_CLEAR(iterator->sequence);
}

namespace {

// make(class, position[, sequence])
PyObject* make_reversed(PyObject*, PyObject* const* args,
                        Py_ssize_t count) noexcept {
  auto* type = count < 2 ? nullptr : as<PyTypeObject>(args[0]);
  if (type != &PyListRevIter_Type && type != &PyReversed_Type) {
    PyErr_SetString(PyExc_TypeError,
                    "a class of such iterators and a position");
    return nullptr;
  }
  PyObject* made = type->tp_alloc(type, 0);
  if (!made) return nullptr;
  auto* iterator = as<OverSequence>(made);
  iterator->position = PyLong_AsSsize_t(args[1]);
  iterator->sequence = count < 3 ? nullptr : Py_NewRef(args[2]);
  return made;
}

}  // namespace

PyObject* maker_of_reversed() noexcept {
  static PyObject* const maker =
      function_object<make_reversed>("make_reversed");
  return maker;
}

void set_enumerate_position(PyObject* object, Py_ssize_t position) noexcept {
  as<Enumerate>(object)->position = position;
}

bool zip_is_strict(PyObject* zip) noexcept { return as<Zip>(zip)->strict != 0; }

namespace {

PyObject** what_is_gone_over(PyObject* object) {
  if (Py_IS_TYPE(object, &PyEnum_Type)) return &as<Enumerate>(object)->iterator;
  if (dict_row(object)) return &as<OverDict>(object)->dict;
  if (Py_IS_TYPE(object, &PySetIter_Type)) return &as<OverSet>(object)->set;
  if (is_over_ordered(object))
    return reinterpret_cast<PyObject**>(&as<OverOrdered>(object)->dict);
  if (is_over_deque(object)) return &as<OverDeque>(object)->deque;
  if (Py_IS_TYPE(object, &PyListIter_Type) ||
      Py_IS_TYPE(object, &PyListRevIter_Type))
    return &as<OverSequence>(object)->sequence;
  return nullptr;
}

}  // namespace

PyObject** iterator_field(PyObject* object, IteratorField field) noexcept {
  switch (field) {
    case IteratorField::IteratedOver:
      return what_is_gone_over(object);
    case IteratorField::ZippedIterators:
      if (!Py_IS_TYPE(object, &PyZip_Type)) return nullptr;
      return &as<Zip>(object)->iterators;
    case IteratorField::MappedIterators:
    case IteratorField::MappedFunction:
      if (!Py_IS_TYPE(object, &PyMap_Type)) return nullptr;
      return field == IteratorField::MappedFunction
                 ? &as<Map>(object)->function
                 : &as<Map>(object)->iterators;
    case IteratorField::FilterFunction:
    case IteratorField::FilteredIterator:
      if (!Py_IS_TYPE(object, &PyFilter_Type)) return nullptr;
      return field == IteratorField::FilterFunction
                 ? &as<Filter>(object)->function
                 : &as<Filter>(object)->iterator;
  }
  return nullptr;
}

}  // namespace magneto::python
