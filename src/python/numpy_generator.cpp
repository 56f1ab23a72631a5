// SPDX-License-Identifier: BSD-3-Clause
// Classes of Cython's: an instance is a head, references that stay as they are,
// and plain numbers. A RandomState keeps the second of each pair of normal
// numbers; everything else is in the bit generator, behind what its base class
// has. Whether that is so is tried once for each class.
#include "python/numpy_generator.h"

#include <algorithm>
#include <array>
#include <map>

#include "python/find.h"
#include "python/random_generator.h"

namespace magneto::python {
namespace {

// Where releases of NumPy have them.
constexpr const char* kGenerators[] = {"numpy.random.mtrand.RandomState",
                                       "numpy.random._generator.Generator"};
constexpr const char* kBitGenerators[] = {
    "numpy.random._mt19937.MT19937", "numpy.random._pcg64.PCG64",
    "numpy.random._pcg64.PCG64DXSM", "numpy.random._philox.Philox",
    "numpy.random._sfc64.SFC64"};

template <size_t N>
using Classes = std::array<PyObject*, N>;

// Null: not imported, or not in this release.
template <size_t N>
Classes<N> find_classes(const char* const (&paths)[N]) {
  Classes<N> found;
  std::ranges::transform(paths, found.begin(), find_object);
  return found;
}

bool is_one_of(PyObject* object, std::span<PyObject* const> classes) {
  return std::ranges::find(classes, reinterpret_cast<PyObject*>(
                                        Py_TYPE(object))) != classes.end();
}

bool is_generator(PyObject* object) {
  static Classes<std::size(kGenerators)> classes{};
  if (!classes[0]) classes = find_classes(kGenerators);
  return is_one_of(object, classes);
}

// Those are loaded before generators are.
bool is_bit_generator(PyObject* object) {
  static const auto classes = find_classes(kBitGenerators);
  return is_one_of(object, classes);
}

std::span<unsigned char> memory_behind(PyObject* object, Py_ssize_t begin) {
  return {reinterpret_cast<unsigned char*>(object) + begin,
          static_cast<size_t>(Py_TYPE(object)->tp_basicsize - begin)};
}

Ref draw(PyObject* generator) {
  return Ref::steal(PyObject_CallMethod(generator, "standard_normal", nullptr));
}

// Draws some numbers twice from a generator that is nobody else's.
bool can_be_restored(PyObject* generator) {
  if (!draw(generator)) return false;  // one of a pair
  const RandomState before(generator);
  std::array<Ref, 700> drawn;  // more than an MT19937 makes at once
  for (Ref& number : drawn) number = draw(generator);
  before.restore();
  return before.is_known() && std::ranges::all_of(drawn, [&](const Ref& one) {
           const Ref again = draw(generator);
           return one && again &&
                  PyFloat_AsDouble(one) == PyFloat_AsDouble(again);
         });
}

bool tried(PyObject* generator) {
  const Ref like = numpy_generator_like(generator);
  const bool can = like && can_be_restored(like);
  PyErr_Clear();
  return can;
}

}  // namespace

Ref bit_generator(PyObject* generator) {
  static PyObject* const name = PyUnicode_InternFromString("_bit_generator");
  Ref found = Ref::steal(PyObject_GetAttr(generator, name));
  if (!found) PyErr_Clear();
  return found;
}

bool is_numpy_generator(PyObject* object) {
  if (!is_generator(object)) return false;
  const Ref bits = bit_generator(object);
  if (!bits || !is_bit_generator(bits)) return false;
  static std::map<std::pair<PyTypeObject*, PyTypeObject*>, bool> known;
  const std::pair key(Py_TYPE(object), Py_TYPE(bits.get()));
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  const bool can = tried(object);
  known.insert_or_assign(key, can);
  return can;
}

Ref numpy_generator_like(PyObject* generator) {
  const Ref bits = bit_generator(generator);
  if (!bits) return nullptr;
  const Ref fresh = Ref::steal(
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(Py_TYPE(bits.get()))));
  if (!fresh) return nullptr;
  return Ref::steal(PyObject_CallOneArg(
      reinterpret_cast<PyObject*>(Py_TYPE(generator)), fresh));
}

bool is_free(PyObject* generator) {
  static PyObject* const lock_name = PyUnicode_InternFromString("lock");
  static PyObject* const acquire = PyUnicode_InternFromString("acquire");
  static PyObject* const release = PyUnicode_InternFromString("release");
  const Ref bits = bit_generator(generator);
  const Ref lock = bits && is_bit_generator(bits)
                       ? Ref::steal(PyObject_GetAttr(bits, lock_name))
                       : nullptr;
  const Ref taken =
      lock ? Ref::steal(PyObject_CallMethodOneArg(lock, acquire, Py_False))
           : nullptr;
  const bool is_ours = taken.get() == Py_True;
  const Ref left =
      is_ours ? Ref::steal(PyObject_CallMethodNoArgs(lock, release)) : nullptr;
  PyErr_Clear();
  return is_ours;
}

std::vector<std::span<unsigned char>> numpy_generator_memory(
    PyObject* generator) {
  // The bit generator stays alive: the generator refers to it.
  const Ref bits = bit_generator(generator);
  return {memory_behind(generator, sizeof(PyObject)),
          memory_behind(bits, Py_TYPE(bits.get())->tp_base->tp_basicsize)};
}

}  // namespace magneto::python
