// SPDX-License-Identifier: BSD-3-Clause
// Operators that make a tensor from sizes and options, or by drawing samples.
#include <cmath>

#include "tensor/errors.h"
#include "tensor/number_limits.h"
#include "tensor/out_variants.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using Dtype = std::optional<c10::ScalarType>;
using Layout = std::optional<c10::Layout>;
using Device = std::optional<c10::Device>;
using Pin = std::optional<bool>;
using Format = std::optional<c10::MemoryFormat>;
using Generator = std::optional<at::Generator>;
using c10::Scalar;

c10::ScalarType default_type() {
  return c10::typeMetaToScalarType(c10::get_default_dtype());
}

void check_sizes(DimList size, Layout layout) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided,
              "only strided tensors can be made while tracing");
  for (const Dim& each : size) {
    TORCH_CHECK(must_hold(each.sym_ge(0)),
                "Trying to create tensor with negative dimension ", each, ": ",
                size);
  }
}

at::Tensor make(DimList size, c10::ScalarType dtype, Layout layout,
                Device device) {
  check_sizes(size, layout);
  return make_contiguous(size, dtype, device.value_or(c10::kCPU));
}

at::Tensor empty(DimList size, Dtype dtype, Layout layout, Device device, Pin,
                 Format format) {
  check_sizes(size, layout);
  DimVec strides =
      format_strides(size, format.value_or(c10::MemoryFormat::Contiguous));
  return make_tensor(size, strides, dtype.value_or(default_type()),
                     device.value_or(c10::kCPU));
}

at::Tensor empty_strided(DimList size, DimList stride, Dtype dtype,
                         Layout layout, Device device, Pin) {
  TORCH_CHECK(size.size() == stride.size(),
              "mismatch in length of strides and shape");
  check_sizes(size, layout);
  return make_tensor(size, stride, dtype.value_or(default_type()),
                     device.value_or(c10::kCPU));
}

at::Tensor empty_permuted(DimList size, c10::IntArrayRef physical_layout,
                          Dtype dtype, Layout layout, Device device, Pin) {
  TORCH_CHECK(size.size() == physical_layout.size(),
              "Number of dimensions in size does not match the length of the "
              "physical_layout");
  check_sizes(size, layout);
  DimVec strides(size.size());
  Dim next = 1;
  for (size_t i = size.size(); i-- > 0;) {
    int64_t dim = physical_layout[i];
    TORCH_CHECK(dim >= 0 && dim < static_cast<int64_t>(size.size()),
                "Dimension out of range (expected to be between 0 and ",
                size.size() - 1, ", but got ", dim, " at index ", i, ").");
    strides[dim] = next;
    next = multiplied(next, size[dim].max(1));
  }
  return make_tensor(size, strides, dtype.value_or(default_type()),
                     device.value_or(c10::kCPU));
}

// zeros, ones, rand, randn.
at::Tensor from_size(DimList size, Dtype dtype, Layout layout, Device device,
                     Pin) {
  return make(size, dtype.value_or(default_type()), layout, device);
}
at::Tensor from_size_generator(DimList size, const Generator&, Dtype dtype,
                               Layout layout, Device device, Pin) {
  return make(size, dtype.value_or(default_type()), layout, device);
}

c10::ScalarType type_of_number(const Scalar& number) {
  if (number.isBoolean()) return at::kBool;
  if (number.isIntegral(/*includeBool=*/false)) return at::kLong;
  return number.isComplex() ? c10::toComplexType(default_type())
                            : default_type();
}

at::Tensor full(DimList size, const Scalar& value, Dtype dtype, Layout layout,
                Device device, Pin) {
  return make(size, dtype.value_or(type_of_number(value)), layout, device);
}

// Unlike full(): the dtype doesn't follow the number's type.
at::Tensor scalar_tensor(const Scalar&, Dtype dtype, Layout layout,
                         Device device, Pin) {
  return make({}, dtype.value_or(default_type()), layout, device);
}

void check_range(const Dim& low, const Dim& high) {
  TORCH_CHECK(must_hold(low.sym_lt(high)),
              "random_ expects 'from' to be less than 'to', but "
              "got from=",
              low, " >= to=", high);
}
at::Tensor randint(Dim high, DimList size, Dtype dtype, Layout layout,
                   Device device, Pin) {
  check_range(0, high);
  return make(size, dtype.value_or(at::kLong), layout, device);
}
at::Tensor randint_low(Dim low, Dim high, DimList size, Dtype dtype,
                       Layout layout, Device device, Pin) {
  check_range(low, high);
  return make(size, dtype.value_or(at::kLong), layout, device);
}
at::Tensor randint_generator(Dim high, DimList size, const Generator&,
                             Dtype dtype, Layout layout, Device device, Pin) {
  check_range(0, high);
  return make(size, dtype.value_or(at::kLong), layout, device);
}
at::Tensor randint_low_generator(Dim low, Dim high, DimList size,
                                 const Generator&, Dtype dtype, Layout layout,
                                 Device device, Pin) {
  check_range(low, high);
  return make(size, dtype.value_or(at::kLong), layout, device);
}
at::Tensor randperm(Dim n, Dtype dtype, Layout layout, Device device, Pin) {
  TORCH_CHECK(must_hold(n.sym_ge(0)), "n must be non-negative, got", n);
  return make(DimVec{n}, dtype.value_or(at::kLong), layout, device);
}
at::Tensor randperm_generator(Dim n, const Generator&, Dtype dtype,
                              Layout layout, Device device, Pin) {
  return make(DimVec{n}, dtype.value_or(at::kLong), layout, device);
}

// ---- Ranges ----------------------------------------------------------------

bool integral(const Scalar& start, const Scalar& end, const Scalar& step) {
  return start.isIntegral(true) && end.isIntegral(true) &&
         step.isIntegral(true);
}

// How many elements arange(start, end, step) has.
Dim range_size(const Scalar& start, const Scalar& end, const Scalar& step,
               c10::ScalarType dtype) {
  if (integral(start, end, step)) {
    Dim from = start.toSymInt(), to = end.toSymInt(), by = step.toSymInt();
    TORCH_CHECK(by != 0, "step must be nonzero");
    TORCH_CHECK(must_hold(by > 0 ? to.sym_ge(from) : to.sym_le(from)),
                "upper bound and lower bound inconsistent with step sign");
    return by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / (-by);
  }
  if (!at::isIntegralType(dtype, false) &&
      (start.isSymbolic() || end.isSymbolic() || step.isSymbolic())) {
    c10::SymFloat from = start.toSymFloat(), to = end.toSymFloat();
    c10::SymFloat by = step.toSymFloat();
    TORCH_CHECK(by != 0.0, "step must be nonzero");
    TORCH_CHECK(by > 0.0 ? to >= from : to <= from,
                "upper bound and lower bound inconsistent with step sign");
    c10::SymFloat length = (to - from) / by;
    return c10::SymInt(length.toSymNodeImpl()->ceil());
  }
  double from = start.toDouble(), to = end.toDouble(), by = step.toDouble();
  TORCH_CHECK(by != 0, "step must be nonzero");
  TORCH_CHECK(std::isfinite(from) && std::isfinite(to),
              "unsupported range: ", from, " -> ", to);
  TORCH_CHECK(by > 0 ? to >= from : to <= from,
              "upper bound and lower bound inconsistent with step sign");
  // Bounds are cut to the dtype first where that is an integer one.
  if (at::isIntegralType(dtype, false)) {
    int64_t low = start.toLong(), high = end.toLong(), stride = step.toLong();
    if (dtype == at::kLong && stride != 0) {
      const int64_t sign = (stride > 0) - (stride < 0);
      using Wide = __int128;
      return static_cast<int64_t>((Wide{high} - low + stride - sign) / stride);
    }
  }
  return static_cast<int64_t>(std::ceil((to - from) / by));
}

at::Tensor arange_step(const Scalar& start, const Scalar& end,
                       const Scalar& step, Dtype dtype, Layout layout,
                       Device device, Pin) {
  c10::ScalarType type =
      dtype.value_or(integral(start, end, step) ? at::kLong : default_type());
  return make(DimVec{range_size(start, end, step, type)}, type, layout, device);
}
at::Tensor arange_start(const Scalar& start, const Scalar& end, Dtype dtype,
                        Layout layout, Device device, Pin pin) {
  return arange_step(start, end, 1, dtype, layout, device, pin);
}
at::Tensor arange_end(const Scalar& end, Dtype dtype, Layout layout,
                      Device device, Pin pin) {
  return arange_step(0, end, 1, dtype, layout, device, pin);
}

// An out= tensor becomes a vector of that length; the rest stays.
at::Tensor resize_vector(const at::Tensor& out, const Dim& length) {
  if (out.sym_numel() != length) {
    resize_tensor(out, DimVec{length}, DimVec{Dim(1)});
  }
  return out;
}
at::Tensor arange_out(const Scalar& start, const Scalar& end,
                      const Scalar& step, const at::Tensor& out) {
  return resize_vector(out, range_size(start, end, step, out.scalar_type()));
}

at::Tensor spaced(const Scalar& start, const Scalar& end, const Dim& steps,
                  Dtype dtype, Layout layout, Device device) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  c10::ScalarType type = default_type();
  if (start.isComplex() || end.isComplex()) type = c10::toComplexType(type);
  return make(DimVec{steps}, dtype.value_or(type), layout, device);
}
at::Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps,
                    Dtype dtype, Layout layout, Device device, Pin) {
  return spaced(start, end, steps, dtype, layout, device);
}
at::Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps,
                    double base, Dtype dtype, Layout layout, Device device,
                    Pin) {
  const at::Tensor result = spaced(start, end, steps, dtype, layout, device);
  // One alone is filled in.
  if (steps == 1 && !start.isComplex() &&
      !is_within(std::pow(base, start.toDouble()),
                 ends_of(result.scalar_type())))
    throw_refused("logspace takes no base whose power its type doesn't hold");
  return result;
}
at::Tensor linspace_out(const Scalar&, const Scalar&, int64_t steps,
                        const at::Tensor& out) {
  return resize_vector(out, steps);
}
at::Tensor logspace_out(const Scalar&, const Scalar&, int64_t steps, double,
                        const at::Tensor& out) {
  return resize_vector(out, steps);
}

at::Tensor eye_matrix(Dim n, Dim m, Dtype dtype, Layout layout, Device device,
                      Pin) {
  TORCH_CHECK(must_hold(n.sym_ge(0)), "n must be greater or equal to 0, got ",
              n);
  TORCH_CHECK(must_hold(m.sym_ge(0)), "m must be greater or equal to 0, got ",
              m);
  return make(DimVec{n, m}, dtype.value_or(default_type()), layout, device);
}
at::Tensor eye_square(Dim n, Dtype dtype, Layout layout, Device device,
                      Pin pin) {
  return eye_matrix(n, n, dtype, layout, device, pin);
}

// What PyTorch gives where its own count overflows is left to it.
void check_triangle(std::initializer_list<int64_t> numbers) {
  constexpr int64_t kMost = int64_t{1} << 30;
  for (int64_t number : numbers)
    if (number > kMost || number < -kMost)
      throw_refused("the indices of a triangle take no numbers that large");
}

// Entries on and below (tril) or above (triu) a diagonal of row x col.
int64_t triangle_size(int64_t row, int64_t col, int64_t offset) {
  if (row == 0 || col == 0) return 0;
  int64_t first = offset > 0 ? std::min(col, 1 + offset) : row + offset > 0;
  int64_t last = std::max<int64_t>(0, std::min(col, row + offset));
  int64_t rows = std::max<int64_t>(0, std::min(row, row + offset));
  int64_t stepped = last - first + 1;
  int64_t size = (first + last) * stepped / 2;
  int64_t full_rows = rows - stepped;
  return full_rows > 0 ? size + full_rows * col : size;
}
at::Tensor triangle(int64_t size, Dtype dtype, Layout layout, Device device) {
  return make(DimVec{Dim(2), Dim(size)}, dtype.value_or(at::kLong), layout,
              device);
}
at::Tensor tril_indices(int64_t row, int64_t col, int64_t offset, Dtype dtype,
                        Layout layout, Device device, Pin) {
  check_triangle({row, col, offset});
  return triangle(triangle_size(row, col, offset), dtype, layout, device);
}
at::Tensor triu_indices(int64_t row, int64_t col, int64_t offset, Dtype dtype,
                        Layout layout, Device device, Pin) {
  check_triangle({row, col, offset});
  const int64_t below = triangle_size(row, col, offset - 1);
  return triangle(row * col - below, dtype, layout, device);
}

at::Tensor multinomial(const at::Tensor& self, Dim num_samples,
                       bool replacement, const std::optional<at::Generator>&) {
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2,
              "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(at::isFloatingType(self.scalar_type()),
              "multinomial only supports floating-point dtypes for input, "
              "got: ",
              self.scalar_type());
  TORCH_CHECK(num_samples > 0, "cannot sample n_sample <= 0 samples");
  TORCH_CHECK(replacement || num_samples <= self.sym_size(-1),
              "cannot sample n_sample > prob_dist.size(-1) samples without "
              "replacement");
  DimVec sizes;
  if (self.dim() == 2) sizes.push_back(self.sym_size(0));
  sizes.push_back(num_samples);
  return make_contiguous(sizes, at::kLong, self.device());
}

constexpr Rule kRules[] = {
    rule<&empty>("aten::empty.memory_format"),
    rule<&empty_strided>("aten::empty_strided"),
    rule<&empty_permuted>("aten::empty_permuted"),
    rule<&from_size>("aten::zeros"),
    rule<&from_size>("aten::ones"),
    rule<&from_size>("aten::rand"),
    rule<&from_size>("aten::randn"),
    rule<&from_size_generator>("aten::rand.generator"),
    rule<&from_size_generator>("aten::randn.generator"),
    rule<&full>("aten::full"),
    rule<&scalar_tensor>("aten::scalar_tensor"),
    rule<&randint>("aten::randint"),
    rule<&randint_low>("aten::randint.low"),
    rule<&randint_generator>("aten::randint.generator"),
    rule<&randint_low_generator>("aten::randint.low_generator"),
    rule<&randperm>("aten::randperm"),
    rule<&randperm_generator>("aten::randperm.generator"),
    rule<&arange_end>("aten::arange"),
    rule<&arange_start>("aten::arange.start"),
    rule<&arange_step>("aten::arange.start_step"),
    rule<&arange_out>("aten::arange.start_out"),
    rule<&linspace>("aten::linspace"),
    rule<&logspace>("aten::logspace"),
    rule<&linspace_out>("aten::linspace.out"),
    rule<&logspace_out>("aten::logspace.out"),
    rule<&eye_square>("aten::eye"),
    rule<&eye_matrix>("aten::eye.m"),
    rule<&multinomial>("aten::multinomial"),
    rule<&tril_indices>("aten::tril_indices"),
    rule<&triu_indices>("aten::triu_indices"),
};

}  // namespace

std::span<const Rule> factory_rules() { return kRules; }

}  // namespace magneto::tensor
