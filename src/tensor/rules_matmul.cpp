// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices. matmul, linear and einsum are composite and arrive as
// these.
#include "tensor/elementwise.h"
#include "tensor/rule.h"
#include "tensor/shape.h"

namespace magneto::tensor {
namespace {

void check_same_dtype(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "expected m1 and m2 to have the same dtype, but got: ",
              a.dtype(), " != ", b.dtype());
}

at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "self must be a matrix");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(self.sym_size(1) == mat2.sym_size(0),
              "mat1 and mat2 shapes cannot be multiplied (", self.sym_size(0),
              "x", self.sym_size(1), " and ", mat2.sym_size(0), "x",
              mat2.sym_size(1), ")");
  check_same_dtype(self, mat2);
  TensorVec both{self, mat2};
  return make_contiguous(DimVec{self.sym_size(0), mat2.sym_size(1)},
                         self.scalar_type(), common_device(both));
}

at::Tensor bmm(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor");
  DimList a = self.sym_sizes(), b = mat2.sym_sizes();
  TORCH_CHECK(b[0] == a[0] && b[1] == a[2],
              "Expected size for first two dimensions of batch2 tensor to be: [",
              a[0], ", ", a[2], "] but got: [", b[0], ", ", b[1], "].");
  check_same_dtype(self, mat2);
  TensorVec both{self, mat2};
  return make_contiguous(DimVec{a[0], a[1], b[2]}, self.scalar_type(),
                         common_device(both));
}

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1,
                 const at::Tensor& mat2, const c10::Scalar& beta,
                 const c10::Scalar& alpha) {
  TORCH_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(),
              "-D tensor");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(),
              "-D tensor");
  TORCH_CHECK(mat1.sym_size(1) == mat2.sym_size(0),
              "mat1 and mat2 shapes cannot be multiplied (", mat1.sym_size(0),
              "x", mat1.sym_size(1), " and ", mat2.sym_size(0), "x",
              mat2.sym_size(1), ")");
  check_same_dtype(mat1, mat2);
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type(),
              "self and mat2 must have the same dtype, but got ", self.dtype(),
              " and ", mat2.dtype());
  DimVec sizes{mat1.sym_size(0), mat2.sym_size(1)};
  DimVec broadcasted = broadcast(self.sym_sizes(), sizes);
  TORCH_CHECK(DimList(broadcasted).equals(sizes), "The expanded size of the "
              "tensor (", sizes, ") must match the existing size (",
              self.sym_sizes(), ")");
  TensorVec all{self, mat1, mat2};
  return make_contiguous(sizes, self.scalar_type(), common_device(all));
}

constexpr Rule kRules[] = {
    rule<&mm>("aten::mm"),
    rule<&bmm>("aten::bmm"),
    rule<&addmm>("aten::addmm"),
};

}  // namespace

std::span<const Rule> matmul_rules() { return kRules; }

}  // namespace magneto::tensor
