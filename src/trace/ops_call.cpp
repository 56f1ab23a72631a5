// SPDX-License-Identifier: BSD-3-Clause
// Calls and returns.
#include "python/call_layout.h"
#include "trace/handlers.h"
#include "values/types/functions.h"

namespace magneto::trace {

Outcome<Next> op_Call(Interpreter& in, Frame& frame, Instruction ins) {
  const size_t used = python::call_operands(static_cast<size_t>(ins.arg));
  // The operands stay on the stack during the call, so views of it do.
  const auto operands = std::span<const V>(frame.stack).last(used);
  const auto [at, first] = python::call_head(
      [operands](size_t i) { return operands[i]->is_null(); });
  V callable = operands[at];
  const auto given = operands.subspan(first);
  Arguments args{.positional = given};
  if (ins.aux >= 0) {
    PyObject* names = frame.constant(ins.aux);
    const auto keywords = static_cast<size_t>(PyTuple_GET_SIZE(names));
    args.positional = given.first(given.size() - keywords);
    args.keyword_values = given.last(keywords);
    args.keyword_names = {&PyTuple_GET_ITEM(names, 0), keywords};
  }
  in.ctx.direct_call = {.is_direct = true};
  MG_TRY(V result, values::call(in.ctx, callable, args));
  frame.replace(used, result);
  return Next::Continue;
}

Outcome<Next> op_CallFunctionEx(Interpreter& in, Frame& frame,
                                Instruction ins) {
  Context& ctx = in.ctx;
  const size_t used = python::call_ex_operands((ins.arg & 1) != 0);
  const size_t base = frame.stack.size() - used;
  V callable = frame.stack[base + python::kCallableOfEx];
  std::vector<V> positional;
  V starred = ctx.look(frame.stack[base + python::kArgumentsOfEx]);
  if (!values::is_iterable(ctx, starred->type))
    return values::wrong_arguments(
        ctx, callable,
        std::string("argument after * must be an iterable, not ") +
            starred->type->tp_name);
  MG_DO(values::unpack_to_list(ctx, starred, positional));
  std::vector<V> keyword_values;
  std::vector<PyObject*> keyword_names;
  if (ins.arg & 1) {
    V mapping = ctx.look(frame.stack[base + python::kKeywordsOfEx]);
    MG_CHECK(mapping->kind == Kind::Dict, "** is merged into a new dict");
    for (const values::DictEntry* entry : values::dict_entries(ctx, mapping)) {
      V key = ctx.look(entry->key);
      if (!key->is_constant() || !PyUnicode_Check(key->object))
        return ctx.raise(PyExc_TypeError, "keywords must be strings");
      PyObject* name = key->object;
      if (!PyUnicode_CHECK_INTERNED(name)) {
        Ref interned = Ref::share(name);
        PyUnicode_InternInPlace(interned.slot());
        name = ctx.keep(std::move(interned));
      }
      keyword_names.push_back(name);
      keyword_values.push_back(entry->value);
    }
  }
  ctx.direct_call = {.is_direct = true};
  MG_TRY(V result, values::call(ctx, callable,
                                {.positional = positional,
                                 .keyword_values = keyword_values,
                                 .keyword_names = keyword_names}));
  frame.replace(used, result);
  return Next::Continue;
}

Outcome<Next> op_ReturnValue(Interpreter&, Frame& frame, Instruction) {
  frame.result = frame.top();
  return Next::Return;
}

}  // namespace magneto::trace
