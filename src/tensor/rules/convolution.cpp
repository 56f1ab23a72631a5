// SPDX-License-Identifier: BSD-3-Clause
// Convolutions. Sizes are arithmetic; the layout of the result depends on the
// kernel that torch would pick, which torch is asked for.
#include <ATen/native/ConvUtils.h>

#include "tensor/elementwise.h"
#include "tensor/operator_effects.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/view_shape.h"

namespace magneto::tensor {
namespace {

using OptionalTensor = const std::optional<at::Tensor>&;

struct Parameters {
  DimVec stride, padding, dilation, output_padding;
  bool transposed;
  Dim groups;
};

DimVec expand_parameter(DimList values, size_t count, const char* name) {
  if (values.size() == 1) return DimVec(count, values[0]);
  TORCH_CHECK(values.size() == count, "expected ", name,
              " to be a single integer value or a list of ", count,
              " values to match the convolution dimensions, but got ", name,
              "=", values);
  return DimVec(values.begin(), values.end());
}

void check_shapes(const at::Tensor& input, const at::Tensor& weight,
                  OptionalTensor bias, const Parameters& conv) {
  DimList in = input.sym_sizes(), w = weight.sym_sizes();
  TORCH_CHECK(in.size() == w.size(), "Expected ", w.size(),
              "-dimensional input for ", w.size(), "-dimensional weight ", w,
              ", but got ", in.size(), "-dimensional input of size ", in,
              " instead");
  for (const Dim& pad : conv.padding) {
    TORCH_CHECK(pad >= 0, "negative padding is not supported");
  }
  for (const Dim& step : conv.stride) {
    TORCH_CHECK(step > 0, "non-positive stride is not supported");
  }
  for (const Dim& step : conv.dilation) {
    TORCH_CHECK(step > 0, "dilation should be greater than zero");
  }
  for (size_t i = 0; conv.transposed && i < conv.output_padding.size(); ++i) {
    const Dim& more = conv.output_padding[i];
    TORCH_CHECK(more >= 0, "negative output_padding is not supported");
    // Some kernels refuse it.
    if (more >= conv.stride[i] && more >= conv.dilation[i])
      operator_effects().may_fail();
  }
  TORCH_CHECK(conv.groups > 0, "non-positive groups is not supported");
  TORCH_CHECK(w[0] >= conv.groups, "Given groups=", conv.groups,
              ", expected weight to be at least ", conv.groups,
              " at dimension 0, but got weight of size ", w, " instead");
  TORCH_CHECK(w[0] % conv.groups == 0, "Given groups=", conv.groups,
              ", expected weight to be divisible by ", conv.groups,
              " at dimension 0, but got weight of size ", w, " instead");
  Dim channels = conv.transposed ? w[0] : w[1] * conv.groups;
  TORCH_CHECK(in[1] == channels, "Given groups=", conv.groups,
              ", weight of size ", w, ", expected input", in, " to have ",
              channels, " channels, but got ", in[1], " channels instead");
  Dim filters = conv.transposed ? w[1] * conv.groups : w[0];
  TORCH_CHECK(!bias || !bias->defined() ||
                  (bias->dim() == 1 && bias->sym_size(0) == filters),
              "Given weight of size ", w,
              ", expected bias to be 1-dimensional with ", filters,
              " elements");
  if (conv.transposed) return;
  for (size_t i = 2; i < in.size(); ++i) {
    Dim padded = in[i] + conv.padding[i - 2] * 2;
    Dim kernel = conv.dilation[i - 2] * (w[i] - 1) + 1;
    TORCH_CHECK(padded >= kernel,
                "Calculated padded input size per channel: ", padded,
                ". Kernel size: ", kernel,
                ". Kernel size can't be greater than actual input size");
  }
}

std::vector<Dim> output_sizes(const at::Tensor& input, const at::Tensor& weight,
                              const Parameters& conv) {
  std::vector<Dim> sizes =
      conv.transposed
          ? at::native::conv_input_size(input.sym_sizes(), weight.sym_sizes(),
                                        conv.padding, conv.output_padding,
                                        conv.stride, conv.dilation, conv.groups)
          : at::native::conv_output_size(input.sym_sizes(), weight.sym_sizes(),
                                         conv.padding, conv.stride,
                                         conv.dilation);
  return sizes;
}

c10::MemoryFormat format_of(at::native::ConvBackend backend,
                            const at::Tensor& input, const at::Tensor& weight) {
  using Backend = at::native::ConvBackend;
  c10::MemoryFormat last = weight.dim() == 5 ? c10::MemoryFormat::ChannelsLast3d
                                             : c10::MemoryFormat::ChannelsLast;
  switch (backend) {
    case Backend::Cudnn:
    case Backend::CudnnTranspose:
      return at::native::cudnn_conv_suggest_memory_format(input, weight);
    case Backend::Miopen:
    case Backend::MiopenDepthwise:
    case Backend::MiopenTranspose:
      return at::native::miopen_conv_use_channels_last(input, weight)
                 ? last
                 : c10::MemoryFormat::Contiguous;
    case Backend::Mkldnn:
    case Backend::MkldnnTranspose:
      return at::native::mkldnn_conv_use_channels_last(input, weight)
                 ? last
                 : c10::MemoryFormat::Contiguous;
    case Backend::Slow2d:
    case Backend::SlowDilated2d:
    case Backend::SlowTranspose2d:
      return at::native::thnn_conv_use_channels_last(input, weight)
                 ? c10::MemoryFormat::ChannelsLast
                 : c10::MemoryFormat::Contiguous;
    case Backend::Overrideable:
      if (input.is_xpu() &&
          at::native::xpu_conv_use_channels_last(input, weight)) {
        return last;
      }
      return c10::MemoryFormat::Contiguous;
    case Backend::Mps:
    case Backend::MpsTranspose:
      return at::native::mps_conv_use_channels_last(input, weight)
                 ? last
                 : c10::MemoryFormat::Contiguous;
    default:
      return c10::MemoryFormat::Contiguous;
  }
}

// On the CPU no kernel gives channels last unless it is given them, so there is
// no need to ask for the kernel, which depends on sizes.
bool is_contiguous_anyway(const at::Tensor& input, const at::Tensor& weight) {
  return input.is_cpu() && at::isFloatingType(input.scalar_type()) &&
         input.suggest_memory_format() == c10::MemoryFormat::Contiguous &&
         weight.suggest_memory_format() == c10::MemoryFormat::Contiguous;
}

c10::MemoryFormat output_format(const at::Tensor& input,
                                const at::Tensor& weight, OptionalTensor bias,
                                const Parameters& conv) {
  if (is_contiguous_anyway(input, weight)) return c10::MemoryFormat::Contiguous;
  std::optional<at::Tensor> none;
  bool has_bias = bias && bias->defined();
  at::native::ConvBackend backend = at::native::select_conv_backend(
      input, weight, has_bias ? bias : none, conv.stride, conv.padding,
      conv.dilation, conv.transposed, conv.output_padding, conv.groups,
      has_bias ? c10::OptionalArrayRef<Dim>(bias->sym_sizes()) : std::nullopt);
  return format_of(backend, input, weight);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight,
                       OptionalTensor bias, DimList stride, DimList padding,
                       DimList dilation, bool transposed,
                       DimList output_padding, Dim groups) {
  TORCH_CHECK(weight.dim() > 2, "weight should have at least three dimensions");
  size_t count = weight.dim() - 2;
  Parameters conv{expand_parameter(stride, count, "stride"),
                  expand_parameter(padding, count, "padding"),
                  expand_parameter(dilation, count, "dilation"),
                  expand_parameter(output_padding, count, "output_padding"),
                  transposed,
                  groups};
  check_shapes(input, weight, bias, conv);
  TORCH_CHECK(input.scalar_type() == weight.scalar_type(), "Input type (",
              input.toString(), ") and weight type (", weight.toString(),
              ") should be the same");
  TensorVec both{input, weight};
  if (bias && bias->defined()) both.push_back(*bias);
  c10::Device device = common_device(both);
  std::vector<Dim> sizes = output_sizes(input, weight, conv);
  for (const Dim& size : sizes) {
    TORCH_CHECK(size >= 0,
                "the convolution's output would have the negative "
                "size ",
                DimList(sizes));
  }
  // In one dimension torch works on a contiguous copy with a height of one.
  if (count == 1) return make_contiguous(sizes, input.scalar_type(), device);
  c10::MemoryFormat format = output_format(input, weight, bias, conv);
  return make_tensor(sizes, format_strides(sizes, format), input.scalar_type(),
                     device);
}

constexpr Rule kRules[] = {
    rule<&convolution>("aten::convolution"),
};

}  // namespace

std::span<const Rule> convolution_rules() { return kRules; }

}  // namespace magneto::tensor
