// SPDX-License-Identifier: BSD-3-Clause
// What the trace knows of classes that are written in C, one row for each: how
// an input becomes a value, how a real object is made and filled, which steps
// repeat on an input what the trace has written to it. The rows stand in the
// file of their type; types.def lists these.
//
// What a row doesn't say is said by the row of the next base class whose row is
// for derived classes, too, and in the end by the row of the value's kind.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "values/model/construction.h"
#include "values/model/context.h"
#include "values/model/step_writer.h"
#include "values/protocol/operator_table.h"

namespace magneto::values {

struct TypeRow {
  // Whose row it is: a class, one that is found by a call, one of an extension
  // module by its tp_name, or all values of a kind.
  PyTypeObject* type = nullptr;
  PyTypeObject* (*find_type)() = nullptr;
  const char* name = nullptr;
  Kind kind = Kind::Null;
  // The row is for derived classes, too.
  bool derived = false;

  // The value of an object that was found at `source`, under its guards.
  V (*wrap)(Context& ctx, PyObject* object, SourceId source) = nullptr;
  // The items of an input, guarded as a whole.
  std::vector<V> (*items)(Context& ctx, V input) = nullptr;
  // What len() says where no class made in Python has a __len__.
  Outcome<V> (*length)(Context& ctx, V value) = nullptr;
  // left + right and left += right; sequence * other, in either order, and
  // sequence *= other; the operators of numbers. Null: not of these operands.
  Outcome<V> (*concatenate)(Context& ctx, V left, V right,
                            bool in_place) = nullptr;
  Outcome<V> (*repeat)(Context& ctx, V sequence, V other,
                       bool in_place) = nullptr;
  Outcome<V> (*combine)(Context& ctx, BinaryOperator op, V left, V right,
                        bool in_place) = nullptr;
  // The call that makes an equal object, of a container an empty one; nothing
  // if there is no such call for the state that it is in. May make new values.
  std::optional<Construction> (*construct)(Context& ctx, V value) = nullptr;
  // Writes what a made object is given after that.
  void (*fill)(Context& ctx, V made, StepWriter& writer) = nullptr;
  // Writes to an input what the trace has written to its value.
  void (*replay)(Context& ctx, V input, StepWriter& writer) = nullptr;
};

// The row of that very class; null if it has none.
const TypeRow* row_of(PyTypeObject* type);
const TypeRow& row_of(Kind kind);

// What the nearest row says that says anything; null if none does.
template <class Slot>
Slot type_slot(Slot TypeRow::*slot, PyTypeObject* type) {
  for (PyTypeObject* base = type; base; base = base->tp_base) {
    const TypeRow* row = row_of(base);
    if (row && row->*slot && (base == type || row->derived)) return row->*slot;
  }
  return nullptr;
}

template <class Slot>
Slot type_slot(Slot TypeRow::*slot, V value) {
  Slot found = type_slot(slot, value->type);
  return found ? found : row_of(value->kind).*slot;
}

}  // namespace magneto::values
