// SPDX-License-Identifier: BSD-3-Clause
#include "guards/draw.h"

#include "python/numpy_generator.h"

namespace magneto::guards {

bool draw_number(const Draw& draw, PyObject* generator,
                 shapes::Number* number) noexcept {
  if (!python::is_numpy_generator(generator) || !python::is_free(generator))
    return false;
  std::vector<PyObject*> arguments{generator};
  for (const Ref& argument : draw.arguments) arguments.push_back(argument);
  const size_t by_keyword =
      draw.keywords ? static_cast<size_t>(PyTuple_GET_SIZE(draw.keywords.get()))
                    : 0;
  const Ref drawn = Ref::steal(
      PyObject_Vectorcall(draw.method, arguments.data(),
                          arguments.size() - by_keyword, draw.keywords));
  if (!drawn) return false;
  if (draw.is_real) {
    if (!PyFloat_CheckExact(drawn.get())) return false;
    *number = shapes::Number::of(PyFloat_AS_DOUBLE(drawn.get()));
    return true;
  }
  if (!PyLong_CheckExact(drawn.get())) return false;
  int overflow = 0;
  *number = shapes::Number::of(
      static_cast<int64_t>(PyLong_AsLongLongAndOverflow(drawn, &overflow)));
  return overflow == 0;
}

}  // namespace magneto::guards
