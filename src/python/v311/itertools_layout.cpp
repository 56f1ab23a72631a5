// SPDX-License-Identifier: BSD-3-Clause
// Modules/itertoolsmodule.c of CPython 3.11.
#include "python/itertools_layout.h"

#include <string_view>

#include "python/find.h"
#include "python/v311/only.h"
#include "support/forever.h"

namespace magneto::python {
namespace {

// The fields of an iterator after its head, a letter for each machine word.
// o: an object; n: a Py_ssize_t or long; i: an int.
struct IteratorWords {
  const char* path;
  std::string_view words;
};
constexpr IteratorWords kIterators[] = {
    {"itertools.accumulate", "oooo"},  // total it function initial
    {"itertools.chain", "oo"},         // source active
    {"itertools.compress", "oo"},      // data selectors
    {"itertools.count", "noo"},        // number object step
    {"itertools.cycle", "ooni"},       // it saved index first_pass
    {"itertools.dropwhile", "oon"},    // function it started
    {"itertools.filterfalse", "oo"},   // function it
    {"itertools.islice", "onnnn"},     // it next stop step position
    {"itertools.pairwise", "oo"},      // it before
    {"itertools.repeat", "on"},        // object left
    {"itertools.starmap", "oo"},       // function it
    {"itertools.takewhile", "oon"},    // function it stopped
};
constexpr size_t kIteratorCount = sizeof(kIterators) / sizeof(IteratorWords);

// The object's fields; empty if it isn't one of these iterators.
std::string_view words_of(PyObject* object) {
  static const auto* const types = forever([] {
    struct Types {
      PyObject* at[kIteratorCount];
    } found;
    for (size_t i = 0; i < kIteratorCount; ++i)
      found.at[i] = find_object(kIterators[i].path);
    return found;
  }());
  auto* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  for (size_t i = 0; i < kIteratorCount; ++i) {
    if (types->at[i] != type) continue;
    const size_t size = sizeof(PyObject) + kIterators[i].words.size() * 8;
    if (static_cast<size_t>(Py_TYPE(object)->tp_basicsize) != size) break;
    return kIterators[i].words;
  }
  return {};
}

template <class T>
T* place(PyObject* object, size_t word) {
  return reinterpret_cast<T*>(reinterpret_cast<char*>(object) +
                              sizeof(PyObject) + word * 8);
}

char kind_of(PyObject* object, size_t word) {
  const std::string_view words = words_of(object);
  return word < words.size() ? words[word] : '-';
}

}  // namespace

bool has_iterator_words(PyObject* object) noexcept {
  return !words_of(object).empty();
}

PyObject** iterator_object(PyObject* iterator, size_t word) noexcept {
  return kind_of(iterator, word) == 'o' ? place<PyObject*>(iterator, word)
                                        : nullptr;
}

bool iterator_number(PyObject* iterator, size_t word,
                     int64_t* number) noexcept {
  const char kind = kind_of(iterator, word);
  if (kind == 'n') *number = *place<int64_t>(iterator, word);
  if (kind == 'i') *number = *place<int>(iterator, word);
  return kind == 'n' || kind == 'i';
}

void set_iterator_word(PyObject* iterator, size_t word,
                       PyObject* value) noexcept {
  switch (kind_of(iterator, word)) {
    case 'o':
      Py_XSETREF(*place<PyObject*>(iterator, word), Py_XNewRef(value));
      return;
    case 'n': {
      int overflow = 0;
      const int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
      *place<int64_t>(iterator, word) = overflow ? PY_SSIZE_T_MAX : number;
      // Past PY_SSIZE_T_MAX, itertools.count goes on with int objects.
      if (overflow) set_iterator_word(iterator, word + 1, value);
      return;
    }
    case 'i':
      *place<int>(iterator, word) = static_cast<int>(PyLong_AsLong(value));
      return;
    default:
      return;
  }
}

}  // namespace magneto::python
