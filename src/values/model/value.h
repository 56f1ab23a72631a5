// SPDX-License-Identifier: BSD-3-Clause
// Symbolic values: what stands for a Python object while tracing.
//
// A Value is an immutable handle in the trace's arena; whatever can change
// (items, attributes, a cell's content, an iterator's position) lives in the
// Heap under the value's HeapId. So handles may be copied, kept and compared
// freely, and a rollback never has to look for them.
#pragma once

#include <span>
#include <type_traits>

#include "graph/graph.h"
#include "guards/source.h"
#include "python/ref.h"
#include "shapes/expression.h"
#include "support/check.h"
#include "support/strong_id.h"

namespace magneto::values {

using guards::SourceId;
using HeapId = StrongId<struct HeapTag>;

// How the object is laid out; `Value::type` says of which class it is. An
// instance of a list subclass is a List whose type is that subclass.
enum class Kind : uint8_t {
  Null,         // CPython's NULL: pushed for calls; an unbound local or cell
  Lazy,         // from the caller, not yet looked at: see Context::look
  Constant,     // `object` itself, known and not changed by the trace: numbers,
                // strings, None, types, functions, Python modules, builtins
  Symbol,       // SymbolValue: a number that isn't known before the call
  Text,         // TextValue: a str with such numbers written in it
  Tensor,       // TensorValue
  Tuple,        // TupleValue, also of tuple subclasses (namedtuple, torch.Size)
  List,         // heap: items; list and its subclasses, deque
  Dict,         // heap: entries; dict and its subclasses
  Set,          // heap: entries without values; set, frozenset
  Slice,        // TupleValue of start, stop, step
  Object,       // heap: attributes; any other instance
  Function,     // FunctionValue: a Python function made by the trace
  BoundMethod,  // MethodValue
  Cell,         // heap: slot 0 is the content, or null
  Iterator,     // heap: see types/iterators.h
  Generator,    // heap: a suspended frame of the trace room
  Super,        // MethodValue: function is the class after which to search
};

struct Value {
  Kind kind = Kind::Null;
  SourceId source;               // where the caller's object is found, or none
  HeapId heap;                   // its changeable state, or none
  PyTypeObject* type = nullptr;  // as the traced program sees it
  PyObject* object = nullptr;    // the real object: Constant, Lazy, or one that
                                 // came from the caller; else null
  bool is_constant() const { return kind == Kind::Constant; }
  bool is_null() const { return kind == Kind::Null; }
};

using V = const Value*;

// What is only known in the call: see Context::look.
inline bool is_open(V value) {
  return value->kind == Kind::Symbol || value->kind == Kind::Text;
}

// A function of the caller's of which nobody has asked which object it is: see
// Context::look_function.
inline bool is_any_function(V value) {
  return value->kind == Kind::Function && value->object != nullptr;
}

// An int, float or bool: a size of an input, a number that the caller passes,
// or what was computed from such. See Context::look_symbolic.
struct SymbolValue : Value {
  static bool is_kind(Kind kind) { return kind == Kind::Symbol; }
  shapes::E number = nullptr;
};

// A piece of a TextValue: a str, or a Symbol that is written as `format` says,
// a str without which (null) it is written as str() does.
struct TextPart {
  V value = nullptr;
  PyObject* format = nullptr;
};

struct TextValue : Value {
  static bool is_kind(Kind kind) { return kind == Kind::Text; }
  std::span<const TextPart> parts;
};

struct TensorValue : Value {
  static bool is_kind(Kind kind) { return kind == Kind::Tensor; }
  PyObject* fake = nullptr;  // kept alive by the trace
};

struct TupleValue : Value {
  static bool is_kind(Kind kind) {
    return kind == Kind::Tuple || kind == Kind::Slice;
  }
  std::span<const V> items;
};

struct MethodValue : Value {
  static bool is_kind(Kind kind) {
    return kind == Kind::BoundMethod || kind == Kind::Super;
  }
  V function = nullptr;
  V self = nullptr;
};

struct FunctionValue : Value {
  static bool is_kind(Kind kind) { return kind == Kind::Function; }
  PyCodeObject* code = nullptr;
  PyObject* globals = nullptr;
  V defaults = nullptr;        // Tuple or null
  V kwdefaults = nullptr;      // Dict or null
  V annotations = nullptr;     // or null
  std::span<const V> closure;  // Cells
};

// A checked downcast: as<TupleValue>(v).
template <class T>
const T* as(V value) {
  static_assert(std::is_base_of_v<Value, T>);
  MG_CHECK(T::is_kind(value->kind), "a value has the parts of its kind");
  return static_cast<const T*>(value);
}

inline PyObject* fake_of(V tensor) { return as<TensorValue>(tensor)->fake; }

inline std::span<const V> tuple_items(V tuple) {
  return as<TupleValue>(tuple)->items;
}

}  // namespace magneto::values
