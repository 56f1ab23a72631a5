// SPDX-License-Identifier: BSD-3-Clause
#include "graph/compiled_graph.h"

#include <exception>
#include <utility>

#include "graph/function_object.h"

namespace magneto::graph {

namespace {

// Never gives true: an error is set.
bool wrong_output(PyObject* output, size_t expected) {
  const bool is_sequence = PyTuple_Check(output) || PyList_Check(output);
  const Py_ssize_t length = is_sequence ? PySequence_Size(output) : -1;
  if (length < 0)
    PyErr_Format(PyExc_TypeError,
                 "the compiled graph must return a tuple of %zu values, but "
                 "it returned a %.200s",
                 expected, Py_TYPE(output)->tp_name);
  else
    PyErr_Format(PyExc_TypeError,
                 "the compiled graph must return a tuple of %zu values, but "
                 "it returned %zd",
                 expected, length);
  return false;
}

// A Python backend's.
class PythonGraph final : public CompiledGraph {
 public:
  explicit PythonGraph(Ref callable) : callable_(std::move(callable)) {}

  bool run(std::span<PyObject*> inputs,
           std::span<PyObject*> outputs) const noexcept override {
    const Ref output = Ref::steal(PyObject_Vectorcall(
        callable_, inputs.data(),
        inputs.size() | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
    if (!output) return false;
    const bool is_list = PyList_Check(output.get());
    if (!is_list && !PyTuple_Check(output.get()))
      return wrong_output(output, outputs.size());
    const auto count =
        static_cast<size_t>(is_list ? PyList_GET_SIZE(output.get())
                                    : PyTuple_GET_SIZE(output.get()));
    if (count != outputs.size()) return wrong_output(output, outputs.size());
    for (size_t i = 0; i < count; ++i) {
      const auto index = static_cast<Py_ssize_t>(i);
      PyObject* item = is_list ? PyList_GET_ITEM(output.get(), index)
                               : PyTuple_GET_ITEM(output.get(), index);
      outputs[i] = Ref::share(item).release();
    }
    return true;
  }
  PyObject* callable() const override { return callable_; }

 private:
  Ref callable_;
};

// A captured graph, run as it is.
class RunGraph final : public CompiledGraph {
 public:
  RunGraph(Ref function, const GraphRunner* runner)
      : function_(std::move(function)), runner_(runner) {}

  bool run(std::span<PyObject*> inputs,
           std::span<PyObject*> outputs) const noexcept override {
    try {
      return runner_->run(inputs, outputs);
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      return false;
    }
  }
  PyObject* callable() const override { return function_; }

 private:
  Ref function_;  // whose the runner is
  const GraphRunner* runner_;
};

}  // namespace

std::unique_ptr<CompiledGraph> compiled_graph_of(Ref callable) {
  const GraphRunner* runner = runner_of(callable);
  if (runner && runner->gives_tuple())
    return std::make_unique<RunGraph>(std::move(callable), runner);
  return std::make_unique<PythonGraph>(std::move(callable));
}

}  // namespace magneto::graph
