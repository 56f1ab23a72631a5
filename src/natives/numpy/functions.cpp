// SPDX-License-Identifier: BSD-3-Clause
// NumPy's functions of plain numbers, called for real while tracing. What makes
// an array breaks the graph.
#include <algorithm>

#include "natives/pure.h"
#include "natives/torch/rows.h"
#include "python/names.h"
#include "python/types.h"
#include "values/types/numpy_values.h"

namespace magneto::natives {

namespace {

Outcome<V> call_plain(Context& ctx, PyObject* function,
                      const char* function_name, const Arguments& args) {
  const NumpyErrors errors(true);
  Ref result;
  MG_TRY(bool called, call_really(ctx, function, args, result));
  if (called && is_safe(result)) return from_constant(ctx, std::move(result));
  return ctx.graph_break(
      "native-call",
      std::string("numpy.") + function_name +
          (called ? std::string(" that gives a ") +
                        python::short_name(Py_TYPE(result.get()))
                  : " of other than plain numbers"),
      "call it outside of the compiled function, or use the torch function of "
      "that name");
}

// Functions that have no effect, besides all of NumPy's ufuncs.
constexpr const char* kFunctions[] = {
    "all",  "allclose", "any",     "argmax", "argmin", "array_equal",
    "clip", "dot",      "isclose", "max",    "mean",   "median",
    "min",  "prod",     "round",   "std",    "sum",    "var",
};

// A ufunc, or a function that other libraries' arrays may take over: objects
// that are called, told by their names.
template <bool is_ufunc>
Outcome<V> call_named(Context& ctx, const Arguments& args) {
  PyObject* function = guarded_object(ctx, ctx.look(args.positional[0]));
  Ref named = Ref::steal(
      function ? PyObject_GetAttr(function, interned().dunder_name) : nullptr);
  PyErr_Clear();
  const char* known = named ? PyUnicode_AsUTF8(named) : nullptr;
  const bool is_numpys =
      known && find_object((std::string("numpy.") + known).c_str()) == function;
  if (!is_numpys ||
      (!is_ufunc && std::ranges::find(kFunctions, std::string_view(known)) ==
                        std::end(kFunctions)))
    return ctx.graph_break("native-call",
                           std::string("numpy's ") + (known ? known : "ufunc"),
                           "call it outside of the compiled function");
  return call_plain(ctx, function, known, without(args, 1));
}

template <Literal number>
Outcome<V> make(Context& ctx, const Arguments& args) {
  static constexpr std::string_view kPath = "numpy.";
  return call_plain(ctx, object_at<number>(), number.text + kPath.size(), args);
}

#define MG_NUMBER(number) \
  { "numpy", number, make<"numpy." number> }

constexpr Row kRows[] = {
    {"numpy", "ufunc.__call__", call_named<true>},
    {"numpy._core._multiarray_umath", "_ArrayFunctionDispatcher.__call__",
     call_named<false>},
    MG_NUMBER("bool_"),
    MG_NUMBER("int8"),
    MG_NUMBER("int16"),
    MG_NUMBER("int32"),
    MG_NUMBER("int64"),
    MG_NUMBER("uint8"),
    MG_NUMBER("uint16"),
    MG_NUMBER("uint32"),
    MG_NUMBER("uint64"),
    MG_NUMBER("float16"),
    MG_NUMBER("float32"),
    MG_NUMBER("float64"),
    MG_NUMBER("complex64"),
    MG_NUMBER("complex128"),
};

}  // namespace

std::span<const Row> numpy_rows() { return kRows; }

}  // namespace magneto::natives
