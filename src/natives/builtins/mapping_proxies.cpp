// SPDX-License-Identifier: BSD-3-Clause
// What is asked of a types.MappingProxyType the mapping answers that it shows.
#include <opcode.h>

#include "natives/builtins/text.h"
#include "natives/signature.h"
#include "python/names.h"
#include "python/types.h"

namespace magneto::natives {

namespace {

// slots[0] of its state; null for a class's namespace, which is a constant.
V mapping_of(Context& ctx, V proxy) {
  proxy = ctx.look(proxy);
  return proxy->heap.valid() ? ctx.heap[proxy->heap].slots[0] : nullptr;
}

// Who answers for it: the mapping, or the namespace itself.
V answering(Context& ctx, const Arguments& args) {
  V mapping = mapping_of(ctx, args.positional[0]);
  return mapping ? mapping : args.positional[0];
}

Signal of_namespace(Context& ctx, const std::string& what) {
  return ctx.graph_break("native-call", what + " of a class's namespace",
                         "do it outside of the compiled function");
}

Outcome<V> length_of(Context& ctx, const Arguments& args) {
  return length(ctx, answering(ctx, args));
}

Outcome<V> item_of(Context& ctx, const Arguments& args) {
  return get_item(ctx, answering(ctx, args), args.positional[1]);
}

Outcome<V> iterator_of(Context& ctx, const Arguments& args) {
  return iterate(ctx, answering(ctx, args));
}

Outcome<V> has_key(Context& ctx, const Arguments& args) {
  MG_TRY(bool has, contains(ctx, answering(ctx, args), args.positional[1]));
  return ctx.boolean(has);
}

template <Literal method>
Outcome<V> ask(Context& ctx, const Arguments& args) {
  V mapping = mapping_of(ctx, args.positional[0]);
  if (!mapping)
    return of_namespace(ctx, std::string("mappingproxy.") + method.text);
  MG_TRY(V bound, get_attribute(ctx, mapping, name<method>()));
  return call(ctx, bound, without(args, 1));
}

// A class's namespace, too, is asked for single names.
Outcome<V> get(Context& ctx, const Arguments& args) {
  V proxy = args.positional[0];
  if (mapping_of(ctx, proxy)) return ask<"get">(ctx, args);
  V key = args.positional[1];
  MG_TRY(bool has, contains(ctx, proxy, key));
  if (has) return get_item(ctx, proxy, key);
  return args.count() > 2 ? args.positional[2] : ctx.none();
}

template <int kind>
Outcome<V> compared(Context& ctx, const Arguments& args) {
  V mapping = mapping_of(ctx, args.positional[0]);
  if (!mapping)
    return ctx.graph_break("native-call",
                           "a class's namespace is compared with something",
                           "compare it outside of the compiled function");
  return compare(ctx, kind, mapping, args.positional[1]);
}

// Both without their proxies.
template <bool is_reflected>
Outcome<V> united(Context& ctx, const Arguments& args) {
  V operands[2];
  for (size_t i = 0; i < 2; ++i) {
    V operand = ctx.look(args.positional[i]);
    if (operand->type == &PyDictProxy_Type) operand = mapping_of(ctx, operand);
    if (!operand)
      return ctx.graph_break("native-call",
                             "a class's namespace is united with something",
                             "do it outside of the compiled function");
    operands[is_reflected ? 1 - i : i] = operand;
  }
  return binary_operation(ctx, NB_OR, operands[0], operands[1]);
}

Outcome<V> not_in_place(Context& ctx, const Arguments&) {
  return ctx.raise(PyExc_TypeError,
                   "'|=' is not supported by mappingproxy; use '|' instead");
}

Outcome<V> shown_as(Context& ctx, const Arguments& args) {
  V mapping = mapping_of(ctx, args.positional[0]);
  if (!mapping) return of_namespace(ctx, "the text");
  MG_TRY(V text, repr_of(ctx, mapping));
  return concatenated(ctx,
                      {ctx.string("mappingproxy("), text, ctx.string(")")});
}

Outcome<V> text_of(Context& ctx, const Arguments& args) {
  V mapping = mapping_of(ctx, args.positional[0]);
  if (!mapping) return of_namespace(ctx, "the text");
  return str_of(ctx, mapping);
}

Outcome<V> make(Context& ctx, const Arguments& args) {
  V mapping = ctx.look(args.positional[0]);
  if (!values::is_mapping_type(ctx, mapping->type) ||
      is_instance_of(mapping, &PyList_Type) ||
      is_instance_of(mapping, &PyTuple_Type))
    return ctx.raise(PyExc_TypeError,
                     std::string("mappingproxy() argument must be a mapping, "
                                 "not ") +
                         mapping->type->tp_name);
  if (mapping->kind != Kind::Dict && mapping->kind != Kind::Object)
    return ctx.graph_break(
        "instantiate",
        std::string("a mappingproxy of a ") + python::short_name(mapping->type),
        "make it outside of the compiled function");
  return ctx.iterator(&PyDictProxy_Type, {&mapping, 1}, 0, Kind::Object);
}

constexpr const char* kTypes = "types";

constexpr Row kRows[] = {
    {kTypes, "MappingProxyType", make, 1, 1, nullptr},
    {kTypes, "MappingProxyType.__len__", length_of, 1, 1, nullptr},
    {kTypes, "MappingProxyType.__getitem__", item_of, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__contains__", has_key, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__iter__", iterator_of, 1, 1, nullptr},
    {kTypes, "MappingProxyType.__reversed__", ask<"__reversed__">, 1, 1,
     nullptr},
    {kTypes, "MappingProxyType.__repr__", shown_as, 1, 1, nullptr},
    {kTypes, "MappingProxyType.__str__", text_of, 1, 1, nullptr},
    {kTypes, "MappingProxyType.keys", ask<"keys">, 1, 1, nullptr},
    {kTypes, "MappingProxyType.values", ask<"values">, 1, 1, nullptr},
    {kTypes, "MappingProxyType.items", ask<"items">, 1, 1, nullptr},
    {kTypes, "MappingProxyType.get", get, 2, 3, nullptr},
    {kTypes, "MappingProxyType.copy", ask<"copy">, 1, 1, nullptr},
    {kTypes, "MappingProxyType.__or__", united<false>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__ror__", united<true>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__ior__", not_in_place, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__eq__", compared<Py_EQ>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__ne__", compared<Py_NE>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__lt__", compared<Py_LT>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__le__", compared<Py_LE>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__gt__", compared<Py_GT>, 2, 2, nullptr},
    {kTypes, "MappingProxyType.__ge__", compared<Py_GE>, 2, 2, nullptr},
};

}  // namespace

std::span<const Row> mapping_proxy_rows() { return kRows; }

}  // namespace magneto::natives
