// SPDX-License-Identifier: BSD-3-Clause
// Python's `random`. A number that is drawn from a generator of the caller's is
// a symbol that nothing is decided by; the compiled piece draws it when its
// guards hold. Functions that look at what they draw run in plain Python.
//
// A generator that the trace has made keeps what getstate() gives (a Constant)
// in its slot: what is drawn from it is known. None: the system has seeded it.
#include <array>

#include "natives/pure.h"
#include "natives/signature.h"
#include "python/find.h"
#include "python/names.h"
#include "python/random_generator.h"

namespace magneto::natives {

namespace {

using guards::IntKind;
using shapes::Range;
using shapes::Type;

constexpr const char* kRandom = "random";
constexpr const char* kSetState = "_random.Random.setstate";
constexpr const char* kDrawOutside =
    "draw random numbers outside of the compiled function, or use torch's";

Signal draws_in_python(Context& ctx, const char* function) {
  return ctx.graph_break("native-call", function, kDrawOutside);
}

// -- generators that the trace makes ------------------------------------------

bool is_made(V generator) {
  return !generator->object && generator->heap.valid();
}

Ref state_of(PyObject* generator) {
  return Ref::steal(PyObject_CallMethod(generator, "getstate", nullptr));
}

// A real one, seeded by what it is given. Null with a Python error set.
Ref real_generator(PyObject* seed) {
  static PyObject* const type = find_object("_random.Random");
  return Ref::steal(PyObject_CallOneArg(type, seed));
}

// What a method written in C gives, called with plain data; it leaves the
// generator in another state.
template <Literal name>
Outcome<V> call_made(Context& ctx, V generator, const Arguments& args) {
  static PyObject* const method = find_object(name.text);
  V state = ctx.heap[generator->heap].slots[0];
  if (state == ctx.none() && name.text != std::string_view(kSetState))
    return draws_in_python(ctx, name.text);
  Ref real = real_generator(Py_False);
  if (!real) return ctx.raise_from_python();
  if (state != ctx.none()) {
    const Ref set =
        Ref::steal(PyObject_CallMethod(real, "setstate", "(O)", state->object));
    MG_CHECK(set, "what getstate() gave");
  }
  std::vector<PyObject*> given{real};
  for (V argument : args.positional.subspan(1)) {
    given.push_back(safe_object(ctx, argument));
    if (!given.back()) return draws_in_python(ctx, name.text);
  }
  Ref result = Ref::steal(
      PyObject_Vectorcall(method, given.data(), given.size(), nullptr));
  if (!result) return ctx.raise_from_python();
  ctx.heap.set_slot(generator->heap, 0, ctx.constant(state_of(real)));
  return lift(ctx, std::move(result));
}

// _random.Random.__new__(cls, ...), which seeds nothing.
Outcome<V> make_of_class(Context& ctx, const Arguments& args) {
  static PyObject* const base = find_object("_random.Random");
  V type = ctx.look(args.positional[0]);
  if (!type->is_constant() || !PyType_Check(type->object))
    return ctx.raise(PyExc_TypeError,
                     "Random.__new__(X): X is not a type object");
  const Ref real =
      Ref::steal(PyObject_CallMethod(base, "__new__", "(O)", base));
  if (!real) return ctx.raise_from_python();
  return ctx.iterator(reinterpret_cast<PyTypeObject*>(type->object),
                      std::array{ctx.constant(state_of(real))}, 0,
                      Kind::Object);
}

// _random.Random.seed(self, seed), and __init__
Outcome<V> seed_made(Context& ctx, const Arguments& args) {
  V generator = ctx.look(args.positional[0]);
  if (!is_made(generator)) return draws_in_python(ctx, "_random.Random.seed");
  V state = ctx.none();
  V given = args.count() == 2 ? ctx.look(args.positional[1]) : ctx.none();
  if (given != ctx.none()) {
    PyObject* seed = safe_object(ctx, given);
    if (!seed) return draws_in_python(ctx, "_random.Random.seed");
    const Ref real = real_generator(seed);
    if (!real) return ctx.raise_from_python();
    state = ctx.constant(state_of(real));
  }
  ctx.heap.set_slot(generator->heap, 0, state);
  return ctx.none();
}

// A method in C that is for those only.
template <Literal name>
Outcome<V> of_made(Context& ctx, const Arguments& args) {
  V generator = ctx.look(args.positional[0]);
  return is_made(generator) ? call_made<name>(ctx, generator, args)
                            : draws_in_python(ctx, name.text);
}

// A method of Python's own that looks at what it draws.
template <Literal name>
Outcome<V> looks_at_draws(Context& ctx, const Arguments& args) {
  static PyObject* const method = find_object(name.text);
  if (is_made(ctx.look(args.positional[0])))
    return ctx.inliner->inline_function(ctx.constant_share(method), args);
  return draws_in_python(ctx, name.text);
}

// random.Random.seed: of a text it makes a number by a function in C.
Outcome<V> seed_by_text(Context& ctx, const Arguments& args) {
  V generator = ctx.look(args.positional[0]);
  V given = argument(args, 1, name<"a">());
  V version = argument(args, 2, name<"version">());
  PyObject* seed = given ? safe_object(ctx, given) : nullptr;
  PyObject* how = version ? safe_object(ctx, version) : nullptr;
  if (!is_made(generator) || !seed || (version && !how) ||
      !(PyUnicode_Check(seed) || PyBytes_Check(seed)))
    return looks_at_draws<"random.Random.seed">(ctx, args);
  static PyObject* const type = find_object("random.Random");
  const Ref real = Ref::steal(PyObject_CallOneArg(type, Py_False));
  const Ref seeded =
      Ref::steal(!real ? nullptr
                 : how ? PyObject_CallMethod(real, "seed", "(OO)", seed, how)
                       : PyObject_CallMethod(real, "seed", "(O)", seed));
  if (!seeded) return ctx.raise_from_python();
  static PyObject* const base_state = find_object("_random.Random.getstate");
  ctx.heap.set_slot(
      generator->heap, 0,
      ctx.constant(Ref::steal(PyObject_CallOneArg(base_state, real))));
  MG_DO(set_attribute(ctx, generator, name<"gauss_next">(), ctx.none()));
  return ctx.none();
}

// -- generators of the caller's -----------------------------------------------

// The receiver; null if the piece can't draw from it.
V callers_generator(Context& ctx, const Arguments& args) {
  V generator = ctx.look(args.positional[0]);
  const bool is_one = generator->source.valid() && generator->object &&
                      python::is_random_generator(generator->object);
  return is_one && ctx.takes_data ? generator : nullptr;
}

Outcome<V> random_float(Context& ctx, const Arguments& args) {
  if (V made = ctx.look(args.positional[0]); is_made(made))
    return call_made<"_random.Random.random">(ctx, made, args);
  V generator = callers_generator(ctx, args);
  if (!generator) return draws_in_python(ctx, "_random.Random.random");
  return ctx.symbols.drawn({IntKind::Random, generator->source}, Type::Float,
                           {});
}

// A positive int that is the same in each call; none if it isn't, or too large.
std::optional<int64_t> fixed_size(Context& ctx, V number, int64_t most) {
  V size = ctx.look_symbolic(number);
  if (!size->is_constant() || !PyLong_CheckExact(size->object)) return {};
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(size->object, &overflow);
  if (overflow || value < 1 || value > most) return {};
  return value;
}

Outcome<V> random_bits(Context& ctx, const Arguments& args) {
  if (V made = ctx.look(args.positional[0]); is_made(made))
    return call_made<"_random.Random.getrandbits">(ctx, made, args);
  V generator = callers_generator(ctx, args);
  const auto count =
      fixed_size(ctx, args.positional[1], python::kMostRandomBits);
  if (!generator || !count)
    return draws_in_python(ctx, "_random.Random.getrandbits");
  return ctx.symbols.drawn({IntKind::RandomBits, generator->source, *count},
                           Type::Integer, Range{0, (int64_t{1} << *count) - 1});
}

// Random._randbelow of what has no getrandbits() of its own.
Outcome<V> random_below(Context& ctx, const Arguments& args) {
  static PyObject* const getrandbits =
      find_object("_random.Random.getrandbits");
  if (is_made(ctx.look(args.positional[0])))
    return looks_at_draws<"random.Random._randbelow_with_getrandbits">(ctx,
                                                                       args);
  V generator = callers_generator(ctx, args);
  const auto limit = fixed_size(ctx, args.positional[1],
                                int64_t{1} << python::kMostRandomBits);
  if (!generator || !limit)
    return draws_in_python(ctx, "random.Random._randbelow");
  MG_TRY(V method, get_attribute(ctx, generator, name<"getrandbits">()));
  if (method->kind != Kind::BoundMethod ||
      as<MethodValue>(method)->function->object != getrandbits)
    return draws_in_python(ctx, "a getrandbits() of the program's");
  return ctx.symbols.drawn({IntKind::Below, generator->source, *limit},
                           Type::Integer, Range{0, *limit - 1});
}

#define MG_LOOKS(method) \
  { kRandom, method, looks_at_draws<"random." method>, 1, kAny, "*" }

constexpr Row kRows[] = {
    {"_random", "Random.random", random_float, 1, 1, ""},
    {"_random", "Random.getrandbits", random_bits, 2, 2, ""},
    {kRandom, "Random._randbelow_with_getrandbits", random_below, 2, 2, ""},
    MG_LOOKS("Random.betavariate"),
    MG_LOOKS("Random.choice"),
    MG_LOOKS("Random.choices"),
    MG_LOOKS("Random.expovariate"),
    MG_LOOKS("Random.gammavariate"),
    MG_LOOKS("Random.gauss"),
    MG_LOOKS("Random.lognormvariate"),
    MG_LOOKS("Random.normalvariate"),
    MG_LOOKS("Random.randbytes"),
    MG_LOOKS("Random.sample"),
    {kRandom, "Random.seed", seed_by_text, 1, 3, "a version"},
    MG_LOOKS("Random.shuffle"),
    MG_LOOKS("Random.triangular"),
    {"_random", "Random.__new__", make_of_class, 1, kAny, "*"},
    {"_random", "Random.seed", seed_made, 1, 2, ""},
    {"_random", "Random.__init__", seed_made, 1, 2, ""},
    {"_random", "Random.getstate", of_made<"_random.Random.getstate">, 1, 1,
     ""},
    {"_random", "Random.setstate", of_made<"_random.Random.setstate">, 2, 2,
     ""},
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace magneto::natives
