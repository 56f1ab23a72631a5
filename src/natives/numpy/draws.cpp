// SPDX-License-Identifier: BSD-3-Clause
// NumPy's random numbers: methods of a RandomState or Generator that give one
// plain number. The number is a symbol that nothing is decided by; the compiled
// piece calls the method when its guards hold. What gives an array breaks the
// graph.
#include "guards/draw.h"
#include "natives/pure.h"
#include "natives/torch/rows.h"
#include "python/numpy_generator.h"

namespace magneto::natives {

namespace {

constexpr const char* kDrawOutside =
    "draw random numbers outside of the compiled function, or use torch's";

// A plain number of an argument. Arrays and what has one method or another are
// none.
PyObject* number_object(Context& ctx, V value) {
  PyObject* object = safe_object(ctx, value);
  return object && (object == Py_None || PyLong_CheckExact(object) ||
                    PyFloat_CheckExact(object))
             ? object
             : nullptr;
}

// The call as it is made with a generator in front; null if an argument isn't a
// plain number.
std::shared_ptr<guards::Draw> draw_of(Context& ctx, PyObject* method,
                                      const Arguments& args) {
  auto draw = std::make_shared<guards::Draw>();
  draw->name = describe(method);
  draw->method = Ref::share(method);
  draw->keywords = names_of(args);
  for (auto part : {args.positional.subspan(1), args.keyword_values}) {
    for (V value : part) {
      PyObject* number = number_object(ctx, value);
      if (!number) return nullptr;
      draw->arguments.push_back(Ref::share(number));
    }
  }
  return draw;
}

Signal draws_in_python(Context& ctx, PyObject* method) {
  return ctx.graph_break("native-call", describe(method), kDrawOutside);
}

template <Literal path>
Outcome<V> draw_number(Context& ctx, const Arguments& args) {
  PyObject* const method = object_at<path>();
  V generator = ctx.look(args.positional[0]);
  if (!generator->source.valid() || !generator->object || !ctx.takes_data ||
      !python::is_numpy_generator(generator->object))
    return draws_in_python(ctx, method);
  std::shared_ptr<guards::Draw> draw = draw_of(ctx, method, args);
  if (!draw) return draws_in_python(ctx, method);
  // What it gives, or raises, is tried with a generator of the trace's own.
  const Ref like = python::numpy_generator_like(generator->object);
  if (!like) return ctx.raise_from_python();
  std::vector<V> positional(args.positional.begin(), args.positional.end());
  positional[0] = ctx.constant_share(like);
  Arguments tried = args;
  tried.positional = positional;
  Ref result;
  MG_TRY(bool called, call_really(ctx, method, tried, result, as_constant));
  MG_CHECK(called, "constants only");
  draw->is_real = PyFloat_CheckExact(result.get());
  int overflow = 0;
  if (draw->is_real)
    draw->sample = shapes::Number::of(PyFloat_AS_DOUBLE(result.get()));
  else if (PyLong_CheckExact(result.get()))
    draw->sample = shapes::Number::of(
        static_cast<int64_t>(PyLong_AsLongLongAndOverflow(result, &overflow)));
  else
    return draws_in_python(ctx, method);
  if (overflow) return draws_in_python(ctx, method);
  const auto type = draw->is_real ? shapes::Type::Float : shapes::Type::Integer;
  return ctx.symbols.drawn({.kind = guards::IntKind::Draw,
                            .source = generator->source,
                            .draw = std::move(draw)},
                           type, {});
}

#define MG_STATE(method)                                                \
  {                                                                     \
    "numpy.random.mtrand", "RandomState." method,                       \
        draw_number<"numpy.random.mtrand.RandomState." method>, 1, kAny \
  }
#define MG_GENERATOR(method)                                              \
  {                                                                       \
    "numpy.random._generator", "Generator." method,                       \
        draw_number<"numpy.random._generator.Generator." method>, 1, kAny \
  }

constexpr Row kRows[] = {
    MG_STATE("beta"),
    MG_STATE("binomial"),
    MG_STATE("chisquare"),
    MG_STATE("exponential"),
    MG_STATE("f"),
    MG_STATE("gamma"),
    MG_STATE("geometric"),
    MG_STATE("gumbel"),
    MG_STATE("hypergeometric"),
    MG_STATE("laplace"),
    MG_STATE("logistic"),
    MG_STATE("lognormal"),
    MG_STATE("logseries"),
    MG_STATE("negative_binomial"),
    MG_STATE("noncentral_chisquare"),
    MG_STATE("noncentral_f"),
    MG_STATE("normal"),
    MG_STATE("pareto"),
    MG_STATE("poisson"),
    MG_STATE("power"),
    MG_STATE("rand"),
    MG_STATE("randint"),
    MG_STATE("randn"),
    MG_STATE("random"),
    MG_STATE("random_sample"),
    MG_STATE("rayleigh"),
    MG_STATE("standard_cauchy"),
    MG_STATE("standard_exponential"),
    MG_STATE("standard_gamma"),
    MG_STATE("standard_normal"),
    MG_STATE("standard_t"),
    MG_STATE("tomaxint"),
    MG_STATE("triangular"),
    MG_STATE("uniform"),
    MG_STATE("vonmises"),
    MG_STATE("wald"),
    MG_STATE("weibull"),
    MG_STATE("zipf"),
    MG_GENERATOR("beta"),
    MG_GENERATOR("binomial"),
    MG_GENERATOR("chisquare"),
    MG_GENERATOR("exponential"),
    MG_GENERATOR("f"),
    MG_GENERATOR("gamma"),
    MG_GENERATOR("geometric"),
    MG_GENERATOR("gumbel"),
    MG_GENERATOR("hypergeometric"),
    MG_GENERATOR("integers"),
    MG_GENERATOR("laplace"),
    MG_GENERATOR("logistic"),
    MG_GENERATOR("lognormal"),
    MG_GENERATOR("logseries"),
    MG_GENERATOR("negative_binomial"),
    MG_GENERATOR("noncentral_chisquare"),
    MG_GENERATOR("noncentral_f"),
    MG_GENERATOR("normal"),
    MG_GENERATOR("pareto"),
    MG_GENERATOR("poisson"),
    MG_GENERATOR("power"),
    MG_GENERATOR("random"),
    MG_GENERATOR("rayleigh"),
    MG_GENERATOR("standard_cauchy"),
    MG_GENERATOR("standard_exponential"),
    MG_GENERATOR("standard_gamma"),
    MG_GENERATOR("standard_normal"),
    MG_GENERATOR("standard_t"),
    MG_GENERATOR("triangular"),
    MG_GENERATOR("uniform"),
    MG_GENERATOR("vonmises"),
    MG_GENERATOR("wald"),
    MG_GENERATOR("weibull"),
    MG_GENERATOR("zipf"),
};

}  // namespace

std::span<const Row> numpy_draw_rows() { return kRows; }

}  // namespace magneto::natives
