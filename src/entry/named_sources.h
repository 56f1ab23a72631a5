// SPDX-License-Identifier: BSD-3-Clause
// Sizes and numbers that torch.compiler.config names as ones that vary, or
// don't (python/magneto/heard_sources.py).
#pragma once

#include <cstdint>

#include "guards/source.h"
#include "python/ref.h"

namespace magneto::entry {

class NamedSources {
 public:
  // What the settings say when a trace begins.
  explicit NamedSources(const guards::SourceTable& sources);

  // As heard_sources has them.
  enum class Says : uint8_t { Nothing, IsDynamic, IsUnbacked, IsStatic };

  explicit operator bool() const { return static_cast<bool>(named_); }
  Says of_size(guards::SourceId source, size_t dimension, int64_t size) const;
  // Of an int or float; `name` is torch.compile's.
  Says of_number(const std::string& name, PyObject* number) const;
  Says of_number(guards::SourceId source, PyObject* number) const;

 private:
  Says answer(Ref said) const;

  const guards::SourceTable& sources_;
  Ref named_;  // null: they say nothing
};

}  // namespace magneto::entry
