// SPDX-License-Identifier: BSD-3-Clause
// Guards on what a program may write to a class or a function of its own, for
// what looks at all of it at once: inspect.signature(), dir(), a class's
// __dict__.
#pragma once

#include "values/model/context.h"

namespace magneto::values {

// Neither the class nor one of its bases was written to.
Status rely_on_class(Context& ctx, PyTypeObject* type);
// ... and all that the function or class says of its parameters and
// annotations; breaks the graph where that can't be said, as it can't of
// annotations in words that are evaluated.
Status rely_on_definition(Context& ctx, PyObject* object, bool evaluates);
// What its repr() shows.
void rely_on_name(Context& ctx, PyObject* function_or_class);

}  // namespace magneto::values
