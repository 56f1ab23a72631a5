// SPDX-License-Identifier: BSD-3-Clause
// Included by what describes CPython 3.11: another version must not be read by
// these layouts.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030c0000
#error "this folder describes CPython 3.11"
#endif
