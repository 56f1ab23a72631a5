// SPDX-License-Identifier: BSD-3-Clause
// Exceptions made while tracing: their constructors and the fields that C code
// keeps (values/types/exceptions.h).
#include "values/types/exceptions.h"

#include "natives/signature.h"
#include "python/names.h"
#include "values/protocol/attributes.h"
#include "values/types/exception_groups.h"

namespace magneto::natives {

namespace {

Outcome<V> initialise(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (args.has_keywords())
    return ctx.raise(PyExc_TypeError, std::string(self->type->tp_name) +
                                          "() takes no keyword arguments");
  if (!exception_field(ctx, self, interned().args))
    return ctx.graph_break("native-call", "__init__ of a caller's exception");
  initialise_exception(ctx, self, args.positional.subspan(1));
  return ctx.none();
}

// OSError.__init__: of more than one argument it makes fields.
Outcome<V> initialise_os_error(Context& ctx, const Arguments& args) {
  if (has_own_fields(ctx.look(args.positional[0])->type, args.count() - 1,
                     args.has_keywords()))
    return ctx.graph_break("instantiate", "an OSError of several arguments",
                           "make it outside of the compiled function");
  return initialise(ctx, args);
}

// A field that an OSError has only of several arguments.
Outcome<V> missing_field(Context& ctx, const Arguments& args) {
  if (is_made_exception(ctx, ctx.look(args.positional[0]))) return ctx.none();
  return ctx.graph_break("c-attribute", "a field of a caller's OSError",
                         "read it outside of the compiled function");
}

Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object) ||
      !is_exception_type(reinterpret_cast<PyTypeObject*>(type->object)))
    return ctx.raise(PyExc_TypeError,
                     "BaseException.__new__(X): X is not a subtype of "
                     "BaseException");
  return new_exception(ctx, reinterpret_cast<PyTypeObject*>(type->object),
                       args.positional.subspan(1));
}

template <Literal field>
Outcome<V> read(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  V value = exception_field(ctx, self, name<field>());
  if (value) return value;
  return ctx.graph_break("c-attribute",
                         std::string(field.text) + " of a caller's exception",
                         "read it outside of the compiled function");
}

// A field that those of the caller's have where it can be read.
template <size_t slot>
Outcome<V> read_part(Context& ctx, const Arguments& args) {
  return exception_part(ctx, ctx.look(args.positional[0]), slot);
}

Outcome<V> with_traceback(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  V traceback = ctx.look(args.positional[1]);
  if (traceback != ctx.none() && traceback->type != &PyTraceBack_Type)
    return ctx.raise(PyExc_TypeError,
                     "__traceback__ must be a traceback or None");
  if (!set_exception_field(ctx, self, name<"__traceback__">(), traceback))
    return ctx.graph_break("c-attribute-write",
                           "__traceback__ of a caller's exception");
  return self;
}

// The dictionary is part of the state, if nothing is in it, too.
Outcome<V> reduce(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  std::vector<V> parts{class_value(ctx, self->type),
                       exception_part(ctx, self, kArgs)};
  if (has_dictionary(ctx, self)) parts.push_back(attribute_mapping(ctx, self));
  return ctx.tuple(parts);
}

Outcome<V> add_note(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  V note = ctx.look_open(args.positional[1]);
  if (!is_instance_of(note, &PyUnicode_Type))
    return ctx.raise(PyExc_TypeError, std::string("note must be a str, not '") +
                                          note->type->tp_name + "'");
  MG_TRY(V notes, find_attribute(ctx, self, name<"__notes__">()));
  if (!notes) {
    notes = ctx.list({});
    MG_DO(set_attribute(ctx, self, name<"__notes__">(), notes));
  }
  notes = ctx.look(notes);
  if (!is_instance_of(notes, &PyList_Type))
    return ctx.raise(PyExc_TypeError,
                     "Cannot add note: __notes__ is not a list");
  ctx.heap.append(notes->heap, note);
  return ctx.none();
}

// -- groups -------------------------------------------------------------------

Outcome<V> make_group(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  return new_group(ctx, reinterpret_cast<PyTypeObject*>(type->object),
                   args.positional.subspan(1));
}

Outcome<V> derive(Context& ctx, const Arguments& args) {
  return derive_group(ctx, ctx.look(args.positional[0]), args.positional[1]);
}

Outcome<V> split(Context& ctx, const Arguments& args) {
  MG_TRY(GroupParts parts,
         split_group(ctx, args.positional[0], args.positional[1], true));
  V pair[] = {parts.match, parts.rest};
  return ctx.tuple(pair);
}

Outcome<V> subgroup(Context& ctx, const Arguments& args) {
  MG_TRY(GroupParts parts,
         split_group(ctx, args.positional[0], args.positional[1], false));
  return parts.match;
}

constexpr const char* kBuiltins = "builtins";

#define MG_EXCEPTION(type) \
  { kBuiltins, type ".__init__", initialise, 1, kAny, "*" }

#define MG_OS_ERROR(type) \
  { kBuiltins, type ".__init__", initialise_os_error, 1, kAny, "*" }

constexpr Row kRows[] = {
    {kBuiltins, "BaseException.__new__", make_of_class, 1, kAny, "*"},
    {kBuiltins, "BaseException.args", read_part<kArgs>, 1, 1, nullptr},
    {kBuiltins, "BaseException.__cause__", read_part<kCause>, 1, 1, nullptr},
    {kBuiltins, "BaseException.__context__", read_part<kContext>, 1, 1,
     nullptr},
    {kBuiltins, "BaseException.__suppress_context__",
     read<"__suppress_context__">, 1, 1, nullptr},
    {kBuiltins, "BaseException.with_traceback", with_traceback, 2, 2, nullptr},
    {kBuiltins, "BaseException.__traceback__", read_part<kTraceback>, 1, 1,
     nullptr},
    {kBuiltins, "BaseException.__reduce__", reduce, 1, 1, nullptr},
    {kBuiltins, "BaseException.add_note", add_note, 2, 2, nullptr},
    {kBuiltins, "BaseExceptionGroup.__new__", make_group, 1, kAny, "*"},
    {kBuiltins, "BaseExceptionGroup.message", read_part<kMessage>, 1, 1,
     nullptr},
    {kBuiltins, "BaseExceptionGroup.exceptions", read_part<kExceptions>, 1, 1,
     nullptr},
    {kBuiltins, "BaseExceptionGroup.derive", derive, 2, 2, nullptr},
    {kBuiltins, "BaseExceptionGroup.split", split, 2, 2, nullptr},
    {kBuiltins, "BaseExceptionGroup.subgroup", subgroup, 2, 2, nullptr},
    {kBuiltins, "AttributeError.name", read<"name">, 1, 1, nullptr},
    {kBuiltins, "AttributeError.obj", read<"obj">, 1, 1, nullptr},
    {kBuiltins, "NameError.name", read<"name">, 1, 1, nullptr},
    {kBuiltins, "StopIteration.value", read<"value">, 1, 1, nullptr},
    {kBuiltins, "SystemExit.code", read<"code">, 1, 1, nullptr},
    {kBuiltins, "ImportError.name", read<"name">, 1, 1, nullptr},
    {kBuiltins, "ImportError.path", read<"path">, 1, 1, nullptr},
    {kBuiltins, "ImportError.msg", read<"msg">, 1, 1, nullptr},
    {kBuiltins, "OSError.errno", missing_field, 1, 1, nullptr},
    {kBuiltins, "OSError.strerror", missing_field, 1, 1, nullptr},
    {kBuiltins, "OSError.filename", missing_field, 1, 1, nullptr},
    {kBuiltins, "OSError.filename2", missing_field, 1, 1, nullptr},
    MG_OS_ERROR("OSError"),
    MG_OS_ERROR("BlockingIOError"),
    MG_OS_ERROR("BrokenPipeError"),
    MG_OS_ERROR("ChildProcessError"),
    MG_OS_ERROR("ConnectionAbortedError"),
    MG_OS_ERROR("ConnectionError"),
    MG_OS_ERROR("ConnectionRefusedError"),
    MG_OS_ERROR("ConnectionResetError"),
    MG_OS_ERROR("FileExistsError"),
    MG_OS_ERROR("FileNotFoundError"),
    MG_OS_ERROR("InterruptedError"),
    MG_OS_ERROR("IsADirectoryError"),
    MG_OS_ERROR("NotADirectoryError"),
    MG_OS_ERROR("PermissionError"),
    MG_OS_ERROR("ProcessLookupError"),
    MG_OS_ERROR("TimeoutError"),
    MG_EXCEPTION("BaseException"),
    MG_EXCEPTION("UnicodeError"),
    MG_EXCEPTION("BaseExceptionGroup"),
    MG_EXCEPTION("Exception"),
    MG_EXCEPTION("GeneratorExit"),
    MG_EXCEPTION("KeyboardInterrupt"),
    MG_EXCEPTION("ArithmeticError"),
    MG_EXCEPTION("FloatingPointError"),
    MG_EXCEPTION("OverflowError"),
    MG_EXCEPTION("ZeroDivisionError"),
    MG_EXCEPTION("AssertionError"),
    MG_EXCEPTION("AttributeError"),
    MG_EXCEPTION("BufferError"),
    MG_EXCEPTION("EOFError"),
    MG_EXCEPTION("ImportError"),
    MG_EXCEPTION("ModuleNotFoundError"),
    MG_EXCEPTION("LookupError"),
    MG_EXCEPTION("IndexError"),
    MG_EXCEPTION("KeyError"),
    MG_EXCEPTION("MemoryError"),
    MG_EXCEPTION("NameError"),
    MG_EXCEPTION("UnboundLocalError"),
    MG_EXCEPTION("ReferenceError"),
    MG_EXCEPTION("RuntimeError"),
    MG_EXCEPTION("NotImplementedError"),
    MG_EXCEPTION("RecursionError"),
    MG_EXCEPTION("StopIteration"),
    MG_EXCEPTION("StopAsyncIteration"),
    MG_EXCEPTION("SystemError"),
    MG_EXCEPTION("SystemExit"),
    MG_EXCEPTION("TypeError"),
    MG_EXCEPTION("ValueError"),
    MG_EXCEPTION("Warning"),
    MG_EXCEPTION("BytesWarning"),
    MG_EXCEPTION("DeprecationWarning"),
    MG_EXCEPTION("EncodingWarning"),
    MG_EXCEPTION("FutureWarning"),
    MG_EXCEPTION("ImportWarning"),
    MG_EXCEPTION("PendingDeprecationWarning"),
    MG_EXCEPTION("ResourceWarning"),
    MG_EXCEPTION("RuntimeWarning"),
    MG_EXCEPTION("SyntaxWarning"),
    MG_EXCEPTION("UnicodeWarning"),
    MG_EXCEPTION("UserWarning"),
};

#undef MG_EXCEPTION

}  // namespace

std::span<const Row> exception_rows() { return kRows; }

}  // namespace magneto::natives
