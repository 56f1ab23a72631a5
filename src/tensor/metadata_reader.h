// SPDX-License-Identifier: BSD-3-Clause
// What graph/tensor_meta.h tells of a node's tensors, read from fakes.
#pragma once

#include "graph/tensor_meta.h"

namespace magneto::tensor {

// Lives as long as the process.
const graph::MetadataReader& metadata_reader();

}  // namespace magneto::tensor
