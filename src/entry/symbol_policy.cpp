// SPDX-License-Identifier: BSD-3-Clause
#include "entry/symbol_policy.h"

#include "entry/compiler.h"
#include "entry/report.h"
#include "shapes/environment.h"
#include "tensor/fake_tensor.h"
#include "values/torch_types.h"

namespace magneto::entry {

namespace {

// A size of 0 or 1 has a meaning of its own.
constexpr shapes::Range kAnySize{2, shapes::Range::kMost};

// What torch._dynamo.mark_dynamic() and its kin leave on a tensor: attributes
// that are sets of dimensions.
struct Mark {
  const char* attribute;
  bool is_symbolic;
  bool is_promise;
};
constexpr Mark kMarks[] = {
    {"_dynamo_weak_dynamic_indices", true, false},
    {"_dynamo_dynamic_indices", true, true},
    {"_dynamo_static_indices", false, false},
};

// mark_dynamic(t, i, min=..., max=...): a set of objects with `dim`, `min`,
// `max`.
void apply_bounds(PyObject* bounds, values::SymbolPolicy::Sizes& sizes) {
  auto field = [](PyObject* bound, const char* name, int64_t otherwise) {
    Ref value = Ref::steal(PyObject_GetAttrString(bound, name));
    const int64_t number = value && PyLong_Check(value.get())
                               ? PyLong_AsLongLong(value)
                               : otherwise;
    PyErr_Clear();
    return number;
  };
  Ref listed = Ref::steal(PySequence_List(bounds));
  if (!listed) return PyErr_Clear();
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(listed.get()); ++i) {
    PyObject* bound = PyList_GET_ITEM(listed.get(), i);
    const int64_t dimension = field(bound, "dim", -1);
    if (dimension < 0 || dimension >= static_cast<int64_t>(sizes.size()))
      continue;
    auto& range = sizes[static_cast<size_t>(dimension)];
    if (!range) continue;
    range = shapes::intersect(*range, {field(bound, "min", range->least),
                                       field(bound, "max", range->most)});
  }
}

// Arguments of the call, and what is in lists, tuples and dicts among them.
bool is_argument(const guards::SourceTable& sources, guards::SourceId id) {
  using guards::SourceKind;
  for (; id.valid(); id = sources[id].base) {
    switch (sources[id].kind) {
      case SourceKind::Local:
      case SourceKind::ListItem:
      case SourceKind::TupleItem:
      case SourceKind::DictItem:
        continue;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace

FrameSymbols::FrameSymbols(const CodeCache& cache,
                           const guards::SourceTable& sources)
    : varied_(cache.varied), sources_(sources) {
  PyObject* dynamic = cache.settings()->dynamic;
  mode_ = dynamic == Py_True    ? Mode::Always
          : dynamic == Py_False ? Mode::Never
                                : Mode::Varied;
}

void FrameSymbols::apply_marks(PyObject* tensor, guards::SourceId source,
                               Sizes& sizes) {
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  if (!dict || !*dict || PyDict_GET_SIZE(*dict) == 0) return;
  for (const Mark& mark : kMarks) {
    PyObject* marked = PyDict_GetItemString(*dict, mark.attribute);
    if (!marked || !PyAnySet_CheckExact(marked)) continue;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Ref index = Ref::steal(PyLong_FromSize_t(i));
      if (PySet_Contains(marked, index) != 1) continue;
      sizes[i] = mark.is_symbolic ? std::optional(kAnySize) : std::nullopt;
      if (mark.is_promise) promises_.push_back({source, i});
    }
  }
  PyObject* bounds = PyDict_GetItemString(*dict, "_dynamo_dynamic_range");
  if (bounds) apply_bounds(bounds, sizes);
  find_contradiction(*dict, tensor, source, sizes);
  // A call outside of the bounds is compiled for itself.
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t size = tensor::sizes(tensor)[i];
    std::optional<shapes::Range>& range = sizes[i];
    if (range && size > 1 && !range->contains(size)) range.reset();
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
    std::string what;
    if (is_marked("_dynamo_dynamic_indices", i) &&
        is_marked("_dynamo_static_indices", i))
      what = "as dynamic and as static";
    else if (sizes[i] && sizes[i]->least > sizes[i]->most &&
             sizes[i]->least > kAnySize.least)
      what = "as dynamic between " + std::to_string(sizes[i]->least) + " and " +
             std::to_string(sizes[i]->most);
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
  // A model's parameters have the sizes that they have.
  if (Py_TYPE(tensor) == values::torch_types().parameter) return {};
  Sizes sizes(ndim);
  if (mode_ == Mode::Always) {
    sizes.assign(ndim, kAnySize);
  } else if (mode_ == Mode::Varied && !varied_.empty()) {
    const std::string name = sources_.print(source);
    for (size_t i = 0; i < ndim; ++i)
      if (varied_.contains(guards::size_name(name, i))) sizes[i] = kAnySize;
  }
  apply_marks(tensor, source, sizes);
  return sizes;
}

std::optional<FrameSymbols::Broken> FrameSymbols::broken_promise(
    values::Context& ctx) const {
  if (contradiction_) return contradiction_;
  if (promises_.empty() || !ctx.has_symbols()) return {};
  shapes::Environment& environment = *ctx.environment();
  for (const Promise& promise : promises_) {
    for (size_t i = 0; i < ctx.symbol_sources().size(); ++i) {
      const guards::IntSource& source = ctx.symbol_sources()[i];
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

bool FrameSymbols::is_symbolic(PyObject*, guards::SourceId source) {
  if (mode_ == Mode::Always && is_argument(sources_, source)) return true;
  return mode_ != Mode::Never && !varied_.empty() &&
         varied_.contains(sources_.print(source));
}

void note_variations(CodeCache& cache, const python::FrameRequest& request) {
  if (!config_flag("automatic_dynamic_shapes")) return;
  const guards::CallView view = view_of(request);
  for (const EntryHold& entry : cache.entries())
    for (std::string& name : entry->guards->variations(view))
      cache.varied.insert(std::move(name));
}

}  // namespace magneto::entry
