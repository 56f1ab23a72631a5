// SPDX-License-Identifier: BSD-3-Clause
// `magneto._C.DisabledFunction(function)`: what disable() returns. Neither the
// function nor what it calls is compiled; in a trace a call of it breaks the
// graph.
#pragma once

#include "python/ref.h"

namespace magneto::entry {

bool init_disabled_function_type(PyObject* module);
bool is_disabled_function(PyObject* object) noexcept;

}  // namespace magneto::entry
