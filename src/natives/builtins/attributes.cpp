// SPDX-License-Identifier: BSD-3-Clause
// Builtins that look at objects from outside: attributes, classes, identity,
// namespaces.
#include <cmath>

#include "natives/builtins/instances.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/key_token.h"
#include "python/names.h"
#include "tensor/fake_tensor.h"
#include "values/model/identity.h"
#include "values/protocol/hashing.h"
#include "values/torch/torch_types.h"
#include "values/types/definitions.h"

namespace magneto::natives {

namespace {

// -- attributes ---------------------------------------------------------------

Outcome<V> get(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  if (args.count() == 2) return get_attribute(ctx, args.positional[0], key);
  MG_TRY(V found, find_attribute(ctx, args.positional[0], key));
  return found ? found : args.positional[2];
}

Outcome<V> has(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  MG_TRY(V found, find_attribute(ctx, args.positional[0], key));
  return ctx.boolean(found != nullptr);
}

Outcome<V> set(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  MG_DO(set_attribute(ctx, args.positional[0], key, args.positional[2]));
  return ctx.none();
}

Outcome<V> remove(Context& ctx, const Arguments& args) {
  MG_TRY(PyObject * key, attribute_name(ctx, args.positional[1]));
  MG_DO(delete_attribute(ctx, args.positional[0], key));
  return ctx.none();
}

// -- namespaces ---------------------------------------------------------------

// One dict for the frame, brought up to date by each call.
Outcome<V> local_namespace(Context& ctx) {
  V& known = ctx.inliner->current_namespace();
  V made = known ? known : ctx.dict();
  for (auto [name, value] : ctx.inliner->current_locals()) {
    V key = ctx.constant_share(name);
    if (value) {
      MG_DO(dict_set(ctx, made, key, value));
    } else if (known) {
      MG_TRY(V dropped, dict_pop(ctx, made, key));
      (void)dropped;
    }
  }
  known = made;
  return made;
}

Outcome<V> locals(Context& ctx, const Arguments&) {
  return local_namespace(ctx);
}

Outcome<V> globals(Context& ctx, const Arguments&) {
  PyObject* namespace_dict = ctx.inliner->current_globals();
  return ctx.known(namespace_dict);
}

Outcome<V> vars(Context& ctx, const Arguments& args) {
  if (!args.count()) return local_namespace(ctx);
  MG_TRY(V mapping,
         find_attribute(ctx, args.positional[0], interned().dunder_dict));
  if (mapping) return mapping;
  return ctx.raise(PyExc_TypeError,
                   "vars() argument must have __dict__ attribute");
}

// dir() of an object: what the class has, and what the object has.
Outcome<V> dir(Context& ctx, const Arguments& args) {
  if (!args.count()) {
    MG_TRY(V made, local_namespace(ctx));
    std::vector<V> keys;
    MG_DO(unpack(ctx, made, keys));
    return call(ctx,
                ctx.constant_share(PyDict_GetItemString(builtins(), "sorted")),
                {ctx.list(keys)});
  }
  V value = ctx.look(args.positional[0]);
  if (value->is_constant() &&
      (is_safe(value->object) ||
       (PyType_Check(value->object) &&
        Py_TYPE(value->object)->tp_getattro == PyType_Type.tp_getattro))) {
    if (PyType_Check(value->object))
      MG_DO(values::rely_on_class(
          ctx, reinterpret_cast<PyTypeObject*>(value->object)));
    Ref names = Ref::steal(PyObject_Dir(value->object));
    if (!names) return ctx.raise_from_python();
    return from_constant(ctx, std::move(names));
  }
  return ctx.graph_break("native-call",
                         std::string("dir() of a ") + value->type->tp_name,
                         "call it outside of the compiled function");
}

// -- classes ------------------------------------------------------------------

Outcome<V> class_of(Context& ctx, const Arguments& args) {
  if (args.count() == 1) {
    if (args.has_keywords())
      return ctx.raise(PyExc_TypeError, "type() takes no keyword arguments");
    auto* type =
        reinterpret_cast<PyObject*>(ctx.look_open(args.positional[0])->type);
    return ctx.known(type);
  }
  if (args.count() == 2)
    return ctx.raise(PyExc_TypeError, "type() takes 1 or 3 arguments");
  return ctx.graph_break("native-call", "a class made while tracing",
                         "define classes outside of the compiled function");
}

Outcome<V> make_super(Context& ctx, const Arguments& args) {
  V type = nullptr, self = nullptr;
  if (!args.count()) {
    if (const char* error = ctx.inliner->super_arguments(&type, &self))
      return ctx.raise(PyExc_RuntimeError, error);
  } else {
    type = args.positional[0];
    self = args.count() > 1 ? args.positional[1] : nullptr;
  }
  type = ctx.look(type);
  if (!type->is_constant() || !PyType_Check(type->object))
    return ctx.raise(PyExc_TypeError,
                     std::string("super() argument 1 must be a type, not ") +
                         type->type->tp_name);
  if (!self)
    return ctx.graph_break("native-call", "super() without an instance",
                           "call super() or super(Class, self)");
  auto* start = reinterpret_cast<PyTypeObject*>(type->object);
  // Of what the graph breaks at, the class is enough: no other frame than the
  // program's knows what super() means in it.
  if (self->kind == Kind::Lazy && PyType_IsSubtype(self->type, start) &&
      tensor::is_tensor(self->object)) {
    ctx.guards.type_is(self->source, self->type);
    return ctx.super(type, self);
  }
  self = ctx.look(self);
  if (self->is_constant() && self->object == Py_None)
    return ctx.super(type, self);
  const bool of_class =
      self->is_constant() && PyType_Check(self->object) &&
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(self->object), start);
  if (!of_class && !PyType_IsSubtype(self->type, start)) {
    MG_TRY(bool pretends, pretends_to_be(ctx, self, start));
    if (pretends)
      return ctx.graph_break("native-call",
                             "super() of what says that it has another class",
                             "call super() of its class");
    return ctx.raise(
        PyExc_TypeError,
        "super(type, obj): obj must be an instance or subtype of type");
  }
  return ctx.super(type, self);
}

Outcome<V> is_callable(Context& ctx, const Arguments& args) {
  V value = ctx.look_function(args.positional[0]);
  switch (value->kind) {
    case Kind::Function:
    case Kind::BoundMethod:
      return ctx.boolean(true);
    default:
      break;
  }
  if (value->type->tp_flags & Py_TPFLAGS_HEAPTYPE)
    return ctx.boolean(type_lookup(ctx, value->type, interned().dunder_call) !=
                       nullptr);
  return ctx.boolean(value->type->tp_call != nullptr);
}

// -- identity -----------------------------------------------------------------

Outcome<V> identity(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[0]);
  if (V address = values::address_of(ctx, value)) return address;
  return ctx.graph_break(
      "native-call",
      std::string("id() of a ") + value->type->tp_name + " made while tracing",
      "compare with `is` instead");
}

// Hashed by its address.
bool is_nan(PyObject* object) {
  return PyFloat_Check(object) && std::isnan(PyFloat_AS_DOUBLE(object));
}

// Whether the hash is that of the object that a token stands for.
bool has_true_hash(PyObject* token) {
  if (PyTuple_CheckExact(token)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(token); ++i)
      if (!has_true_hash(PyTuple_GET_ITEM(token, i))) return false;
    return true;
  }
  return is_safe(token) ||
         (!PyFrozenSet_Check(token) && python::holds_key_token(token));
}

Outcome<V> hash(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[0]);
  PyObject* real = safe_object(ctx, value);
  if (!real) {
    MG_TRY(V own, hash_by_own_method(ctx, value));
    if (own) return own;
  }
  if (real || value->kind == Kind::List || value->kind == Kind::Dict ||
      value->kind == Kind::Set || value->kind == Kind::Tuple ||
      value->kind == Kind::Slice) {
    // Also says that lists and the like can't be hashed.
    MG_TRY(PyObject * token, key_token(ctx, value));
    // What stands for an object of the trace's has another hash.
    if (!has_true_hash(token) || (is_nan(token) && token != value->object))
      return ctx.graph_break("native-call",
                             std::string("hash() of a ") + value->type->tp_name,
                             "hash it outside of the compiled function");
    Py_hash_t result = PyObject_Hash(token);
    if (result == -1) return ctx.raise_from_python();
    return ctx.integer(result);
  }
  MG_DO(values::check_hashable(ctx, value->type));
  if (value->is_constant() && inherits_plain_key(value->type) &&
      !(is_nan(value->object) && value->heap.valid()))
    return ctx.integer(PyObject_Hash(value->object));
  // By identity.
  if (value->object && value->type->tp_hash == PyBaseObject_Type.tp_hash &&
      (value->source.valid() || value->is_constant())) {
    if (value->source.valid())
      ctx.guards.identity(value->source, value->object);
    return ctx.integer(PyObject_Hash(value->object));
  }
  return ctx.graph_break("native-call",
                         std::string("hash() of a ") + value->type->tp_name,
                         "hash it outside of the compiled function");
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "getattr", get, 2, 3, nullptr},
    {kBuiltins, "hasattr", has, 2, 2, nullptr},
    {kBuiltins, "setattr", set, 3, 3, nullptr},
    {kBuiltins, "delattr", remove, 2, 2, nullptr},
    {kBuiltins, "locals", locals, 0, 0, nullptr},
    {kBuiltins, "globals", globals, 0, 0, nullptr},
    {kBuiltins, "vars", vars, 0, 1, nullptr},
    {kBuiltins, "dir", dir, 0, 1, nullptr},
    {kBuiltins, "type", class_of, 1, 3, "*"},
    {kBuiltins, "super", make_super, 0, 2, nullptr},
    {kBuiltins, "callable", is_callable, 1, 1, nullptr},
    {kBuiltins, "id", identity, 1, 1, nullptr},
    {kBuiltins, "hash", hash, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> attribute_rows() { return kRows; }

}  // namespace magneto::natives
