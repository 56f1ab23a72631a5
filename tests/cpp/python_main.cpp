// SPDX-License-Identifier: BSD-3-Clause
// main() of the tests that need an interpreter: one is set up as the virtual
// environment's python would be, holds the GIL while the tests run, and is
// finalized after them.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <gtest/gtest.h>

#include <cstdio>

namespace {

// A Python error that a test left behind would surface in the next one.
class NoPendingError : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    if (PyErr_Occurred() == nullptr) return;
    PyErr_Print();
    ADD_FAILURE() << "the test ended with a Python error set";
  }
};

bool start_python() {
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  PyStatus status =
      PyConfig_SetBytesString(&config, &config.executable, MAGNETO_TEST_PYTHON);
  if (!PyStatus_Exception(status)) {
    status = PyConfig_SetBytesString(&config, &config.program_name,
                                     MAGNETO_TEST_PYTHON);
  }
  if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) {
    std::fprintf(stderr, "python did not start: %s\n",
                 status.err_msg ? status.err_msg : "");
    return false;
  }
  PyObject* module = PyImport_ImportModule(MAGNETO_TEST_IMPORT);
  if (module == nullptr) {
    PyErr_Print();
    return false;
  }
  Py_DECREF(module);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!start_python()) return 1;
  testing::UnitTest::GetInstance()->listeners().Append(new NoPendingError);
  const int failed = RUN_ALL_TESTS();
  return Py_FinalizeEx() < 0 ? 1 : failed;
}
