// SPDX-License-Identifier: BSD-3-Clause
// Modules/_randommodule.c of CPython: an instance is a head and plain numbers.
#include "python/random_generator.h"

#include <algorithm>
#include <bit>

#include "python/find.h"
#include "python/numpy_generator.h"
#include "python/v311/only.h"
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

std::vector<std::span<unsigned char>> RandomState::places() const {
  if (!is_random_generator(generator_))
    return numpy_generator_memory(generator_);
  const size_t head = sizeof(PyObject);
  return {{reinterpret_cast<unsigned char*>(generator_.get()) + head,
           static_cast<size_t>(generator_class().type->tp_basicsize) - head}};
}

RandomState::RandomState(PyObject* generator)
    : generator_(Ref::share(generator)) {
  if (!is_random_generator(generator) && !is_free(generator)) return;
  if (!is_random_generator(generator))
    bit_generator_ = bit_generator(generator);
  for (const auto place : places())
    bytes_.emplace_back(place.begin(), place.end());
}

void RandomState::restore() const {
  if (!is_known()) return;
  if (bit_generator_) {
    // Somebody may have given it another one.
    const Ref own = bit_generator(generator_);
    if (own.get() != bit_generator_.get()) return;
  }
  const auto now = places();
  for (size_t i = 0; i < now.size(); ++i)
    std::ranges::copy(bytes_[i], now[i].begin());
}

}  // namespace magneto::python
