// SPDX-License-Identifier: BSD-3-Clause
// Classes of named tuples that the program makes while it is traced. The trace
// has a class of its own; a program makes another in each call, as far as
// anybody sees it (see aliases.h).
#pragma once

#include "values/model/construction.h"
#include "values/model/context.h"

namespace magneto::values {

// The class that collections.namedtuple gives for these: a tuple and a dict of
// plain data. The keywords say the module.
Outcome<V> make_named_tuple_class(Context& ctx, Ref args, Ref keywords);

// The call that makes an equal one.
Construction class_construction(Context& ctx, PyObject* type);

}  // namespace magneto::values
