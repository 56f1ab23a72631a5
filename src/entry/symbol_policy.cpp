// SPDX-License-Identifier: BSD-3-Clause
#include "entry/symbol_policy.h"

#include "entry/compiler.h"
#include "entry/report.h"
#include "tensor/fake_tensor.h"
#include "values/torch_types.h"

namespace magneto::entry {

namespace {

// What torch._dynamo.mark_dynamic() and its kin leave on a tensor: attributes
// that are sets of dimensions.
struct Mark {
  const char* attribute;
  bool is_symbolic;
};
constexpr Mark kMarks[] = {
    {"_dynamo_dynamic_indices", true},
    {"_dynamo_weak_dynamic_indices", true},
    {"_dynamo_static_indices", false},
};

void apply_marks(PyObject* tensor, std::vector<bool>& symbolic) {
  PyObject** dict = _PyObject_GetDictPtr(tensor);
  if (!dict || !*dict || PyDict_GET_SIZE(*dict) == 0) return;
  for (const Mark& mark : kMarks) {
    PyObject* marked = PyDict_GetItemString(*dict, mark.attribute);
    if (!marked || !PyAnySet_CheckExact(marked)) continue;
    for (size_t i = 0; i < symbolic.size(); ++i) {
      Ref index = Ref::steal(PyLong_FromSize_t(i));
      if (PySet_Contains(marked, index) == 1) symbolic[i] = mark.is_symbolic;
    }
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

std::vector<bool> FrameSymbols::symbolic_sizes(PyObject* tensor,
                                               guards::SourceId source) {
  const auto ndim = static_cast<size_t>(tensor::dim(tensor));
  // A model's parameters have the sizes that they have.
  if (Py_TYPE(tensor) == values::torch_types().parameter) return {};
  std::vector<bool> symbolic(ndim, mode_ == Mode::Always);
  if (mode_ == Mode::Varied && !varied_.empty()) {
    const std::string name = sources_.print(source);
    for (size_t i = 0; i < ndim; ++i)
      symbolic[i] = varied_.contains(guards::size_name(name, i));
  }
  apply_marks(tensor, symbolic);
  return symbolic;
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
