// SPDX-License-Identifier: BSD-3-Clause
// Where code is decides what is done with its frames. The table, with the
// reason of each row, is python/magneto/frames.py.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python/frame.h"

namespace magneto::entry {

// Takes the table, a dict of paths (of folders or files) and FrameActions; the
// longest path that fits decides. False with a Python error set.
bool set_frame_rules(PyObject* rules);

// What the table says. Runs no Python code, so nothing is raised in frames that
// haven't begun.
python::FrameAction frame_rule(PyCodeObject* code) noexcept;

}  // namespace magneto::entry
