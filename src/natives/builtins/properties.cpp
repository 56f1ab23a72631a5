// SPDX-License-Identifier: BSD-3-Clause
// property objects that somebody holds in the hand, and those that the program
// makes. Of the latter the slots are fget, fset, fdel and the text.
#include "natives/builtins/descriptor_get.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/mro_lookup.h"
#include "python/names.h"
#include "values/protocol/attributes.h"

namespace magneto::natives {

namespace {

enum Part : size_t { kGetter, kSetter, kDeleter, kDoc, kParts };

bool is_none(V value) {
  return value->is_constant() && value->object == Py_None;
}

V make_empty(Context& ctx, PyTypeObject* type) {
  V parts[] = {ctx.none(), ctx.none(), ctx.none(), ctx.none()};
  return ctx.iterator(type, parts, 0, Kind::Object);
}

// property.__init__(self, fget=None, fset=None, fdel=None, doc=None)
Outcome<V> initialise(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  if (self->object)
    return ctx.graph_break("native-call", "property.__init__ of the caller's",
                           "call it outside of the compiled function");
  PyObject* const names[] = {name<"fget">(), name<"fset">(), name<"fdel">(),
                             name<"doc">()};
  for (size_t part = 0; part < kParts; ++part) {
    V value = argument(args, part + 1, names[part]);
    ctx.heap.set_slot(self->heap, part, value ? value : ctx.none());
  }
  const auto slot = [&](Part part) { return ctx.heap[self->heap].slots[part]; };
  if (!is_none(ctx.look(slot(kDoc))) || is_none(ctx.look(slot(kGetter))))
    return ctx.none();
  // The getter's text is the property's, and an attribute of an instance of a
  // derived class.
  MG_TRY(V doc, find_attribute(ctx, slot(kGetter), name<"__doc__">()));
  if (!doc) return ctx.none();
  if (self->type == &PyProperty_Type)
    ctx.heap.set_slot(self->heap, kDoc, doc);
  else
    MG_DO(set_attribute(ctx, self, name<"__doc__">(), doc));
  return ctx.none();
}

Outcome<V> make(Context& ctx, const Arguments& args) {
  V made = make_empty(ctx, &PyProperty_Type);
  std::vector<V> positional(args.positional.begin(), args.positional.end());
  positional.insert(positional.begin(), made);
  MG_DO(initialise(ctx, {.positional = positional,
                         .keyword_values = args.keyword_values,
                         .keyword_names = args.keyword_names}));
  return made;
}

// property.__new__(cls, ...), for derived classes
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object))
    return ctx.graph_break("instantiate", "a property of an unknown class");
  return make_empty(ctx, reinterpret_cast<PyTypeObject*>(type->object));
}

template <Part part, Literal field>
Outcome<V> read(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  PyObject* real = guarded_object(ctx, self);
  if (!real) return ctx.heap[self->heap].slots[part];
  static PyObject* const member =
      python::mro_lookup(&PyProperty_Type, name<field>());
  Ref found = Ref::steal(Py_TYPE(member)->tp_descr_get(member, real, nullptr));
  MG_CHECK(found, "every property has one");
  return ctx.known(std::move(found));
}

// property.__get__(object, type=None)
Outcome<V> get(Context& ctx, const Arguments& args) {
  V self = ctx.look(args.positional[0]);
  V object = ctx.look(args.positional[1]);
  MG_TRY(bool has_none, has_no_object(ctx, args));
  if (has_none) return self;
  if (self->object)
    return values::bind_property(ctx, self->object, object, object->type,
                                 interned().dunder_get);
  V getter = ctx.heap[self->heap].slots[kGetter];
  if (is_none(ctx.look(getter)))
    return ctx.graph_break("descriptor", "a property without a getter");
  return call(ctx, getter, {object});
}

constexpr const char* kBuiltins = "builtins";
constexpr const char* kNames = "fget fset fdel doc";

constexpr Row kRows[] = {
    {kBuiltins, "property", make, 0, 4, kNames},
    {kBuiltins, "property.__new__", make_of_class, 1, kAny, "*"},
    {kBuiltins, "property.__init__", initialise, 1, 5, kNames},
    {kBuiltins, "property.fget", read<kGetter, "fget">, 1, 1, nullptr},
    {kBuiltins, "property.fset", read<kSetter, "fset">, 1, 1, nullptr},
    {kBuiltins, "property.fdel", read<kDeleter, "fdel">, 1, 1, nullptr},
    {kBuiltins, "property.__get__", get, 2, 3, nullptr},
};

}  // namespace

std::span<const Row> property_rows() { return kRows; }

}  // namespace magneto::natives
