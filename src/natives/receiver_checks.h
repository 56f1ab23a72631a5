// SPDX-License-Identifier: BSD-3-Clause
// What CPython asks of the arguments of a method written in C before the method
// itself does anything.
#pragma once

#include "values/model/context.h"
#include "values/protocol/protocol.h"

namespace magneto::natives {

using values::Arguments;
using values::Context;

// The class that a descriptor belongs to, or null.
PyTypeObject* owner_of(PyObject* callable);

// A method, slot wrapper or getset of a C class: its first argument must be an
// instance.
Outcome<bool> check_receiver(Context& ctx, PyObject* callable,
                             const Arguments& args);
// iterator.__next__() takes nothing.
Status check_next(Context& ctx, const Arguments& args);
// The dict within an OrderedDict has another order, or other keys, than it:
// only the methods that it inherits know it.
Status check_ordered(Context& ctx, PyObject* callable, const Arguments& args);
// base.__new__(type, ...): what typeobject.c's tp_new_wrapper asks for.
Status check_new(Context& ctx, PyObject* callable, const Arguments& args);

}  // namespace magneto::natives
