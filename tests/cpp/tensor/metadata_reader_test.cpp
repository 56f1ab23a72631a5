// SPDX-License-Identifier: BSD-3-Clause
#include "tensor/metadata_reader.h"

#include "python_testing.h"
#include "shapes/environment.h"
#include "tensor/fake_tensor.h"

namespace magneto::tensor {
namespace {

using graph::TensorMeta;

TensorMeta read(PyObject* tensor) {
  TensorMeta meta;
  EXPECT_TRUE(metadata_reader().read(tensor, meta));
  return meta;
}

std::vector<int64_t> values(std::span<const graph::Extent> extents) {
  std::vector<int64_t> result;
  for (const graph::Extent& extent : extents) {
    result.push_back(extent.value.value_or(-1));
  }
  return result;
}

class MetadataReaderTest : public ::testing::Test {
 protected:
  testing::Program program{"import torch"};
};

TEST_F(MetadataReaderTest, ReadsTensors) {
  program.run(
      "x = torch.empty(2, 3, 4, dtype=torch.float64, requires_grad=True)\n"
      "y = x.detach()[:, 1:].transpose(0, 2)");
  const TensorMeta x = read(program.get("x")), y = read(program.get("y"));
  EXPECT_TRUE(x.requires_grad);
  EXPECT_FALSE(y.requires_grad);
  EXPECT_EQ(scalar_type_name(x.scalar_type), "float64");
  EXPECT_EQ(x.device_index, -1);
  EXPECT_EQ(values(x.sizes), (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(values(y.sizes), (std::vector<int64_t>{4, 2, 2}));
  EXPECT_EQ(values(y.strides), (std::vector<int64_t>{1, 4, 12}));
  EXPECT_EQ(y.storage_offset.value, 4);
  EXPECT_NE(x.storage, 0u);
  EXPECT_EQ(x.storage, y.storage);
}

TEST_F(MetadataReaderTest, OtherObjectsAreNoTensors) {
  TensorMeta meta;
  EXPECT_FALSE(metadata_reader().read(Py_None, meta));
}

TEST_F(MetadataReaderTest, WhatHasNoStridesHasNone) {
  program.run("x = torch.eye(3).to_sparse()");
  const TensorMeta x = read(program.get("x"));
  EXPECT_EQ(values(x.sizes), (std::vector<int64_t>{3, 3}));
  EXPECT_TRUE(x.strides.empty());
  EXPECT_EQ(x.storage, 0u);
}

TEST_F(MetadataReaderTest, SymbolsAreExpressionsWithTheirHint) {
  ASSERT_TRUE(initialize());
  program.run("x = torch.empty(5, 2)");
  auto environment = std::make_shared<shapes::Environment>(nullptr);
  shapes::Expressions& numbers = environment->expressions();
  const shapes::E size = environment->backed(shapes::Type::Integer,
                                             shapes::Number::of(int64_t{5}));
  FakeInputs fakes;
  Ref fake =
      fakes.fake_of(program.get("x"), environment,
                    {.sizes = {size, numbers.integer(2)},
                     .strides = {numbers.integer(2), numbers.integer(1)}});
  ASSERT_TRUE(fake);
  const TensorMeta meta = read(fake);
  ASSERT_EQ(meta.sizes.size(), 2u);
  EXPECT_FALSE(meta.sizes[0].is_known());
  EXPECT_EQ(meta.sizes[0].expression, size);
  EXPECT_EQ(meta.sizes[0].value, 5);
  EXPECT_TRUE(meta.sizes[1].is_known());
  EXPECT_EQ(meta.sizes[1].value, 2);
}

}  // namespace
}  // namespace magneto::tensor
