// SPDX-License-Identifier: BSD-3-Clause
// types.MappingProxyType: a view of a dict that can't be written through. Its
// value shares the dict's state; what is asked of it the dict answers.
#include <opcode.h>

#include "natives/signature.h"
#include "python/names.h"

namespace magneto::natives {

namespace {

// The dict behind it; null where that isn't one (a class's namespace).
V dict_behind(Context& ctx, V proxy) {
  proxy = ctx.look(proxy);
  return proxy->kind == Kind::Dict ? ctx.heap[proxy->heap].owner : nullptr;
}

template <Literal method>
Outcome<V> ask(Context& ctx, const Arguments& args) {
  V dict = dict_behind(ctx, args.positional[0]);
  if (!dict)
    return ctx.graph_break(
        "native-call",
        std::string("mappingproxy.") + method.text + " of other than a dict",
        "call it outside of the compiled function");
  MG_TRY(V bound, get_attribute(ctx, dict, name<method>()));
  return call(ctx, bound, without(args, 1));
}

// A class's namespace, too, is asked for single names.
Outcome<V> get(Context& ctx, const Arguments& args) {
  V proxy = args.positional[0];
  if (dict_behind(ctx, proxy)) return ask<"get">(ctx, args);
  V key = args.positional[1];
  MG_TRY(bool has, contains(ctx, proxy, key));
  if (has) return get_item(ctx, proxy, key);
  return args.count() > 2 ? args.positional[2] : ctx.none();
}

template <int kind>
Outcome<V> compared(Context& ctx, const Arguments& args) {
  V dict = dict_behind(ctx, args.positional[0]);
  if (!dict)
    return ctx.graph_break("native-call",
                           "a class's namespace is compared with something",
                           "compare it outside of the compiled function");
  return compare(ctx, kind, dict, args.positional[1]);
}

// Both without their proxies.
template <bool is_reflected>
Outcome<V> united(Context& ctx, const Arguments& args) {
  V operands[2];
  for (size_t i = 0; i < 2; ++i) {
    V operand = ctx.look(args.positional[i]);
    if (operand->type == &PyDictProxy_Type) operand = dict_behind(ctx, operand);
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

Outcome<V> make(Context& ctx, const Arguments& args) {
  V mapping = ctx.look(args.positional[0]);
  if (mapping->kind != Kind::Dict || mapping->type == &PyDictProxy_Type)
    return ctx.graph_break(
        "instantiate",
        std::string("a mappingproxy of a ") + _PyType_Name(mapping->type),
        "make it outside of the compiled function");
  return ctx.arena.make<Value>(Value{
      .kind = Kind::Dict, .heap = mapping->heap, .type = &PyDictProxy_Type});
}

constexpr const char* kTypes = "types";

constexpr Row kRows[] = {
    {kTypes, "MappingProxyType", make, 1, 1, nullptr},
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
};

}  // namespace

std::span<const Row> mapping_proxy_rows() { return kRows; }

}  // namespace magneto::natives
