// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/aliases.h"

#include "guards/guard.h"
#include "python/find.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "python/ownership.h"
#include "python/types.h"
#include "values/protocol/protocol.h"
#include "values/torch/torch_types.h"
#include "values/types/made_classes.h"

namespace magneto::values {

namespace {

bool is_union(PyObject* object) {
  return Py_IS_TYPE(object, torch_types().union_type);
}

Ref part(PyObject* alias, const char* name) {
  Ref found = Ref::steal(PyObject_GetAttrString(alias, name));
  MG_CHECK(found, "an attribute of every alias");
  return found;
}

// The parts of a union are put together with `|`, which a metaclass may define.
bool has_plain_or(PyObject* object) {
  static PyObject* const name = PyUnicode_InternFromString("__or__");
  return !PyType_Check(object) || python::mro_lookup(Py_TYPE(object), name) ==
                                      python::mro_lookup(&PyType_Type, name);
}

// Type variables and what else `typing` makes: programs refer to it weakly.
bool is_of_typing(PyObject* object) {
  return PyType_IsSubtype(Py_TYPE(object), torch_types().typing_final) &&
         PyType_SUPPORTS_WEAKREFS(Py_TYPE(object));
}

bool can_be_made(const Context& ctx, PyObject* alias);

bool can_be_part(const Context& ctx, PyObject* object) {
  if (is_alias(object))
    return ctx.is_made_alias(object)
               ? can_be_made(ctx, object)
               : PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)) != 0;
  return PyType_Check(object) || guards::is_constant(object) ||
         is_of_typing(object);
}

bool can_be_made(const Context& ctx, PyObject* alias) {
  const Ref args = part(alias, "__args__");
  const bool of_union = is_union(alias);
  if (!of_union) {
    // `*tuple[int]`, and what has a dictionary of its own.
    const Ref origin = part(alias, "__origin__");
    const Ref is_unpacked = part(alias, "__unpacked__");
    if (Py_TYPE(alias)->tp_dictoffset != 0 || is_unpacked.get() == Py_True ||
        !can_be_part(ctx, origin))
      return false;
  }
  if (!PyTuple_CheckExact(args.get())) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i) {
    PyObject* each = PyTuple_GET_ITEM(args.get(), i);
    if (!can_be_part(ctx, each) || (of_union && !has_plain_or(each)))
      return false;
  }
  return true;
}

V union_maker(Context& ctx) {
  Ref module = import_module("magneto.construct");
  Ref made =
      Ref::steal(module ? PyObject_GetAttrString(module, "union") : nullptr);
  MG_CHECK(made, "a function that is there");
  return ctx.constant(std::move(made));
}

V part_value(Context& ctx, PyObject* object) {
  const bool is_own = PyType_Check(object) || guards::is_constant(object) ||
                      ctx.is_made_alias(object);
  return is_own ? ctx.constant_share(object) : ctx.known(object);
}

// An operation may have made others inside of the one that it gave.
void remember(Context& ctx, PyObject* alias) {
  ctx.remember_alias(alias);
  const Ref args = part(alias, "__args__");
  if (!PyTuple_CheckExact(args.get())) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i) {
    PyObject* each = PyTuple_GET_ITEM(args.get(), i);
    if (is_alias(each) && python::is_held_only_here(each)) remember(ctx, each);
  }
}

}  // namespace

bool is_alias(PyObject* object) {
  return PyObject_TypeCheck(object, &Py_GenericAliasType) || is_union(object);
}

Outcome<V> alias_value(Context& ctx, Ref alias) {
  PyObject* object = alias.get();
  if (ctx.is_made_alias(object)) return ctx.constant(std::move(alias));
  if (!python::is_held_only_here(object)) return ctx.known(std::move(alias));
  remember(ctx, object);
  ctx.keep(alias.share());
  if (can_be_made(ctx, object)) return ctx.constant(std::move(alias));
  return ctx.graph_break("native-call",
                         std::string("a ") +
                             python::short_name(Py_TYPE(object)) +
                             " made while tracing",
                         "make it outside of the compiled function");
}

Outcome<V> call_alias(Context& ctx, V alias, const Arguments& args) {
  const Ref origin = part(alias->object, "__origin__");
  MG_TRY(V made, call(ctx, part_value(ctx, origin), args));
  Status told = set_attribute(ctx, made, interned().dunder_orig_class, alias);
  if (told || told.signal() != Signal::Raised) {
    MG_DO(told);
    return made;
  }
  // Few objects can.
  V exception = ctx.take_exception();
  const auto is_a = [&](PyObject* type) {
    return PyType_IsSubtype(exception->type,
                            reinterpret_cast<PyTypeObject*>(type));
  };
  if (is_a(PyExc_AttributeError) || is_a(PyExc_TypeError)) return made;
  return ctx.raise_value(exception);
}

std::optional<Construction> alias_construction(Context& ctx, PyObject* object) {
  if (!ctx.is_made_alias(object)) return std::nullopt;
  if (PyType_Check(object)) return class_construction(ctx, object);
  const Ref args = part(object, "__args__");
  std::vector<V> parts;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args.get()); ++i)
    parts.push_back(part_value(ctx, PyTuple_GET_ITEM(args.get(), i)));
  if (is_union(object)) return Construction{union_maker(ctx), parts};
  Ref maker = Ref::steal(PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(&Py_GenericAliasType), "__new__"));
  MG_CHECK(maker, "every class has __new__");
  const Ref origin = part(object, "__origin__");
  return Construction{
      ctx.constant(std::move(maker)),
      {ctx.constant_share(reinterpret_cast<PyObject*>(Py_TYPE(object))),
       part_value(ctx, origin), ctx.tuple(parts)}};
}

}  // namespace magneto::values
