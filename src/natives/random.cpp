// SPDX-License-Identifier: BSD-3-Clause
// Python's `random`. A number that is drawn is a symbol that nothing is decided
// by; the compiled piece draws it when its guards hold. Functions that look at
// what they draw run in plain Python.
#include "natives/registry.h"
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
constexpr const char* kDrawOutside =
    "draw random numbers outside of the compiled function, or use torch's";

Signal draws_in_python(Context& ctx, const char* function) {
  return ctx.graph_break("native-call", function, kDrawOutside);
}

// The receiver; null if the piece can't draw from it.
V callers_generator(Context& ctx, const Arguments& args) {
  V generator = ctx.look(args.positional[0]);
  const bool is_one = generator->source.valid() && generator->object &&
                      python::is_random_generator(generator->object);
  return is_one && ctx.takes_data ? generator : nullptr;
}

Outcome<V> random_float(Context& ctx, const Arguments& args) {
  V generator = callers_generator(ctx, args);
  if (!generator) return draws_in_python(ctx, "_random.Random.random");
  return ctx.drawn({IntKind::Random, generator->source}, Type::Float, {});
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
  V generator = callers_generator(ctx, args);
  const auto count =
      fixed_size(ctx, args.positional[1], python::kMostRandomBits);
  if (!generator || !count)
    return draws_in_python(ctx, "_random.Random.getrandbits");
  return ctx.drawn({IntKind::RandomBits, generator->source, *count},
                   Type::Integer, Range{0, (int64_t{1} << *count) - 1});
}

// Random._randbelow of what has no getrandbits() of its own.
Outcome<V> random_below(Context& ctx, const Arguments& args) {
  static PyObject* const getrandbits =
      find_object("_random.Random.getrandbits");
  V generator = callers_generator(ctx, args);
  const auto limit = fixed_size(ctx, args.positional[1],
                                int64_t{1} << python::kMostRandomBits);
  if (!generator || !limit)
    return draws_in_python(ctx, "random.Random._randbelow");
  MG_TRY(V method, get_attribute(ctx, generator, name<"getrandbits">()));
  if (method->kind != Kind::BoundMethod ||
      as<MethodValue>(method)->function->object != getrandbits)
    return draws_in_python(ctx, "a getrandbits() of the program's");
  return ctx.drawn({IntKind::Below, generator->source, *limit}, Type::Integer,
                   Range{0, *limit - 1});
}

constexpr Row kRows[] = {
    {"_random", "Random.random", random_float, 1, 1, ""},
    {"_random", "Random.getrandbits", random_bits, 2, 2, ""},
    {kRandom, "Random._randbelow_with_getrandbits", random_below, 2, 2, ""},
    row::breaks(kRandom, "Random.betavariate", kDrawOutside),
    row::breaks(kRandom, "Random.choice", kDrawOutside),
    row::breaks(kRandom, "Random.choices", kDrawOutside),
    row::breaks(kRandom, "Random.expovariate", kDrawOutside),
    row::breaks(kRandom, "Random.gammavariate", kDrawOutside),
    row::breaks(kRandom, "Random.gauss", kDrawOutside),
    row::breaks(kRandom, "Random.lognormvariate", kDrawOutside),
    row::breaks(kRandom, "Random.normalvariate", kDrawOutside),
    row::breaks(kRandom, "Random.randbytes", kDrawOutside),
    row::breaks(kRandom, "Random.sample", kDrawOutside),
    row::breaks(kRandom, "Random.seed", kDrawOutside),
    row::breaks(kRandom, "Random.shuffle", kDrawOutside),
    row::breaks(kRandom, "Random.triangular", kDrawOutside),
    row::breaks("_random", "Random.getstate", kDrawOutside),
    row::breaks("_random", "Random.setstate", kDrawOutside),
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace magneto::natives
