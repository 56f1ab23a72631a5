// SPDX-License-Identifier: BSD-3-Clause
// Iterators of itertools' that the caller has begun: while tracing, iterators
// around a State (magneto/polyfills/itertools.py) like those that the trace
// makes, but of what the real one keeps. What the steps have changed in the
// state is written to the real one when the piece ends.
#pragma once

#include <optional>

#include "values/model/context.h"
#include "values/model/step_writer.h"

namespace magneto::values {

// Null if the object is of no class that is known here, or in a state that
// isn't.
V caller_itertools_state(Context& ctx, PyObject* object, SourceId source);

// The caller's iterator that a state is of; null for all other objects.
V iterator_of_state(Context& ctx, V state);

// Writes to such an iterator what the trace has written to its state's
// attributes.
void replay_iterator_state(Context& ctx, V iterator,
                           const HeapObject& attributes, StepWriter& writer);

}  // namespace magneto::values
