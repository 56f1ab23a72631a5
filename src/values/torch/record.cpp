// SPDX-License-Identifier: BSD-3-Clause
// The tensor program: a call of one of torch's callables is made for real on
// fake tensors, and recorded as a node of the graph.
#include <algorithm>

#include "python/find.h"
#include "python/held_warnings.h"
#include "python/names.h"
#include "python/pending_error.h"
#include "support/forever.h"
#include "tensor/operator_effects.h"
#include "values/model/recursion.h"
#include "values/protocol/operands.h"
#include "values/protocol/protocol.h"
#include "values/protocol/symbolic.h"
#include "values/torch/lowering.h"
#include "values/torch/torch_types.h"
#include "values/torch/with_default_device.h"

namespace magneto::values {

namespace {

bool holds_tensor(PyObject* object) {
  if (tensor::is_tensor(object)) return true;
  if (PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
      if (holds_tensor(PyTuple_GET_ITEM(object, i))) return true;
  } else if (PyList_Check(object)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
      if (holds_tensor(PyList_GET_ITEM(object, i))) return true;
  }
  return false;
}

}  // namespace

Outcome<V> value_of_node(Context& ctx, PyObject* object, graph::NodeId node) {
  static PyObject* const getitem = find_object("_operator.getitem");
  if (tensor::is_tensor(object)) {
    if (V known = ctx.tensor_of(object)) {
      // In place: the node that wrote is the one that later reads refer to.
      ctx.heap.set_node(known->heap, ctx.tracer.ref(node));
      return known;
    }
    return ctx.tensor(Ref::share(object), ctx.tracer.ref(node),
                      Py_TYPE(object));
  }
  const bool is_tuple = PyTuple_Check(object);
  if ((is_tuple || PyList_CheckExact(object)) && holds_tensor(object)) {
    Py_ssize_t count =
        is_tuple ? PyTuple_GET_SIZE(object) : PyList_GET_SIZE(object);
    std::vector<V> items;
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item =
          is_tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i);
      if (!holds_tensor(item)) {
        MG_TRY(V plain, from_constant(ctx, Ref::share(item)));
        items.push_back(plain);
        continue;
      }
      Ref index = Ref::steal(PyLong_FromSsize_t(i));
      MG_CHECK(index, "out of memory");
      graph::NodeId part = ctx.graph().call_function(
          getitem, {node, ctx.graph().constant(index)}, {}, Ref::share(item),
          ctx.inliner->origin());
      MG_TRY(V value, value_of_node(ctx, item, part));
      items.push_back(value);
    }
    if (!is_tuple) return ctx.list(items);
    TupleValue tuple{};
    tuple.kind = Kind::Tuple;
    tuple.type = Py_TYPE(object);
    tuple.items = ctx.arena.copy(std::span<const V>(items));
    return ctx.arena.make<TupleValue>(tuple);
  }
  return from_constant(ctx, Ref::share(object));
}

namespace {

struct Lowered {
  std::vector<graph::Arg> args;
  std::vector<graph::Keyword> keywords;
  std::vector<PyObject*> reals;  // positional, then keyword values
  Ref names;                     // of the keywords, or null
  Where where = {};              // where the arguments stand
};

Status lower_call(Context& ctx, const Arguments& args, Lowered& out) {
  tensor::operator_effects().set_call(ctx.tracer.root().node_count());
  out.args.reserve(args.count());
  out.reals.reserve(args.count() + args.keyword_names.size());
  MG_DO(lower_all(ctx, args.positional, out.args, out.reals, out.where));
  if (!args.has_keywords()) return done;
  out.names = names_of(args);
  for (size_t i = 0; i < args.keyword_names.size(); ++i) {
    MG_TRY(Both both, lower(ctx, args.keyword_values[i], out.where));
    out.keywords.push_back({args.keyword_names[i], both.arg});
    out.reals.push_back(both.real);
  }
  return done;
}

// The call on fake tensors; null with a Python error set.
Ref run_function(PyObject* callable, size_t positional,
                 const Lowered& lowered) {
  const python::HeldWarnings held(python::HeldWarnings::How::Dropped);
  return Ref::steal(PyObject_Vectorcall(callable, lowered.reals.data(),
                                        positional, lowered.names));
}

Ref run_method(PyObject* name, size_t positional, const Lowered& lowered) {
  const python::HeldWarnings held(python::HeldWarnings::How::Dropped);
  return Ref::steal(PyObject_VectorcallMethod(name, lowered.reals.data(),
                                              positional, lowered.names));
}

// By torch's function or the name of a method: what says what comes out where
// torch's own code can't. They live as long as the process.
struct Forms {
  explicit Forms(const char* module_name) {
    Ref module = import_module(module_name);
    MG_CHECK(module, module_name);
    functions = PyObject_GetAttrString(module, "FUNCTIONS");
    methods = PyObject_GetAttrString(module, "METHODS");
    MG_CHECK(functions && PyDict_Check(functions) && methods &&
                 PyDict_Check(methods),
             "tables of forms");
  }

  PyObject* functions;
  PyObject* methods;
};

// A callable of the tensor program, and in which table its forms stand.
struct Callee {
  PyObject* callable;
  PyObject* Forms::*table;

  PyObject* form(const Forms& forms) const {
    PyObject* found = PyDict_GetItemWithError(forms.*table, callable);
    PyErr_Clear();  // a callable without a hash has no form
    return found;
  }
};

// For functions and methods whose own code asks for plain numbers; null if
// there is no such form, or no symbol.
PyObject* symbolic_form(const Context& ctx, const Callee& callee) {
  if (!ctx.symbols.exist()) return nullptr;
  static const Forms* const forms =
      forever(Forms("magneto.polyfills.torch_sizes"));
  return callee.form(*forms);
}

// For those whose own code asks for data, which it has done.
PyObject* dataless_form(const Callee& callee) {
  static const Forms* const forms =
      forever(Forms("magneto.polyfills.torch_shapes"));
  return callee.form(*forms);
}

// Floats that aren't known become those of the call that is traced, under a
// guard. False if there are none.
bool specialize_floats(Context& ctx, std::span<const V> values) {
  bool found = false;
  for (V value : values) {
    value = ctx.look_symbolic(value);
    if (is_symbol(value) && value->type == &PyFloat_Type) {
      ctx.look(value);
      found = true;
    } else if (value->kind == Kind::Tuple) {
      found |= specialize_floats(ctx, tuple_items(value));
    } else if (value->kind == Kind::List) {
      const std::vector<V> items = ctx.heap.items(value->heap);
      found |= specialize_floats(ctx, items);
    }
  }
  return found;
}

// The call on fakes; null with a Python error set. One that fails for a float
// that isn't known may take one that is: much of torch's code asks a number for
// its value in a way that a symbol has no answer to.
template <class Run>
Status run_call(Context& ctx, const Arguments& args, Lowered& lowered,
                const Callee& callee, Ref& result, Run run) {
  if (PyObject* form = symbolic_form(ctx, callee)) {
    result = run_function(form, args.count(), lowered);
    // Where a form raises, it leaves the call to torch's own; an interrupt is
    // nothing that a form says.
    if (!result && !PyErr_ExceptionMatches(PyExc_Exception)) return done;
    PyErr_Clear();
  }
  const bool had_symbols = ctx.symbols.exist();
  if (!result) result = run();
  // Its own code may have asked what tensors hold, which are symbols.
  if (!result && !had_symbols && ctx.symbols.exist() &&
      PyErr_ExceptionMatches(PyExc_Exception)) {
    python::PendingError error = python::PendingError::take();
    if (PyObject* form = symbolic_form(ctx, callee))
      result = run_function(form, args.count(), lowered);
    if (!result && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
      return done;
    if (!result) std::move(error).restore();
  }
  if (!result && PyErr_ExceptionMatches(tensor::needs_data_error())) {
    python::PendingError needs_data = python::PendingError::take();
    if (PyObject* form = dataless_form(callee))
      result = run_function(form, args.count(), lowered);
    else
      std::move(needs_data).restore();
  }
  if (result || !ctx.symbols.exist()) return done;
  python::PendingError error = python::PendingError::take();
  const bool in_order = specialize_floats(ctx, args.positional);
  const bool by_name = specialize_floats(ctx, args.keyword_values);
  if (!in_order && !by_name) {
    std::move(error).restore();
    return done;
  }
  lowered = {.where = lowered.where};
  MG_DO(lower_call(ctx, args, lowered));
  result = run();
  return done;
}

// Whether the call is nothing to the graph: a question with a plain answer. One
// that takes tensors and gives None is made for its effect.
bool is_question(PyObject* result, const Lowered& lowered) {
  if (holds_tensor(result)) return false;
  if (result != Py_None) return true;
  for (PyObject* real : lowered.reals)
    if (holds_tensor(real)) return false;
  return true;
}

// The tensors that a call is given as `out`. PyTorch's compilers fail, some by
// a crash, where such a call makes one larger or doesn't find its elements side
// by side.
class Outputs {
 public:
  Outputs(Context& ctx, const Lowered& lowered) : ctx_(ctx) {
    if (!lowered.names) return;
    const size_t count = lowered.keywords.size();
    for (size_t i = 0; i < count; ++i)
      if (PyUnicode_CompareWithASCIIString(lowered.keywords[i].name, "out") ==
          0)
        add(lowered.reals[lowered.reals.size() - count + i]);
  }
  // To be asked when the call has been made on fakes.
  Status check() const {
    const auto simplified = [this](shapes::E size) {
      return ctx_.symbols.environment()->simplify(size);
    };
    for (const auto& [fake, sizes] : before_) {
      if (!std::ranges::equal(sizes, sizes_of(fake), {}, simplified,
                              simplified))
        return ctx_.graph_break("out-argument", "it gets another shape");
      if (!tensor::is_contiguous(fake))
        return ctx_.graph_break("out-argument", "it isn't contiguous");
    }
    return done;
  }

 private:
  void add(PyObject* given) {
    if (tensor::is_tensor(given)) {
      before_.emplace_back(given, sizes_of(given));
    } else if (PyTuple_Check(given) || PyList_Check(given)) {
      PyObject** items = PySequence_Fast_ITEMS(given);
      const std::span all(items,
                          static_cast<size_t>(PySequence_Fast_GET_SIZE(given)));
      for (PyObject* item : all) add(item);
    }
  }
  std::vector<shapes::E> sizes_of(PyObject* fake) const {
    return tensor::size_expressions(ctx_.symbols.environment(), fake);
  }

  Context& ctx_;
  std::vector<std::pair<PyObject*, std::vector<shapes::E>>> before_;
};

// Whether an operand gets its base's history now, which allows writes to it
// that torch refuses otherwise. A rollback takes it away again.
bool makes_history(const Lowered& lowered) {
  bool makes = false;
  for (PyObject* real : lowered.reals) {
    if (!tensor::is_tensor(real) ||
        tensor::history(real) != tensor::History::Due)
      continue;
    tensor::record_metadata(real);
    makes = true;
  }
  return makes;
}

}  // namespace

Signal refused_by_torch(Context& ctx) {
  python::PendingError error = python::PendingError::take();
  // Behind a write it may be one that the history of a view makes, which the
  // graph leaves to the operator; plain Python then runs from the start.
  const bool is_settled = !tensor::operator_effects().first_write();
  if (!ctx.must_be_whole && error.is(PyExc_Exception) &&
      !tensor::is_needs_data(error.object()) &&
      (is_settled || ctx.inliner->is_in_block()))
    return ctx.graph_break("refused-call", error.text());
  std::move(error).restore();
  return ctx.raise_from_python();
}

bool holds_symbol(Context& ctx, V value) {
  // A container may hold itself.
  const RecursionScope scope;
  if (!scope.has_room()) return false;
  value = ctx.look_open(value);
  const auto holds = [&](V item) { return holds_symbol(ctx, item); };
  if (value->kind == Kind::Tuple)
    return std::ranges::any_of(tuple_items(value), holds);
  if (value->kind != Kind::List) return is_open(value);
  const std::vector<V> items = ctx.heap.items(value->heap);
  return std::ranges::any_of(items, holds);
}

bool contains_tensor(Context& ctx, V value) {
  value = ctx.look_open(value);
  switch (value->kind) {
    case Kind::Tensor:
      return true;
    case Kind::Tuple:
    case Kind::Slice:
      for (V item : tuple_items(value))
        if (contains_tensor(ctx, item)) return true;
      return false;
    case Kind::List: {
      std::vector<V> items = ctx.heap.items(value->heap);
      for (V item : items)
        if (contains_tensor(ctx, item)) return true;
      return false;
    }
    case Kind::Dict:
      for (const DictEntry* entry : dict_entries(ctx, value))
        if (contains_tensor(ctx, entry->value)) return true;
      return false;
    default:
      return false;
  }
}

namespace {

// What becomes of a call that gives no tensor.
enum class Questions : uint8_t {
  Answered,  // while tracing, and the graph doesn't have it
  Recorded,  // it is in the graph for its effect
};

Outcome<V> record_call(Context& ctx, PyObject* callable, PyObject* run,
                       const Arguments& given, Questions questions) {
  const WithDefaultDevice with_device(ctx, callable, given);
  const Arguments& args = with_device.arguments();
  Lowered lowered{.where = {.is_marked = questions == Questions::Recorded}};
  MG_DO(lower_call(ctx, args, lowered));
  const bool has_effect = makes_history(lowered);
  const Outputs outputs(ctx, lowered);
  Ref result;
  MG_DO(run_call(ctx, args, lowered, {callable, &Forms::functions}, result,
                 [&] { return run_function(run, args.count(), lowered); }));
  if (!result) return refused_by_torch(ctx);
  MG_DO(outputs.check());
  const bool answers = is_question(result, lowered);
  if (answers && questions == Questions::Answered)
    return from_constant(ctx, std::move(result));
  graph::NodeId node =
      ctx.graph().call_function(callable, lowered.args, lowered.keywords,
                                result.share(), ctx.inliner->origin());
  if (has_effect || questions == Questions::Recorded)
    ctx.graph().set_has_effect(node);
  // What writes to a list of tensors gives back that list.
  for (size_t i = 0; i < args.count(); ++i)
    if (result.get() == lowered.reals[i] && !tensor::is_tensor(result))
      return args.positional[i];
  return value_of_node(ctx, ctx.keep(std::move(result)), node);
}

}  // namespace

Outcome<V> record_function(Context& ctx, PyObject* callable,
                           const Arguments& args) {
  return record_call(ctx, callable, callable, args, Questions::Answered);
}

Outcome<V> record_function_as(Context& ctx, PyObject* callable, PyObject* run,
                              const Arguments& args) {
  return record_call(ctx, callable, run, args, Questions::Answered);
}

Outcome<V> record_marked(Context& ctx, PyObject* callable,
                         const Arguments& args) {
  return record_call(ctx, callable, callable, args, Questions::Recorded);
}

Outcome<V> record_untried(Context& ctx, PyObject* callable,
                          const Arguments& args) {
  Lowered lowered;
  MG_DO(lower_call(ctx, args, lowered));
  const graph::NodeId node =
      ctx.graph().call_function(callable, lowered.args, lowered.keywords,
                                Ref::share(Py_None), ctx.inliner->origin());
  ctx.graph().set_has_effect(node);
  return ctx.none();
}

Status record_effect(Context& ctx, PyObject* callable, PyObject* run,
                     std::initializer_list<V> args) {
  Lowered lowered;
  MG_DO(lower_call(ctx, {.positional = {args.begin(), args.size()}}, lowered));
  Ref result = run_function(run, args.size(), lowered);
  if (!result) return refused_by_torch(ctx);
  ctx.graph().call_function(callable, lowered.args, {}, std::move(result),
                            ctx.inliner->origin());
  return done;
}

Outcome<V> record_method(Context& ctx, PyObject* name, const Arguments& args) {
  Lowered lowered;
  MG_DO(lower_call(ctx, args, lowered));
  const bool has_effect = makes_history(lowered);
  Ref result;
  MG_DO(run_call(ctx, args, lowered, {name, &Forms::methods}, result,
                 [&] { return run_method(name, args.count(), lowered); }));
  if (!result) return refused_by_torch(ctx);
  if (is_question(result, lowered))
    return from_constant(ctx, std::move(result));
  graph::NodeId node =
      ctx.graph().call_method(name, lowered.args, lowered.keywords,
                              result.share(), ctx.inliner->origin());
  if (has_effect) ctx.graph().set_has_effect(node);
  return value_of_node(ctx, ctx.keep(std::move(result)), node);
}

}  // namespace magneto::values
