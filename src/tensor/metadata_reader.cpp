// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/metadata_reader.h"

#include "shapes/environment.h"
#include "tensor/fake_tensor.h"
#include "tensor/symbol_node.h"
#include "tensor/unwrap.h"

namespace magneto::tensor {

namespace {

graph::Extent extent_of(const c10::SymInt& number) {
  if (const auto known = number.maybe_as_int()) return {.value = known};
  const SymbolNode* own = own_node(number.toSymNodeImplUnowned());
  // A number of PyTorch's own: it is told from others, and has no hint here.
  if (own == nullptr) return {.expression = number.toSymNodeImplUnowned()};
  const shapes::E expression = own->expression();
  graph::Extent extent{.expression = expression};
  if (const auto hint = own->environment()->hint(expression))
    extent.value = hint->integer();
  return extent;
}

std::vector<graph::Extent> extents_of(c10::SymIntArrayRef numbers) {
  std::vector<graph::Extent> extents;
  extents.reserve(numbers.size());
  for (const c10::SymInt& number : numbers)
    extents.push_back(extent_of(number));
  return extents;
}

class Reader final : public graph::MetadataReader {
 public:
  bool read(PyObject* object, graph::TensorMeta& meta) const override {
    if (!is_tensor(object)) return false;
    const at::Tensor& tensor = tensor_of(object);
    meta.scalar_type = scalar_type(object);
    std::tie(meta.device_type, meta.device_index) = device(object);
    meta.layout = layout(object);
    meta.requires_grad = tensor.requires_grad();
    // Nested tensors have no sizes that could be read so.
    if (tensor.is_nested()) return true;
    meta.sizes = extents_of(tensor.sym_sizes());
    if (tensor.layout() != at::kStrided) return true;
    meta.strides = extents_of(tensor.sym_strides());
    meta.storage_offset = extent_of(tensor.sym_storage_offset());
    if (tensor.has_storage()) meta.storage = storage_id(object);
    return true;
  }
};

}  // namespace

const graph::MetadataReader& metadata_reader() {
  static const Reader reader;
  return reader;
}

}  // namespace magneto::tensor
