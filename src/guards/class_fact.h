// SPDX-License-Identifier: BSD-3-Clause
// What a trace was told of classes by abstract classes, generic functions and
// the like, until another class is registered with one of them. CPython counts
// the registrations of all of them together (Ambient::AbstractClasses). Another
// count is no failed guard: each fact is asked for again, and the count
// renewed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "python/ref.h"

namespace magneto::guards {

class ClassFact {
 public:
  // Whether Python says the same of these classes as it did. May run Python
  // code, of abstract classes; leaves no Python error.
  using Ask = bool (*)(std::span<PyObject* const> classes) noexcept;

  // `text`: what is so, for explanations.
  ClassFact(Ask ask, std::span<PyObject* const> classes, std::string text);

  // False, too, once one of the classes has died.
  bool holds() const noexcept;
  const std::string& text() const { return text_; }

  friend bool operator==(const ClassFact& a, const ClassFact& b) {
    return a.ask_ == b.ask_ && a.addresses_ == b.addresses_;
  }

 private:
  Ask ask_;
  std::vector<Ref> classes_;  // weak references
  std::vector<PyObject*> addresses_;
  std::string text_;
};

using ClassFactPtr = std::shared_ptr<const ClassFact>;

}  // namespace magneto::guards
