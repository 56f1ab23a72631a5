// SPDX-License-Identifier: BSD-3-Clause
#include "entry/named_sources.h"

#include "python/find.h"

namespace magneto::entry {

NamedSources::NamedSources(const guards::SourceTable& sources)
    : sources_(sources) {
  Ref module = import_module("magneto.heard_sources");
  named_ = Ref::steal(module ? PyObject_CallMethod(module, "in_force", nullptr)
                             : nullptr);
  // A text that can't be read is one that says nothing.
  if (!named_) PyErr_Clear();
  if (named_ == Py_None) named_ = nullptr;
}

NamedSources::Says NamedSources::answer(Ref said) const {
  const long number = said ? PyLong_AsLong(said) : -1;
  if (number < 0) PyErr_Clear();
  return number > 0 ? static_cast<Says>(number) : Says::Nothing;
}

NamedSources::Says NamedSources::of_size(guards::SourceId source,
                                         size_t dimension, int64_t size) const {
  if (!named_) return Says::Nothing;
  return answer(Ref::steal(PyObject_CallMethod(
      named_, "size", "snL", sources_.torch_name(source).c_str(),
      static_cast<Py_ssize_t>(dimension), static_cast<long long>(size))));
}

NamedSources::Says NamedSources::of_number(const std::string& name,
                                           PyObject* number) const {
  if (!named_) return Says::Nothing;
  return answer(Ref::steal(
      PyObject_CallMethod(named_, "number", "sO", name.c_str(), number)));
}

NamedSources::Says NamedSources::of_number(guards::SourceId source,
                                           PyObject* number) const {
  if (!named_) return Says::Nothing;
  return of_number(sources_.torch_name(source), number);
}

}  // namespace magneto::entry
