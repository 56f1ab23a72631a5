// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/exceptions.h"

#include <optional>

#include "python/code_units.h"
#include "python/names.h"
#include "values/protocol/protocol.h"
#include "values/types/construction.h"
#include "values/types/exception_groups.h"
#include "values/types/type_table.h"

namespace magneto::values {

bool is_exception_type(PyTypeObject* type) {
  return PyType_FastSubclass(type, Py_TPFLAGS_BASE_EXC_SUBCLASS);
}

namespace {

bool is_one_of(PyTypeObject* type, std::initializer_list<PyObject*> bases) {
  for (PyObject* base : bases)
    if (PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(base)))
      return true;
  return false;
}

}  // namespace

bool is_os_error(PyTypeObject* type) {
  return is_one_of(type, {PyExc_OSError});
}

bool has_own_fields(PyTypeObject* type, size_t arguments, bool has_keywords) {
  if (is_os_error(type)) return arguments > 1 || has_keywords;
  if (is_one_of(type, {PyExc_SyntaxError, PyExc_UnicodeDecodeError,
                       PyExc_UnicodeEncodeError, PyExc_UnicodeTranslateError}))
    return true;
  return has_keywords && is_one_of(type, {PyExc_AttributeError, PyExc_NameError,
                                          PyExc_ImportError});
}

namespace {

#define MG_COMMON \
  "args", "__cause__", "__context__", "__suppress_context__", "__traceback__"
constexpr const char* kPlain[] = {MG_COMMON};
constexpr const char* kOfName[] = {MG_COMMON, "name"};
constexpr const char* kOfAttribute[] = {MG_COMMON, "name", "obj"};
constexpr const char* kOfImport[] = {MG_COMMON, "name", "path", "msg"};
constexpr const char* kOfStop[] = {MG_COMMON, "value"};
constexpr const char* kOfExit[] = {MG_COMMON, "code"};
constexpr const char* kOfGroup[] = {MG_COMMON, "message", "exceptions"};
#undef MG_COMMON

struct OwnFields {
  PyObject* type;
  std::span<const char* const> names;
};

std::span<const OwnFields> own_fields() {
  static const OwnFields rows[] = {
      {PyExc_NameError, kOfName},     {PyExc_AttributeError, kOfAttribute},
      {PyExc_ImportError, kOfImport}, {PyExc_StopIteration, kOfStop},
      {PyExc_SystemExit, kOfExit},    {PyExc_BaseExceptionGroup, kOfGroup},
  };
  return rows;
}

// What the last of the own fields is told by the arguments; null: nothing.
V told_by_arguments(Context& ctx, PyTypeObject* type, std::span<const V> args) {
  if (is_one_of(type, {PyExc_StopIteration}))
    return args.empty() ? nullptr : args[0];
  if (is_one_of(type, {PyExc_ImportError}))
    return args.size() == 1 ? args[0] : nullptr;
  if (is_one_of(type, {PyExc_SystemExit}))
    return args.empty()       ? nullptr
           : args.size() == 1 ? args[0]
                              : ctx.tuple(args);
  return nullptr;
}

}  // namespace

std::span<const char* const> exception_slot_names(PyTypeObject* type) {
  for (const OwnFields& row : own_fields())
    if (is_one_of(type, {row.type})) return row.names;
  return kPlain;
}

V new_exception(Context& ctx, PyTypeObject* type, std::span<const V> args) {
  V made = ctx.object(type);
  auto& slots = ctx.heap.initial(made->heap).slots;
  slots.assign(exception_slot_names(type).size(), ctx.none());
  slots[kArgs] = ctx.tuple(args);
  slots[kSuppressContext] = ctx.boolean(false);
  return made;
}

void initialise_exception(Context& ctx, V exception, std::span<const V> args) {
  ctx.heap.set_slot(exception->heap, kArgs, ctx.tuple(args));
  if (V told = told_by_arguments(ctx, exception->type, args))
    ctx.heap.set_slot(exception->heap,
                      exception_slot_names(exception->type).size() - 1, told);
}

V make_exception(Context& ctx, PyTypeObject* type, std::span<const V> args) {
  V made = new_exception(ctx, type, args);
  if (V told = told_by_arguments(ctx, type, args))
    ctx.heap.initial(made->heap).slots.back() = told;
  return made;
}

Signal raise_about_name(Context& ctx, PyObject* type,
                        const std::string& message, PyObject* name, V object) {
  V text = ctx.string(message);
  V made =
      make_exception(ctx, reinterpret_cast<PyTypeObject*>(type), {&text, 1});
  auto& slots = ctx.heap.initial(made->heap).slots;
  slots[kOwnFields] = ctx.constant_share(name);
  if (object && slots.size() > kOwnFields + 1) slots[kOwnFields + 1] = object;
  return ctx.raise_value(made);
}

void say_what_is_missing(Context& ctx, V exception, V object, PyObject* name) {
  if (!is_one_of(exception->type, {PyExc_AttributeError})) return;
  const auto& slots = ctx.heap[exception->heap].slots;
  if (slots.empty() || slots[kOwnFields] != ctx.none() ||
      slots[kOwnFields + 1] != ctx.none())
    return;
  ctx.heap.set_slot(exception->heap, kOwnFields, ctx.constant_share(name));
  ctx.heap.set_slot(exception->heap, kOwnFields + 1, object);
}

V make_frame(Context& ctx, PyCodeObject* code, V globals, int64_t place) {
  V made = ctx.object(&PyFrame_Type);
  auto& slots = ctx.heap.initial(made->heap).slots;
  slots.assign(kFirstLocal + static_cast<size_t>(code->co_nlocalsplus),
               ctx.null());
  slots[kCode] = ctx.code_constant(reinterpret_cast<PyObject*>(code));
  slots[kGlobals] = globals;
  slots[kFrameUnit] = ctx.integer(0);
  slots[kPlace] = ctx.integer(place);
  slots[kBack] = ctx.none();
  return made;
}

void show_in_frame(Context& ctx, V frame, V unit, std::span<const V> locals) {
  ctx.heap.set_slot(frame->heap, kFrameUnit, unit);
  const size_t count = ctx.heap[frame->heap].slots.size() - kFirstLocal;
  for (size_t i = 0; i < count; ++i)
    ctx.heap.set_slot(frame->heap, kFirstLocal + i,
                      i < locals.size() ? locals[i] : ctx.null());
}

V make_traceback(Context& ctx, V next, V frame, int32_t unit) {
  V made = ctx.object(&PyTraceBack_Type);
  PyObject* code = ctx.heap[frame->heap].slots[kCode]->object;
  const int offset = python::byte_of(unit);
  ctx.heap.initial(made->heap).slots = {
      next, frame, ctx.integer(offset),
      ctx.integer(
          PyCode_Addr2Line(reinterpret_cast<PyCodeObject*>(code), offset))};
  return made;
}

namespace {

std::optional<size_t> slot_named(PyTypeObject* type, PyObject* name) {
  const std::span<const char* const> names = exception_slot_names(type);
  for (size_t i = 0; i < names.size(); ++i)
    if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) return i;
  return std::nullopt;
}

}  // namespace

V exception_field(Context& ctx, V exception, PyObject* name) {
  if (!is_exception_type(exception->type) || !exception->heap.valid())
    return nullptr;
  const auto& slots = ctx.heap[exception->heap].slots;
  if (slots.empty()) return nullptr;
  if (auto slot = slot_named(exception->type, name)) return slots[*slot];
  return nullptr;
}

bool is_made_exception(const Context& ctx, V exception) {
  return exception->heap.valid() && !ctx.heap[exception->heap].slots.empty();
}

namespace {

using guards::SourceKind;

SourceKind source_of_slot(size_t slot) {
  switch (slot) {
    case kArgs:
      return SourceKind::ExceptionArgs;
    case kCause:
      return SourceKind::ExceptionCause;
    case kContext:
      return SourceKind::ExceptionContext;
    case kTraceback:
      return SourceKind::ExceptionTraceback;
    case kMessage:
      return SourceKind::GroupMessage;
    case kExceptions:
      return SourceKind::GroupExceptions;
    default:
      MG_CHECK(false, "a field that is an object");
  }
}

}  // namespace

V exception_part(Context& ctx, V exception, size_t slot) {
  if (is_made_exception(ctx, exception))
    return ctx.look_open(ctx.heap[exception->heap].slots[slot]);
  MG_CHECK(exception->object, "an exception of the caller's");
  const SourceKind kind = source_of_slot(slot);
  const guards::Reading reading = guards::read_field(kind, exception->object);
  // What a pure function made belongs to nobody else: nothing to guard.
  if (!exception->source.valid())
    return reading.is_present() ? ctx.constant_share(reading.value())
                                : ctx.none();
  const SourceId source = ctx.sources.field(exception->source, kind);
  if (!reading.is_present()) {
    ctx.guards.absent(source);
    return ctx.none();
  }
  ctx.guards.present(source);
  return ctx.look_open(ctx.lazy(reading.value(), source));
}

bool has_dictionary(Context& ctx, V exception) {
  if (V mapping = attribute_mapping(ctx, exception))
    for (const DictEntry& entry : ctx.heap[mapping->heap].dict->entries)
      if (entry.value && (entry.written || !exception->object)) return true;
  if (!exception->object) return false;
  const SourceKind kind = SourceKind::InstanceDict;
  const bool is_present =
      guards::read_field(kind, exception->object).is_present();
  // What a pure function made belongs to nobody else: nothing to guard.
  if (exception->source.valid()) {
    const SourceId source = ctx.sources.field(exception->source, kind);
    is_present ? ctx.guards.present(source) : ctx.guards.absent(source);
  }
  return is_present;
}

size_t settable_fields(PyTypeObject* type) {
  return is_one_of(type, {PyExc_BaseExceptionGroup})
             ? static_cast<size_t>(kOwnFields)
             : exception_slot_names(type).size();
}

V exception_traceback(Context& ctx, V exception) {
  const auto& slots = ctx.heap[exception->heap].slots;
  return slots.empty() ? nullptr : slots[kTraceback];
}

Signal not_an_exception(Context& ctx, V type, const std::string& made_type) {
  if (!Py_IS_TYPE(type->object, &PyType_Type))
    return ctx.graph_break("native-call", "repr() of a class with a metaclass");
  Ref text = Ref::steal(PyUnicode_FromFormat(
      "calling %R should have returned an instance of BaseException, not %s",
      type->object, made_type.c_str()));
  if (!text) return ctx.raise_from_python();
  V message = ctx.constant(std::move(text));
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_TypeError), {&message, 1}));
}

bool set_exception_field(Context& ctx, V exception, PyObject* name, V value) {
  auto slot = slot_named(exception->type, name);
  if (!slot || ctx.heap[exception->heap].slots.empty()) return false;
  ctx.heap.set_slot(exception->heap, *slot, value);
  // `raise ... from` says that the context isn't of interest.
  if (*slot == kCause)
    ctx.heap.set_slot(exception->heap, kSuppressContext, ctx.boolean(true));
  return true;
}

namespace {

// Not through a __new__ or __init__ of the program's. Those that C code raises
// have fields of their own, which their constructor tells by the arguments.
std::optional<Construction> construct(Context& ctx, V exception) {
  const std::vector<V> slots = ctx.heap[exception->heap].slots;
  if (slots.empty()) return std::nullopt;
  if (is_group_type(exception->type)) {
    Ref make =
        Ref::steal(PyObject_GetAttrString(PyExc_BaseExceptionGroup, "__new__"));
    MG_CHECK(make, "every class has __new__");
    return Construction{
        ctx.constant(std::move(make)),
        {class_value(ctx, exception), slots[kMessage], slots[kExceptions]}};
  }
  std::vector<V> args;
  const Status unpacked = unpack(ctx, slots[kArgs], args);
  MG_CHECK(unpacked, "a tuple can be unpacked");
  if (!has_own_fields(exception->type, args.size(), false)) return std::nullopt;
  return Construction{class_value(ctx, exception), args};
}

void fill(Context& ctx, V exception, StepWriter& writer) {
  const std::vector<V>& slots = ctx.heap[exception->heap].slots;
  if (slots.empty()) return;
  const auto names = exception_slot_names(exception->type);
  const size_t count = settable_fields(exception->type);
  for (size_t i = 0; i < count; ++i) {
    Ref name = Ref::steal(PyUnicode_InternFromString(names[i]));
    writer.act(StepOp::SetAttribute,
               {exception, ctx.constant(std::move(name)), slots[i]});
  }
}

}  // namespace

std::span<const TypeRow> exception_types() {
  static const TypeRow rows[] = {
      {.type = reinterpret_cast<PyTypeObject*>(PyExc_BaseException),
       .derived = true,
       .construct = construct,
       .fill = fill},
  };
  return rows;
}

}  // namespace magneto::values
