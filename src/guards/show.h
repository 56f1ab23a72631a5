// SPDX-License-Identifier: BSD-3-Clause
// How sources and values read in messages. No user code runs: a value's own
// repr is used only where it is C code of the interpreter's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <span>
#include <string>

#include "guards/source.h"

namespace magneto::guards {

// Constants as their repr (shortened), functions, types and modules by name,
// anything else as "a Foo object".
std::string show(PyObject* value);

// A type as the user writes it, without builtins' or __main__'s prefix.
std::string show_type(PyTypeObject* type);

enum class PathStyle : uint8_t {
  User,   // self.layers[0].weight
  Torch,  // L['self']._modules['layers']._modules['0']._parameters['weight']
};

// The path that ends in sources[id]; bases are indices into the same span.
std::string print_path(std::span<const Source> sources, SourceId id,
                       PathStyle style = PathStyle::User);

// That there is nothing at the end of the path: "'hook' not in vars(self)".
std::string print_absence(std::span<const Source> sources, SourceId id);

}  // namespace magneto::guards
