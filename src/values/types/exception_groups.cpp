// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/exception_groups.h"

#include <algorithm>

#include "python/find.h"
#include "values/model/recursion.h"
#include "values/protocol/protocol.h"
#include "values/types/exceptions.h"

namespace magneto::values {

bool is_group_type(PyTypeObject* type) {
  return PyType_IsSubtype(
      type, reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup));
}

namespace {

PyTypeObject* exception_group() {
  static PyObject* const type = find_object("builtins.ExceptionGroup");
  MG_CHECK(type, "a builtin class");
  return reinterpret_cast<PyTypeObject*>(type);
}

// isinstance(value, Exception), which asks the value's __class__, too.
Outcome<bool> is_plain_exception(Context& ctx, V value) {
  if (PyType_IsSubtype(value->type,
                       reinterpret_cast<PyTypeObject*>(PyExc_Exception)))
    return true;
  static PyObject* const is_instance = original_builtin("isinstance");
  MG_TRY(V answer, call(ctx, ctx.constant_share(is_instance),
                        {value, ctx.constant_share(PyExc_Exception)}));
  return truth(ctx, answer);
}

// PySequence_Tuple
Outcome<V> as_tuple(Context& ctx, V sequence, std::vector<V>& items) {
  const bool is_tuple = sequence->type == &PyTuple_Type;
  if (is_tuple || sequence->type == &PyList_Type)
    MG_DO(unpack(ctx, sequence, items));
  else
    MG_DO(unpack_to_list(ctx, sequence, items));
  return is_tuple ? sequence : ctx.tuple(items);
}

// The class that the group is of.
Outcome<PyTypeObject*> class_of_group(Context& ctx, PyTypeObject* type,
                                      bool holds_others) {
  if (type == reinterpret_cast<PyTypeObject*>(PyExc_BaseExceptionGroup))
    return holds_others ? type : exception_group();
  if (!holds_others ||
      !PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_Exception)))
    return type;
  return ctx.raise(PyExc_TypeError,
                   type == exception_group()
                       ? "Cannot nest BaseExceptions in an ExceptionGroup"
                       : std::string("Cannot nest BaseExceptions in '") +
                             type->tp_name + "'");
}

}  // namespace

Outcome<V> new_group(Context& ctx, PyTypeObject* type,
                     std::span<const V> args) {
  if (args.size() != 2)
    return ctx.raise(PyExc_TypeError,
                     "BaseExceptionGroup.__new__() takes exactly 2 arguments "
                     "(" +
                         std::to_string(args.size()) + " given)");
  V message = ctx.look_open(args[0]);
  if (!is_instance_of(message, &PyUnicode_Type))
    return ctx.raise(
        PyExc_TypeError,
        std::string("BaseExceptionGroup.__new__() argument 1 must be str, "
                    "not ") +
            (message == ctx.none() ? "None" : message->type->tp_name));
  V sequence = ctx.look(args[1]);
  if (!is_sequence_type(ctx, sequence->type))
    return ctx.raise(PyExc_TypeError,
                     "second argument (exceptions) must be a sequence");
  std::vector<V> items;
  MG_TRY(V exceptions, as_tuple(ctx, sequence, items));
  if (items.empty())
    return ctx.raise(
        PyExc_ValueError,
        "second argument (exceptions) must be a non-empty sequence");
  bool holds_others = false;
  for (size_t i = 0; i < items.size(); ++i) {
    V item = ctx.look(items[i]);
    if (!is_exception_type(item->type))
      return ctx.raise(PyExc_ValueError,
                       "Item " + std::to_string(i) +
                           " of second argument (exceptions) is not an "
                           "exception");
    MG_TRY(bool is_plain, is_plain_exception(ctx, item));
    holds_others = holds_others || !is_plain;
  }
  MG_TRY(PyTypeObject * of, class_of_group(ctx, type, holds_others));
  V made = new_exception(ctx, of, args);
  auto& slots = ctx.heap.initial(made->heap).slots;
  slots[kMessage] = message;
  slots[kExceptions] = exceptions;
  return made;
}

Outcome<V> derive_group(Context& ctx, V group, V exceptions) {
  V message = exception_part(ctx, group, kMessage);
  return call(ctx, ctx.constant_share(PyExc_BaseExceptionGroup),
              {message, exceptions});
}

namespace {

PyObject* interned_name(const char* text) {
  return PyUnicode_InternFromString(text);
}

// Which exceptions a split is about: those of some classes, those that a
// function says, or some that are told by identity.
struct Matcher {
  std::vector<PyTypeObject*> types = {};
  V predicate = nullptr;
  std::span<const V> leaves = {};
};

bool is_exception_class(V value) {
  return value->is_constant() && PyType_Check(value->object) &&
         is_exception_type(reinterpret_cast<PyTypeObject*>(value->object));
}

Status read_matcher(Context& ctx, V value, Matcher& matcher) {
  value = ctx.look(value);
  if (value->type == &PyFunction_Type) {
    matcher.predicate = value;
    return done;
  }
  std::vector<V> classes{value};
  if (value->type == &PyTuple_Type) {
    classes.clear();
    MG_DO(unpack(ctx, value, classes));
  }
  for (V each : classes) {
    each = ctx.look(each);
    if (!is_exception_class(each))
      return ctx.raise(PyExc_TypeError,
                       "expected a function, exception type or tuple of "
                       "exception types");
    matcher.types.push_back(reinterpret_cast<PyTypeObject*>(each->object));
  }
  return done;
}

bool is_one_of(V exception, std::span<PyTypeObject* const> types) {
  return std::ranges::any_of(types, [exception](PyTypeObject* type) {
    return is_instance_of(exception, type);
  });
}

Outcome<bool> holds(Context& ctx, std::span<const V> leaves, V exception) {
  for (V leaf : leaves) {
    MG_TRY(bool same, identical(ctx, leaf, exception));
    if (same) return true;
  }
  return false;
}

Outcome<bool> matches(Context& ctx, V exception, const Matcher& matcher) {
  if (matcher.predicate) {
    MG_TRY(V answer, call(ctx, matcher.predicate, {exception}));
    return truth(ctx, answer);
  }
  if (is_one_of(exception, matcher.types)) return true;
  if (is_group_type(exception->type)) return false;
  return holds(ctx, matcher.leaves, exception);
}

Status parts_of(Context& ctx, V group, std::vector<V>& into) {
  return unpack(ctx, exception_part(ctx, group, kExceptions), into);
}

// A part keeps a list of notes of its own.
Status copy_notes(Context& ctx, V from, V to) {
  static PyObject* const name = interned_name("__notes__");
  MG_TRY(V notes, find_attribute(ctx, from, name));
  if (!notes) return done;
  notes = ctx.look(notes);
  if (!is_sequence_type(ctx, notes->type)) return done;
  std::vector<V> items;
  MG_DO(unpack_to_list(ctx, notes, items));
  return set_attribute(ctx, to, name, ctx.list(items));
}

// A group of some of the exceptions in `group`, with what else it says; None if
// there are no such.
Outcome<V> subset(Context& ctx, V group, std::span<const V> exceptions) {
  if (exceptions.empty()) return ctx.none();
  static PyObject* const derive = interned_name("derive");
  MG_TRY(V made, call_method(ctx, group, derive, {ctx.list(exceptions)}));
  made = ctx.look(made);
  if (!is_group_type(made->type))
    return ctx.raise(PyExc_TypeError,
                     "derive must return an instance of BaseExceptionGroup");
  if (!is_made_exception(ctx, made))
    return ctx.graph_break("c-attribute-write",
                           "derive() that gives a group made outside",
                           "make a new group in derive()");
  V traceback = exception_part(ctx, group, kTraceback);
  if (traceback != ctx.none())
    ctx.heap.set_slot(made->heap, kTraceback, traceback);
  for (size_t slot : {kContext, kCause})
    ctx.heap.set_slot(made->heap, slot, exception_part(ctx, group, slot));
  ctx.heap.set_slot(made->heap, kSuppressContext, ctx.boolean(true));
  MG_DO(copy_notes(ctx, group, made));
  return made;
}

Outcome<GroupParts> split(Context& ctx, V exception, const Matcher& matcher,
                          bool with_rest) {
  const RecursionScope scope;
  MG_DO(scope.check(ctx, " in exceptiongroup_split_recursive"));
  exception = ctx.look(exception);
  MG_TRY(bool is_match, matches(ctx, exception, matcher));
  if (is_match) return GroupParts{exception, ctx.none()};
  if (!is_group_type(exception->type))
    return GroupParts{ctx.none(), with_rest ? exception : ctx.none()};
  std::vector<V> items, matched, left;
  MG_DO(parts_of(ctx, exception, items));
  for (V item : items) {
    MG_TRY(GroupParts parts, split(ctx, item, matcher, with_rest));
    if (parts.match != ctx.none()) matched.push_back(parts.match);
    if (parts.rest != ctx.none()) left.push_back(parts.rest);
  }
  MG_TRY(V match, subset(ctx, exception, matched));
  MG_TRY(V rest, subset(ctx, exception, left));
  return GroupParts{match, rest};
}

}  // namespace

Outcome<GroupParts> split_group(Context& ctx, V group, V matcher,
                                bool with_rest) {
  Matcher known;
  MG_DO(read_matcher(ctx, matcher, known));
  return split(ctx, group, known, with_rest);
}

Outcome<GroupParts> match_star(Context& ctx, V exception, V type,
                               std::span<PyTypeObject* const> types) {
  exception = ctx.look(exception);
  if (exception == ctx.none()) return GroupParts{ctx.none(), ctx.none()};
  const bool is_group = is_group_type(exception->type);
  if (is_one_of(exception, types)) {
    if (is_group) return GroupParts{exception, ctx.none()};
    MG_TRY(V wrapped, call(ctx, ctx.constant_share(PyExc_BaseExceptionGroup),
                           {ctx.string(""), ctx.tuple({&exception, 1})}));
    return GroupParts{wrapped, ctx.none()};
  }
  if (!is_group) return GroupParts{ctx.none(), ctx.none()};
  static PyObject* const name = interned_name("split");
  MG_TRY(V pair, call_method(ctx, exception, name, {type}));
  pair = ctx.look(pair);
  std::vector<V> parts;
  if (pair->type == &PyTuple_Type) MG_DO(unpack(ctx, pair, parts));
  for (V& part : parts) part = ctx.look(part);
  // CPython doesn't look at what it gets.
  const bool fits = parts.size() == 2 && std::ranges::all_of(parts, [&](V it) {
                      return it == ctx.none() || is_exception_type(it->type);
                    });
  if (!fits)
    return ctx.graph_break("c-protocol",
                           "split() of an exception group that doesn't give "
                           "two exceptions");
  return GroupParts{parts[0], parts[1]};
}

namespace {

// Whether the exception was raised as the very group, or part of it, that was
// caught.
Outcome<bool> has_fields_of(Context& ctx, V exception, V original) {
  for (size_t slot : {kTraceback, kCause, kContext}) {
    MG_TRY(bool same, identical(ctx, exception_part(ctx, exception, slot),
                                exception_part(ctx, original, slot)));
    if (!same) return false;
  }
  return true;
}

Status collect_leaves(Context& ctx, V exception, std::vector<V>& into) {
  const RecursionScope scope;
  MG_DO(scope.check(ctx, " in collect_exception_group_leaf_ids"));
  exception = ctx.look(exception);
  if (!is_group_type(exception->type)) {
    into.push_back(exception);
    return done;
  }
  std::vector<V> items;
  MG_DO(parts_of(ctx, exception, items));
  for (V item : items) MG_DO(collect_leaves(ctx, item, into));
  return done;
}

}  // namespace

Outcome<V> exception_of_star(Context& ctx, V original,
                             std::span<const V> exceptions) {
  original = ctx.look(original);
  if (exceptions.empty()) return ctx.none();
  // One that was wrapped: one clause at most has run.
  if (!is_group_type(original->type)) return ctx.look(exceptions[0]);
  std::vector<V> raised, leaves;
  for (V each : exceptions) {
    each = ctx.look(each);
    if (each == ctx.none()) continue;
    MG_TRY(bool is_again, has_fields_of(ctx, each, original));
    if (is_again)
      MG_DO(collect_leaves(ctx, each, leaves));
    else
      raised.push_back(each);
  }
  MG_TRY(GroupParts again,
         split(ctx, original, {.leaves = leaves}, /*with_rest=*/false));
  if (raised.empty()) return again.match;
  if (again.match != ctx.none()) raised.push_back(again.match);
  if (raised.size() == 1) return raised[0];
  return call(ctx, ctx.constant_share(PyExc_BaseExceptionGroup),
              {ctx.string(""), ctx.list(raised)});
}

}  // namespace magneto::values
