// SPDX-License-Identifier: BSD-3-Clause
#include "guards/class_fact.h"

#include <algorithm>
#include <utility>

#include "support/check.h"

namespace magneto::guards {

ClassFact::ClassFact(Ask ask, std::span<PyObject* const> classes,
                     std::string text)
    : ask_(ask),
      addresses_(classes.begin(), classes.end()),
      text_(std::move(text)) {
  for (PyObject* each : classes) {
    classes_.push_back(Ref::steal(PyWeakref_NewRef(each, nullptr)));
    MG_CHECK(classes_.back(), "classes can be referred to weakly");
  }
}

bool ClassFact::holds() const noexcept {
  std::vector<Ref> held;
  for (const Ref& each : classes_)
    held.push_back(Ref::share(PyWeakref_GetObject(each)));
  if (std::ranges::any_of(
          held, [](const Ref& each) { return each.get() == Py_None; }))
    return false;
  return ask_(addresses_);
}

}  // namespace magneto::guards
