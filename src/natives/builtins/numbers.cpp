// SPDX-License-Identifier: BSD-3-Clause
// int, float, bool, complex and the arithmetic builtins. On plain numbers they
// are called for real; objects are asked for their special methods.
#include "natives/builtins/derived.h"
#include "natives/builtins/encodings.h"
#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"
#include "python/types.h"
#include "values/protocol/operands.h"
#include "values/protocol/symbolic.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

namespace {

PyObject* builtin(const char* builtin_name) {
  PyObject* found = PyDict_GetItemString(builtins(), builtin_name);
  MG_CHECK(found, "a builtin function");
  return found;
}

// The builtin called for real; a null value if an argument isn't plain data.
Outcome<V> try_really(Context& ctx, PyObject* callable, const Arguments& args) {
  Ref result;
  MG_TRY(bool called, call_really(ctx, callable, args, result));
  if (!called) return nullptr;
  return from_constant(ctx, std::move(result));
}

// value.<method>(*more), or null if its class has no such method.
Outcome<V> try_special(Context& ctx, V value, PyObject* method,
                       std::initializer_list<V> more = {}) {
  MG_TRY(V found, special_method(ctx, value, method));
  if (!found) return nullptr;
  return call(ctx, found, more);
}

// Whether such a number is what the special method has to return: Python warns
// of those of other classes, bool included.
bool is_number_for(PyObject* method, PyTypeObject* type) {
  if (method == interned().dunder_float) return type == &PyFloat_Type;
  if (method == name<"__complex__">()) return type == &PyComplex_Type;
  return type == &PyLong_Type;
}

// Strings, and what C code reads as bytes.
bool may_hold_text(V value) {
  return PyType_IsSubtype(value->type, &PyUnicode_Type) ||
         (values::shows_memory(value->type) && value->kind != Kind::Tensor);
}

// The number that the characters of a text say, or bytes; `more`: the base. Its
// class was asked before. The error of what is no number shows the repr().
Outcome<V> number_in_text(Context& ctx, PyObject* type, V value,
                          std::span<const V> more = {}) {
  std::vector<V> all{plain_text(ctx, value)};
  all.insert(all.end(), more.begin(), more.end());
  Outcome<V> number = try_really(ctx, type, {.positional = all});
  if (number && number.value()) return number;
  const bool is_readable = number || number.signal() == Signal::Raised;
  if (!is_readable || (!number && !values::own_special(ctx, value->type,
                                                       interned().dunder_repr)))
    return number;
  if (!number) (void)ctx.take_exception();
  return ctx.graph_break(
      "native-call",
      std::string("a number written in a ") + python::short_name(value->type),
      "make it a str or bytes first");
}

// A number that the class of `value` makes of it by the first of these methods
// that it has.
template <size_t count>
Outcome<V> convert(Context& ctx, V value, PyTypeObject* type,
                   PyObject* const (&methods)[count], const char* wrong) {
  for (PyObject* method : methods) {
    // Tensors answer special methods as attributes.
    Outcome<V> result = value->kind == Kind::Tensor
                            ? call_method(ctx, value, method, {})
                            : try_special(ctx, value, method);
    if (!result) return result;
    if (!result.value()) continue;
    if (method == interned().dunder_trunc)
      return ctx.graph_break("c-protocol", "int() by __trunc__, which warns",
                             "give the class an __int__ method");
    V number = ctx.look_symbolic(result.value());
    // What comes out of a tensor is of the right type.
    if (is_symbol(number) && value->kind == Kind::Tensor) return number;
    number = ctx.look(number);
    // Plain numbers convert further: float() of what __index__ gives. What
    // is said of others, C code knows.
    if (number->is_constant() && is_number_for(method, number->type)) {
      Ref real = Ref::steal(PyObject_CallOneArg(
          reinterpret_cast<PyObject*>(type), number->object));
      if (!real) return ctx.raise_from_python();
      return ctx.constant(std::move(real));
    }
    if (value->kind != Kind::Tensor)
      return ctx.graph_break("c-protocol",
                             std::string("a number made from a ") +
                                 python::short_name(number->type),
                             "return a plain number");
    return number;
  }
  const bool takes_bytes = type != &PyComplex_Type;
  if (may_hold_text(value) &&
      (takes_bytes || !values::is_instance_of(value, &PyBytes_Type)))
    return number_in_text(ctx, reinterpret_cast<PyObject*>(type), value);
  return ctx.raise(PyExc_TypeError,
                   std::string(wrong) + ", not '" + value->type->tp_name + "'");
}

Outcome<V> make_int(Context& ctx, const Arguments& args) {
  auto* type = reinterpret_cast<PyObject*>(&PyLong_Type);
  MG_TRY(V plain, try_really(ctx, type, args));
  if (plain) return plain;
  V value = args.count() ? ctx.look(args.positional[0]) : nullptr;
  if (args.count() != 1 || args.has_keywords()) {
    V given_base = argument(args, 1, name<"base">());
    if (value && given_base && may_hold_text(value))
      return number_in_text(ctx, type, value, {&given_base, 1});
    // The base is looked at first.
    if (args.count() == 2) {
      MG_TRY(V given, as_index(ctx, args.positional[1]));
      const Py_ssize_t base = PyNumber_AsSsize_t(given->object, nullptr);
      if (base == -1 && PyErr_Occurred()) return ctx.raise_from_python();
      constexpr Py_ssize_t kLeast = 2, kMost = 36;
      if (base && (base < kLeast || base > kMost))
        return ctx.raise(PyExc_ValueError,
                         "int() base must be >= 2 and <= 36, or 0");
    }
    return ctx.raise(PyExc_TypeError,
                     "int() can't convert non-string with explicit base");
  }
  PyObject* const methods[] = {interned().dunder_int, interned().dunder_index,
                               interned().dunder_trunc};
  return convert(ctx, value, &PyLong_Type, methods,
                 "int() argument must be a string, a bytes-like object or a "
                 "real number");
}

Outcome<V> make_float(Context& ctx, const Arguments& args) {
  auto* type = reinterpret_cast<PyObject*>(&PyFloat_Type);
  MG_TRY(V plain, try_really(ctx, type, args));
  if (plain) return plain;
  PyObject* const methods[] = {interned().dunder_float,
                               interned().dunder_index};
  return convert(ctx, ctx.look(args.positional[0]), &PyFloat_Type, methods,
                 "float() argument must be a string or a real number");
}

Outcome<V> make_complex(Context& ctx, const Arguments& args) {
  auto* type = reinterpret_cast<PyObject*>(&PyComplex_Type);
  MG_TRY(V plain, try_really(ctx, type, args));
  if (plain) return plain;
  if (args.count() != 1 || args.has_keywords())
    return ctx.graph_break("native-call", "complex() of unknown values",
                           "use Python numbers");
  V given = ctx.look(args.positional[0]);
  // A text is read, whatever its class says.
  if (given->is_constant() && PyUnicode_Check(given->object)) {
    V text = ctx.constant(Ref::steal(PyUnicode_FromObject(given->object)));
    return try_really(ctx, type, {.positional = {&text, 1}});
  }
  PyObject* const methods[] = {name<"__complex__">(), interned().dunder_float,
                               interned().dunder_index};
  return convert(ctx, given, &PyComplex_Type, methods,
                 "complex() first argument must be a string or a number");
}

Outcome<V> make_bool(Context& ctx, const Arguments& args) {
  if (!args.count()) return ctx.boolean(false);
  V value = ctx.look_symbolic(args.positional[0]);
  // Whoever branches on it asks for more.
  if (value->kind == Kind::Tensor)
    return call_method(ctx, value, interned().dunder_bool, {});
  MG_TRY(bool result, truth(ctx, args.positional[0]));
  return ctx.boolean(result);
}

Outcome<V> make_bytes(Context& ctx, const Arguments& args) {
  auto* type = reinterpret_cast<PyObject*>(&PyBytes_Type);
  MG_DO(check_encoding(ctx, args));
  MG_TRY(V plain, try_really(ctx, type, args));
  if (plain) return plain;
  if (!args.count() || args.has_keywords())
    return ctx.graph_break("native-call", "bytes() of unknown values",
                           "use Python integers");
  V source = ctx.look(args.positional[0]);
  for (size_t i = 1; i < args.count(); ++i) {
    V given = ctx.look(args.positional[i]);
    if (!PyType_IsSubtype(given->type, &PyUnicode_Type))
      return ctx.raise(PyExc_TypeError, std::string("bytes() argument '") +
                                            (i == 1 ? "encoding" : "errors") +
                                            "' must be str, not " +
                                            given->type->tp_name);
  }
  if (args.count() > 1 && !PyType_IsSubtype(source->type, &PyUnicode_Type))
    return ctx.raise(PyExc_TypeError, "encoding without a string argument");
  if (source->kind == Kind::Tensor)
    return ctx.graph_break("data-dependent", "bytes() of a tensor",
                           "make it of the tensor's numpy()");
  MG_TRY(plain, try_special(ctx, source, name<"__bytes__">()));
  if (plain) {
    plain = ctx.look(plain);
    if (PyType_IsSubtype(plain->type, &PyBytes_Type)) return plain;
    return ctx.raise(PyExc_TypeError,
                     std::string("__bytes__ returned non-bytes (type ") +
                         plain->type->tp_name + ")");
  }
  if (source->is_constant() && PyUnicode_Check(source->object))
    return ctx.raise(PyExc_TypeError, "string argument without an encoding");
  if (source->is_constant() && PyLong_Check(source->object)) {
    MG_TRY(V number, values::as_index(ctx, source));
    return make_bytes(ctx, {.positional = {&number, 1}});
  }
  if (source->kind == Kind::Object ||
      values::own_special(ctx, source->type, name<"__index__">())) {
    Outcome<V> number = values::own_position(ctx, source);
    V found = number ? number.value() : nullptr;
    if (found) return make_bytes(ctx, {.positional = {&found, 1}});
    // What gives no number may be iterable.
    if (!number) {
      if (number.signal() != Signal::Raised ||
          !ctx.exception_is(PyExc_TypeError))
        return number;
      (void)ctx.take_exception();
    }
  }
  if (values::shows_memory(source->type))
    return ctx.graph_break(
        "native-call",
        std::string("bytes() of the memory of a ") + source->type->tp_name,
        "make them outside of the compiled function");
  std::vector<V> items;
  const Outcome<V> begun = values::iterate_and_ask(ctx, source);
  MG_TRY(V iterator, values::iterator_or_error(ctx, begun, [&] {
           return std::string("cannot convert '") + source->type->tp_name +
                  "' object to bytes";
         }));
  for (;;) {
    MG_TRY(V item, next(ctx, iterator));
    if (!item) break;
    MG_TRY(item, values::as_index(ctx, item));
    const Py_ssize_t number = PyLong_AsSsize_t(item->object);
    PyErr_Clear();  // a number that is too large for it
    if (number < 0 || number > UINT8_MAX)
      return ctx.raise(PyExc_ValueError, "bytes must be in range(0, 256)");
    items.push_back(item);
  }
  V listed = ctx.list(items);
  MG_TRY(plain, try_really(ctx, type, {.positional = {&listed, 1}}));
  if (plain) return plain;
  return ctx.graph_break("native-call", "bytes() of unknown values",
                         "use Python integers");
}

// int.__new__(cls, ...) and the like. An instance of a subclass is a Constant
// that has attributes of its own; slot 0 is its value as a plain one.
template <PyTypeObject* base>
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  V class_value = ctx.look(args.positional[0]);
  auto* type = reinterpret_cast<PyTypeObject*>(class_value->object);
  if (!class_value->is_constant() || !PyType_Check(class_value->object) ||
      !PyType_IsSubtype(type, base))
    return ctx.raise(PyExc_TypeError,
                     std::string(base->tp_name) +
                         ".__new__(X): X is not a subtype of " + base->tp_name);
  V plain_type = ctx.constant_share(reinterpret_cast<PyObject*>(base));
  MG_TRY(V plain, call(ctx, plain_type, without(args, 1)));
  plain = ctx.look(plain);
  if (type == base) return plain;
  if (!plain->is_constant())
    return ctx.graph_break("native-call",
                           std::string(type->tp_name) + "() of unknown values",
                           "use values that are known while tracing");
  Ref one = Ref::steal(PyTuple_Pack(1, plain->object));
  Ref real = Ref::steal(one ? base->tp_new(type, one, nullptr) : nullptr);
  if (!real) return ctx.raise_from_python();
  HeapId id = ctx.heap.make();
  V made = ctx.arena.make<Value>(Value{.kind = Kind::Constant,
                                       .heap = id,
                                       .type = type,
                                       .object = ctx.keep(std::move(real))});
  ctx.heap.initial(id).owner = made;
  ctx.heap.initial(id).slots = {plain};
  return made;
}

// abs() and operator.abs(); graphs have the latter, as torch.compile's do.
Outcome<V> absolute(Context& ctx, const Arguments& args) {
  static PyObject* const function = find_object("_operator.abs");
  V value = ctx.look(args.positional[0]);
  if (value->kind == Kind::Tensor) return record_function(ctx, function, args);
  MG_TRY(V plain, try_really(ctx, function, args));
  if (plain) return plain;
  MG_TRY(V result, try_special(ctx, value, interned().dunder_abs));
  if (result) return result;
  return ctx.raise(PyExc_TypeError,
                   std::string("bad operand type for abs(): '") +
                       value->type->tp_name + "'");
}

Outcome<V> round_number(Context& ctx, const Arguments& args) {
  static PyObject* const function = builtin("round");
  V value = argument(args, 0, name<"number">());
  if (!value) return ctx.graph_break("native-call", "round() in another form");
  value = ctx.look(value);
  MG_TRY(V plain, try_really(ctx, function, args));
  if (plain) return plain;
  V digits = argument(args, 1, name<"ndigits">());
  Outcome<V> result =
      digits ? try_special(ctx, value, name<"__round__">(), {digits})
             : try_special(ctx, value, name<"__round__">());
  if (!result) return result;
  if (result.value()) return result;
  return ctx.raise(PyExc_TypeError, std::string("type ") +
                                        value->type->tp_name +
                                        " doesn't define __round__ method");
}

// NB_*
constexpr int kFloorDivide = 2, kRemainder = 6, kPower = 8;

Outcome<V> divide(Context& ctx, const Arguments& args) {
  static PyObject* const function = builtin("divmod");
  V a = ctx.look_symbolic(args.positional[0]);
  V b = ctx.look_symbolic(args.positional[1]);
  if (is_symbol(a) || is_symbol(b)) {
    MG_TRY(V quotient, symbolic_binary(ctx, kFloorDivide, a, b));
    MG_TRY(V remainder, symbolic_binary(ctx, kRemainder, a, b));
    V both[] = {quotient, remainder};
    if (quotient && remainder) return ctx.tuple(both);
  }
  MG_TRY(V plain, try_really(ctx, function, args));
  if (plain) return plain;
  V left = ctx.look(args.positional[0]), right = ctx.look(args.positional[1]);
  if (values::are_made_arrays(left, right))
    return unknown_operator(ctx, "divmod()", left, right);
  OperatorMethods methods{.name = name<"__divmod__">(),
                          .reflected = name<"__rdivmod__">()};
  if (left->kind != Kind::Tensor) {
    MG_TRY(methods.forward, python_method(ctx, left, methods.name));
  }
  if (right->kind != Kind::Tensor && left->type != right->type) {
    MG_TRY(methods.backward, python_method(ctx, right, methods.reflected));
  }
  MG_TRY(V answer, answer_of_either(ctx, left, right, methods, "divmod()"));
  if (answer) return answer;
  // Of classes that inherit what C code does with numbers.
  const auto ask = [&](V value, V other, PyObject* name) -> Outcome<V> {
    if (value->kind == Kind::Tensor) return nullptr;
    MG_TRY(V result, try_special(ctx, value, name, {other}));
    return result && is_not_implemented(ctx, result) ? nullptr : result;
  };
  if (!methods.forward) {
    MG_TRY(answer, ask(left, right, methods.name));
    if (answer) return answer;
  }
  if (!methods.backward && left->type != right->type) {
    MG_TRY(answer, ask(right, left, methods.reflected));
    if (answer) return answer;
  }
  return ctx.raise(PyExc_TypeError,
                   std::string("unsupported operand type(s) for divmod(): '") +
                       left->type->tp_name + "' and '" + right->type->tp_name +
                       "'");
}

Outcome<V> power(Context& ctx, const Arguments& args) {
  static PyObject* const function = builtin("pow");
  MG_TRY(V plain, try_really(ctx, function, args));
  if (plain) return plain;
  V base = argument(args, 0, name<"base">());
  V exponent = argument(args, 1, name<"exp">());
  V modulus = argument(args, 2, name<"mod">());
  if (!base || !exponent || modulus)
    return ctx.graph_break("native-call", "pow() with a modulus",
                           "use numbers that are known while tracing");
  return binary_operation(ctx, kPower, base, exponent);
}

Outcome<V> count(Context& ctx, const Arguments& args) {
  return length(ctx, args.positional[0]);
}

// hex(), oct(), bin(): of what __index__ gives.
template <Literal function_name>
Outcome<V> digits(Context& ctx, const Arguments& args) {
  V value = ctx.look(args.positional[0]);
  if (!value->is_constant() || !PyLong_Check(value->object)) {
    MG_TRY(value, values::as_index(ctx, value));
  }
  static PyObject* const function = builtin(function_name.text);
  Ref text = Ref::steal(PyObject_CallOneArg(function, value->object));
  if (!text) return ctx.raise_from_python();
  return ctx.constant(std::move(text));
}

constexpr const char* kBuiltins = "builtins";

constexpr Row kRows[] = {
    {kBuiltins, "len", count, 1, 1, nullptr},
    {kBuiltins, "int", make_int, 0, 2, "base"},
    {kBuiltins, "float", make_float, 0, 1, nullptr},
    {kBuiltins, "bool", make_bool, 0, 1, nullptr},
    {kBuiltins, "complex", make_complex, 0, 2, "real imag"},
    {kBuiltins, "bytes", make_bytes, 0, 3, "source encoding errors"},
    {kBuiltins, "int.__new__", make_of_class<&PyLong_Type>, 1, kAny, "*"},
    {kBuiltins, "float.__new__", make_of_class<&PyFloat_Type>, 1, kAny, "*"},
    {kBuiltins, "complex.__new__", make_of_class<&PyComplex_Type>, 1, kAny,
     "*"},
    {kBuiltins, "str.__new__", make_of_class<&PyUnicode_Type>, 1, kAny, "*"},
    {kBuiltins, "bytes.__new__", make_of_class<&PyBytes_Type>, 1, kAny, "*"},
    {kBuiltins, "abs", absolute, 1, 1, nullptr},
    {"_operator", "abs", absolute, 1, 1, nullptr},
    {kBuiltins, "round", round_number, 0, 2, "number ndigits"},
    {kBuiltins, "divmod", divide, 2, 2, nullptr},
    {kBuiltins, "pow", power, 0, 3, "base exp mod"},
    {kBuiltins, "hex", digits<"hex">, 1, 1, nullptr},
    {kBuiltins, "oct", digits<"oct">, 1, 1, nullptr},
    {kBuiltins, "bin", digits<"bin">, 1, 1, nullptr},
    row::pure(kBuiltins, "chr"),
    row::pure(kBuiltins, "ord"),
};

}  // namespace

std::span<const Row> number_rows() { return kRows; }

}  // namespace magneto::natives
