// SPDX-License-Identifier: BSD-3-Clause
// Exception instances made while tracing: Objects whose C-level fields are heap
// slots.
#pragma once

#include <span>

#include "values/model/context.h"

namespace magneto::values {

// Of every exception. Some classes have more (StopIteration its value): see
// exception_slot_names.
enum ExceptionSlot : size_t {
  kArgs,
  kCause,
  kContext,
  kSuppressContext,
  kTraceback,
  kOwnFields,  // the first of those
  // Of exception groups.
  kMessage = kOwnFields,
  kExceptions,
};
// What they are called in Python, by number.
std::span<const char* const> exception_slot_names(PyTypeObject* type);

// What the class's __new__ gives: without its own fields.
V new_exception(Context& ctx, PyTypeObject* type, std::span<const V> args);
// What BaseException.__init__ and those of its subclasses in C do.
void initialise_exception(Context& ctx, V exception, std::span<const V> args);
// Both.
V make_exception(Context& ctx, PyTypeObject* type, std::span<const V> args);
// An AttributeError or NameError: which name it is about, and of which object.
Signal raise_about_name(Context& ctx, PyObject* type,
                        const std::string& message, PyObject* name,
                        V object = nullptr);

// Sets the name and object of an AttributeError that the program raised itself,
// unless it has done so.
void say_what_is_missing(Context& ctx, V exception, V object, PyObject* name);

// Frame objects, of frames that an exception has gone through and of callers
// that outlive them. Slots: the code, the globals, the code unit that the frame
// has come to, its place among the frames that go on after the piece (see
// python::frame_maker), the caller's frame once it has ended (or None), and
// from kFirstLocal on its localsplus (Null where unbound).
enum FrameSlot : size_t {
  kCode,
  kGlobals,
  kFrameUnit,
  kPlace,
  kBack,
  kFirstLocal
};
// kPlace of the outermost frame. Inlined calls that go on after the piece are
// numbered from 1 on; those that end within it have kNoPlace.
inline constexpr int64_t kOutermostPlace = 0;
inline constexpr int64_t kNoPlace = -1;
// One that shows no variables yet.
V make_frame(Context& ctx, PyCodeObject* code, V globals, int64_t place);
// What tools see in it from now on.
void show_in_frame(Context& ctx, V frame, V unit, std::span<const V> locals);

// Tracebacks: objects with slots for the next entry, the frame, the code unit
// times its size, and the line.
enum TracebackSlot : size_t { kNext, kFrame, kOffset, kLine };
V make_traceback(Context& ctx, V next, V frame, int32_t unit);
// Whether instances of the class are exceptions.
bool is_exception_type(PyTypeObject* type);
// The field called `name` (args, __cause__, ...), or null if that is none.
V exception_field(Context& ctx, V exception, PyObject* name);
// The part in a slot, of one of the caller's too, for which it is read (not
// kSuppressContext) and guarded.
V exception_part(Context& ctx, V exception, size_t slot);
// Whether the exception's fields are slots: the trace made it.
bool is_made_exception(const Context& ctx, V exception);
// The traceback, or null if it is a caller's exception.
V exception_traceback(Context& ctx, V exception);
// Whether it has a dictionary, which it gets with its first attribute or where
// it is asked for, and keeps. Of the caller's, guarded.
bool has_dictionary(Context& ctx, V exception);
// Whether C code keeps more of such an exception than its slots: the errno of
// an OSError of several arguments, a SyntaxError's place, what an
// AttributeError was told by keyword.
bool has_own_fields(PyTypeObject* type, size_t arguments, bool has_keywords);
// Whether instances of the class are OSErrors. Where it has an __init__ of its
// own, their arguments are what that passes on.
bool is_os_error(PyTypeObject* type);
// The TypeError for what a call of an exception's class gave; `made_type`: how
// it names the class of that.
Signal not_an_exception(Context& ctx, V type, const std::string& made_type);
// How many of the slots' fields can be set in a real exception.
size_t settable_fields(PyTypeObject* type);
// False if there is no such field.
bool set_exception_field(Context& ctx, V exception, PyObject* name, V value);

}  // namespace magneto::values
