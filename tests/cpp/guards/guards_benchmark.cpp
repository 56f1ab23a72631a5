// SPDX-License-Identifier: BSD-3-Clause
// What a run of a guard program costs, in nanoseconds, beyond the checks of
// tensors themselves (a tensor is played by a bytearray whose length is
// compared). One case a line: precise steps, pins, renewals, compilation.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "guards/program.h"
#include "guards/source.h"
#include "python/ref.h"
#include "support/journal.h"

namespace magneto::guards {
namespace {

constexpr int kModules = 400;
constexpr int kParameters = 293;

constexpr const char* kWorld =
    "class Module:\n"
    "  def __init__(self):\n"
    "    self.__dict__.update(training=True, _parameters={}, _buffers={},\n"
    "      _non_persistent_buffers_set=set(), _backward_pre_hooks={},\n"
    "      _backward_hooks={}, _is_full_backward_hook=None,\n"
    "      _forward_hooks={}, _forward_hooks_with_kwargs={},\n"
    "      _forward_pre_hooks={}, _state_dict_hooks={}, _modules={})\n"
    "model = Module()\n"
    "n = 0\n"
    "for i in range(399):\n"
    "  m = model._modules[str(i)] = Module()\n"
    "  if n < 293: m._parameters['weight'] = bytearray(8); n += 1\n"
    "x = bytearray(8); y = bytearray(8)\n"
    "F = len\n";

class Bench {
 public:
  Bench() {
    globals_ = Ref::steal(PyDict_New());
    PyDict_SetItemString(globals_, "__builtins__", PyEval_GetBuiltins());
    exec(kWorld);
    hooks().tensor.matches = [](PyObject* value,
                                const void* snapshot) noexcept {
      return PyByteArray_CheckExact(value) &&
             PyByteArray_GET_SIZE(value) ==
                 *static_cast<const Py_ssize_t*>(snapshot);
    };
    for (size_t i = 0; i < 6; ++i) {
      hooks().ambient[i].read = []() noexcept -> int64_t { return 1; };
    }
  }

  void exec(const char* source) {
    Ref result =
        Ref::steal(PyRun_String(source, Py_file_input, globals_, globals_));
    if (!result) PyErr_Print();
  }

  PyObject* var(const char* name) {
    return PyDict_GetItemString(globals_, name);
  }

  PyObject* name(const std::string& text) {
    names_.push_back(Ref::steal(PyUnicode_InternFromString(text.c_str())));
    return names_.back();
  }

  CallView view(std::vector<const char*> arguments) {
    locals_.clear();
    for (const char* argument : arguments) locals_.push_back(var(argument));
    return {.locals = locals_.data(),
            .nlocals = locals_.size(),
            .globals = globals_,
            .builtins = PyEval_GetBuiltins()};
  }

  // The processor time of one call of `body`, best of several rounds: the
  // machine may be busy with other things.
  template <class Body>
  static double measure(int calls, Body body) {
    std::vector<double> rounds;
    for (int round = 0; round < 15; ++round) {
      const double begin = processor_time();
      for (int i = 0; i < calls; ++i) body();
      rounds.push_back((processor_time() - begin) / calls);
    }
    return *std::min_element(rounds.begin(), rounds.end());
  }

  static double processor_time() {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 +
           static_cast<double>(now.tv_nsec);
  }

  static void report(const char* what, double nanoseconds) {
    std::printf("%-58s %12.1f ns\n", what, nanoseconds);
  }

  void two_arguments();
  void model();

 private:
  Ref globals_;
  std::vector<Ref> names_;
  std::vector<PyObject*> locals_;
};

bool must(bool held) {
  if (!held) std::printf("a guard failed\n");
  return held;
}

void Bench::two_arguments() {
  Journal journal;
  SourceTable sources;
  GuardSet guards(journal);
  const auto shape = std::make_shared<Py_ssize_t>(8);
  const SourceId x = sources.local(0, name("x"));
  const SourceId y = sources.local(1, name("y"));
  guards.tensor(x, shape);
  guards.tensor(y, shape);
  const Request inputs[] = {{.source = x}, {.source = y}};
  PyObject* out[2];
  CallView call = view({"x", "y"});
  auto program = compile(sources, guards, {}, inputs);
  report("two tensors", measure(200000, [&] { program->run(call, out); }));

  for (size_t i = 0; i < 6; ++i) guards.ambient(static_cast<Ambient>(i));
  program = compile(sources, guards, {}, inputs);
  report("and six ambient values",
         measure(200000, [&] { program->run(call, out); }));

  const SourceId F = sources.dict_item(sources.globals(), name("F"));
  guards.identity(F, var("F"));
  guards.absent(sources.dict_item(sources.globals(), name("abs")));
  guards.identity(sources.dict_item(sources.builtins(), name("abs")),
                  PyDict_GetItemString(PyEval_GetBuiltins(), "abs"));
  program = compile(sources, guards, {}, inputs);
  must(program->run(call, out));
  report("and three global names",
         measure(200000, [&] { program->run(call, out); }));
  PyObject* counter = name("counter");
  bool odd = false;
  const auto write = [&] {
    odd = !odd;
    PyDict_SetItem(globals_, counter, odd ? Py_True : Py_False);
  };
  const double alone = measure(20000, write);
  report("and another global written before every call", measure(20000, [&] {
                                                           write();
                                                           program->run(call,
                                                                        out);
                                                         }) - alone);
}

// What a trace of a model leaves: per module its type, its flags, the hooks
// that must not be there, and the registries that lead to children.
void Bench::model() {
  Journal journal;
  SourceTable sources;
  GuardSet guards(journal);
  const auto shape = std::make_shared<Py_ssize_t>(8);
  std::vector<Request> inputs;
  const auto record = [&](SourceId module, bool has_weight) {
    guards.type_is(module, Py_TYPE(var("model")));
    const auto attr = [&](const char* text) {
      return sources.instance_attr(module, name(text));
    };
    guards.constant_equals(attr("training"), Py_True);
    guards.absent(attr("weight"));
    guards.length(attr("_backward_hooks"), 0);
    guards.length(attr("_forward_hooks"), 0);
    guards.length(attr("_forward_pre_hooks"), 0);
    if (has_weight) {
      const SourceId weight =
          sources.dict_item(attr("_parameters"), name("weight"));
      guards.tensor(weight, shape);
      inputs.push_back({.source = weight});
    }
  };
  const SourceId self = sources.local(0, name("self"));
  const auto trace = [&] {
    record(self, false);
    const SourceId modules = sources.instance_attr(self, name("_modules"));
    for (int i = 0; i < kModules - 1; ++i) {
      record(sources.dict_item(modules, name(std::to_string(i))),
             i < kParameters);
    }
  };
  const double begin = processor_time();
  trace();
  const double traced = processor_time() - begin;
  const SourceId type =
      sources.constant(reinterpret_cast<PyObject*>(Py_TYPE(var("model"))));
  guards.absent(sources.type_attr(type, name("weight")));
  guards.absent(sources.type_attr(type, name("__getattr__")));
  CallView call = view({"model"});
  std::vector<PyObject*> out(inputs.size());
  auto program = compile(sources, guards, {}, inputs);
  report("model: recording a guard (names made too)",
         traced / static_cast<double>(guards.guards().size()));
  report("model: compiling the program",
         measure(20, [&] { program = compile(sources, guards, {}, inputs); }));
  must(program->run(call, out.data()));
  report("model: an unchanged call",
         measure(5000, [&] { program->run(call, out.data()); }));
  const auto matches = hooks().tensor.first_mismatch;
  hooks().tensor.first_mismatch = [](const TensorEntry*, size_t n) noexcept {
    return n;
  };
  report("model: the same, no tensor looked at",
         measure(5000, [&] { program->run(call, out.data()); }));
  hooks().tensor.first_mismatch = matches;
  std::printf("    %zu nodes, %zu words, %zu inputs\n", program->node_count(),
              program->word_count(), inputs.size());
  PyObject* dict = PyObject_GenericGetDict(var("model"), nullptr);
  PyObject* step = name("step");
  bool odd = false;
  report("model: one attribute written before every call", measure(5000, [&] {
           odd = !odd;
           PyDict_SetItem(dict, step, odd ? Py_True : Py_False);
           program->run(call, out.data());
         }));
  Py_DECREF(dict);
  report("model: every step and new pins", measure(200, [&] {
           call.locals = locals_.data();
           const auto fresh = compile(sources, guards, {}, inputs);
           fresh->run(call, out.data());
         }));
  exec("other = Module(); other.__dict__.update(model.__dict__)");
  CallView others = view({"other"});
  PyObject* both[] = {var("model"), var("other")};
  size_t next = 0;
  for (int i = 0; i < 200; ++i) {
    others.locals = &both[next ^= 1];
    must(program->run(others, out.data()));
  }
  report("model: every step, two models in turn", measure(500, [&] {
           others.locals = &both[next ^= 1];
           program->run(others, out.data());
         }));
}

}  // namespace
}  // namespace magneto::guards

int main() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  PyConfig_SetBytesString(&config, &config.executable, MAGNETO_TEST_PYTHON);
  if (PyStatus_Exception(Py_InitializeFromConfig(&config))) return 1;
  {
    magneto::guards::Bench bench;
    bench.two_arguments();
    bench.model();
  }
  return Py_FinalizeEx() < 0 ? 1 : 0;
}
