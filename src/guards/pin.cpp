// SPDX-License-Identifier: BSD-3-Clause
// Which words each kind of read and check depends on. A kind that isn't named
// here is live: it runs every time.
#include "guards/pin.h"

#include <algorithm>

#include "guards/read.h"
#include "python/layout.h"
#include "python/type_version.h"

namespace magneto::guards {

// What a group may need once, however many children ask for it.
enum WordGroup::Part : uint32_t {
  kType = 1,
  kVersion = 2,
  kOrder = 4,
  kInstanceSlot = 8,
  kInstanceVersion = 16,
  kSize = 32,
  kItems = 64,
  kTag = 128,
  kKeyCount = 256,
  kInstanceOrder = 512,
};

bool WordGroup::first(Part part) {
  const bool is_first = (parts_ & part) == 0;
  parts_ |= part;
  return is_first;
}

// Everything that looks into the object needs this word first: it says that the
// object still has the layout that the other words were taken from. Objects of
// C types can't change theirs (modules can), so one that is known to be the
// same object needs no such word.
void WordGroup::add_type() {
  if (!first(kType)) return;
  const bool may_change =
      (Py_TYPE(value_)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) == 0 ||
      PyModule_Check(value_);
  if (!stable_ || may_change) word(&value_->ob_type);
}

void WordGroup::add_version(PyObject* dict, Part part) {
  if (first(part)) word(python::dict_version(dict));
}

void WordGroup::add_order(PyObject* dict, Part part) {
  const uint64_t* state = python::order_state(dict);
  if (state != nullptr && first(part)) word(state);
}

// False for a type that CPython gives no version tag.
bool WordGroup::add_tag() {
  if (!PyType_Check(value_)) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(value_);
  if (!python::assign_type_version(type)) return false;
  add_type();
  if (first(kTag)) word(python::type_version(type));
  return true;
}

void WordGroup::add_length() {
  add_type();
  if (PyDict_Check(value_)) {
    add_version(value_, kVersion);
  } else if (PyAnySet_Check(value_)) {
    word(&reinterpret_cast<PySetObject*>(value_)->used);
  } else if (PyUnicode_Check(value_)) {
    word(&reinterpret_cast<PyASCIIObject*>(value_)->length);
  } else if (first(kSize)) {
    word(&reinterpret_cast<PyVarObject*>(value_)->ob_size);
  }
}

// The object's dict, whether it is the same one and unchanged. Null if it has
// none at the moment, which the words then say.
void WordGroup::add_instance_dict() {
  add_type();
  PyObject** slot = python::dict_slot(value_);
  if (slot == nullptr) return;
  if (first(kInstanceSlot)) {
    word(slot);
    void** values = python::values_slot(value_);
    if (*slot == nullptr && values != nullptr) word(values);
  }
  if (*slot != nullptr) add_version(*slot, kInstanceVersion);
}

void WordGroup::add_tensor(const void* snapshot) {
  const auto words = hooks().tensor.words;
  if (words == nullptr) return;
  constexpr size_t kMostWords = 48;
  const void* addresses[kMostWords];
  const size_t n = words(value_, snapshot, addresses, kMostWords);
  traits_.covers_tensor = n != 0;
  for (size_t i = 0; i < n; ++i) word(addresses[i]);
}

void WordGroup::add_check(const Check& check) {
  switch (check.kind) {
    // Depend on which object it is, which its parent's words say.
    case GuardKind::Identity:
      // Only a watched object can't have been replaced at its address.
      traits_.is_live |= !check.keys.empty() && !stable_;
      return;
    case GuardKind::NotNone:
    case GuardKind::ConstantEquals:  // the seen constant is kept alive
      return;
    case GuardKind::Tensor:
      return add_tensor(check.snapshot);
    case GuardKind::TypeIs:
      return add_type();
    case GuardKind::TypeUnmodified:
      traits_.is_live |= !add_tag();
      return;
    case GuardKind::Length:
      return add_length();
    case GuardKind::DictKeys:
      add_type();
      add_version(value_, kVersion);
      return add_order(value_, kOrder);
    case GuardKind::InstanceKeys:
      add_instance_dict();
      if (PyObject** slot = python::dict_slot(value_); slot != nullptr) {
        // The order of inline values is no word.
        if (*slot == nullptr) traits_.is_live = true;
        if (*slot != nullptr) add_order(*slot, kInstanceOrder);
      }
      return;
    default:
      traits_.is_live = true;
  }
}

bool WordGroup::add_instance_attr(PyObject* name) {
  add_instance_dict();
  PyObject** slot = python::dict_slot(value_);
  if (slot == nullptr || *slot != nullptr) return true;
  if (PyObject** place = python::inline_value(value_, name)) {
    word(place);
  } else if (const Py_ssize_t* count =
                 python::shared_key_count(Py_TYPE(value_));
             count != nullptr && first(kKeyCount)) {
    word(count);  // no such key yet, and none was added since
  }
  return true;
}

bool WordGroup::add_item(const Source& child) {
  add_type();
  if (first(kSize)) word(&reinterpret_cast<PyVarObject*>(value_)->ob_size);
  PyObject** items = nullptr;
  if (PyList_Check(value_)) {
    auto* list = reinterpret_cast<PyListObject*>(value_);
    if (first(kItems)) word(&list->ob_item);
    items = list->ob_item;
  } else {
    items = reinterpret_cast<PyTupleObject*>(value_)->ob_item;
  }
  if (static_cast<Py_ssize_t>(child.index) < Py_SIZE(value_)) {
    word(&items[child.index]);
  }
  return true;
}

bool WordGroup::add_child(const Source& child) {
  switch (child.kind) {
    case SourceKind::InstanceAttr:
      return add_instance_attr(child.object);
    case SourceKind::SlotMember: {
      PyObject** place = slot_member_place(value_, child.object);
      if (place == nullptr) return false;
      add_type();
      word(place);
      return true;
    }
    case SourceKind::DictItem:
    case SourceKind::DictKeyAt:
    case SourceKind::DictValueAt:
      add_type();
      add_version(value_, kVersion);
      if (child.kind != SourceKind::DictItem) add_order(value_, kOrder);
      return true;
    case SourceKind::ListItem:
    case SourceKind::TupleItem:
      return add_item(child);
    case SourceKind::TypeOf:
      add_type();
      return true;
    case SourceKind::TypeAttr:
    case SourceKind::TypeOwnAttr:
    case SourceKind::TypeMro:
    case SourceKind::TypeBases:
      return add_tag();
    default: {
      PyObject** place = field_place(child.kind, value_);
      if (place == nullptr) return false;
      add_type();
      word(place);
      return true;
    }
  }
}

void WordGroup::collect(std::span<const Node> nodes,
                        std::span<const Check> checks, uint32_t node,
                        PyObject* value, bool stable) {
  value_ = value;
  stable_ = stable;
  traits_ = GroupTraits();
  parts_ = 0;
  words_.clear();
  live_.clear();
  const Node& self = nodes[node];
  for (uint32_t i = self.first_check; i < self.last_check; ++i) {
    add_check(checks[i]);
  }
  for (uint32_t child = node + 1; child < self.end; child = nodes[child].end) {
    if (!add_child(nodes[child].source)) live_.push_back(child);
  }
}

bool WordGroup::gives_stable(SourceKind kind) const {
  switch (kind) {
    case SourceKind::DictItem:
    case SourceKind::DictKeyAt:
    case SourceKind::DictValueAt:
    case SourceKind::TypeAttr:
    case SourceKind::TypeOwnAttr:
    case SourceKind::TypeMro:
    case SourceKind::TypeBases:
      return true;
    case SourceKind::InstanceAttr:
      return (parts_ & kInstanceVersion) != 0;
    case SourceKind::FunctionGlobals:  // a function keeps those it has
      return stable_;
    default:
      return false;
  }
}

}  // namespace magneto::guards
