// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/default_device.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/Device.h>
#include <torch/csrc/PyInterpreter.h>

#include <cstring>

#include "python/find.h"
#include "python/layout.h"
#include "support/check.h"

namespace magneto::tensor {

namespace {

using at::impl::PythonTorchFunctionTLS;

bool modes_are_on() {
  return PythonTorchFunctionTLS::get_disabled_state() !=
         at::impl::TorchFunctionDisabledState::ALL_DISABLED;
}

PyObject* mode_at(int64_t index) {
  return PythonTorchFunctionTLS::get_stack_at(index)->ptr(getPyInterpreter());
}

bool is_device_context(PyObject* mode) {
  return std::strcmp(Py_TYPE(mode)->tp_name, "DeviceContext") == 0;
}

// What the object's own storage has under that name, borrowed, or null.
PyObject* instance_attribute(PyObject* object, const char* name) {
  Ref key = Ref::steal(PyUnicode_InternFromString(name));
  if (!key) {
    PyErr_Clear();
    return nullptr;
  }
  if (PyObject** place = python::inline_value(object, key); place && *place)
    return *place;
  PyObject** dict = python::dict_slot(object);
  return dict && *dict ? PyDict_GetItem(*dict, key) : nullptr;
}

PyObject* device_of(PyObject* mode) {
  PyObject* device = instance_attribute(mode, "device");
  return device && THPDevice_Check(device) ? device : nullptr;
}

void push(PyObject* mode) {
  PythonTorchFunctionTLS::push_onto_stack(std::make_shared<c10::SafePyObject>(
      Ref::share(mode).release(), getPyInterpreter()));
}

}  // namespace

PyObject* default_device() noexcept {
  if (!modes_are_on()) return nullptr;
  for (int64_t i = PythonTorchFunctionTLS::stack_len(); i-- > 0;)
    if (is_device_context(mode_at(i))) return device_of(mode_at(i));
  return nullptr;
}

bool has_own_modes() noexcept {
  if (c10::impl::TorchDispatchModeTLS::any_modes_set()) return true;
  if (!modes_are_on()) return false;
  for (int64_t i = PythonTorchFunctionTLS::stack_len(); i-- > 0;)
    if (!is_device_context(mode_at(i)) || !device_of(mode_at(i))) return true;
  return false;
}

bool DefaultDevices::enter(Journal& journal, PyObject* device) {
  Ref module = import_module("torch.utils._device");
  Ref type = Ref::steal(module ? PyObject_GetAttrString(module, "DeviceContext")
                               : nullptr);
  Ref mode = Ref::steal(type ? PyObject_CallOneArg(type, device) : nullptr);
  if (!mode) return false;
  push(mode);
  journal.record(this, kEnter, innermost());
  open_.push_back(std::move(mode));
  return true;
}

void DefaultDevices::leave(Journal& journal) {
  MG_CHECK(!open_.empty(), "a context that the trace has entered");
  (void)PythonTorchFunctionTLS::pop_stack();
  journal.record(this, kLeave, innermost());
  left_.push_back(std::move(open_.back()));
  open_.pop_back();
}

std::vector<PyObject*> DefaultDevices::open() const {
  std::vector<PyObject*> devices;
  for (const Ref& mode : open_) devices.push_back(device_of(mode));
  return devices;
}

std::string DefaultDevices::part_name(uint64_t) const {
  return "the default device";
}

std::string DefaultDevices::part_content(uint64_t) const {
  Ref text =
      open_.empty() ? Ref() : Ref::steal(PyObject_Str(device_of(open_.back())));
  const char* chars = text ? PyUnicode_AsUTF8(text) : nullptr;
  if (!chars) PyErr_Clear();
  return chars ? chars : "as it was";
}

void DefaultDevices::undo(uint64_t what, uint64_t) noexcept {
  if (what == kEnter) {
    (void)PythonTorchFunctionTLS::pop_stack();
    open_.pop_back();
  } else {
    push(left_.back());
    open_.push_back(std::move(left_.back()));
    left_.pop_back();
  }
}

}  // namespace magneto::tensor
