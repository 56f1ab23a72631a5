// SPDX-License-Identifier: BSD-3-Clause
#include "natives/receiver_checks.h"

#include <string_view>

#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/types.h"
#include "values/protocol/attributes.h"
#include "values/protocol/operands.h"

namespace magneto::natives {

using values::V;

PyTypeObject* owner_of(PyObject* callable) {
  PyTypeObject* type = Py_TYPE(callable);
  if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type ||
      type == &PyGetSetDescr_Type || type == &PyMemberDescr_Type)
    return reinterpret_cast<PyDescrObject*>(callable)->d_type;
  return nullptr;
}

Outcome<bool> check_receiver(Context& ctx, PyObject* callable,
                             const Arguments& args) {
  PyTypeObject* owner = owner_of(callable);
  if (!owner) return true;
  const std::string name = values::attribute_name(
      reinterpret_cast<PyDescrObject*>(callable)->d_name);
  const bool is_slot = Py_IS_TYPE(callable, &PyWrapperDescr_Type);
  if (!args.count())
    return is_slot
               ? ctx.raise(PyExc_TypeError, "descriptor '" + name + "' of '" +
                                                owner->tp_name +
                                                "' object needs an argument")
               : ctx.raise(PyExc_TypeError, std::string("unbound method ") +
                                                python::short_name(owner) +
                                                "." + name +
                                                "() needs an argument");
  V receiver = ctx.look(args.positional[0]);
  if (PyType_IsSubtype(receiver->type, owner)) return true;
  if (is_slot)
    return ctx.raise(PyExc_TypeError, "descriptor '" + name + "' requires a '" +
                                          owner->tp_name +
                                          "' object but received a '" +
                                          receiver->type->tp_name + "'");
  MG_DO(values::expect_instance(ctx, callable, receiver));
  return true;
}

Status check_next(Context& ctx, const Arguments& args) {
  if (args.has_keywords())
    return ctx.raise(PyExc_TypeError,
                     "wrapper __next__() takes no keyword arguments");
  const size_t more = args.count() - 1;
  if (!more) return done;
  return ctx.raise(PyExc_TypeError,
                   "expected 0 arguments, got " + std::to_string(more));
}

Status check_ordered(Context& ctx, PyObject* callable, const Arguments& args) {
  if (owner_of(callable) != &PyDict_Type) return done;
  V receiver = ctx.look(args.positional[0]);
  PyObject* name = reinterpret_cast<PyDescrObject*>(callable)->d_name;
  if (!values::is_instance_of(receiver, &PyODict_Type) ||
      python::mro_lookup(&PyODict_Type, name) == callable)
    return done;
  return ctx.graph_break("native-call",
                         "dict." + values::attribute_name(name) +
                             "() of an OrderedDict, which has its own",
                         "use that of the OrderedDict");
}

namespace {

// The first of the classes that `type` inherits from, or itself, that has no
// __new__ written in Python.
PyTypeObject* made_by(PyTypeObject* type) {
  static const newfunc in_python = [] {
    PyObject* has_own = find_object("abc.ABCMeta");
    MG_CHECK(has_own, "a class with a __new__ in Python");
    return reinterpret_cast<PyTypeObject*>(has_own)->tp_new;
  }();
  while (type->tp_base && type->tp_new == in_python) type = type->tp_base;
  return type;
}

}  // namespace

Status check_new(Context& ctx, PyObject* callable, const Arguments& args) {
  PyObject* self =
      PyCFunction_Check(callable) ? PyCFunction_GET_SELF(callable) : nullptr;
  if (!self || !PyType_Check(self) ||
      std::string_view(
          reinterpret_cast<PyCFunctionObject*>(callable)->m_ml->ml_name) !=
          "__new__")
    return done;
  auto* base = reinterpret_cast<PyTypeObject*>(self);
  const std::string call = std::string(base->tp_name) + ".__new__(";
  if (!args.count())
    return ctx.raise(PyExc_TypeError, call + "): not enough arguments");
  V value = ctx.look(args.positional[0]);
  if (!value->is_constant() || !PyType_Check(value->object))
    return ctx.raise(PyExc_TypeError, call + "X): X is not a type object (" +
                                          value->type->tp_name + ")");
  auto* type = reinterpret_cast<PyTypeObject*>(value->object);
  if (!PyType_IsSubtype(type, base))
    return ctx.raise(PyExc_TypeError,
                     call + type->tp_name + "): " + type->tp_name +
                         " is not a subtype of " + base->tp_name);
  if (made_by(type)->tp_new != base->tp_new)
    return ctx.raise(PyExc_TypeError,
                     call + type->tp_name + ") is not safe, use " +
                         made_by(type)->tp_name + ".__new__()");
  return done;
}

}  // namespace magneto::natives
