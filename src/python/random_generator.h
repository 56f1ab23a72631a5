// SPDX-License-Identifier: BSD-3-Clause
// The generator behind Python's `random`, as its class in C draws from it: no
// code of the program's runs, and no other thread.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <vector>

#include "python/ref.h"

namespace magneto::python {

// An instance of _random.Random, or of a class derived from it. What follows
// takes no other.
bool is_random_generator(PyObject* object) noexcept;

// As many bits as the numbers below have at most.
inline constexpr int64_t kMostRandomBits = 62;

// A float in [0, 1), random(); an int with so many bits, getrandbits(count); an
// int in [0, limit), drawn as Random._randbelow_with_getrandbits does. False
// with a Python error set.
bool draw_random(PyObject* generator, double* number) noexcept;
bool draw_bits(PyObject* generator, int64_t count, int64_t* number) noexcept;
bool draw_below(PyObject* generator, int64_t limit, int64_t* number) noexcept;

// Where a generator is, to go on from there a second time.
class RandomState {
 public:
  explicit RandomState(PyObject* generator);
  PyObject* generator() const { return generator_.get(); }
  void restore() const;

 private:
  Ref generator_;
  std::vector<unsigned char> words_;
};

}  // namespace magneto::python
