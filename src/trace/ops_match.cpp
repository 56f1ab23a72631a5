// SPDX-License-Identifier: BSD-3-Clause
// Structural pattern matching.
#include "python/find.h"
#include "python/names.h"
#include "python/types.h"
#include "trace/handlers.h"

namespace magneto::trace {

Outcome<Next> op_GetLen(Interpreter& in, Frame& frame, Instruction) {
  MG_TRY(V count, values::length(in.ctx, frame.top()));
  frame.push(count);
  return Next::Continue;
}

namespace {

template <unsigned long flag, bool is_set>
bool still_matches(std::span<PyObject* const> classes) noexcept {
  const auto* type = reinterpret_cast<PyTypeObject*>(classes[0]);
  return ((type->tp_flags & flag) != 0) == is_set;
}

template <unsigned long flag>
Outcome<Next> match_flag(Interpreter& in, Frame& frame, const char* pattern) {
  PyTypeObject* type = in.ctx.look(frame.top())->type;
  const bool matches = type->tp_flags & flag;
  // Registering a class with collections.abc.Sequence or Mapping changes it.
  if (!(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)) {
    PyObject* const classes[] = {reinterpret_cast<PyObject*>(type)};
    in.ctx.guards.class_fact(std::make_shared<guards::ClassFact>(
        matches ? still_matches<flag, true> : still_matches<flag, false>,
        classes,
        std::string(type->tp_name) + (matches ? " is " : " isn't ") +
            "matched by patterns of a " + pattern));
  }
  frame.push(in.ctx.boolean(matches));
  return Next::Continue;
}

}  // namespace

Outcome<Next> op_MatchMapping(Interpreter& in, Frame& frame, Instruction) {
  return match_flag<Py_TPFLAGS_MAPPING>(in, frame, "mapping");
}

Outcome<Next> op_MatchSequence(Interpreter& in, Frame& frame, Instruction) {
  return match_flag<Py_TPFLAGS_SEQUENCE>(in, frame, "sequence");
}

Outcome<Next> op_MatchKeys(Interpreter& in, Frame& frame, Instruction) {
  Context& ctx = in.ctx;
  V subject = ctx.look(frame.top(2));
  std::vector<V> keys, found;
  MG_DO(values::unpack(ctx, frame.top(1), keys));
  // What a class of the program's has, its get() says.
  const bool is_plain = subject->kind == Kind::Dict &&
                        !(subject->type->tp_flags & Py_TPFLAGS_HEAPTYPE);
  V get = nullptr, missing = nullptr;
  if (!is_plain && !keys.empty()) {
    static PyObject* const name = PyUnicode_InternFromString("get");
    MG_TRY(get, values::get_attribute(ctx, subject, name));
    missing = ctx.object(&PyBaseObject_Type);
  }
  for (V key : keys) {
    V value = nullptr;
    if (is_plain) {
      MG_TRY(value, values::dict_get(ctx, subject, key));
    } else {
      MG_TRY(value, values::call(ctx, get, {key, missing}));
    }
    if (!value || value == missing) {
      frame.push(ctx.none());
      return Next::Continue;
    }
    found.push_back(value);
  }
  frame.push(ctx.tuple(found));
  return Next::Continue;
}

namespace {

// A class pattern looks at each attribute once.
Status not_again(Context& ctx, PyTypeObject* type, PyObject* name,
                 std::vector<PyObject*>& seen) {
  for (PyObject* earlier : seen) {
    if (PyUnicode_Compare(earlier, name) != 0) continue;
    const char* chars = PyUnicode_AsUTF8(name);
    return ctx.raise(PyExc_TypeError,
                     std::string(python::short_name(type)) +
                         "() got multiple sub-patterns for attribute '" +
                         (chars ? chars : "?") + "'");
  }
  seen.push_back(name);
  return done;
}

}  // namespace

Outcome<Next> op_MatchClass(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  V subject = ctx.look(frame.top(3));
  V type_value = ctx.look(frame.top(2));
  if (!type_value->is_constant() || !PyType_Check(type_value->object))
    return ctx.raise(PyExc_TypeError, "called match pattern must be a class");
  auto* type = reinterpret_cast<PyTypeObject*>(type_value->object);
  static PyObject* const is_instance = original_builtin("isinstance");
  MG_TRY(V answer, values::call(ctx, ctx.constant_share(is_instance),
                                {subject, type_value}));
  MG_TRY(bool matches, values::truth(ctx, answer));
  if (!matches) {
    frame.replace(3, ctx.none());
    return Next::Continue;
  }
  std::vector<V> found;
  std::vector<PyObject*> seen;
  const auto positional = static_cast<size_t>(ins.arg);
  if (positional) {
    static PyObject* const match_args =
        PyUnicode_InternFromString("__match_args__");
    MG_TRY(V names, values::find_attribute(ctx, type_value, match_args));
    std::vector<V> listed;
    if (names) {
      names = ctx.look(names);
      if (!PyType_IsSubtype(names->type, &PyTuple_Type))
        return ctx.raise(PyExc_TypeError,
                         std::string(python::short_name(type)) +
                             ".__match_args__ must be a tuple (got " +
                             names->type->tp_name + ")");
      MG_DO(values::unpack(ctx, names, listed));
    }
    const bool matches_self = !names && python::matches_itself(type);
    const size_t most = matches_self ? 1 : listed.size();
    if (most < positional)
      return ctx.raise(PyExc_TypeError,
                       std::string(python::short_name(type)) + "() accepts " +
                           std::to_string(most) + " positional sub-pattern" +
                           (most == 1 ? "" : "s") + " (" +
                           std::to_string(positional) + " given)");
    if (matches_self) found.push_back(subject);
    for (size_t i = 0; found.size() < positional; ++i) {
      V name = ctx.look(listed[i]);
      if (!name->is_constant() || !PyUnicode_CheckExact(name->object))
        return ctx.raise(
            PyExc_TypeError,
            std::string("__match_args__ elements must be strings (got ") +
                name->type->tp_name + ")");
      MG_DO(not_again(ctx, type, name->object, seen));
      MG_TRY(V value, values::find_attribute(ctx, subject, name->object));
      if (!value) {
        frame.replace(3, ctx.none());
        return Next::Continue;
      }
      found.push_back(value);
    }
  }
  std::vector<V> keywords;
  MG_DO(values::unpack(ctx, frame.top(1), keywords));
  for (V name : keywords) {
    MG_DO(not_again(ctx, type, ctx.look(name)->object, seen));
    MG_TRY(V value,
           values::find_attribute(ctx, subject, ctx.look(name)->object));
    if (!value) {
      frame.replace(3, ctx.none());
      return Next::Continue;
    }
    found.push_back(value);
  }
  frame.replace(3, ctx.tuple(found));
  return Next::Continue;
}

}  // namespace magneto::trace
