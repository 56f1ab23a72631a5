// SPDX-License-Identifier: BSD-3-Clause
// What tensors hold, kept to be put back. The first run of a compiled graph may
// fail for what no rule has told, such as a kernel that doesn't know a dtype;
// before plain Python starts over, what the graph has written is undone.
#pragma once

#include <memory>
#include <span>

#include "python/ref.h"

namespace magneto::tensor {

class SavedTensors;
using SavedTensorsPtr = std::shared_ptr<const SavedTensors>;

// Null if together they have more than 256 MiB, or have no plain memory.
SavedTensorsPtr save(std::span<PyObject* const> tensors) noexcept;

// False, and nothing is changed, if more than values, shape and history is
// different since: the memory itself, or the history of a view.
bool put_back(const SavedTensorsPtr& saved) noexcept;

}  // namespace magneto::tensor
