// SPDX-License-Identifier: BSD-3-Clause
#include "guards/read.h"

#include <structmember.h>

#include "guards/hooks.h"
#include "python/class_hierarchy.h"
#include "python/deque_layout.h"
#include "python/handled.h"
#include "python/iterator_layout.h"
#include "python/itertools_layout.h"
#include "python/layout.h"
#include "python/mro_lookup.h"
#include "python/thread_local.h"

namespace magneto::guards {
namespace {

Reading present_or_absent(PyObject* value) {
  return value == nullptr ? Reading::absent() : Reading::of(value);
}

template <class T, class Object>
T* as(Object* object) {
  return reinterpret_cast<T*>(object);
}

Reading item_at(PyObject* const* items, Py_ssize_t size, uint32_t index) {
  if (static_cast<Py_ssize_t>(index) >= size) return Reading::absent();
  return present_or_absent(items[index]);
}

// `hash` is the name's.
Reading instance_attr(PyObject* object, PyObject* name, Py_hash_t hash) {
  PyObject** slot = python::dict_slot(object);
  if (slot == nullptr) return Reading::absent();
  if (*slot != nullptr) return read_dict_item(*slot, name, hash);
  PyObject** value = python::inline_value(object, name);
  return value == nullptr ? Reading::absent() : present_or_absent(*value);
}

Reading own_attr(PyObject* type, PyObject* name, Py_hash_t hash) {
  if (!PyType_Check(type)) return Reading::unreadable();
  PyObject* dict = as<PyTypeObject>(type)->tp_dict;
  if (dict == nullptr) return Reading::unreadable();
  return read_dict_item(dict, name, hash);
}

Reading root_only() { return Reading::unreadable(); }

// The member's place in an object of that struct; null of any other.
template <class Struct>
PyObject** member_of(bool is_one, PyObject* base, PyObject* Struct::*member) {
  return is_one ? &(as<Struct>(base)->*member) : nullptr;
}

bool is_heap_type(PyObject* object) {
  return PyType_Check(object) &&
         (as<PyTypeObject>(object)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
}

bool is_exception_group(PyObject* object) {
  return PyObject_TypeCheck(object, as<PyTypeObject>(PyExc_BaseExceptionGroup));
}

}  // namespace

PyObject** slot_member_place(PyObject* object, PyObject* member) noexcept {
  if (!is_slot_member(member)) return nullptr;
  auto* descriptor = as<PyMemberDescrObject>(member);
  if (!PyObject_TypeCheck(object, PyDescr_TYPE(member))) return nullptr;
  return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) +
                                      descriptor->d_member->offset);
}

PyObject** field_place(SourceKind kind, PyObject* base) noexcept {
  using python::iterator_field;
  using python::IteratorField;
  using python::private_field;
  using python::PrivateField;
  switch (kind) {
#define MG_SOURCE(Kind, operand, printed)
#define MG_FIELD(Kind, printed, place) \
  case SourceKind::Kind:               \
    return place;
#include "guards/sources.def"
#undef MG_SOURCE
    // It reads as None where the pointer says so, too.
    case SourceKind::WeakrefTarget:
      return member_of(PyWeakref_CheckRef(base), base,
                       &PyWeakReference::wr_object);
    default:
      return nullptr;
  }
}

Reading read_field(SourceKind kind, PyObject* base) noexcept {
  return read_step({.kind = kind}, base);
}

Reading read_instance_attr(PyObject* object, PyObject* name) noexcept {
  return instance_attr(object, name, PyObject_Hash(name));
}

Reading read_slot_member(PyObject* object, PyObject* member) noexcept {
  PyObject** place = slot_member_place(object, member);
  return place == nullptr ? Reading::unreadable() : present_or_absent(*place);
}

Reading read_dict_item(PyObject* dict, PyObject* key, Py_hash_t hash) noexcept {
  if (!PyDict_Check(dict)) return Reading::unreadable();
  const python::DictLookup found =
      python::dict_lookup(dict, key, hash, plain_key_equal);
  return found.known ? present_or_absent(found.value) : Reading::unreadable();
}

Reading read_type_attr(PyObject* type, PyObject* name) noexcept {
  if (!PyType_Check(type)) return Reading::unreadable();
  return present_or_absent(python::mro_lookup(as<PyTypeObject>(type), name));
}

Reading read_type_own_attr(PyObject* type, PyObject* name) noexcept {
  return own_attr(type, name, PyObject_Hash(name));
}

bool is_slot_member(PyObject* descriptor) noexcept {
  if (!Py_IS_TYPE(descriptor, &PyMemberDescr_Type)) return false;
  const int type = as<PyMemberDescrObject>(descriptor)->d_member->type;
  return type == T_OBJECT_EX || type == T_OBJECT;
}

Reading read_iterator_item(PyObject* iterator, size_t i) noexcept {
  if (Py_IS_TYPE(iterator, &PyRangeIter_Type)) {
    const auto left = python::counting_iterator(iterator).left;
    return static_cast<int64_t>(i) < left ? Reading::of(Py_None)
                                          : Reading::absent();
  }
  if (const auto table = python::table_iterator(iterator); table.is_one) {
    if (table.is_changed) return Reading::unreadable();
    const auto entry = python::table_entry(iterator, i);
    if (entry.is_extra) return Reading::unreadable();
    return present_or_absent(table.gives == python::TableIterator::Gives::Values
                                 ? entry.value
                                 : entry.key);
  }
  const auto sequence = python::sequence_iterator(iterator);
  PyObject* item = nullptr;
  if (!sequence.is_one || !python::sequence_entry(sequence, i, &item))
    return Reading::unreadable();
  return present_or_absent(item);
}

Reading read_iterator_word(PyObject* iterator, size_t word) noexcept {
  PyObject** place = python::iterator_object(iterator, word);
  return place == nullptr ? Reading::unreadable() : present_or_absent(*place);
}

// ---- Rows ------------------------------------------------------------------

Reading read_Local(const Source&, PyObject*) noexcept { return root_only(); }
Reading read_ClosureCell(const Source&, PyObject*) noexcept {
  return root_only();
}
Reading read_Globals(const Source&, PyObject*) noexcept { return root_only(); }
Reading read_Builtins(const Source&, PyObject*) noexcept { return root_only(); }
Reading read_Constant(const Source& source, PyObject*) noexcept {
  return Reading::of(source.object);
}

Reading read_InstanceAttr(const Source& source, PyObject* base) noexcept {
  return instance_attr(base, source.object, source.hash);
}

Reading read_SlotMember(const Source& source, PyObject* base) noexcept {
  return read_slot_member(base, source.object);
}

Reading read_DictItem(const Source& source, PyObject* base) noexcept {
  return read_dict_item(base, source.object, source.hash);
}

Reading read_DictKeyAt(const Source& source, PyObject* base) noexcept {
  if (!PyDict_Check(base)) return Reading::unreadable();
  python::DictKeys keys(base);
  PyObject* key = keys.next();
  for (uint32_t i = 0; i < source.index && key != nullptr; ++i) {
    key = keys.next();
  }
  return present_or_absent(key);
}

Reading read_DictValueAt(const Source& source, PyObject* base) noexcept {
  const Reading key = read_DictKeyAt(source, base);
  if (!key.is_present()) return key;
  if (!PyLong_CheckExact(key.value())) return Reading::unreadable();
  return read_dict_item(base, key.value(), PyObject_Hash(key.value()));
}

Reading read_ListItem(const Source& source, PyObject* base) noexcept {
  if (!PyList_Check(base)) return Reading::unreadable();
  return item_at(as<PyListObject>(base)->ob_item, PyList_GET_SIZE(base),
                 source.index);
}

Reading read_DequeItem(const Source& source, PyObject* base) noexcept {
  if (!python::is_deque(base)) return Reading::unreadable();
  return present_or_absent(python::deque_item(base, source.index));
}

Reading read_TupleItem(const Source& source, PyObject* base) noexcept {
  if (!PyTuple_Check(base)) return Reading::unreadable();
  return item_at(as<PyTupleObject>(base)->ob_item, PyTuple_GET_SIZE(base),
                 source.index);
}

Reading read_TypeOf(const Source&, PyObject* base) noexcept {
  return Reading::of(as<PyObject>(base->ob_type));
}

Reading read_TypeAttr(const Source& source, PyObject* base) noexcept {
  return read_type_attr(base, source.object);
}

Reading read_TypeOwnAttr(const Source& source, PyObject* base) noexcept {
  return own_attr(base, source.object, source.hash);
}

Reading read_TypeMro(const Source&, PyObject* base) noexcept {
  if (!PyType_Check(base)) return Reading::unreadable();
  return present_or_absent(as<PyTypeObject>(base)->tp_mro);
}

Reading read_TypeBases(const Source&, PyObject* base) noexcept {
  if (!PyType_Check(base)) return Reading::unreadable();
  return present_or_absent(as<PyTypeObject>(base)->tp_bases);
}

Reading read_Subclass(const Source& source, PyObject* base) noexcept {
  if (!PyType_Check(base)) return Reading::unreadable();
  return present_or_absent(
      python::subclass_at(as<PyTypeObject>(base), source.index));
}

Reading read_IteratorItem(const Source& source, PyObject* base) noexcept {
  return read_iterator_item(base, source.index);
}

Reading read_IteratorWord(const Source& source, PyObject* base) noexcept {
  return read_iterator_word(base, source.index);
}

Reading read_IteratorPairValue(const Source& source, PyObject* base) noexcept {
  const auto table = python::table_iterator(base);
  if (!table.is_one || table.is_changed ||
      table.gives != python::TableIterator::Gives::Pairs)
    return Reading::unreadable();
  return present_or_absent(python::table_entry(base, source.index).value);
}

Reading read_WeakrefTarget(const Source&, PyObject* base) noexcept {
  if (!PyWeakref_Check(base)) return Reading::unreadable();
  // None once the target is gone, as calling the reference gives.
  return Reading::of(PyWeakref_GET_OBJECT(base));
}

Reading read_TensorGrad(const Source&, PyObject* base) noexcept {
  const auto grad = hooks().tensor.grad;
  PyObject* value = grad == nullptr ? nullptr : grad(base);
  return value == nullptr ? Reading::unreadable() : Reading::of(value);
}

Reading read_ContextVarValue(const Source&, PyObject* base) noexcept {
  // Its own default isn't in the context: an object that it can't have there.
  static PyObject* const none =
      PyObject_CallNoArgs(as<PyObject>(&PyBaseObject_Type));
  PyObject* value = nullptr;
  if (!PyContextVar_CheckExact(base) ||
      PyContextVar_Get(base, none, &value) < 0) {
    PyErr_Clear();
    return Reading::unreadable();
  }
  // The context keeps it.
  (void)Ref::steal(value);
  return value == none ? Reading::absent() : Reading::of(value);
}

Reading read_ThreadLocalDict(const Source&, PyObject* base) noexcept {
  PyObject* dict = python::thread_local_dict(base);
  return dict == nullptr ? Reading::unreadable() : Reading::of(dict);
}

// Null in a field reads as absent.
#define MG_SOURCE(Kind, operand, printed)
#define MG_FIELD(Kind, printed, place)                          \
  Reading read_##Kind(const Source&, PyObject* base) noexcept { \
    PyObject** field = field_place(SourceKind::Kind, base);     \
    return field == nullptr ? Reading::unreadable()             \
                            : present_or_absent(*field);        \
  }
#include "guards/sources.def"
#undef MG_SOURCE

Reading read_step(const Source& source, PyObject* base) noexcept {
  switch (source.kind) {
#define MG_SOURCE(Kind, operand, printed) \
  case SourceKind::Kind:                  \
    return read_##Kind(source, base);
#include "guards/sources.def"
#undef MG_SOURCE
  }
  return Reading::unreadable();
}

Reading read_root(const Source& source, const CallView& view) noexcept {
  switch (source.kind) {
    case SourceKind::Local:
      if (source.index == kHandledLocal) {
        PyObject* exception = python::handled_exception();
        return Reading::of(exception ? exception : Py_None);
      }
      return item_at(view.locals, static_cast<Py_ssize_t>(view.nlocals),
                     source.index);
    case SourceKind::ClosureCell:
      return item_at(view.cells, static_cast<Py_ssize_t>(view.ncells),
                     source.index);
    case SourceKind::Globals:
      return present_or_absent(view.globals);
    case SourceKind::Builtins:
      return present_or_absent(view.builtins);
    default:
      return Reading::of(source.object);
  }
}

}  // namespace magneto::guards
