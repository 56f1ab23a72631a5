// SPDX-License-Identifier: BSD-3-Clause
// Random generators of Python's and NumPy's, as C code draws from them: no code
// of the program's runs.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>
#include <vector>

#include "python/ref.h"

namespace magneto::python {

// An instance of _random.Random, or of a class derived from it.
bool is_random_generator(PyObject* object) noexcept;

// As many bits as the numbers below have at most.
inline constexpr int64_t kMostRandomBits = 62;

// From such a one: a float in [0, 1), random(); an int with so many bits,
// getrandbits(count); an int in [0, limit), drawn as
// Random._randbelow_with_getrandbits does. False with a Python error set.
bool draw_random(PyObject* generator, double* number) noexcept;
bool draw_bits(PyObject* generator, int64_t count, int64_t* number) noexcept;
bool draw_below(PyObject* generator, int64_t limit, int64_t* number) noexcept;

// Where a generator is, to go on from there a second time. Takes a generator of
// either kind.
class RandomState {
 public:
  explicit RandomState(PyObject* generator);
  PyObject* generator() const { return generator_.get(); }
  // False: see is_free().
  bool is_known() const { return !bytes_.empty(); }
  void restore() const;

 private:
  // Where the numbers are that the next ones depend on.
  std::vector<std::span<unsigned char>> places() const;

  Ref generator_;
  Ref bit_generator_;                              // of NumPy's
  std::vector<std::vector<unsigned char>> bytes_;  // by place
};

}  // namespace magneto::python
