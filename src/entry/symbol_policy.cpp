// SPDX-License-Identifier: BSD-3-Clause
#include "entry/symbol_policy.h"

#include <algorithm>

#include "entry/report/report.h"
#include "entry/view.h"
#include "python/layout.h"
#include "shapes/environment.h"
#include "tensor/fake_tensor.h"
#include "values/torch/torch_types.h"

namespace magneto::entry {

namespace {

using Size = values::SymbolPolicy::Size;

// A size of 0 or 1 has a meaning of its own.
constexpr shapes::Range kAnySize{2, shapes::Range::kMost};
// Nothing is decided by an unbacked size.
constexpr shapes::Range kUnbackedSize{0, shapes::Range::kMost};

// So many entries for values of one thing are enough.
constexpr int32_t kEnough = 4;

// What torch._dynamo.mark_dynamic() and its kin leave on a tensor: attributes
// that are sets of dimensions. Of two marks, the later one here counts.
enum class Says : uint8_t { Dynamic, Static, Unbacked };
struct Mark {
  const char* attribute;
  Says says;
  bool is_promise;
};
constexpr Mark kMarks[] = {
    {"_dynamo_weak_dynamic_indices", Says::Dynamic, false},
    {"_dynamo_dynamic_indices", Says::Dynamic, true},
    {"_dynamo_static_indices", Says::Static, false},
    {"_dynamo_strict_unbacked_indices", Says::Unbacked, false},
    {"_dynamo_unbacked_indices", Says::Unbacked, false},
};

// The field of what mark_dynamic() notes of a dimension.
int64_t number_or(PyObject* number, int64_t otherwise) {
  int64_t value =
      number && PyLong_Check(number) ? PyLong_AsLongLong(number) : otherwise;
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    value = otherwise;
  }
  return value;
}

// mark_dynamic(t, i, min=..., max=...): a set of objects with `dim`, `min`,
// `max`.
void apply_bounds(PyObject* bounds, values::SymbolPolicy::Sizes& sizes) {
  auto field = [](PyObject* bound, const char* name, int64_t otherwise) {
    Ref value = Ref::steal(PyObject_GetAttrString(bound, name));
    if (!value) PyErr_Clear();
    return number_or(value, otherwise);
  };
  Ref listed = Ref::steal(PySequence_List(bounds));
  if (!listed) return PyErr_Clear();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listed.get()); ++i) {
    PyObject* bound = PyList_GET_ITEM(listed.get(), i);
    const int64_t dimension = field(bound, "dim", -1);
    if (dimension < 0 || dimension >= static_cast<int64_t>(sizes.size()))
      continue;
    auto& size = sizes[static_cast<size_t>(dimension)];
    if (!size || size->is_unbacked) continue;
    shapes::Range& range = size->range;
    range = shapes::intersect(range, {field(bound, "min", range.least),
                                      field(bound, "max", range.most)});
  }
}

// mark_unbacked(t, i, min=..., max=..., shape_id=...): dicts by dimension, of
// pairs and of texts.
void apply_unbacked(PyObject* dict, PyObject* tensor,
                    values::SymbolPolicy::Sizes& sizes) {
  auto noted = [&](const char* attribute, size_t dimension) -> PyObject* {
    PyObject* all = PyDict_GetItemString(dict, attribute);
    Ref index = Ref::steal(PyLong_FromSize_t(dimension));
    return all && PyDict_CheckExact(all) ? PyDict_GetItem(all, index) : nullptr;
  };
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::optional<values::SymbolPolicy::Size>& size = sizes[i];
    if (!size || !size->is_unbacked) continue;
    shapes::Range& range = size->range;
    PyObject* bounds = noted("_dynamo_unbacked_bounds", i);
    if (bounds && PyTuple_CheckExact(bounds) && PyTuple_GET_SIZE(bounds) == 2)
      range = shapes::intersect(
          range, {number_or(PyTuple_GET_ITEM(bounds, 0), range.least),
                  number_or(PyTuple_GET_ITEM(bounds, 1), range.most)});
    PyObject* group = noted("_dynamo_shape_ids", i);
    const char* text = group && PyUnicode_CheckExact(group)
                           ? PyUnicode_AsUTF8(group)
                           : nullptr;
    // Those that aren't equal in this call aren't said to be.
    if (text)
      size->group =
          text + std::string("=") + std::to_string(tensor::sizes(tensor)[i]);
    PyErr_Clear();
  }
}

// Arguments of the call, and what is in lists, tuples and dicts among them.
bool is_argument(const guards::SourceTable& sources, guards::SourceId id) {
  using guards::SourceKind;
  for (; id.valid(); id = sources[id].base) {
    switch (sources[id].kind) {
      case SourceKind::Local:
      case SourceKind::ListItem:
      case SourceKind::DequeItem:
      case SourceKind::TupleItem:
      case SourceKind::DictItem:
        continue;
      default:
        return false;
    }
  }
  return true;
}

// The program has said that each such number is compiled for.
bool is_specialized(PyObject* number) {
  return (PyLong_CheckExact(number) && config_flag("specialize_int")) ||
         (PyFloat_CheckExact(number) && config_flag("specialize_float"));
}

bool is_said_to_vary(NamedSources::Says said) {
  return said == NamedSources::Says::IsDynamic ||
         said == NamedSources::Says::IsUnbacked;
}

// Whether a number in the tuple at `path`, or in a tuple in it, has a name that
// is wanted.
template <class Wanted>
bool any_number(PyObject* tuple, const std::string& path, Wanted wanted) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    const std::string name = guards::item_name(path, i);
    if (PyTuple_CheckExact(item)
            ? any_number(item, name, wanted)
            : guards::is_number(item) && wanted(name, item))
      return true;
  }
  return false;
}

}  // namespace

FrameSymbols::FrameSymbols(CodeCache& cache, const guards::SourceTable& sources)
    : varied_(cache.varied),
      varies_too_much_(cache.record().varies_too_much),
      locals_(static_cast<size_t>(cache.point().code->co_nlocalsplus)),
      sources_(sources),
      named_(sources),
      takes_data_(cache.takes_data) {
  PyObject* dynamic = cache.settings()->dynamic;
  mode_ = dynamic == Py_True                        ? Mode::Always
          : dynamic == Py_False                     ? Mode::Never
          : config_flag("assume_static_by_default") ? Mode::Varied
                                                    : Mode::Always;
  // As in the body of a loop that has a break: there another one costs less
  // than what the limit of compilations would do.
  is_behind_break_ = mode_ != Mode::Never && cache.point().start != 0 &&
                     !cache.settings()->fullgraph;
  // Without a graph, plain Python is as good.
  has_enough_ = is_behind_break_ && cache.compilations >= kEnough &&
                std::ranges::any_of(cache.entries(), [](const auto& entry) {
                  return entry->has_calls;
                });
}

void FrameSymbols::apply_marks(PyObject* tensor, guards::SourceId source,
                               Sizes& sizes) {
  PyObject** dict = python::made_dict_slot(tensor);
  if (!dict || !*dict || PyDict_GET_SIZE(*dict) == 0) return;
  for (const Mark& mark : kMarks) {
    PyObject* marked = PyDict_GetItemString(*dict, mark.attribute);
    if (!marked || !PyAnySet_CheckExact(marked)) continue;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Ref index = Ref::steal(PyLong_FromSize_t(i));
      if (PySet_Contains(marked, index) != 1) continue;
      switch (mark.says) {
        case Says::Dynamic:
          sizes[i] = Size{kAnySize};
          break;
        case Says::Static:
          sizes[i].reset();
          break;
        case Says::Unbacked:
          // For a backend that has refused such sizes, one that varies.
          sizes[i] = takes_data_ ? Size{kUnbackedSize, true} : Size{kAnySize};
      }
      if (mark.is_promise) promises_.push_back({source, i});
    }
  }
  PyObject* bounds = PyDict_GetItemString(*dict, "_dynamo_dynamic_range");
  if (bounds) apply_bounds(bounds, sizes);
  apply_unbacked(*dict, tensor, sizes);
  find_contradiction(*dict, tensor, source, sizes);
  // A call outside of the bounds is compiled for itself.
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = tensor::sizes(tensor)[i];
    std::optional<Size>& wanted = sizes[i];
    if (wanted && (size > 1 || wanted->is_unbacked) &&
        !wanted->range.contains(size))
      wanted.reset();
  }
}

void FrameSymbols::find_contradiction(PyObject* dict, PyObject* tensor,
                                      guards::SourceId source,
                                      const Sizes& sizes) {
  auto is_marked = [&](const char* attribute, size_t dimension) {
    PyObject* marked = PyDict_GetItemString(dict, attribute);
    Ref index = Ref::steal(PyLong_FromSize_t(dimension));
    return marked && PyAnySet_CheckExact(marked) &&
           PySet_Contains(marked, index) == 1;
  };
  for (size_t i = 0; i < sizes.size() && !contradiction_; ++i) {
    const std::optional<values::SymbolPolicy::Size>& size = sizes[i];
    std::string what;
    const bool is_static = is_marked("_dynamo_static_indices", i);
    const bool is_unbacked = is_marked("_dynamo_unbacked_indices", i) ||
                             is_marked("_dynamo_strict_unbacked_indices", i);
    if (is_static && is_marked("_dynamo_dynamic_indices", i))
      what = "as dynamic and as static";
    else if (is_static && is_unbacked)
      what = "as unbacked and as static";
    else if (size && size->range.least > size->range.most &&
             (is_unbacked || size->range.least > kAnySize.least))
      what = std::string(is_unbacked ? "as unbacked" : "as dynamic") +
             " between " + std::to_string(size->range.least) + " and " +
             std::to_string(size->range.most);
    if (!what.empty())
      contradiction_ = Broken{guards::size_name(sources_.print(source), i),
                              tensor::sizes(tensor)[i],
                              {},
                              what};
  }
}

values::SymbolPolicy::Sizes FrameSymbols::symbolic_sizes(
    PyObject* tensor, guards::SourceId source) {
  const auto ndim = static_cast<size_t>(tensor::dim(tensor));
  Sizes sizes(ndim);
  // A model's parameters have the sizes that they have.
  if (Py_TYPE(tensor) == values::torch_types().parameter) {
    apply_names(tensor, source, sizes);
    return sizes;
  }
  if (mode_ == Mode::Always) {
    sizes.assign(ndim, Size{kAnySize});
  } else if (mode_ == Mode::Varied && !varied_.empty()) {
    const std::string name = sources_.print(source);
    for (size_t i = 0; i < ndim; ++i)
      if (varied_.contains(guards::size_name(name, i)))
        sizes[i] = Size{kAnySize};
  }
  apply_marks(tensor, source, sizes);
  apply_names(tensor, source, sizes);
  return sizes;
}

void FrameSymbols::apply_names(PyObject* tensor, guards::SourceId source,
                               Sizes& sizes) {
  for (size_t i = 0; named_ && i < sizes.size(); ++i) {
    switch (named_.of_size(source, i, tensor::sizes(tensor)[i])) {
      case NamedSources::Says::Nothing:
        break;
      case NamedSources::Says::IsDynamic:
        if (!sizes[i]) sizes[i] = Size{kAnySize};
        break;
      case NamedSources::Says::IsUnbacked:
        sizes[i] = takes_data_ ? Size{kUnbackedSize, true} : Size{kAnySize};
        break;
      case NamedSources::Says::IsStatic:
        if (!has_hard_mark(source, i, sizes[i])) sizes[i].reset();
    }
  }
}

bool FrameSymbols::has_hard_mark(guards::SourceId source, size_t dimension,
                                 const std::optional<Size>& size) const {
  return (size && size->is_unbacked) ||
         std::ranges::any_of(promises_, [&](const Promise& promise) {
           return promise.source == source && promise.dimension == dimension;
         });
}

bool FrameSymbols::is_symbolic_stride(guards::SourceId source,
                                      size_t dimension) {
  return mode_ == Mode::Varied && !varied_.empty() &&
         varied_.contains(guards::number_name(sources_.print(source),
                                              guards::IntKind::Stride,
                                              static_cast<int64_t>(dimension)));
}

std::optional<FrameSymbols::Broken> FrameSymbols::broken_promise(
    values::Context& ctx) const {
  if (contradiction_) return contradiction_;
  if (promises_.empty() || !ctx.symbols.exist()) return {};
  shapes::Environment& environment = *ctx.symbols.environment();
  for (const Promise& promise : promises_) {
    for (size_t i = 0; i < environment.symbol_count(); ++i) {
      if (!environment.symbol(shapes::SymbolId(i)).is_backed) continue;
      const guards::IntSource& source = ctx.symbols.sources()[i];
      const auto dimension = static_cast<int64_t>(promise.dimension);
      if (source.kind != guards::IntKind::Size ||
          source.source != promise.source || source.dim != dimension)
        continue;
      const shapes::Symbol& symbol = environment.symbol(shapes::SymbolId(i));
      if (!environment.simplify(symbol.expression)->is_constant()) continue;
      Broken broken{
          guards::size_name(sources_.print(source.source), promise.dimension),
          symbol.hint.integer(),
          {}};
      // The last decision about it is the one that settled it.
      for (const shapes::Decision& decision : environment.decisions()) {
        shapes::for_each_symbol(decision.condition, [&](shapes::SymbolId each) {
          if (each.index == i) broken.place.index = decision.place;
        });
      }
      return broken;
    }
  }
  return {};
}

bool FrameSymbols::has_symbolic_items(PyObject* tuple,
                                      guards::SourceId source) {
  if (named_ &&
      any_number(tuple, sources_.torch_name(source),
                 [&](const std::string& name, PyObject* item) {
                   return is_said_to_vary(named_.of_number(name, item));
                 }))
    return true;
  if (mode_ == Mode::Never || (mode_ == Mode::Varied && varied_.empty()) ||
      (mode_ == Mode::Always && !is_argument(sources_, source)))
    return false;
  return any_number(tuple, sources_.print(source),
                    [this](const std::string& name, PyObject*) {
                      return mode_ == Mode::Always || varied_.contains(name);
                    });
}

bool FrameSymbols::is_symbolic(PyObject* number, guards::SourceId source) {
  // An iterator that counts: the next call has it at another number.
  if (PyIter_Check(number))
    return mode_ == Mode::Always ||
           (mode_ == Mode::Varied && config_flag("automatic_dynamic_shapes"));
  const NamedSources::Says said = named_.of_number(source, number);
  if (is_said_to_vary(said)) return true;
  if (mode_ == Mode::Never || said == NamedSources::Says::IsStatic)
    return false;
  const bool varies =
      (mode_ == Mode::Always && is_argument(sources_, source)) ||
      (!varied_.empty() && varied_.contains(sources_.print(source))) ||
      is_known_to_vary(source);
  return varies && !is_specialized(number);
}

// By a piece of the same function that had enough of it.
bool FrameSymbols::is_known_to_vary(guards::SourceId source) const {
  return is_behind_break_ && !varies_too_much_.empty() &&
         varies_too_much_.contains(sources_.print(source));
}

bool FrameSymbols::has_enough_of_symbol(guards::SourceId source) const {
  return has_enough_ || is_known_to_vary(source);
}

bool FrameSymbols::has_enough_of_constant(guards::SourceId source) const {
  return is_known_to_vary(source) ||
         (has_enough_ && varied_.contains(sources_.print(source)));
}

void FrameSymbols::leave(guards::SourceId source) {
  guards::SourceId root = source;
  while (sources_[root].base.valid()) root = sources_[root].base;
  const bool is_on_stack = sources_[root].kind == guards::SourceKind::Local &&
                           sources_[root].index >= locals_;
  if (!is_on_stack) varies_too_much_.insert(sources_.print(source));
}

void note_variations(CodeCache& cache, const python::FrameRequest& request) {
  if (!config_flag("automatic_dynamic_shapes")) return;
  const guards::CallView view = view_of(request);
  const auto note = [&](guards::GuardProgram& guards) {
    for (std::string& name : guards.variations(view))
      cache.varied.insert(std::move(name));
  };
  for (const EntryHold& entry : cache.entries()) note(*entry->guards);
  if (cache.seen) note(*std::exchange(cache.seen, nullptr));
}

}  // namespace magneto::entry
