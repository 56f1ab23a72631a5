// SPDX-License-Identifier: BSD-3-Clause
// Taking, checking and explaining tensor snapshots.
#include "tensor/tensor_snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "support/check.h"
#include "tensor/fake_tensor.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {

void DimArray::assign(std::span<const int64_t> values) {
  size_ = static_cast<uint32_t>(values.size());
  heap_ = size_ > kInline ? std::make_unique<int64_t[]>(size_) : nullptr;
  std::copy(values.begin(), values.end(), data());
}

void TensorSnapshot::mark_dynamic(uint32_t dimension) {
  MG_CHECK(dimension < sizes.size(), "a tensor has that dimension");
  sizes.data()[dimension] = kDynamic;
  dynamic = true;
}

void TensorSnapshot::mark_stride_dynamic(uint32_t dimension) {
  MG_CHECK(dimension < strides.size(), "a tensor has that dimension");
  strides.data()[dimension] = kDynamic;
  dynamic = true;
}

namespace {

// Sizes and strides are those stored in the TensorImpl itself.
bool has_plain_shape(c10::TensorImpl* impl) {
  return impl->layout() == c10::kStrided && !impl->is_nested() &&
         !impl->has_symbolic_sizes_strides() && !impl->is_python_dispatch();
}

std::span<const int64_t> span_of(c10::IntArrayRef values) {
  return {values.data(), values.size()};
}

bool same_dims(const int64_t* actual, const DimArray& expected, bool dynamic) {
  const int64_t* wanted = expected.data();
  if (!dynamic) {
    for (uint32_t i = 0; i < expected.size(); ++i) {
      if (actual[i] != wanted[i]) return false;
    }
    return true;
  }
  for (uint32_t i = 0; i < expected.size(); ++i) {
    if (wanted[i] != TensorSnapshot::kDynamic && actual[i] != wanted[i]) {
      return false;
    }
  }
  return true;
}

std::string list_dims(std::span<const int64_t> values) {
  std::vector<std::string> texts;
  for (int64_t value : values) {
    texts.push_back(value == TensorSnapshot::kDynamic ? "*"
                                                      : fmt::to_string(value));
  }
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string device_name(int8_t type, int8_t index) {
  return c10::Device(static_cast<c10::DeviceType>(type), index).str();
}

const char* history_name(History history) {
  switch (history) {
    case History::None:
      return "a leaf's";
    case History::Known:
      return "what computed it";
    case History::Due:
      return "its base's";
  }
  MG_CHECK(false, "a history");
}

const char* rule_name(ViewRule rule) {
  switch (rule) {
    case ViewRule::Writable:
      return "any, or no view";
    case ViewRule::OfLeaf:
      return "one of a leaf";
    case ViewRule::OfFunction:
      return "a custom function's";
    case ViewRule::OneOfSeveral:
      return "one of several";
    case ViewRule::Undifferentiated:
      return "made while no gradients were recorded";
    case ViewRule::Inference:
      return "made in inference mode";
  }
  MG_CHECK(false, "a view rule");
}

const char* type_name(PyObject* type) {
  return reinterpret_cast<PyTypeObject*>(type)->tp_name;
}

}  // namespace

TensorSnapshot take_snapshot(PyObject* tensor) {
  c10::TensorImpl* impl = impl_of(tensor);
  TensorSnapshot snapshot;
  snapshot.type = Ref::share(reinterpret_cast<PyObject*>(Py_TYPE(tensor)));
  snapshot.key_set = impl->key_set().raw_repr();
  snapshot.scalar_type = scalar_type(tensor);
  std::tie(snapshot.device_type, snapshot.device_index) = device(tensor);
  snapshot.layout = layout(tensor);
  snapshot.requires_grad = impl->requires_grad();
  snapshot.is_inference = impl->is_inference();
  snapshot.is_conj = is_conj(tensor);
  snapshot.is_neg = is_neg(tensor);
  snapshot.plain = has_plain_shape(impl);
  if (!snapshot.plain) return snapshot;
  snapshot.history = history(tensor);
  snapshot.view_rule = view_rule(tensor);
  snapshot.is_refused = is_refused(tensor);
  snapshot.storage_offset = impl->storage_offset();
  snapshot.sizes.assign(span_of(impl->sizes()));
  snapshot.strides.assign(span_of(impl->strides()));
  return snapshot;
}

bool matches(PyObject* object, const TensorSnapshot& snapshot) noexcept {
  // The exact type of a tensor implies that the object is one.
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != snapshot.type) {
    return false;
  }
  c10::TensorImpl* impl = impl_of(object);
  if (impl->key_set().raw_repr() != snapshot.key_set) return false;
  // The key set told: strided, no subclass with sizes of its own.
  if (!snapshot.plain) return false;
  const auto& dims = impl->sizes_and_strides();
  uint32_t ndim = snapshot.sizes.size();
  if (dims.size() != ndim) return false;
  if (impl->dtype() != c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(
                           snapshot.scalar_type))) {
    return false;
  }
  c10::Device device = impl->device();
  if (static_cast<int8_t>(device.type()) != snapshot.device_type ||
      static_cast<int8_t>(device.index()) != snapshot.device_index) {
    return false;
  }
  if (impl->requires_grad() != snapshot.requires_grad) return false;
  if (!same_dims(dims.sizes_data(), snapshot.sizes, snapshot.dynamic) ||
      !same_dims(dims.strides_data(), snapshot.strides, snapshot.dynamic)) {
    return false;
  }
  if (impl->has_symbolic_sizes_strides()) return false;
  if (snapshot.extra == TensorSnapshot::kNothing) [[likely]] {
    return true;
  }
  if ((snapshot.extra & TensorSnapshot::kStorageOffset) &&
      impl->storage_offset() != snapshot.storage_offset) {
    return false;
  }
  if ((snapshot.extra & TensorSnapshot::kViewRule) &&
      view_rule(object) != snapshot.view_rule) {
    return false;
  }
  if ((snapshot.extra & TensorSnapshot::kRefusal) &&
      is_refused(object) != snapshot.is_refused) {
    return false;
  }
  return !(snapshot.extra & TensorSnapshot::kHistory) ||
         history(object) == snapshot.history;
}

std::string explain_mismatch(PyObject* object, const TensorSnapshot& snapshot) {
  if (matches(object, snapshot)) return "";
  std::vector<std::string> lines;
  auto differ = [&](const char* what, const auto& expected,
                    const auto& actual) {
    lines.push_back(
        fmt::format("{}: expected {}, got {}", what, expected, actual));
  };
  auto compare = [&](const char* what, const auto& expected,
                     const auto& actual) {
    if (expected != actual) differ(what, expected, actual);
  };
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (type != snapshot.type) {
    differ("type", type_name(snapshot.type), type_name(type));
  }
  if (!is_tensor(object)) return fmt::format("{}", fmt::join(lines, "; "));
  TensorSnapshot now = take_snapshot(object);
  compare("dtype", scalar_type_name(snapshot.scalar_type),
          scalar_type_name(now.scalar_type));
  compare("device", device_name(snapshot.device_type, snapshot.device_index),
          device_name(now.device_type, now.device_index));
  compare("requires_grad", snapshot.requires_grad, now.requires_grad);
  compare("inference tensor", snapshot.is_inference, now.is_inference);
  compare("conjugate view", snapshot.is_conj, now.is_conj);
  compare("negative view", snapshot.is_neg, now.is_neg);
  if (snapshot.sizes.size() != now.sizes.size()) {
    compare("number of dimensions", snapshot.sizes.size(), now.sizes.size());
  } else {
    if (!same_dims(now.sizes.data(), snapshot.sizes, true)) {
      differ("size", list_dims(snapshot.sizes.span()),
             list_dims(now.sizes.span()));
    }
    if (!same_dims(now.strides.data(), snapshot.strides, true)) {
      differ("stride", list_dims(snapshot.strides.span()),
             list_dims(now.strides.span()));
    }
  }
  if (snapshot.extra & TensorSnapshot::kStorageOffset) {
    compare("storage offset", snapshot.storage_offset, now.storage_offset);
  }
  if (snapshot.extra & TensorSnapshot::kHistory) {
    compare("history", history_name(snapshot.history),
            history_name(now.history));
  }
  if (snapshot.extra & TensorSnapshot::kViewRule) {
    compare("kind of view", rule_name(snapshot.view_rule),
            rule_name(now.view_rule));
  }
  if (snapshot.extra & TensorSnapshot::kRefusal) {
    compare("view that can't be differentiated", snapshot.is_refused,
            now.is_refused);
  }
  if (!snapshot.plain || !now.plain) {
    lines.push_back("not a plain strided tensor");
  }
  if (lines.empty()) {
    auto keys = [](uint64_t raw) {
      return c10::toString(c10::DispatchKeySet(c10::DispatchKeySet::RAW, raw));
    };
    compare("dispatch keys", keys(snapshot.key_set), keys(now.key_set));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::string describe(const TensorSnapshot& snapshot) {
  std::string text = fmt::format(
      "{}{} stride {} on {}", scalar_type_name(snapshot.scalar_type),
      list_dims(snapshot.sizes.span()), list_dims(snapshot.strides.span()),
      device_name(snapshot.device_type, snapshot.device_index));
  if (snapshot.requires_grad) text += ", requires_grad";
  if (snapshot.is_inference) text += ", inference";
  if (snapshot.is_conj) text += ", conj";
  if (snapshot.is_neg) text += ", neg";
  return text;
}

}  // namespace magneto::tensor
