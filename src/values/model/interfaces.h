// SPDX-License-Identifier: BSD-3-Clause
// What a trace asks the rooms that it mustn't know: natives/, entry/, and who
// listens. Inliner (inliner.h) is trace/'s.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guards/source.h"
#include "python/ref.h"
#include "shapes/range.h"
#include "support/outcome.h"
#include "values/model/inliner.h"
#include "values/model/value.h"

namespace magneto::values {

class Context;

// Implemented by natives/: calls of what is written in C, and of the Python
// functions that have a row in its tables.
class NativeTable {
 public:
  // Whether `callable` (a builtin, a descriptor, a class, a Python function)
  // has a row.
  virtual bool has(PyObject* callable) const = 0;
  virtual Outcome<V> call(Context& ctx, V callable, const Arguments& args) = 0;
  // Whether the program says that calls of an object go into the graph
  // (torch.compiler.allow_in_graph), and it has a name there.
  virtual bool is_allowed(PyObject* callable) const = 0;
  // The next item of an iterator whose class has a row; null at the end.
  virtual Outcome<V> next_item(Context& ctx, V iterator) = 0;
  // format(value, spec) after the conversion (FVC_STR, FVC_REPR, FVC_ASCII or
  // none) of an f-string; `spec` may be null.
  virtual Outcome<V> format(Context& ctx, V value, int conversion, V spec) = 0;
  // Attributes of tensors: a null value if there is no such attribute.
  virtual Outcome<V> tensor_attribute(Context& ctx, V tensor,
                                      PyObject* name) = 0;
  // value null: deletion.
  virtual Status set_tensor_attribute(Context& ctx, V tensor, PyObject* name,
                                      V value) = 0;

 protected:
  ~NativeTable() = default;
};

// Hears which Python functions and natives a trace meets, and what becomes of
// them, while somebody wants to know (magneto.explain). Calls that are recorded
// are told by the graph's CallListener.
class Witness {
 public:
  enum class Decision : uint8_t { Inline, Skip };
  virtual void met(PyObject* function, Decision decision, const char* why) = 0;

 protected:
  ~Witness() = default;
};

// Implemented by entry/: which of the caller's numbers become symbols.
class SymbolPolicy {
 public:
  // A size that is a symbol.
  struct Size {
    shapes::Range range;
    // The program gives no hint of it: nothing is decided by what it is.
    bool is_unbacked = false;
    // Of unbacked ones: those of one group are equal. Empty: of none.
    std::string group = {};
  };
  // For each dimension of the tensor at `source`: its size, if that is a
  // symbol. Empty: none is.
  using Sizes = std::vector<std::optional<Size>>;
  virtual Sizes symbolic_sizes(PyObject* tensor, SourceId source) = 0;
  // Whether such a stride is one that follows from no size.
  virtual bool is_symbolic_stride(SourceId source, size_t dimension) = 0;
  // Of a plain int or float, or what an iterator counts.
  virtual bool is_symbolic(PyObject* number, SourceId source) = 0;
  // Whether any number in a tuple of constants is; else it is one constant.
  virtual bool has_symbolic_items(PyObject* tuple, SourceId source) = 0;
  // Whether the piece of the frame has been compiled for enough values of the
  // symbol, or of the constant, at this source. Then code that needs its value
  // breaks the graph and calls leave(), which tells the pieces that follow.
  virtual bool has_enough_of_symbol(SourceId source) const = 0;
  virtual bool has_enough_of_constant(SourceId source) const = 0;
  virtual void leave(SourceId source) = 0;

 protected:
  ~SymbolPolicy() = default;
};

}  // namespace magneto::values
