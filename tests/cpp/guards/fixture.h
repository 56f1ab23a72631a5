// SPDX-License-Identifier: BSD-3-Clause
// What the tests of guards share: Python objects made from source text, a trace
// to record in, and bytearrays that play tensors (their length is the shape,
// and can be changed in place as a tensor's metadata can).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "guards/program.h"
#include "guards/source.h"
#include "python/ref.h"
#include "shapes/environment.h"
#include "support/journal.h"

namespace magneto::guards {

class GuardFixture : public testing::Test {
 protected:
  GuardFixture() {
    globals_ = Ref::steal(PyDict_New());
    PyDict_SetItemString(globals_, "__builtins__", PyEval_GetBuiltins());
    TensorHooks& tensor = hooks().tensor;
    tensor.matches = [](PyObject* value, const void* snapshot) noexcept {
      return PyByteArray_CheckExact(value) &&
             PyByteArray_GET_SIZE(value) ==
                 *static_cast<const Py_ssize_t*>(snapshot);
    };
    tensor.words = [](PyObject* value, const void*, const void** words,
                      size_t) noexcept -> size_t {
      words[0] = &value->ob_type;
      words[1] = &reinterpret_cast<PyVarObject*>(value)->ob_size;
      return 2;
    };
    tensor.explain = [](PyObject* value, const void* snapshot,
                        const std::string& name) {
      const auto length = *static_cast<const Py_ssize_t*>(snapshot);
      if (!PyByteArray_CheckExact(value)) return name + " is no tensor";
      return name + ".size(0) == " + std::to_string(length) + ", but it is " +
             std::to_string(PyByteArray_GET_SIZE(value));
    };
    tensor.describe = [](const void* snapshot, const std::string& name) {
      return name + ": " +
             std::to_string(*static_cast<const Py_ssize_t*>(snapshot));
    };
    tensor.view = [](PyObject* value) noexcept -> View {
      if (PyMemoryView_Check(value))
        return {value, PyMemoryView_GET_BASE(value)};
      return {value, value};
    };
    tensor.size = [](PyObject* value, int64_t dim) noexcept -> int64_t {
      if (!PyByteArray_CheckExact(value) || dim != 0) return -1;
      return PyByteArray_GET_SIZE(value);
    };
    tensor.other_sizes = [](PyObject* value, const void* snapshot) {
      const auto length = *static_cast<const Py_ssize_t*>(snapshot);
      const bool differs = PyByteArray_CheckExact(value) &&
                           PyByteArray_GET_SIZE(value) != length;
      return differs ? std::vector<uint32_t>{0} : std::vector<uint32_t>{};
    };
  }
  ~GuardFixture() override { hooks() = Hooks(); }

  // Runs statements; their names stay for later ones.
  void exec(const std::string& source) {
    Ref result = Ref::steal(
        PyRun_String(source.c_str(), Py_file_input, globals_, globals_));
    if (!result) PyErr_Print();
    ASSERT_TRUE(result);
  }

  Ref eval(const std::string& source) {
    Ref result = Ref::steal(
        PyRun_String(source.c_str(), Py_eval_input, globals_, globals_));
    if (!result) PyErr_Print();
    return result;
  }

  bool is_true(const std::string& source) {
    Ref result = eval(source);
    return result && PyObject_IsTrue(result) == 1;
  }

  // Borrowed: kept alive by the variable.
  PyObject* var(const char* name) {
    PyObject* object = PyDict_GetItemString(globals_, name);
    EXPECT_NE(object, nullptr) << name;
    return object;
  }

  PyObject* name(const char* text) {
    names_.push_back(Ref::steal(PyUnicode_InternFromString(text)));
    return names_.back();
  }

  PyObject* keep(Ref object) {
    names_.push_back(std::move(object));
    return names_.back();
  }

  static std::shared_ptr<const void> shape(Py_ssize_t length) {
    return std::make_shared<Py_ssize_t>(length);
  }

  // The call's arguments are the variables of these names.
  CallView view(std::initializer_list<const char*> arguments) {
    locals_.clear();
    for (const char* argument : arguments) locals_.push_back(var(argument));
    return {.locals = locals_.data(),
            .nlocals = locals_.size(),
            .cells = cells_.data(),
            .ncells = cells_.size(),
            .globals = globals_,
            .builtins = PyEval_GetBuiltins()};
  }

  // A symbol for a number of the call's.
  shapes::E number(IntKind kind, SourceId source, int64_t dim = 0) {
    shapes::E symbol = environment_->backed(shapes::Type::Integer,
                                            shapes::Number::of(int64_t{0}));
    symbols_.push_back({kind, source, dim});
    return symbol;
  }
  void condition(shapes::E e) { conditions_.push_back({e, 0}); }
  NumberGuards numbers() const { return {environment_, symbols_, conditions_}; }

  std::unique_ptr<GuardProgram> compiled(
      std::initializer_list<SourceId> requests = {}) {
    std::vector<Request> wanted;
    for (SourceId source : requests) wanted.push_back({.source = source});
    return compile(sources_, guards_, numbers(), wanted);
  }

  // Runs, and runs again from a program compiled anew, which has no pins: both
  // must agree, and the explanation with them.
  bool run(GuardProgram& program, const CallView& call) {
    std::vector<PyObject*> inputs(program.input_count());
    const bool result = program.run(call, inputs.data());
    if (program.alive()) {
      const auto fresh = compile(sources_, guards_, numbers(), {});
      EXPECT_EQ(fresh->run(call, nullptr), result);
    }
    EXPECT_EQ(program.explain_failure(call).empty(), result)
        << program.explain_failure(call);
    inputs_ = std::move(inputs);
    return result;
  }

  Ref globals_;
  std::vector<Ref> names_;
  std::vector<PyObject*> locals_;
  std::vector<PyObject*> cells_;
  std::vector<PyObject*> inputs_;
  Journal journal_;
  SourceTable sources_;
  GuardSet guards_{journal_};
  std::shared_ptr<shapes::Environment> environment_ =
      std::make_shared<shapes::Environment>(&journal_);
  std::vector<IntSource> symbols_;
  std::vector<shapes::Decision> conditions_;
};

}  // namespace magneto::guards
