// SPDX-License-Identifier: BSD-3-Clause
// An island: one instruction of a user's function as a code object of its own.
// Where a graph breaks, the unsupported instruction runs as an island, in a
// frame that has the function's name, file, line, locals and closure; what it
// leaves on the stack comes back as the frame's return value.
//
// A frame of it is entered at `unit` with the instruction's operands on the
// stack (python::run_from_middle), so the code takes no arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "python/ref.h"

namespace magneto::artifact {

// One way on from the instruction.
struct Branch {
  int32_t next = -1;  // the function's instruction to go on with
  // What the instruction pushes, bottom first: true for a value, false for
  // CPython's NULL.
  std::vector<bool> pushes;
  int32_t clears = -1;  // the variable that has no value there

  size_t value_count() const;
};

struct Island {
  BasicRef<PyCodeObject> code;
  int32_t unit = 0;      // the code unit to enter it at
  int32_t operands = 0;  // entries that it takes from the top of the stack
  // None for an instruction that always raises.
  std::optional<Branch> through;
  // Jumps that are taken.
  std::optional<Branch> jump;
};

// How many entries at the top of the stack an instruction looks at; -1 if it
// can't be an island.
int32_t operand_count(PyCodeObject* code, size_t index);

// The island of instruction `index`. No code if that instruction can't stand
// alone (it reads local variables, or suspends the frame), with a Python error
// set only if something failed.
std::optional<Island> make_island(PyCodeObject* code, int32_t index);

// The way on that the return value of an island's frame stands for.
const Branch& branch_taken(const Island& island, PyObject* returned);

// Takes the return value apart: the values that the branch pushes, null for a
// NULL, as new references. `stack` has as many places, all of them null.
void take_results(const Branch& branch, Ref returned,
                  std::span<PyObject*> stack);

}  // namespace magneto::artifact
