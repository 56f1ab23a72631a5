// SPDX-License-Identifier: BSD-3-Clause
// Each function is a noexcept shim of a few lines; what it does is elsewhere.
#include "tensor/python_api.h"

#include <torch/csrc/Exceptions.h>

#include <memory>

#include "support/journal.h"
#include "tensor/fake_tensor.h"
#include "tensor/symbols.h"
#include "tensor/tensor_snapshot.h"

namespace magneto::tensor {
namespace {

constexpr const char* kInputsCapsule = "magneto.tensor.FakeInputs";
constexpr const char* kSnapshotCapsule = "magneto.tensor.TensorSnapshot";

// A journal for tests, and the scopes that Python entered; leaked with the
// process.
struct TestState {
  std::unique_ptr<Journal> journal;
  std::vector<std::unique_ptr<FakeModeScope>> scopes;
};
TestState& test_state() {
  thread_local TestState state;
  return state;
}

template <class T>
Ref capsule(T* object, const char* name) {
  return Ref::steal(PyCapsule_New(object, name, [](PyObject* self) {
    delete static_cast<T*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
  }));
}

template <class T>
T* from_capsule(PyObject* object, const char* name) {
  return static_cast<T*>(PyCapsule_GetPointer(object, name));
}

bool check_tensor(PyObject* object) {
  if (is_tensor(object)) return true;
  PyErr_Format(PyExc_TypeError, "expected a torch.Tensor, got %.100s",
               Py_TYPE(object)->tp_name);
  return false;
}

PyObject* py_make_fake(PyObject*, PyObject* tensor) noexcept {
  HANDLE_TH_ERRORS
  if (!check_tensor(tensor)) return nullptr;
  return make_fake(tensor).release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_fake_inputs(PyObject*, PyObject*) noexcept {
  HANDLE_TH_ERRORS
  return capsule(new FakeInputs, kInputsCapsule).release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_fake_of(PyObject*, PyObject* args) noexcept {
  HANDLE_TH_ERRORS
  PyObject *inputs = nullptr, *tensor = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &inputs, &tensor)) return nullptr;
  auto* memo = from_capsule<FakeInputs>(inputs, kInputsCapsule);
  if (!memo || !check_tensor(tensor)) return nullptr;
  return memo->fake_of(tensor).release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_is_fake(PyObject*, PyObject* object) noexcept {
  return PyBool_FromLong(is_fake(object));
}

PyObject* py_is_needs_data(PyObject*, PyObject* exception) noexcept {
  return PyBool_FromLong(is_needs_data(exception));
}

PyObject* py_enter_fake_mode(PyObject*, PyObject*) noexcept {
  HANDLE_TH_ERRORS
  test_state().scopes.push_back(std::make_unique<FakeModeScope>());
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_exit_fake_mode(PyObject*, PyObject*) noexcept {
  if (test_state().scopes.empty()) {
    PyErr_SetString(PyExc_RuntimeError, "fake mode is not on");
    return nullptr;
  }
  test_state().scopes.pop_back();
  Py_RETURN_NONE;
}

PyObject* py_journal_start(PyObject*, PyObject*) noexcept {
  HANDLE_TH_ERRORS
  test_state().journal = std::make_unique<Journal>();
  set_journal(test_state().journal.get());
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_journal_stop(PyObject*, PyObject*) noexcept {
  set_journal(nullptr);
  test_state().journal.reset();
  Py_RETURN_NONE;
}

PyObject* py_journal_position(PyObject*, PyObject*) noexcept {
  if (!test_state().journal) Py_RETURN_NONE;
  return PyLong_FromSize_t(test_state().journal->position());
}

PyObject* py_journal_rollback(PyObject*, PyObject* position) noexcept {
  HANDLE_TH_ERRORS
  size_t to = PyLong_AsSize_t(position);
  if (PyErr_Occurred()) return nullptr;
  TORCH_CHECK(test_state().journal, "no journal was started");
  test_state().journal->rollback(to);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_record_metadata(PyObject*, PyObject* tensor) noexcept {
  HANDLE_TH_ERRORS
  if (!check_tensor(tensor)) return nullptr;
  record_metadata(tensor);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_set_requires_grad(PyObject*, PyObject* args) noexcept {
  HANDLE_TH_ERRORS
  PyObject* tensor = nullptr;
  int value = 0;
  if (!PyArg_ParseTuple(args, "Op", &tensor, &value)) return nullptr;
  if (!check_tensor(tensor) || !set_requires_grad(tensor, value)) {
    return nullptr;
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_fallback_counts(PyObject*, PyObject*) noexcept {
  HANDLE_TH_ERRORS
  Ref result = Ref::steal(PyDict_New());
  if (!result) return nullptr;
  for (const FallbackCount& each : fallback_counts()) {
    Ref count = Ref::steal(PyLong_FromUnsignedLongLong(each.count));
    if (!count || PyDict_SetItemString(result, each.op.c_str(), count) < 0) {
      return nullptr;
    }
  }
  return result.release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_reset_fallback_counts(PyObject*, PyObject*) noexcept {
  HANDLE_TH_ERRORS
  reset_fallback_counts();
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_storage_id(PyObject*, PyObject* tensor) noexcept {
  if (!check_tensor(tensor)) return nullptr;
  return PyLong_FromSize_t(storage_id(tensor));
}

PyObject* py_take_snapshot(PyObject*, PyObject* tensor) noexcept {
  HANDLE_TH_ERRORS
  if (!check_tensor(tensor)) return nullptr;
  return capsule(new TensorSnapshot(take_snapshot(tensor)), kSnapshotCapsule)
      .release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_mark_dynamic(PyObject*, PyObject* args) noexcept {
  HANDLE_TH_ERRORS
  PyObject* holder = nullptr;
  unsigned dimension = 0;
  int stride = 0;
  if (!PyArg_ParseTuple(args, "OIp", &holder, &dimension, &stride)) {
    return nullptr;
  }
  auto* snapshot = from_capsule<TensorSnapshot>(holder, kSnapshotCapsule);
  if (!snapshot) return nullptr;
  if (stride) {
    snapshot->mark_stride_dynamic(dimension);
  } else {
    snapshot->mark_dynamic(dimension);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* py_set_extra(PyObject*, PyObject* args) noexcept {
  PyObject* holder = nullptr;
  unsigned char extra = 0;
  if (!PyArg_ParseTuple(args, "Ob", &holder, &extra)) return nullptr;
  auto* snapshot = from_capsule<TensorSnapshot>(holder, kSnapshotCapsule);
  if (!snapshot) return nullptr;
  snapshot->extra = extra;
  Py_RETURN_NONE;
}

PyObject* py_matches(PyObject*, PyObject* args) noexcept {
  PyObject *object = nullptr, *holder = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &object, &holder)) return nullptr;
  auto* snapshot = from_capsule<TensorSnapshot>(holder, kSnapshotCapsule);
  if (!snapshot) return nullptr;
  return PyBool_FromLong(matches(object, *snapshot));
}

PyObject* py_explain(PyObject*, PyObject* args) noexcept {
  HANDLE_TH_ERRORS
  PyObject *object = nullptr, *holder = nullptr;
  if (!PyArg_ParseTuple(args, "OO", &object, &holder)) return nullptr;
  auto* snapshot = from_capsule<TensorSnapshot>(holder, kSnapshotCapsule);
  if (!snapshot) return nullptr;
  return PyUnicode_FromString(explain_mismatch(object, *snapshot).c_str());
  END_HANDLE_TH_ERRORS
}

PyObject* py_describe(PyObject*, PyObject* holder) noexcept {
  HANDLE_TH_ERRORS
  auto* snapshot = from_capsule<TensorSnapshot>(holder, kSnapshotCapsule);
  if (!snapshot) return nullptr;
  return PyUnicode_FromString(describe(*snapshot).c_str());
  END_HANDLE_TH_ERRORS
}

PyObject* py_number_tree(PyObject*, PyObject* number) noexcept {
  HANDLE_TH_ERRORS
  return number_tree(number).release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_number_hint(PyObject*, PyObject* number) noexcept {
  HANDLE_TH_ERRORS
  return number_hint(number).release();
  END_HANDLE_TH_ERRORS
}

PyObject* py_number_functions(PyObject*, PyObject*) noexcept {
  HANDLE_TH_ERRORS
  return number_functions().release();
  END_HANDLE_TH_ERRORS
}

PyMethodDef kFunctions[] = {
    {"make_fake", &py_make_fake, METH_O, "The fake of one tensor."},
    {"fake_inputs", &py_fake_inputs, METH_NOARGS,
     "A memo under which real tensors that alias give fakes that alias."},
    {"fake_of", &py_fake_of, METH_VARARGS, "fake_of(fake_inputs, tensor)"},
    {"is_fake", &py_is_fake, METH_O, "Whether the object is a fake tensor."},
    {"is_needs_data", &py_is_needs_data, METH_O,
     "Whether an exception says that a fake's data was asked for."},
    {"enter_fake_mode", &py_enter_fake_mode, METH_NOARGS,
     "From here on factory functions give fakes."},
    {"exit_fake_mode", &py_exit_fake_mode, METH_NOARGS,
     "Ends the last enter_fake_mode()."},
    {"journal_start", &py_journal_start, METH_NOARGS,
     "Starts recording writes to fakes."},
    {"journal_stop", &py_journal_stop, METH_NOARGS, "Stops recording."},
    {"journal_position", &py_journal_position, METH_NOARGS, "A checkpoint."},
    {"journal_rollback", &py_journal_rollback, METH_O,
     "Undoes the writes since a checkpoint."},
    {"record_metadata", &py_record_metadata, METH_O,
     "Leaves an undo record for one fake."},
    {"set_requires_grad", &py_set_requires_grad, METH_VARARGS,
     "set_requires_grad(fake, value), journaled."},
    {"fallback_counts", &py_fallback_counts, METH_NOARGS,
     "Operators run by the Python FakeTensorMode, with their counts."},
    {"reset_fallback_counts", &py_reset_fallback_counts, METH_NOARGS,
     "Empties fallback_counts()."},
    {"storage_id", &py_storage_id, METH_O, "Equal for tensors that alias."},
    {"take_snapshot", &py_take_snapshot, METH_O, "A tensor guard's snapshot."},
    {"mark_dynamic", &py_mark_dynamic, METH_VARARGS,
     "mark_dynamic(snapshot, dimension, stride)"},
    {"set_extra", &py_set_extra, METH_VARARGS, "set_extra(snapshot, bits)"},
    {"matches", &py_matches, METH_VARARGS, "matches(object, snapshot)"},
    {"explain_mismatch", &py_explain, METH_VARARGS,
     "explain_mismatch(object, snapshot)"},
    {"describe_snapshot", &py_describe, METH_O, "One line of text."},
    {"number_tree", &py_number_tree, METH_O,
     "A symbolic number as a tree of tuples: see magneto.backends.symbols."},
    {"number_hint", &py_number_hint, METH_O,
     "A symbolic number's value in the traced call; None: it has none."},
    {"number_functions", &py_number_functions, METH_NOARGS,
     "By name of an operation in such a tree: what computes it, "
     "('module.name', whether PyTorch's symbolic numbers have it)."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool add_python_functions(PyObject* module) {
  if (!initialize()) return false;
  Ref error = Ref::share(needs_data_error());
  return PyModule_AddFunctions(module, kFunctions) == 0 &&
         PyModule_AddObjectRef(module, "NeedsDataError", error) == 0;
}

}  // namespace magneto::tensor
