// SPDX-License-Identifier: BSD-3-Clause
// contextvars: variables of the caller's, read and set in the thread's context,
// and the tokens that set() gives.
#include "values/types/context_variables.h"

#include "natives/pure.h"
#include "natives/signature.h"
#include "values/types/exceptions.h"

namespace magneto::natives {

namespace {

constexpr const char* kOutside = "use it outside of the compiled function";

Outcome<V> variable_of(Context& ctx, const Arguments& args) {
  V variable = ctx.look(args.positional[0]);
  if (variable->object && variable->source.valid()) return variable;
  return ctx.graph_break("native-call", "a ContextVar made while tracing",
                         "make it outside of the compiled function");
}

// The default that it was made with: what it has where nothing is set. Null if
// it has none.
Ref own_default(PyObject* variable) {
  const Ref empty = Ref::steal(PyContext_New());
  MG_CHECK(empty && PyContext_Enter(empty) == 0, "a context of one's own");
  PyObject* value = nullptr;
  const int read = PyContextVar_Get(variable, nullptr, &value);
  MG_CHECK(PyContext_Exit(empty) == 0 && read == 0, "what it has is read");
  return Ref::steal(value);
}

// variable.get(default)
Outcome<V> get(Context& ctx, const Arguments& args) {
  MG_TRY(V variable, variable_of(ctx, args));
  V now = value_now(ctx, variable);
  if (!now->is_null()) return now;
  if (args.count() > 1) return args.positional[1];
  PyObject* real = guarded_object(ctx, variable);
  if (Ref fallback = own_default(real)) return ctx.known(std::move(fallback));
  V what[] = {variable};
  return ctx.raise_value(make_exception(
      ctx, reinterpret_cast<PyTypeObject*>(PyExc_LookupError), what));
}

Outcome<V> set(Context& ctx, const Arguments& args) {
  MG_TRY(V variable, variable_of(ctx, args));
  return set_variable(ctx, variable, args.positional[1]);
}

// A token that the trace has made.
Outcome<V> token_of(Context& ctx, V token) {
  token = ctx.look(token);
  if (token->type == &PyContextToken_Type && !token->object) return token;
  return ctx.graph_break(
      "native-call",
      token->type == &PyContextToken_Type
          ? "a token of a ContextVar that was set elsewhere"
          : std::string("ContextVar.reset() of a ") + token->type->tp_name,
      kOutside);
}

Outcome<V> reset(Context& ctx, const Arguments& args) {
  MG_TRY(V variable, variable_of(ctx, args));
  MG_TRY(V token, token_of(ctx, args.positional[1]));
  const std::vector<V> slots = ctx.heap[token->heap].slots;
  // What they raise shows addresses.
  if (slots[values::kVariable] != variable ||
      slots[values::kIsUsed] != ctx.boolean(false))
    return ctx.graph_break("native-call",
                           "ContextVar.reset() with a token that isn't its own "
                           "or was used",
                           kOutside);
  values::reset_variable(ctx, variable, token);
  return ctx.none();
}

Outcome<V> name_of_variable(Context& ctx, const Arguments& args) {
  MG_TRY(V variable, variable_of(ctx, args));
  Ref own = Ref::steal(
      PyObject_GetAttr(guarded_object(ctx, variable), name<"name">()));
  if (!own) return ctx.raise_from_python();
  return from_constant(ctx, std::move(own));
}

Outcome<V> variable_of_token(Context& ctx, const Arguments& args) {
  MG_TRY(V token, token_of(ctx, args.positional[0]));
  return ctx.heap[token->heap].slots[values::kVariable];
}

Outcome<V> old_value(Context& ctx, const Arguments& args) {
  static PyObject* const missing = PyObject_GetAttrString(
      reinterpret_cast<PyObject*>(&PyContextToken_Type), "MISSING");
  MG_TRY(V token, token_of(ctx, args.positional[0]));
  V old = ctx.heap[token->heap].slots[values::kOldValue];
  return old->is_null() ? ctx.known(missing) : old;
}

constexpr const char* kModule = "_contextvars";

constexpr Row kRows[] = {
    {kModule, "ContextVar.get", get, 1, 2, nullptr},
    {kModule, "ContextVar.set", set, 2, 2, nullptr},
    {kModule, "ContextVar.reset", reset, 2, 2, nullptr},
    {kModule, "ContextVar.name", name_of_variable, 1, 1, nullptr},
    {kModule, "Token.var", variable_of_token, 1, 1, nullptr},
    {kModule, "Token.old_value", old_value, 1, 1, nullptr},
};

}  // namespace

std::span<const Row> context_variable_rows() { return kRows; }

}  // namespace magneto::natives
