// SPDX-License-Identifier: BSD-3-Clause
// Which class derives from which may change while a program runs: by writing to
// a class's __bases__. CPython tells nobody, and much depends on it
// (isinstance, except clauses, super(), operators), so the setter is listened
// to.
#pragma once

#include <cstdint>

namespace magneto::python {

// Once, before anything is compiled.
void listen_to_bases() noexcept;

// Another number behind each write to the __bases__ of any class.
uint64_t class_hierarchy() noexcept;

}  // namespace magneto::python
