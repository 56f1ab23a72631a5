// SPDX-License-Identifier: BSD-3-Clause
// Sources: where a value of the caller's comes from, as a path that starts at
// the call (an argument, a cell of the closure, the globals) and takes one
// step at a time (an attribute, an item, a field of a function).
//
// A SourceTable belongs to one trace. It is hash-consed (equal paths have equal
// ids) and append-only: rolling a trace back leaves sources behind that nobody
// refers to, which costs nothing.
//
// Reading a source never runs user code, never creates an object's __dict__,
// and gives a borrowed reference: what it returns is kept alive by its base.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "guards/constant.h"
#include "python/ref.h"
#include "support/strong_id.h"

namespace magneto::guards {

using SourceId = StrongId<struct SourceTag>;

enum class SourceKind : uint8_t {
#define MG_SOURCE(Kind, operand, printed) Kind,
#include "guards/sources.def"
#undef MG_SOURCE
};

constexpr bool is_root(SourceKind kind) { return kind <= SourceKind::Constant; }

// What one call brings: the bound arguments in the order of the code object's
// varnames (star arguments included, as their tuple and dict), the cell objects
// of the function's closure, its globals and its builtins. All borrowed.
struct CallView {
  PyObject* const* locals = nullptr;
  size_t nlocals = 0;
  PyObject* const* cells = nullptr;
  size_t ncells = 0;
  PyObject* globals = nullptr;
  PyObject* builtins = nullptr;
};

// What a read found. Unreadable: nobody can tell without running user code (a
// key with a Python __eq__ that has the same hash), or the base is of a kind
// that has no such place.
class Reading {
 public:
  static constexpr Reading absent() { return Reading(kAbsent); }
  static constexpr Reading unreadable() { return Reading(kUnreadable); }
  static Reading of(PyObject* value) {
    return Reading(reinterpret_cast<uintptr_t>(value));
  }

  bool is_present() const { return bits_ > kUnreadable; }
  bool is_absent() const { return bits_ == kAbsent; }
  bool is_unreadable() const { return bits_ == kUnreadable; }
  // Borrowed; null unless present.
  PyObject* value() const {
    return is_present() ? reinterpret_cast<PyObject*>(bits_) : nullptr;
  }

 private:
  static constexpr uintptr_t kAbsent = 0;
  static constexpr uintptr_t kUnreadable = 1;
  constexpr explicit Reading(uintptr_t bits) : bits_(bits) {}
  uintptr_t bits_;
};

struct Source {
  SourceKind kind;
  SourceId base;       // invalid for roots
  uint32_t index = 0;  // operand Index
  // Operands Name and Object, and the printed name of Local and ClosureCell.
  // Kept alive by the table.
  PyObject* object = nullptr;
  Py_hash_t hash = 0;  // of a name or key
};

class SourceTable {
 public:
  SourceTable() = default;
  SourceTable(const SourceTable&) = delete;
  SourceTable& operator=(const SourceTable&) = delete;

  // Roots.
  SourceId local(size_t index, PyObject* name);
  SourceId closure_cell(size_t index, PyObject* name);
  SourceId globals() { return intern({.kind = SourceKind::Globals}); }
  SourceId builtins() { return intern({.kind = SourceKind::Builtins}); }
  // A fixed object: a type whose attributes are looked up, a module. The
  // program that is compiled from the table holds it weakly if it can be, and
  // stops matching once it is gone.
  SourceId constant(PyObject* object);
  // Says where a fixed dict can be read from, which can't be held weakly: a
  // namespace and all that is in it would live as long as the program.
  // constant() gives that place then.
  void found_at(PyObject* dict, SourceId source) {
    places_.try_emplace(dict, source);
  }
  bool is_found(PyObject* dict) const { return places_.contains(dict); }

  // Any row without an operand: field(f, SourceKind::FunctionCode).
  SourceId field(SourceId base, SourceKind kind);

  SourceId cell_contents(SourceId cell) {
    return field(cell, SourceKind::CellContents);
  }
  SourceId type_of(SourceId object) {
    return field(object, SourceKind::TypeOf);
  }
  // What object.__dict__[name] holds; never a descriptor of the type. Also for
  // modules, functions and classes' instances with inline values.
  SourceId instance_attr(SourceId object, PyObject* name);
  // `member` is the descriptor that __slots__ made; see is_slot_member().
  SourceId slot_member(SourceId object, PyObject* member);
  // The dict's own storage (no __getitem__, no __missing__). The key must be
  // one that is_plain_key() accepts; any other key needs its hash.
  SourceId dict_item(SourceId dict, PyObject* key);
  SourceId dict_item(SourceId dict, PyObject* key, Py_hash_t hash);
  SourceId dict_key_at(SourceId dict, size_t i);
  SourceId dict_value_at(SourceId dict, size_t i);
  SourceId list_item(SourceId list, size_t i);
  SourceId deque_item(SourceId deque, size_t i);
  SourceId tuple_item(SourceId tuple, size_t i);
  // See read_iterator_item().
  SourceId iterator_item(SourceId iterator, size_t i);
  SourceId iterator_pair_value(SourceId iterator, size_t i);
  // An object that one of itertools' iterators keeps.
  SourceId iterator_word(SourceId iterator, size_t word);
  SourceId type_attr(SourceId type, PyObject* name);
  SourceId type_own_attr(SourceId type, PyObject* name);
  SourceId subclass(SourceId type, size_t i);

  const Source& operator[](SourceId id) const { return sources_[id.index]; }
  size_t size() const { return sources_.size(); }

  // Reads the whole path. Absent or unreadable anywhere ends it there.
  Reading read(SourceId id, const CallView& view) const;

  // In the user's terms: self.layers[0].weight, cfg['hidden'], G['F'].
  std::string print(SourceId id) const;
  // As torch.compile writes it, for the names of graph inputs:
  // L['self']._modules['layers']._modules['0']._parameters['weight'].
  std::string torch_name(SourceId id) const;

  std::span<const Source> sources() const { return sources_; }

 private:
  // Open addressing: each attribute that a trace looks up asks.
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = kFree;
  };
  static constexpr uint32_t kFree = ~0u;
  void grow();
  SourceId intern(Source source);
  SourceId named(SourceId base, SourceKind kind, PyObject* name);
  SourceId indexed(SourceId base, SourceKind kind, size_t i);

  std::vector<Source> sources_;
  std::vector<Ref> kept_;
  std::unordered_map<PyObject*, SourceId> places_;  // see found_at()
  std::vector<Slot> slots_;                         // a power of two of them
};

// One step of a path, for the tracer's own reads of real objects. Total: any
// object may be the base.
Reading read_field(SourceKind kind, PyObject* base) noexcept;
// The item that the iterator of a list, tuple, text, range, dict, set or deque
// gives after `i` others; of a range, whose ints are made when they are asked
// for, something; of a dict's items the key.
Reading read_iterator_item(PyObject* iterator, size_t i) noexcept;
Reading read_iterator_word(PyObject* iterator, size_t word) noexcept;
Reading read_instance_attr(PyObject* object, PyObject* name) noexcept;
Reading read_slot_member(PyObject* object, PyObject* member) noexcept;
Reading read_dict_item(PyObject* dict, PyObject* key, Py_hash_t hash) noexcept;
Reading read_type_attr(PyObject* type, PyObject* name) noexcept;
Reading read_type_own_attr(PyObject* type, PyObject* name) noexcept;

// True for the descriptors that __slots__ makes.
bool is_slot_member(PyObject* descriptor) noexcept;

}  // namespace magneto::guards
