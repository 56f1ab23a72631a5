// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic on sizes and strides that shape rules share, written once over
// Dim, which is an int in the static case.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/ArrayRef.h>

#include "tensor/fake_impl.h"

namespace magneto::tensor {

DimVec contiguous_strides(DimList sizes);
DimVec channels_last_strides(DimList sizes);  // for 4 or 5 dimensions
// Strides of a dense tensor in that format; not for Preserve.
DimVec format_strides(DimList sizes, c10::MemoryFormat format);

Dim numel(DimList sizes);
// Where only the graph's run could answer, these give the usual answer: a size
// is neither zero nor one, and two sizes differ.
bool is_empty(DimList sizes);
bool is_one(const Dim& size);
bool are_equal(DimList a, DimList b);
// The shape that both are broadcast to. If only the graph's run can tell
// whether a size is one, the size of the result may be one that only it can
// tell, too.
DimVec broadcast(DimList a, DimList b);

// The strides that empty_like(tensor) gives under torch.preserve_format: the
// tensor's own if it is dense, else those of its elements packed in the order
// of its strides.
DimVec preserved_strides(const at::Tensor& tensor);
// The same with the format that a factory function was given.
DimVec strides_like(const at::Tensor& tensor, c10::MemoryFormat format);

// A fresh tensor of images of these sizes, with the dtype and device of `self`.
// Where it is a batch (it has `batch_ndim` dimensions) on the CPU, it keeps the
// memory format of `self`; else it is contiguous.
at::Tensor make_image(const at::Tensor& self, DimList sizes, size_t batch_ndim);

// An operand of an elementwise operation: what its strides decide.
struct ElementwiseOperand {
  explicit ElementwiseOperand(const at::Tensor& tensor);
  // A dense temporary copy of `tensor`, which TensorIterator makes on the CPU
  // for an operand whose dtype isn't the common one.
  ElementwiseOperand(const at::Tensor& tensor, DimList temporary_strides);

  DimList sizes;
  DimList strides;
  bool contiguous;
  bool channels_last;
  bool dense;
};
// The strides of the fresh output of an elementwise operation: contiguous or
// channels last if all operands are, else dense in the order of the operands'
// strides, ties and broadcast dimensions resolved as at::TensorIterator does.
DimVec elementwise_strides(c10::ArrayRef<ElementwiseOperand> operands,
                           DimList shape);

// Wraps a dimension number, raising IndexError as torch does.
int64_t wrap_dim(int64_t dim, int64_t ndim);
// Whether the tensor's strides address each of its elements exactly once and
// without gaps.
bool is_dense(const at::Tensor& tensor);

}  // namespace magneto::tensor
