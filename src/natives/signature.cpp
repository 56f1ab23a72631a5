// SPDX-License-Identifier: BSD-3-Clause
#include "natives/signature.h"

#include <string_view>

#include "natives/pure.h"
#include "python/bind.h"
#include "python/names.h"

namespace magneto::natives {

namespace {

constexpr std::string_view kByPosition = "/ ";

bool is_listed(const char* keywords, PyObject* keyword) {
  if (keywords == nullptr) return false;
  std::string_view list = keywords;
  if (list.starts_with(kByPosition)) list.remove_prefix(kByPosition.size());
  if (list == "*") return true;
  const char* chars = PyUnicode_AsUTF8(keyword);
  if (!chars) {
    PyErr_Clear();
    return false;
  }
  std::string_view wanted = chars;
  for (size_t at = 0; at < list.size();) {
    size_t end = std::min(list.find(' ', at), list.size());
    if (list.substr(at, end - at) == wanted) return true;
    at = end + 1;
  }
  return false;
}

// CPython's own words: the call is made with nothing but None, which its
// argument parser refuses before anything happens.
Signal wrong_call(Context& ctx, PyObject* callable, const Arguments& args) {
  std::vector<PyObject*> real(args.count() + args.keyword_names.size(),
                              Py_None);
  Ref receiver;
  // What a class has of its metaclass is called bound, and named after it.
  V self = args.count() ? ctx.look(args.positional[0]) : nullptr;
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) &&
      PyType_IsSubtype(PyDescr_TYPE(callable), &PyType_Type) && self &&
      self->object && PyType_Check(self->object) &&
      is_instance_of(self, &PyType_Type)) {
    receiver = python::bind_in_c(callable, self->object);
    return receiver ? wrong_call(ctx, receiver, without(args, 1))
                    : ctx.raise_from_python();
  }
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) ||
      Py_IS_TYPE(callable, &PyWrapperDescr_Type)) {
    receiver = Ref::steal(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(
        reinterpret_cast<PyDescrObject*>(callable)->d_type)));
    if (!receiver) {
      PyErr_Clear();
      return ctx.graph_break("native-call", "a call with wrong arguments");
    }
    real[0] = receiver;
  }
  if (Py_IS_TYPE(callable, &PyClassMethodDescr_Type) && !real.empty())
    real[0] = reinterpret_cast<PyObject*>(
        reinterpret_cast<PyDescrObject*>(callable)->d_type);
  Ref names = names_of(args);
  Ref result = Ref::steal(
      PyObject_Vectorcall(callable, real.data(), args.count(), names));
  if (result) return ctx.graph_break("native-call", "a call in another form");
  if (args.is_bound) name_after_receiver(callable, self->type);
  if (Py_IS_TYPE(callable, &PyClassMethodDescr_Type) && self && self->object &&
      PyType_Check(self->object))
    name_after_receiver(callable,
                        reinterpret_cast<PyTypeObject*>(self->object));
  return ctx.raise_from_python();
}

}  // namespace

Status check_signature(Context& ctx, const Row& row, PyObject* callable,
                       const Arguments& args) {
  const auto count = static_cast<ptrdiff_t>(args.count());
  // A polyfill has its own names.
  const char* keywords = row.meaning == Meaning::Polyfill ? "*" : row.text;
  bool fits = row.most == kAny || count <= row.most;
  if (count < row.least)
    // The missing ones may be given by name.
    fits = fits && args.has_keywords() && keywords != nullptr &&
           !std::string_view(keywords).starts_with(kByPosition);
  for (PyObject* keyword : args.keyword_names)
    fits = fits && is_listed(keywords, keyword);
  if (fits) [[likely]]
    return done;
  return wrong_call(ctx, callable, args);
}

Outcome<PyObject*> attribute_name(Context& ctx, V value, const char* message) {
  value = ctx.look(value);
  if (!value->is_constant() || !PyUnicode_Check(value->object))
    return ctx.raise(PyExc_TypeError,
                     message ? std::string(message)
                             : std::string("attribute name must be string, "
                                           "not '") +
                                   value->type->tp_name + "'");
  if (!PyUnicode_CheckExact(value->object))
    return ctx.graph_break(
        "dict-key",
        std::string("an attribute's name of type ") + value->type->tp_name,
        "use a plain str");
  if (PyUnicode_CHECK_INTERNED(value->object)) return value->object;
  Ref interned_name = Ref::share(value->object);
  PyUnicode_InternInPlace(interned_name.slot());
  return ctx.keep(std::move(interned_name));
}

namespace {

// What has an __index__, for C to ask.
Outcome<PyObject*> with_index(Context& ctx, V value) {
  value = ctx.look(value);
  if (value->kind == Kind::Tensor)
    return ctx.graph_break("data-dependent",
                           "a tensor in the place of an integer",
                           "pass a Python integer");
  MG_TRY(V number, values::own_position(ctx, value));
  if (number) return number->object;
  if (value->is_constant() && PyIndex_Check(value->object))
    return value->object;
  MG_TRY(number, values::as_index(ctx, value));
  return number->object;
}

}  // namespace

Outcome<Py_ssize_t> index_argument(Context& ctx, V value) {
  MG_TRY(PyObject * real, with_index(ctx, value));
  Ref number = Ref::steal(PyNumber_Index(real));
  if (!number) return ctx.raise_from_python();
  const Py_ssize_t size = PyLong_AsSsize_t(number);
  if (size == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  return size;
}

Outcome<Py_ssize_t> slot_index(Context& ctx, V value) {
  MG_TRY(PyObject * real, with_index(ctx, value));
  const Py_ssize_t size = PyNumber_AsSsize_t(real, PyExc_OverflowError);
  if (size == -1 && PyErr_Occurred()) return ctx.raise_from_python();
  return size;
}

V callable_argument(Context& ctx, V value) {
  value = ctx.look_function(value);
  return value == ctx.none() ? nullptr : value;
}

Status check_iterable_argument(Context& ctx, const Arguments& args,
                               const char* name, bool takes_keywords) {
  if (args.has_keywords() && !takes_keywords)
    return ctx.raise(PyExc_TypeError,
                     std::string(name) + "() takes no keyword arguments");
  if (args.count() > 2)
    return ctx.raise(PyExc_TypeError, std::string(name) +
                                          " expected at most 1 argument, got " +
                                          std::to_string(args.count() - 1));
  return done;
}

Outcome<V> operator_index(Context& ctx, V value) {
  value = ctx.look(value);
  if (value->is_constant() && PyLong_Check(value->object)) {
    Ref number = Ref::steal(PyNumber_Index(value->object));
    if (!number) return ctx.raise_from_python();
    return ctx.constant(std::move(number));
  }
  return value->kind == Kind::Tensor
             ? values::call_method(ctx, value, interned().dunder_index, {})
             : values::as_index(ctx, value);
}

}  // namespace magneto::natives
