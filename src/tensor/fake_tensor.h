// SPDX-License-Identifier: BSD-3-Clause
// Fake tensors, seen from the rooms that know nothing of ATen.
//
// A fake tensor is a torch.Tensor without data: device, dtype, sizes, strides,
// requires_grad and autograd history are those that the real one would have.
// Torch's own callables run on it; shape rules in C++ say what comes out.
//
// Everything here needs the GIL and belongs to the calling thread (the journal
// and the mode are per thread).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "python/ref.h"
#include "support/journal.h"
#include "tensor/fake_key.h"
#include "tensor/symbols.h"

namespace magneto::tensor {

// Must be called once, before anything else here, after torch was imported.
// Registers the fallback of the fake dispatch key; raises (returns false with
// a Python error set) when the running torch is not the one built against.
bool initialize();

// True for torch.Tensor and its subclasses (Parameter, Buffer, ...); a check
// of the type, so it can't run Python code.
bool is_tensor(PyObject* object) noexcept;
// True for a tensor (of whichever Python type) whose implementation is fake.
bool is_fake(PyObject* object) noexcept;

// Makes the fakes of one trace's inputs. The same real tensor gives the same
// fake; tensors that share a storage give fakes that share one, and a view's
// base becomes the fake's base. The result's Python type is torch.Tensor,
// whatever the real one's is. Keeps the real tensors that it saw alive.
class FakeInputs final : public UnseenJournaled {
 public:
  // `journal` may be null. A rollback forgets the fakes made since.
  explicit FakeInputs(Journal* journal = nullptr);
  ~FakeInputs();
  FakeInputs(const FakeInputs&) = delete;
  FakeInputs& operator=(const FakeInputs&) = delete;

  // The fake of `real`; null with a Python error set when this tensor can't
  // be faked (sparse, nested, wrapper subclasses, functorch's).
  Ref fake_of(PyObject* real);
  // The same with symbolic sizes and strides, of the environment given.
  Ref fake_of(PyObject* real, const EnvironmentRef& environment,
              const SymbolicShape& shape);

  // For checks of rollback.
  std::string dump() const;

  void undo(uint64_t what, uint64_t key) noexcept override;

 private:
  struct State;
  State* state_;
};

// The fake of one tensor, sharing nothing with other fakes.
Ref make_fake(PyObject* real);

// Inside of it, what torch's callables make is fake, factory functions
// included, and no profiler hears of it. Outside of it an operator on fakes
// still gives fakes.
class FakeModeScope {
 public:
  FakeModeScope();
  ~FakeModeScope();
  FakeModeScope(const FakeModeScope&) = delete;
  FakeModeScope& operator=(const FakeModeScope&) = delete;

 private:
  FakeKeyScope whose_;
  bool was_on_;
  bool was_observed_;
};

// Whether something was made on the current device of its kind (`"cuda"`
// without a number) since the innermost FakeModeScope began.
bool asked_for_current_device() noexcept;

// Undoes a FakeModeScope for a while: real tensors are computed for real.
class RealModeScope {
 public:
  RealModeScope();
  ~RealModeScope();
  RealModeScope(const RealModeScope&) = delete;
  RealModeScope& operator=(const RealModeScope&) = delete;

 private:
  FakeKeyScope whose_;
  bool was_on_;
};

// Where writes to fakes' metadata, version counters and autograd state leave
// their undo records; null (the start) for nowhere. Setting it drops what was
// kept for the one before, so that journal must not be rolled back afterwards.
void set_journal(Journal* journal);

// Journaled form of `tensor.requires_grad_(value)` on a fake; false with a
// Python error set when torch refuses it.
bool set_requires_grad(PyObject* fake, bool value);

// tensor.grad, of any tensor: `gradient` is one that fitted when the program
// set it, or None. The tensor may have got another shape since.
void set_gradient(PyObject* tensor, PyObject* gradient) noexcept;
// Leaves an undo record for everything that an operation unknown to the
// fallback may do to this fake's metadata (`.data = `, `.grad_fn`, version).
void record_metadata(PyObject* fake);

// The exception raised where an answer would need a tensor's data, or where
// nothing is known of an operator: the graph must break there. A RuntimeError.
// Borrowed; lives as long as the process.
PyObject* needs_data_error() noexcept;
// A subclass of it: PyTorch's FakeTensorMode raises something, in words of its
// own. What the operator says, and whether it does, the real call tells.
PyObject* refused_error() noexcept;
// Whether an exception, an instance, says that data was asked for: one of
// those above, or what torch itself raises where it reads a fake's memory
// outside of any operator (`tolist()`, `numpy()`).
bool is_needs_data(PyObject* exception) noexcept;

// ---- Metadata, read without making Python objects -------------------------
// `tensor` must satisfy is_tensor(). Sizes and strides are those of a tensor
// without symbolic shape; spans are valid until the metadata changes.
int64_t dim(PyObject* tensor);
std::span<const int64_t> sizes(PyObject* tensor);
std::span<const int64_t> strides(PyObject* tensor);
int64_t storage_offset(PyObject* tensor);
int64_t numel(PyObject* tensor);
bool is_contiguous(PyObject* tensor);
bool has_symbolic_shape(PyObject* tensor);
// c10::ScalarType, c10::DeviceType and its index, c10::Layout as numbers.
int8_t scalar_type(PyObject* tensor);
std::pair<int8_t, int8_t> device(PyObject* tensor);
int8_t layout(PyObject* tensor);
bool requires_grad(PyObject* tensor);
// Whether its type is one that autograd differentiates.
bool can_require_grad(PyObject* tensor);
// Whether autograd knows what the tensor was computed by. That of a view whose
// base got a history is made when somebody reads `is_leaf` or `grad_fn`, but
// not by this.
enum class History : uint8_t { None, Known, Due };
History history(PyObject* tensor);
bool has_grad_fn(PyObject* tensor);
// Which views torch refuses to write to where the write would be a part of
// their history.
enum class ViewRule : uint8_t {
  Writable,  // or no view
  OfLeaf,
  OfFunction,
  OneOfSeveral,  // that one operator gave
  Undifferentiated,
  Inference,
};
ViewRule view_rule(PyObject* tensor);
// Whether it is a view that torch refuses to differentiate, since its base was
// written to.
bool is_refused(PyObject* tensor);
bool is_view(PyObject* tensor);
bool is_inference(PyObject* tensor);
bool is_conj(PyObject* tensor);
bool is_neg(PyObject* tensor);
// The version counter; 0 for an inference tensor, which has none.
int64_t version(PyObject* tensor);
// torch.dtype and torch.device objects of a tensor (new references).
Ref dtype_object(PyObject* tensor);
Ref device_object(PyObject* tensor);
// Names such as "float32" for what scalar_type() gives.
std::string scalar_type_name(int8_t scalar_type);

// ---- Identity --------------------------------------------------------------
// Two Python objects may wrap one tensor only if they are one object, so
// identity of tensors is identity of objects; this one is about memory.
bool shares_storage(PyObject* a, PyObject* b);
// Of the tensor, and of what autograd takes it for a view of: itself if it is
// none. Equal for two exactly if they are one tensor that is still alive.
const void* tensor_id(PyObject* tensor);
const void* view_base_id(PyObject* tensor);
// Equal for two tensors exactly if they share a storage that is still alive.
uintptr_t storage_id(PyObject* tensor);

// ---- Statistics ------------------------------------------------------------
struct FallbackCount {
  std::string op;  // "aten::foo.overload"
  uint64_t count;
};
// The operators that had to be run by PyTorch's own Python FakeTensorMode,
// most often first.
std::vector<FallbackCount> fallback_counts();
void reset_fallback_counts();

}  // namespace magneto::tensor
