// SPDX-License-Identifier: BSD-3-Clause
// Which keys a dict or an object's instance dictionary has, and which items a
// set.
#include <algorithm>

#include "guards/check.h"
#include "guards/wording.h"
#include "python/layout.h"
#include "python/set_items.h"
#include "python/set_table.h"

namespace magneto::guards {
namespace {

// One key against one that was recorded; the latter is alive.
bool same_key(PyObject* key, PyObject* recorded) {
  return key == recorded || same_constant(key, recorded);
}

bool has_keys(PyObject* dict, KeyList keys) {
  if (!PyDict_Check(dict) ||
      PyDict_GET_SIZE(dict) != static_cast<Py_ssize_t>(keys.size())) {
    return false;
  }
  python::DictKeys present(dict);
  for (PyObject* recorded : keys) {
    PyObject* key = present.next();
    if (key == nullptr || !same_key(key, recorded)) return false;
  }
  return true;
}

template <class Next>
std::string show_each(Next next) {
  std::string text = "[";
  while (PyObject* item = next()) {
    if (text.size() > 1) text += ", ";
    text += show(item);
  }
  return text + "]";
}

std::string show_keys(KeyList keys) {
  size_t i = 0;
  return show_each([&] { return i < keys.size() ? keys[i++] : nullptr; });
}

std::string show_dict_keys(PyObject* dict) {
  if (!PyDict_Check(dict)) return show(dict);
  python::DictKeys keys(dict);
  return show_each([&keys] { return keys.next(); });
}

std::string show_instance_keys(PyObject* object) {
  PyObject** slot = python::dict_slot(object);
  if (slot != nullptr && *slot != nullptr) return show_dict_keys(*slot);
  const Py_ssize_t n = python::inline_count(object);
  Py_ssize_t i = 0;
  return show_each([&]() -> PyObject* {
    return i < n ? python::inline_name(object, i++) : nullptr;
  });
}

std::string show_items(PyObject* set) {
  if (!PyAnySet_Check(set)) return show(set);
  python::SetItems items(set);
  return show_each([&items] { return items.next(); });
}

}  // namespace

bool check_DictKeys(const Check& check, PyObject* value) noexcept {
  return has_keys(value, check.keys);
}

Wording word_DictKeys(const Check& check, const std::string& name,
                      PyObject* value) {
  return {"list(" + name + ") == " + show_keys(check.keys),
          it_is(value, show_dict_keys)};
}

bool check_InstanceKeys(const Check& check, PyObject* value) noexcept {
  const KeyList keys = check.keys;
  PyObject** slot = python::dict_slot(value);
  if (slot != nullptr && *slot != nullptr) return has_keys(*slot, keys);
  const Py_ssize_t n = python::inline_count(value);
  if (n < 0) return keys.empty();
  if (n != static_cast<Py_ssize_t>(keys.size())) return false;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!same_key(python::inline_name(value, i), keys[i])) return false;
  }
  return true;
}

Wording word_InstanceKeys(const Check& check, const std::string& name,
                          PyObject* value) {
  return {"list(vars(" + name + ")) == " + show_keys(check.keys),
          it_is(value, show_instance_keys)};
}

// As many items, each of them among the recorded ones.
bool check_SetItems(const Check& check, PyObject* value) noexcept {
  if (!PyAnySet_Check(value)) return false;
  if (check.object != nullptr) return same_items(value, check.object);
  const KeyList items = check.keys;
  if (PySet_GET_SIZE(value) != static_cast<Py_ssize_t>(items.size())) {
    return false;
  }
  python::SetItems present(value);
  while (PyObject* item = present.next()) {
    const auto is_item = [item](PyObject* recorded) {
      return same_key(item, recorded);
    };
    if (std::none_of(items.begin(), items.end(), is_item)) return false;
  }
  return true;
}

Wording word_SetItems(const Check& check, const std::string& name,
                      PyObject* value) {
  return {"set(" + name + ") == " +
              (check.object == nullptr ? show_keys(check.keys)
                                       : show_items(check.object)),
          it_is(value, show_items)};
}

// The recorded items in their order, with the recorded gaps.
bool check_SetTable(const Check& check, PyObject* value) noexcept {
  if (!PyAnySet_Check(value)) return false;
  const auto count = static_cast<Py_ssize_t>(check.keys.size());
  if (PySet_GET_SIZE(value) != count) return false;
  python::SetItems present(value);
  for (PyObject* recorded : check.keys) {
    PyObject* item = present.next();
    if (!item || !same_key(item, recorded)) return false;
  }
  return python::set_layout(value) == check.number;
}

Wording word_SetTable(const Check& check, const std::string& name,
                      PyObject* value) {
  return {"list(" + name + ") == " + show_keys(check.keys) +
              " with the same gaps in its table",
          it_is(value, show_items)};
}

}  // namespace magneto::guards
