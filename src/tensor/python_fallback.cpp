// SPDX-License-Identifier: BSD-3-Clause
// Copies in, FakeTensorMode, copies out. The only file of the room that speaks
// pybind11, since torch's casters between IValue and Python are written in it.
#include "tensor/python_fallback.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <unordered_map>

#include "tensor/composite.h"
#include "tensor/errors.h"
#include "tensor/fake_tensor.h"
#include "tensor/metadata_log.h"
#include "tensor/out_variants.h"

namespace magneto::tensor {
namespace {

namespace py = pybind11;

// Counts are read by tests and by whoever decides on the next rule to write.
std::mutex counts_mutex;
std::map<std::string, uint64_t>& counts() {
  static auto* map = new std::map<std::string, uint64_t>;  // leaked on purpose
  return *map;
}

// One FakeTensorMode for the process, made at first use. Deliberately leaked:
// it must not be released after the interpreter is gone.
struct PythonMode {
  py::object mode;
  py::object fake_tensor_class;
  py::object log;       // the mode's logger
  py::tuple no_answer;  // exceptions that mean "needs data" or "unsupported"

  static PythonMode& get() {
    // Not by an initializer, which other threads would wait for: the import may
    // let go of the GIL.
    static PythonMode* instance = nullptr;
    if (!instance) {
      auto* made = new PythonMode;
      if (!instance) instance = made;
    }
    return *instance;
  }

 private:
  PythonMode() {
    py::module_ module = py::module_::import("torch._subclasses.fake_tensor");
    fake_tensor_class = module.attr("FakeTensor");
    log = module.attr("log");
    mode =
        module.attr("FakeTensorMode")(py::arg("allow_non_fake_inputs") = true);
    no_answer = py::make_tuple(
        module.attr("DataDependentOutputException"),
        module.attr("DynamicOutputShapeException"),
        module.attr("UnsupportedOperatorException"),
        module.attr("UnsupportedFakeTensorException"),
        py::reinterpret_borrow<py::object>(PyExc_NotImplementedError));
  }
};

bool has_symbols(const at::Tensor& tensor) {
  return tensor.defined() &&
         tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// What the mode gets to see of our symbols. It computes with them as with its
// own, which much of its code can, and kernels that programs register.
enum class Numbers : uint8_t { Symbolic, Plain };

// The arguments of one call as Python FakeTensors, and the way back. Tensors
// that share a storage share one on the other side, too.
class Crossing {
 public:
  explicit Crossing(Numbers numbers) : numbers_(numbers) {}

  c10::IValue in(const c10::IValue& value) {
    if (value.isTensor()) return in(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& each : value.toTensorVector()) {
        list.push_back(in(each));
      }
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& each :
           value.toOptionalTensorVector()) {
        list.push_back(each ? std::optional(in(*each)) : std::nullopt);
      }
      return list;
    }
    const bool is_castable = value.isSymInt() || value.isSymIntList();
    return numbers_ == Numbers::Symbolic && is_castable
               ? value
               : with_plain_numbers(value);
  }

  c10::IValue out(const c10::IValue& value) {
    if (value.isTensor()) return out(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& each : value.toTensorVector()) {
        list.push_back(out(each));
      }
      return list;
    }
    return value;
  }

  // What the call changed in the metadata of an argument that it writes.
  void write_back(const c10::IValue& argument) {
    if (!argument.isTensor() || !argument.toTensor().defined()) return;
    const at::Tensor& ours = argument.toTensor();
    const at::Tensor& theirs = inward_.at(ours.unsafeGetTensorImpl());
    if (ours.sym_sizes().equals(theirs.sym_sizes()) &&
        ours.sym_strides().equals(theirs.sym_strides())) {
      return;
    }
    resize_tensor(ours, theirs.sym_sizes(), theirs.sym_strides());
  }

 private:
  at::Tensor in(const at::Tensor& tensor) {
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (!tensor.defined() || impl->is_wrapped_number()) return tensor;
    at::Tensor& known = inward_[impl];
    if (!known.defined()) {
      PythonMode& python = PythonMode::get();
      py::object fake = python.fake_tensor_class(
          python.mode,
          py::reinterpret_steal<py::object>(THPVariable_Wrap(to_meta(tensor))),
          py::reinterpret_steal<py::object>(THPDevice_New(tensor.device())));
      known = THPVariable_Unpack(fake.ptr());
      outward_[known.unsafeGetTensorImpl()] = tensor;
    }
    return known;
  }

  at::Tensor to_meta(const at::Tensor& tensor) {
    c10::StorageImpl* ours =
        tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
    c10::Storage& storage = storages_in_[ours];
    if (!storage) {
      storage =
          c10::Storage(c10::Storage::use_byte_size_t(),
                       numbers_ == Numbers::Symbolic
                           ? ours->sym_nbytes()
                           : ours->sym_nbytes().guard_int(__FILE__, __LINE__),
                       c10::GetAllocator(c10::kMeta)->allocate(0),
                       c10::GetAllocator(c10::kMeta), /*resizable=*/true);
      storages_out_[storage.unsafeGetStorageImpl()] =
          tensor.unsafeGetTensorImpl()->unsafe_storage();
    }
    auto impl = c10::make_intrusive<c10::TensorImpl>(
        c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::Meta),
        tensor.dtype());
    if (numbers_ == Numbers::Symbolic && has_symbols(tensor)) {
      impl->set_sizes_and_strides(tensor.sym_sizes(), tensor.sym_strides(),
                                  tensor.sym_storage_offset());
    } else {
      impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                  tensor.storage_offset());
    }
    return at::Tensor(std::move(impl));
  }

  at::Tensor out(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (tensor.layout() != c10::kStrided) {
      throw_needs_data("the result isn't a strided tensor");
    }
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    auto known = outward_.find(impl);
    if (known != outward_.end()) return known->second;
    const c10::Storage& theirs = impl->unsafe_storage();
    auto alias = storages_out_.find(theirs.unsafeGetStorageImpl());
    if (alias != storages_out_.end()) {
      at::Tensor base =
          make_contiguous({}, tensor.scalar_type(), tensor.device());
      static_cast<FakeImpl*>(base.unsafeGetTensorImpl())
          ->set_storage(alias->second);
      return make_view(base, tensor.sym_sizes(), tensor.sym_strides(),
                       tensor.sym_storage_offset());
    }
    at::Tensor fresh = make_tensor(tensor.sym_sizes(), tensor.sym_strides(),
                                   tensor.scalar_type(), tensor.device());
    storages_out_[theirs.unsafeGetStorageImpl()] =
        fresh.unsafeGetTensorImpl()->unsafe_storage();
    kept_.push_back(tensor);
    return fresh;
  }

  const Numbers numbers_;
  std::unordered_map<c10::TensorImpl*, at::Tensor> inward_;
  std::unordered_map<c10::TensorImpl*, at::Tensor> outward_;
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_in_;
  std::unordered_map<c10::StorageImpl*, c10::Storage> storages_out_;
  std::vector<at::Tensor> kept_;  // so that storage addresses stay theirs
};

py::object find_op(const c10::OperatorName& name) {
  size_t colons = name.name.find("::");
  py::object ops = py::module_::import("torch").attr("ops");
  return ops.attr(name.name.substr(0, colons).c_str())
      .attr(name.name.substr(colons + 2).c_str())
      .attr(name.overload_name.empty() ? "default"
                                       : name.overload_name.c_str());
}

// The mode logs what its kernels raise, with their frames. It is the program's
// own error, which may well be caught.
class Silence {
 public:
  explicit Silence(const py::object& log)
      : log_(log), before_(log.attr("disabled")) {
    log_.attr("disabled") = true;
  }
  ~Silence() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyObject_SetAttrString(log_.ptr(), "disabled", before_.ptr()) != 0)
      PyErr_WriteUnraisable(log_.ptr());
    PyErr_Restore(type, value, traceback);
  }
  Silence(const Silence&) = delete;

 private:
  const py::object& log_;
  py::object before_;
};

py::object call_under_mode(const OpInfo& op, Crossing& crossing,
                           const c10::IValue* args) {
  py::list positional;
  py::dict keywords;
  const auto& arguments = op.handle.schema().arguments();
  for (uint32_t i = 0; i < op.arity; ++i) {
    py::object value = torch::jit::toPyObject(crossing.in(args[i]));
    if (arguments[i].kwarg_only()) {
      keywords[arguments[i].name().c_str()] = value;
    } else {
      positional.append(value);
    }
  }
  const Silence silence(PythonMode::get().log);
  py::object mode = PythonMode::get().mode;
  mode.attr("__enter__")();
  // __exit__ must run whatever happens, or the mode stays on for good.
  struct Exit {
    py::object& mode;
    ~Exit() {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      Ref result = Ref::steal(PyObject_CallMethod(mode.ptr(), "__exit__", "OOO",
                                                  Py_None, Py_None, Py_None));
      if (!result) PyErr_WriteUnraisable(mode.ptr());
      PyErr_Restore(type, value, traceback);
    }
  } exit{mode};
  return find_op(op.handle.operator_name())(*positional, **keywords);
}

void take_results(const OpInfo& op, Crossing& crossing,
                  const py::object& result, Outputs& outputs) {
  const auto& returns = op.handle.schema().returns();
  if (returns.size() == 1) {
    outputs.push_back(
        crossing.out(torch::jit::toIValue(result, returns[0].type())));
    return;
  }
  for (size_t i = 0; i < returns.size(); ++i) {
    outputs.push_back(crossing.out(torch::jit::toIValue(
        py::object(result[py::int_(i)]), returns[i].type())));
  }
}

[[noreturn]] void rethrow(const OpInfo& op, py::error_already_set& error) {
  if (error.matches(PyExc_Exception)) {
    const std::string reason =
        op.name + ": " +
        py::str(error.type().attr("__name__")).cast<std::string>() + ": " +
        py::str(error.value()).cast<std::string>();
    if (error.matches(PythonMode::get().no_answer)) throw_needs_data(reason);
    throw_refused(reason);
  }
  error.restore();
  python_error native;
  native.persist();
  throw native;
}

}  // namespace

namespace {

Outputs run_call(const OpInfo& op, const c10::IValue* args, Numbers numbers) {
  // FakeTensorMode must find the thread's dispatch state as it would be
  // outside of any operator, and must not meet our key.
  c10::impl::ForceDispatchKeyGuard guard(
      c10::default_included_set, c10::default_excluded_set.add(kFakeKey));
  c10::AutoGradMode no_grad(false);
  Crossing crossing(numbers);
  const py::object result = call_under_mode(op, crossing, args);
  Outputs outputs;
  take_results(op, crossing, result, outputs);
  for (uint32_t index : op.written) crossing.write_back(args[index]);
  return outputs;
}

bool has_symbols(const c10::IValue& value) {
  if (value.isTensor()) return has_symbols(value.toTensor());
  if (value.isTensorList())
    return std::ranges::any_of(
        value.toTensorVector(),
        [](const at::Tensor& tensor) { return has_symbols(tensor); });
  return value.isSymInt() || value.isSymIntList();
}

// The mode can't look up by our symbols what it remembers of calls.
class WithoutCache {
 public:
  WithoutCache() : before_(mode().attr("cache_enabled")) {
    mode().attr("cache_enabled") = false;
  }
  ~WithoutCache() { mode().attr("cache_enabled") = before_; }
  WithoutCache(const WithoutCache&) = delete;

 private:
  static const py::object& mode() { return PythonMode::get().mode; }

  const py::object before_;
};

// None: the mode needs plain numbers.
std::optional<Outputs> run_with_symbols(const OpInfo& op,
                                        const c10::IValue* args) {
  const WithoutCache scope;
  try {
    return run_call(op, args, Numbers::Symbolic);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    return std::nullopt;
  } catch (const std::exception&) {
    // Ours: a decision that needs data, or a size that is none.
    return std::nullopt;
  }
}

}  // namespace

void run_in_python(const OpInfo& op, torch::jit::Stack& stack) {
  {
    std::lock_guard<std::mutex> lock(counts_mutex);
    ++counts()[op.name];
  }
  py::gil_scoped_acquire gil;
  std::optional<Outputs> outputs;
  const c10::IValue* args = stack.data() + (stack.size() - op.arity);
  try {
    if (std::any_of(args, args + op.arity,
                    [](const c10::IValue& arg) { return has_symbols(arg); }))
      outputs = run_with_symbols(op, args);
    if (!outputs) outputs = run_call(op, args, Numbers::Plain);
  } catch (py::error_already_set& error) {
    rethrow(op, error);
  }
  stack.resize(stack.size() - op.arity);
  for (c10::IValue& output : *outputs) stack.push_back(std::move(output));
}

std::vector<FallbackCount> fallback_counts() {
  std::lock_guard<std::mutex> lock(counts_mutex);
  std::vector<FallbackCount> result;
  for (const auto& [op, count] : counts()) result.push_back({op, count});
  std::stable_sort(result.begin(), result.end(),
                   [](const FallbackCount& a, const FallbackCount& b) {
                     return a.count > b.count;
                   });
  return result;
}

void reset_fallback_counts() {
  std::lock_guard<std::mutex> lock(counts_mutex);
  counts().clear();
}

}  // namespace magneto::tensor
