// SPDX-License-Identifier: BSD-3-Clause
// Places in bytecode: in code units as here, in bytes as tracebacks and frames
// tell them.
#pragma once

namespace magneto::python {

inline constexpr int kBytesOfUnit = 2;

constexpr int byte_of(int unit) { return unit * kBytesOfUnit; }
constexpr int unit_of(int byte) { return byte / kBytesOfUnit; }

}  // namespace magneto::python
