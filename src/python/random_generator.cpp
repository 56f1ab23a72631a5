// SPDX-License-Identifier: BSD-3-Clause
// Modules/_randommodule.c of CPython: an instance is a head and plain numbers.
#include "python/random_generator.h"

#include <algorithm>
#include <bit>
#include <span>

#include "python/find.h"
#include "support/check.h"
#include "support/forever.h"

namespace magneto::python {
namespace {

struct GeneratorClass {
  PyTypeObject* type;
  PyObject* random;
  PyObject* getrandbits;
};

const GeneratorClass& generator_class() {
  static const auto* const found = forever([] {
    PyObject* type = find_object("_random.Random");
    MG_CHECK(type, "its instances come from a module that is loaded");
    return GeneratorClass{reinterpret_cast<PyTypeObject*>(type),
                          find_object("_random.Random.random"),
                          find_object("_random.Random.getrandbits")};
  }());
  return *found;
}

std::span<unsigned char> words(PyObject* generator) {
  const size_t head = sizeof(PyObject);
  return {reinterpret_cast<unsigned char*>(generator) + head,
          static_cast<size_t>(generator_class().type->tp_basicsize) - head};
}

}  // namespace

bool is_random_generator(PyObject* object) noexcept {
  return PyObject_TypeCheck(object, generator_class().type);
}

bool draw_random(PyObject* generator, double* number) noexcept {
  const Ref drawn =
      Ref::steal(PyObject_CallOneArg(generator_class().random, generator));
  if (!drawn) return false;
  *number = PyFloat_AS_DOUBLE(drawn.get());
  return true;
}

bool draw_bits(PyObject* generator, int64_t count, int64_t* number) noexcept {
  const Ref bits = Ref::steal(PyLong_FromLongLong(count));
  if (!bits) return false;
  PyObject* const arguments[] = {generator, bits};
  const Ref drawn = Ref::steal(PyObject_Vectorcall(
      generator_class().getrandbits, arguments, std::size(arguments), nullptr));
  if (!drawn) return false;
  *number = PyLong_AsLongLong(drawn);
  return true;
}

bool draw_below(PyObject* generator, int64_t limit, int64_t* number) noexcept {
  const int64_t count = std::bit_width(static_cast<uint64_t>(limit));
  do {
    if (!draw_bits(generator, count, number)) return false;
  } while (*number >= limit);
  return true;
}

RandomState::RandomState(PyObject* generator)
    : generator_(Ref::share(generator)) {
  const auto now = words(generator);
  words_.assign(now.begin(), now.end());
}

void RandomState::restore() const {
  std::ranges::copy(words_, words(generator_).begin());
}

}  // namespace magneto::python
