// SPDX-License-Identifier: BSD-3-Clause
// Normalization layers.
#include "support/torch_release.h"
#include "tensor/errors.h"
#include "tensor/operator_effects.h"
#include "tensor/rule.h"
#include "tensor/shape.h"
#include "tensor/unbacked_size.h"

namespace magneto::tensor {
namespace {

using OptionalTensor = const std::optional<at::Tensor>&;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// Null if it isn't given.
const at::Tensor* given(OptionalTensor tensor) {
  return tensor && tensor->defined() ? &*tensor : nullptr;
}

// The dtype of saved statistics: on the CPU the input's, unless its parameters
// are float while it is not; on accelerators always at least float.
c10::ScalarType statistics_type(const at::Tensor& input, OptionalTensor weight,
                                OptionalTensor bias) {
  c10::ScalarType type = input.scalar_type();
  bool reduced = type == at::kHalf || type == at::kBFloat16;
  if (!reduced) return type;
  if (!input.is_cpu()) return at::kFloat;
  const at::Tensor* parameter = given(weight) ? given(weight) : given(bias);
  if (!parameter) return type;
  return parameter->scalar_type() == at::kFloat ? at::kFloat : type;
}

void check_parameter(const char* name, const at::Tensor* parameter,
                     DimList normalized_shape) {
  TORCH_CHECK(!parameter || must_be(parameter->sym_sizes(), normalized_shape),
              "Expected ", name,
              " to be of same shape as normalized_shape, but got ", name,
              " of shape ", parameter->sym_sizes(),
              " and normalized_shape = ", normalized_shape);
}

ThreeTensors native_layer_norm(const at::Tensor& input, DimList shape,
                               OptionalTensor weight, OptionalTensor bias,
                               double) {
  TORCH_CHECK(!shape.empty(),
              "Expected normalized_shape to be at least 1-dimensional, i.e., "
              "containing at least one element, but got normalized_shape = ",
              shape);
  check_parameter("weight", given(weight), shape);
  check_parameter("bias", given(bias), shape);
  DimList sizes = input.sym_sizes();
  size_t ndim = sizes.size();
  TORCH_CHECK(
      ndim >= shape.size() && must_be(sizes.slice(ndim - shape.size()), shape),
      "Given normalized_shape=", shape, ", expected input with shape [*, ",
      shape, "], but got input of size", sizes);
  DimVec statistics(sizes.begin(), sizes.end());
  for (size_t i = ndim - shape.size(); i < ndim; ++i) statistics[i] = 1;
  c10::ScalarType type = statistics_type(input, weight, bias);
  return {make_contiguous(sizes, input.scalar_type(), input.device()),
          make_contiguous(statistics, type, input.device()),
          make_contiguous(statistics, type, input.device())};
}

// Since 2.14 PyTorch asks for channels and an area, and copies an input that
// isn't contiguous.
constexpr bool kGroupNormTakesAnyStrides = kTorchMinor >= 14;

ThreeTensors native_group_norm(const at::Tensor& input, OptionalTensor weight,
                               OptionalTensor bias, Dim batch, Dim channels,
                               Dim area, int64_t groups, double) {
  const auto check_elements = [&] {
    const Dim expected = multiplied(multiplied(batch, channels), area);
    TORCH_CHECK(must_hold(numel(input.sym_sizes()).sym_eq(expected)),
                "Expected X.numel() == N * C * HxW to be true, but got false.");
  };
  if (kGroupNormTakesAnyStrides) {
    TORCH_CHECK(must_hold(channels.sym_gt(0)),
                "Expected number of channels to be greater than 0, got ",
                channels);
    TORCH_CHECK(must_hold(area.sym_gt(0)),
                "Expected HxW to be greater than 0, got ", area);
  } else {
    check_elements();
  }
  TORCH_CHECK(groups > 0, "Expected num groups to be greater than 0, got ",
              groups);
  TORCH_CHECK(channels % groups == 0, "Expected number of channels in input ",
              "to be divisible by num_groups, but got input of shape ",
              input.sym_sizes(), " and num_groups=", groups);
  const auto check_vector = [&](OptionalTensor vector, const char* name) {
    TORCH_CHECK(!vector || !vector->defined() ||
                    (vector->dim() == 1 && vector->sym_size(0) == channels),
                "Expected ", name, " to be a vector of size equal to the ",
                "number of channels in input, but got ", name, " of shape ",
                vector->sym_sizes(), " and input of shape ", input.sym_sizes());
  };
  check_vector(weight, "weight");
  check_vector(bias, "bias");
  if (kGroupNormTakesAnyStrides) check_elements();
  c10::MemoryFormat format = input.is_cpu() ? input.suggest_memory_format()
                                            : c10::MemoryFormat::Contiguous;
  TORCH_CHECK(kGroupNormTakesAnyStrides || input.is_contiguous(format),
              "Expected X.is_contiguous(memory_format) to be true, but got "
              "false.");
  DimVec statistics{batch, Dim(groups)};
  c10::ScalarType type = statistics_type(input, weight, bias);
  return {
      make_tensor(input.sym_sizes(), format_strides(input.sym_sizes(), format),
                  input.scalar_type(), input.device()),
      make_contiguous(statistics, type, input.device()),
      make_contiguous(statistics, type, input.device())};
}

bool contiguous_somehow(const at::Tensor& tensor) {
  return tensor.is_contiguous() ||
         tensor.is_contiguous(c10::MemoryFormat::ChannelsLast) ||
         tensor.is_contiguous(c10::MemoryFormat::ChannelsLast3d);
}

ThreeTensors batch_norm(const at::Tensor& input, OptionalTensor weight,
                        OptionalTensor bias, OptionalTensor running_mean,
                        OptionalTensor running_var, bool training) {
  for (OptionalTensor each : {running_mean, running_var}) {
    const at::Tensor* tensor = training ? given(each) : nullptr;
    if (!tensor) continue;
    operator_effects().note_storage(*tensor);
  }
  bool plain = contiguous_somehow(input);
  for (OptionalTensor each : {weight, bias, running_mean, running_var}) {
    if (const at::Tensor* tensor = given(each))
      plain = plain && tensor->is_contiguous();
  }
  c10::MemoryFormat format = input.suggest_memory_format();
  if (plain && input.is_contiguous()) format = c10::MemoryFormat::Contiguous;
  c10::ScalarType type = statistics_type(input, weight, bias);
  // Evaluation on the CPU saves nothing.
  DimVec statistics{training || !input.is_cpu() ? input.sym_size(1) : Dim(0)};
  return {
      make_tensor(input.sym_sizes(),
                  input.is_cuda() ? preserved_strides(input)
                                  : format_strides(input.sym_sizes(), format),
                  input.scalar_type(), input.device()),
      make_contiguous(statistics, type, input.device()),
      make_contiguous(statistics, type, input.device())};
}

ThreeTensors native_batch_norm(const at::Tensor& input, OptionalTensor weight,
                               OptionalTensor bias, OptionalTensor running_mean,
                               OptionalTensor running_var, bool training,
                               double, double) {
  return batch_norm(input, weight, bias, running_mean, running_var, training);
}

// The forms whose schema says that the running statistics are written.
ThreeTensors batch_norm_legit(const at::Tensor& input, OptionalTensor weight,
                              OptionalTensor bias,
                              const at::Tensor& running_mean,
                              const at::Tensor& running_var, bool training,
                              double, double) {
  return batch_norm(input, weight, bias, running_mean, running_var, training);
}
ThreeTensors batch_norm_no_stats(const at::Tensor& input, OptionalTensor weight,
                                 OptionalTensor bias, bool training, double,
                                 double) {
  return batch_norm(input, weight, bias, std::nullopt, std::nullopt, training);
}

using FourTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

// The forms that also give what cuDNN wants to keep: nothing on the CPU.
FourTensors with_reserve(ThreeTensors results) {
  auto& [output, mean, variance] = results;
  at::Tensor reserve =
      make_contiguous(DimVec{Dim(0)}, at::kByte, output.device());
  return {output, mean, variance, reserve};
}
FourTensors batch_norm_update(const at::Tensor& input, OptionalTensor weight,
                              OptionalTensor bias,
                              const at::Tensor& running_mean,
                              const at::Tensor& running_var, double, double) {
  return with_reserve(batch_norm(input, weight, bias, running_mean, running_var,
                                 /*training=*/true));
}
FourTensors batch_norm_no_update(const at::Tensor& input, OptionalTensor weight,
                                 OptionalTensor bias,
                                 OptionalTensor running_mean,
                                 OptionalTensor running_var, double, double) {
  return with_reserve(batch_norm(input, weight, bias, running_mean, running_var,
                                 /*training=*/false));
}

// A weight from its direction and its lengths, and the norms of the direction.
std::tuple<at::Tensor, at::Tensor> weight_norm(const at::Tensor& direction,
                                               const at::Tensor& lengths,
                                               int64_t) {
  c10::ScalarType type = lengths.scalar_type();
  if (type == at::kBFloat16 || (type == at::kHalf && !lengths.is_cpu()))
    type = at::kFloat;
  return {make_contiguous(direction.sym_sizes(), direction.scalar_type(),
                          direction.device()),
          make_tensor(lengths.sym_sizes(), lengths.sym_strides(), type,
                      lengths.device())};
}

constexpr Rule kRules[] = {
    rule<&weight_norm>("aten::_weight_norm_interface"),
    rule<&native_layer_norm>("aten::native_layer_norm"),
    rule<&native_group_norm>("aten::native_group_norm"),
    rule<&native_batch_norm>("aten::native_batch_norm"),
    rule<&batch_norm_legit>("aten::_native_batch_norm_legit"),
    rule<&batch_norm_no_stats>("aten::_native_batch_norm_legit.no_stats"),
    rule<&batch_norm_update>("aten::_batch_norm_with_update"),
    rule<&batch_norm_no_update>("aten::_batch_norm_no_update"),
};

}  // namespace

std::span<const Rule> norm_rules() { return kRules; }

}  // namespace magneto::tensor
