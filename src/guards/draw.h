// SPDX-License-Identifier: BSD-3-Clause
// A method that draws one number from a generator of NumPy's.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string>
#include <vector>

#include "python/ref.h"
#include "shapes/number.h"

namespace magneto::guards {

struct Draw {
  std::string name;            // as the user calls it
  Ref method;                  // takes the generator first
  std::vector<Ref> arguments;  // the others, those by keyword last
  Ref keywords;                // their names; null if there are none
  shapes::Number sample;       // one that was drawn elsewhere
  bool is_real;                // a float; else an int
};

// False if the number is of another kind or too large, or if it isn't drawn as
// another thread draws from the generator just now; or with a Python error set.
bool draw_number(const Draw& draw, PyObject* generator,
                 shapes::Number* number) noexcept;

}  // namespace magneto::guards
