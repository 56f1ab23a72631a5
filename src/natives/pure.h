// SPDX-License-Identifier: BSD-3-Clause
// Calls that are made for real while tracing: only where neither the callable
// nor any argument can run user code or have an effect.
#pragma once

#include "natives/registry.h"

namespace magneto::natives {

// The real object that `value` stands for, if it consists of numbers, strings
// and the like (values::is_safe_type), through tuples, lists, dicts, sets and
// slices; null otherwise. Without an error set.
PyObject* safe_object(Context& ctx, V value);

// The same, and texts and numbers of classes of the program's of which C code
// can't tell that they are no plain ones (natives/builtins/derived.h).
PyObject* plain_object(Context& ctx, V value);

// The same for C code that reads no more of a text than its characters, so that
// its class may say what it wants; or what argument_object() gives.
PyObject* read_object(Context& ctx, V value);

// The real object of a constant (also a function, class, module or enum
// member), of a method of the caller's, or one that safe_object() gives; null
// otherwise.
PyObject* examined_object(Context& ctx, V value);

// The same, but null for a number, text or tuple of a class of the program's
// whose methods C code may ask for an index, a hash or the like. Members of
// enumerations pass.
PyObject* argument_object(Context& ctx, V value);

// The caller's object that `value` is, guarded to be that very one, for what
// isn't told by its type; null if the trace made it.
PyObject* guarded_object(Context& ctx, V value);

// The Python error of a method in C that was called bound, with a receiver of
// this class: it tells the method's name as that of a bound one.
void name_after_receiver(PyObject* callable, PyTypeObject* type);

// Calls `callable` with what `convert` (one of the above) makes of the
// arguments. False if one of them has no such object. What warns breaks the
// graph.
Outcome<bool> call_really(Context& ctx, PyObject* callable,
                          const Arguments& args, Ref& result,
                          PyObject* (*convert)(Context&, V) = plain_object);

// The value of a fresh result of such a call. What isn't plain data (a
// Signature, say) becomes an object that the artifact keeps.
Outcome<V> lift(Context& ctx, Ref object);

// What a callable is called in messages.
std::string describe(PyObject* callable);

// True for what safe_object() gives.
bool is_safe(PyObject* object);

}  // namespace magneto::natives
