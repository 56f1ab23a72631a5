// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices. matmul, linear and einsum are composite and arrive as
// these.
#include "tensor/elementwise.h"
#include "tensor/partial_rule.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

void check_same_dtype(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "expected m1 and m2 to have the same dtype, but got: ", a.dtype(),
              " != ", b.dtype());
}

at::Tensor mm_of(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "self must be a matrix");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix");
  TORCH_CHECK(must_hold(self.sym_size(1).sym_eq(mat2.sym_size(0))),
              "mat1 and mat2 shapes cannot be multiplied (", self.sym_size(0),
              "x", self.sym_size(1), " and ", mat2.sym_size(0), "x",
              mat2.sym_size(1), ")");
  check_same_dtype(self, mat2);
  TensorVec both{self, mat2};
  return make_contiguous(DimVec{self.sym_size(0), mat2.sym_size(1)},
                         self.scalar_type(), common_device(both));
}

at::Tensor bmm_of(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 3, "batch1 must be a 3D tensor");
  TORCH_CHECK(mat2.dim() == 3, "batch2 must be a 3D tensor");
  DimList a = self.sym_sizes(), b = mat2.sym_sizes();
  TORCH_CHECK(
      must_hold(b[0].sym_eq(a[0])) && must_hold(b[1].sym_eq(a[2])),
      "Expected size for first two dimensions of batch2 tensor to be: [", a[0],
      ", ", a[2], "] but got: [", b[0], ", ", b[1], "].");
  check_same_dtype(self, mat2);
  TensorVec both{self, mat2};
  return make_contiguous(DimVec{a[0], a[1], b[2]}, self.scalar_type(),
                         common_device(both));
}

// What is added to a product must broadcast to it.
void check_addend(const at::Tensor& self, const at::Tensor& product) {
  TORCH_CHECK(self.scalar_type() == product.scalar_type(),
              "self and mat2 must have the same dtype, but got ", self.dtype(),
              " and ", product.dtype());
  DimVec shape = broadcast(self.sym_sizes(), product.sym_sizes());
  TORCH_CHECK(must_be(shape, product.sym_sizes()),
              "The expanded size of the tensor ", product.sym_sizes(),
              " must match the existing size ", self.sym_sizes());
  TensorVec both{self, product};
  common_device(both);
}

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1,
                 const at::Tensor& mat2, const c10::Scalar& beta,
                 const c10::Scalar& alpha) {
  TORCH_CHECK(mat1.dim() == 2, "mat1 must be a matrix, got ", mat1.dim(),
              "-D tensor");
  TORCH_CHECK(mat2.dim() == 2, "mat2 must be a matrix, got ", mat2.dim(),
              "-D tensor");
  at::Tensor product = mm_of(mat1, mat2);
  check_addend(self, product);
  return product;
}

at::Tensor baddbmm(const at::Tensor& self, const at::Tensor& batch1,
                   const at::Tensor& batch2, const c10::Scalar& beta,
                   const c10::Scalar& alpha) {
  at::Tensor product = bmm_of(batch1, batch2);
  check_addend(self, product);
  return product;
}

bool are_alike(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.device() == b.device();
}

MaybeTensor mv_of(const at::Tensor& self, const at::Tensor& vector) {
  if (self.dim() != 2 || vector.dim() != 1 || !are_alike(self, vector) ||
      !must_hold(self.sym_size(1).sym_eq(vector.sym_size(0)))) {
    return std::nullopt;
  }
  return make_contiguous(DimVec{self.sym_size(0)}, self.scalar_type(),
                         self.device());
}
MaybeTensor addmv_of(const at::Tensor& self, const at::Tensor& matrix,
                     const at::Tensor& vector, const c10::Scalar&,
                     const c10::Scalar&) {
  if (self.dim() != 1 || !are_alike(self, matrix)) return std::nullopt;
  MaybeTensor product = mv_of(matrix, vector);
  if (!product || self.sym_size(0) != product->sym_size(0)) return std::nullopt;
  return product;
}
// The sum of a batch of products.
MaybeTensor addbmm_of(const at::Tensor& self, const at::Tensor& batch1,
                      const at::Tensor& batch2, const c10::Scalar&,
                      const c10::Scalar&) {
  if (batch1.dim() != 3 || batch2.dim() != 3 || self.dim() > 2 ||
      !are_alike(self, batch1) || !are_alike(batch1, batch2) ||
      batch1.sym_size(0) != batch2.sym_size(0) ||
      batch1.sym_size(2) != batch2.sym_size(1)) {
    return std::nullopt;
  }
  at::Tensor product =
      make_contiguous(DimVec{batch1.sym_size(1), batch2.sym_size(2)},
                      self.scalar_type(), self.device());
  check_addend(self, product);
  return product;
}

// Products of three tensors summed over some dimensions; of each tensor, those
// that it hasn't are named.
MaybeTensor trilinear(const at::Tensor& i1, const at::Tensor& i2,
                      const at::Tensor& i3, c10::IntArrayRef expand1,
                      c10::IntArrayRef expand2, c10::IntArrayRef expand3,
                      c10::IntArrayRef summed, int64_t) {
  const size_t ndim = i1.dim() + expand1.size();
  if (i2.dim() + expand2.size() != ndim || i3.dim() + expand3.size() != ndim ||
      ndim > 8 || !are_alike(i1, i2) || !are_alike(i2, i3)) {
    return std::nullopt;
  }
  auto is_in = [](c10::IntArrayRef dims, size_t dim) {
    return std::find(dims.begin(), dims.end(), static_cast<int64_t>(dim)) !=
           dims.end();
  };
  DimVec sizes;
  size_t at1 = 0, at2 = 0, at3 = 0;
  for (size_t dim = 0; dim < ndim; ++dim) {
    DimVec own;
    if (!is_in(expand1, dim)) own.push_back(i1.sym_sizes()[at1++]);
    if (!is_in(expand2, dim)) own.push_back(i2.sym_sizes()[at2++]);
    if (!is_in(expand3, dim)) own.push_back(i3.sym_sizes()[at3++]);
    for (const Dim& size : own)
      if (size != own[0]) return std::nullopt;
    if (own.empty()) return std::nullopt;
    if (!is_in(summed, dim)) sizes.push_back(own[0]);
  }
  return make_contiguous(sizes, i1.scalar_type(), i1.device());
}

at::Tensor dot_of(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.dim() == 1 && other.dim() == 1,
              "1D tensors expected, but got ", self.dim(), "D and ",
              other.dim(), "D tensors");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(),
              "dot : expected both vectors to have same dtype, but found ",
              self.scalar_type(), " and ", other.scalar_type());
  TORCH_CHECK(must_hold(self.sym_numel().sym_eq(other.sym_numel())),
              "inconsistent tensor size, expected tensor ", self.sym_sizes(),
              " and src ", other.sym_sizes(),
              " to have the same number of elements, but got ",
              self.sym_numel(), " and ", other.sym_numel(),
              " elements respectively");
  return make_contiguous(DimVec{}, self.scalar_type(), self.device());
}

// Products with conjugate views are computed from what they view, and the
// result's conjugate view is given where that is the same.
at::Tensor conjugated(const at::Tensor& result, bool conj) {
  if (conj) {
    auto* impl = static_cast<FakeImpl*>(result.unsafeGetTensorImpl());
    impl->set_keys(impl->key_set().add(c10::DispatchKey::Conjugate));
  }
  return result;
}
at::Tensor dot_rule(const at::Tensor& self, const at::Tensor& other) {
  return conjugated(dot_of(self, other), self.is_conj() && other.is_conj());
}
at::Tensor vdot_rule(const at::Tensor& self, const at::Tensor& other) {
  return conjugated(dot_of(self, other), !self.is_conj() && other.is_conj());
}

// Solving from the right is done on the transposed system.
void linalg_lu_solve(const OpInfo& op, c10::IValue* args, Outputs& outputs) {
  static const RuleFn structured = structured_rule("aten::linalg_lu_solve");
  structured(op, args, outputs);
  bool left = args[3].toBool();
  const at::Tensor& result = outputs[0].toTensor();
  conjugated(result,
             !left && result.is_complex() && !is_empty(result.sym_sizes()));
}

// A layer of an LSTM that a library computes whole: the output, the last states
// (like the first ones), and a workspace for the backward pass that nobody else
// looks at.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> mkldnn_rnn_layer(
    const at::Tensor& input, const at::Tensor&, const at::Tensor&,
    const at::Tensor&, const at::Tensor&, const at::Tensor& hidden,
    const at::Tensor& cell, bool, c10::IntArrayRef, int64_t,
    int64_t hidden_size, int64_t, bool, bool, bool, bool) {
  DimVec sizes(input.sym_sizes().begin(), input.sym_sizes().end());
  sizes.back() = hidden_size;
  auto fresh = [&](DimList shape, c10::ScalarType type) {
    return make_contiguous(shape, type, input.device());
  };
  return {fresh(sizes, input.scalar_type()),
          fresh(hidden.sym_sizes(), hidden.scalar_type()),
          fresh(cell.sym_sizes(), cell.scalar_type()),
          fresh(DimVec{0}, at::kByte)};
}

constexpr Rule kRules[] = {
    rule<&mkldnn_rnn_layer>("aten::mkldnn_rnn_layer"),
    rule<&mm_of>("aten::mm"),
    rule<&bmm_of>("aten::bmm"),
    rule<&addmm>("aten::addmm"),
    rule<&baddbmm>("aten::baddbmm"),
    attempt<"aten::mv", &mv_of, Otherwise::Composite>(),
    attempt<"aten::addmv", &addmv_of>(),
    attempt<"aten::addbmm", &addbmm_of, Otherwise::Python>(),
    attempt<"aten::_trilinear", &trilinear, Otherwise::Composite>(),
    rule<&dot_rule>("aten::dot"),
    rule<&vdot_rule>("aten::vdot"),
    {"aten::linalg_lu_solve", &linalg_lu_solve},
};

}  // namespace

std::span<const Rule> matmul_rules() { return kRules; }

}  // namespace magneto::tensor
