// SPDX-License-Identifier: BSD-3-Clause
// The guards of one trace: what was assumed of the caller's values, recorded
// while tracing, taken back by rollback, compiled by guards/program.h.
//
// Record what the trace relied on, no more. Adding a guard that is there costs
// a hash look-up. Version tags are no guards: the program adds them itself to
// skip guards whose containers have not changed.
//
// What a guard says must hold at the time of recording for the value as the
// *call* brought it, not as the trace has changed it since (docs/design.md,
// rule 2).
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "guards/class_fact.h"
#include "guards/constant.h"
#include "guards/hooks.h"
#include "guards/kind.h"
#include "guards/source.h"
#include "python/class_hierarchy.h"
#include "python/ref.h"
#include "shapes/decision.h"
#include "support/journal.h"
#include "support/strong_id.h"

namespace magneto::guards {

// What is said of one source.
struct Guard {
  GuardKind kind;
  SourceId source;
  int64_t number = 0;                         // as the method of GuardSet says
  Ref object = {};                            // see Keeps
  std::shared_ptr<const void> snapshot = {};  // see Keeps
};

enum class RelationKind : uint8_t {
  SameObject,  // of two sources
  Distinct,
  Views,
};

// What is said of several sources together.
struct Relation {
  RelationKind kind;
  std::vector<SourceId> members;
  std::vector<uint32_t> bases = {};  // Views: see base_number()
};

// Which number of the caller's object a symbol stands for.
enum class IntKind : uint8_t {
  Value,
  Length,
  Position,  // of a counting iterator: see iterator_position()
  Word,      // of one of itertools' iterators; `dim`: which
  Size,
  Stride,
  StorageOffset,
  Address,  // id()
  // Drawn from the generator at the source when the guards hold, so that no
  // guard can be about it:
  Random,      // random()
  Below,       // _randbelow(`dim`)
  RandomBits,  // getrandbits(`dim`)
  Draw,        // `draw`, from one of NumPy's
};

constexpr bool is_drawn(IntKind kind) { return kind >= IntKind::Random; }

struct Draw;  // draw.h

struct IntSource {
  IntKind kind;
  SourceId source;
  int64_t dim = 0;  // Size, Stride, Word, Below, RandomBits
  std::shared_ptr<const Draw> draw = {};  // Draw
};

// A place in the user's program: where a frame of the trace stands.
struct FrameSummary {
  std::string file;
  int line;
  std::string function;
};

// What the guards say of numbers: conditions over symbols, and where the call
// brings the numbers that these stand for, by SymbolId.
struct NumberGuards {
  std::shared_ptr<const shapes::Environment> environment = {};  // of both
  std::span<const IntSource> symbols = {};
  std::span<const shapes::Decision> conditions = {};
  // By condition: where in the program it was asked for, the outermost frame
  // first. May be shorter.
  std::span<const std::vector<FrameSummary>> stacks = {};
};

// What a run of the guards gives to whoever asked: the value at a source, or
// the value of an expression.
struct Request {
  SourceId source;
  shapes::E number = nullptr;
};

struct AmbientGuard {
  Ambient id;
  int64_t value;
};

class GuardSet final : public UnseenJournaled {
 public:
  explicit GuardSet(Journal& journal) : journal_(journal) {}
  GuardSet(const GuardSet&) = delete;
  GuardSet& operator=(const GuardSet&) = delete;

  // One for each kind, in the order of guards.def.

  // There is nothing at this source: no such attribute, key or grad.
  void absent(SourceId source) { add(GuardKind::Absent, source); }
  // There is something, whatever it is: that it was found is relied upon.
  void present(SourceId source) { add(GuardKind::Present, source); }
  void identity(SourceId source, PyObject* object) {
    add(GuardKind::Identity, source, object);
  }
  // A function's code: this object; or, if only one function has it, any that
  // does the same. Such code may be made anew for each function, as
  // code.replace() makes it in torch.no_grad()'s wrappers.
  void code(SourceId source, PyCodeObject* code);
  void not_none(SourceId source) { add(GuardKind::NotNone, source); }
  // type(value) is `type`, exactly.
  void type_is(SourceId source, PyTypeObject* type) {
    add(GuardKind::TypeIs, source, reinterpret_cast<PyObject*>(type));
  }
  // `source` is a type, and neither it nor a base of it was written to since.
  // This fails on any write: prefer guards on the type_attr() sources looked
  // at, which outlive writes to other names and cost the same.
  void type_unmodified(SourceId source, PyTypeObject* type);
  // Equal value of exactly the same type, without running user code; floats by
  // their bits. is_constant(value) must hold.
  void constant_equals(SourceId source, PyObject* value) {
    add(GuardKind::ConstantEquals, source, value);
  }
  // `snapshot` is what Hooks' tensor functions take.
  void tensor(SourceId source, std::shared_ptr<const void> snapshot) {
    add(GuardKind::Tensor, source, std::move(snapshot));
  }
  // Of a list, tuple, dict, set, str or bytes.
  void length(SourceId source, Py_ssize_t n) {
    add(GuardKind::Length, source, n);
  }
  // The deque's maxlen; -1: it has none.
  void deque_limit(SourceId source, Py_ssize_t n) {
    add(GuardKind::DequeLimit, source, n);
  }
  // The iterator of a range, or the enumerate, gives this number next.
  void iterator_position(SourceId source, int64_t n) {
    add(GuardKind::IteratorPosition, source, n);
  }
  // What else tells two iterators of one class apart: the step of a range's,
  // whether a zip is strict, what one of a dict's gives.
  void iterator_trait(SourceId source, int64_t n) {
    add(GuardKind::IteratorTrait, source, n);
  }
  // One of itertools' iterators keeps these numbers: a tuple, by word, with
  // None for those that don't matter.
  void iterator_numbers(SourceId source, PyObject* numbers) {
    add(GuardKind::IteratorNumbers, source, numbers);
  }
  // The dict (or OrderedDict) has exactly these keys in this order; keys as in
  // is_plain_key(), others are compared by identity. `keys` is a tuple.
  void dict_keys(SourceId source, PyObject* keys) {
    add(GuardKind::DictKeys, source, keys);
  }
  // The same of the object's instance dictionary.
  void instance_keys(SourceId source, PyObject* keys) {
    add(GuardKind::InstanceKeys, source, keys);
  }
  // The set or frozenset has exactly these items; `items` is a frozenset of
  // plain keys.
  void set_items(SourceId source, PyObject* items) {
    add(GuardKind::SetItems, source, items);
  }
  // The set or frozenset has its items in the order of `set`'s, and the same
  // gaps between them.
  void set_table(SourceId source, PyObject* set);
  // Nobody notices when the object dies: see guards/finalizer.h.
  void no_finalizer(SourceId source) { add(GuardKind::NoFinalizer, source); }
  // The same of the items of a deque.
  void no_finalizer_in_deque(SourceId source) {
    add(GuardKind::NoFinalizerInDeque, source);
  }

  // Two sources hold one object.
  void same_object(SourceId a, SourceId b);
  // No two of these hold one object.
  void distinct(std::span<const SourceId> sources);
  // Which tensors are views of which, or of one that isn't among them.
  void views(std::span<const SourceId> sources,
             std::span<PyObject* const> tensors);

  // The state has the value that it has now, resp. `value`. The first one
  // recorded counts: later ones describe what the trace itself has set.
  void ambient(Ambient id);
  void ambient(Ambient id, int64_t value);
  // Holds now, and until classes are registered with abstract ones.
  void class_fact(ClassFactPtr fact);

  std::span<const Guard> guards() const { return guards_; }
  std::span<const Relation> relations() const { return relations_; }
  std::span<const AmbientGuard> ambients() const { return ambients_; }
  std::span<const ClassFactPtr> class_facts() const { return class_facts_; }
  // When the trace began: see python::class_hierarchy().
  uint64_t hierarchy() const { return hierarchy_; }

  void undo(uint64_t list, uint64_t) noexcept override;

 private:
  void add(GuardKind kind, SourceId source, int64_t number = 0);
  void add(GuardKind kind, SourceId source, PyObject* object);
  void add(GuardKind kind, SourceId source,
           std::shared_ptr<const void> snapshot);
  void add(Guard guard);
  void add(Relation relation);

  Journal& journal_;
  std::vector<Guard> guards_;
  std::vector<Relation> relations_;
  std::vector<AmbientGuard> ambients_;
  std::vector<ClassFactPtr> class_facts_;
  const uint64_t hierarchy_ = python::class_hierarchy();
  std::vector<KindSet> kinds_;  // by source: those of its guards
};

}  // namespace magneto::guards
