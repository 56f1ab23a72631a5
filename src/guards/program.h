// SPDX-License-Identifier: BSD-3-Clause
// A guard set compiled to one flat list of steps. Each source is read once,
// into a slot, and checked; a run allocates nothing and runs no Python code.
//
// What hangs below an object that outlives a call (a module, the globals) is
// *pinned*: after a successful run the program remembers the words of memory
// that the reads went through (type pointers, dict versions, item pointers).
// While those words are unchanged, the steps below hold without being run, and
// the slots still hold the right values. A changed word is not a failed guard:
// the steps below it run, and if they hold the word is renewed.
// docs/internals/guards.md says why no freed memory is touched.
//
// A program keeps no object of the user's alive, except plain constants (ints,
// strings, ...) and objects that can't be referred to weakly. Objects that it
// compares by identity are watched: when one dies, so does the program.
//
// Needs the GIL; belongs to one cache entry.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "guards/guard.h"
#include "guards/node.h"
#include "guards/numbers.h"
#include "guards/pin.h"
#include "guards/relation.h"
#include "guards/source.h"
#include "guards/watch.h"

namespace magneto::guards {

class GuardProgram {
 public:
  GuardProgram(const GuardProgram&) = delete;
  GuardProgram& operator=(const GuardProgram&) = delete;

  // True if every guard holds for this call; then `inputs` (input_count()
  // pointers, may be null if there are none) receives the requested sources,
  // in the order of the requests. They are borrowed: alive as long as the
  // caller's values hold them, that is until user code runs. Requested numbers
  // are left out: see numbers().
  bool run(const CallView& view, PyObject** inputs) noexcept;

  size_t input_count() const { return input_nodes_.size(); }

  // The inputs that are numbers, and what they were in the last successful run.
  struct NumberInput {
    uint32_t input;
    shapes::Type type;
    shapes::Number value;
  };
  size_t number_count() const { return number_inputs_.size(); }
  NumberInput number(size_t n) const {
    return {number_inputs_[n], numbers_.result_type(n), numbers_.result(n)};
  }

  // Numbers that are drawn from random generators when run() has succeeded:
  // before the others are asked for, and while its inputs are alive. False if
  // a number has no value, or with a Python error set.
  bool draws() const { return numbers_.draws(); }
  // While it draws, references to the inputs of a run must be held.
  bool calls_to_draw() const { return numbers_.calls_to_draw(); }
  void hold(PyObject* const* inputs, std::vector<Ref>& held) const {
    for (size_t i = 0; i < input_nodes_.size(); ++i)
      if (input_nodes_[i] != kNumber) held.push_back(Ref::share(inputs[i]));
  }
  bool draw() noexcept { return numbers_.draw(slots_.data()); }
  // Instead of drawing: numbers that might have been drawn.
  bool make_up_drawn() noexcept { return numbers_.make_up_drawn(); }
  // Calls `function` with each generator that will be drawn from, borrowed, and
  // perhaps several times with the same one.
  template <class Function>
  void for_each_generator(Function function) const {
    for (const NumberBinding& drawn : numbers_.drawn())
      function(slots_[drawn.node]);
  }

  // False once an object that the guards compare with has been freed.
  bool alive() const { return watch_.alive(); }
  // Whether each class derives from the same ones as when the trace began.
  bool is_hierarchy_unchanged() const {
    return hierarchy_ == python::class_hierarchy();
  }
  // False if the program never matches again and can be dropped: for one of
  // these reasons, or since a class was registered with an abstract class that
  // it wasn't a subclass of when the trace asked.
  bool can_match() const {
    return alive() && is_hierarchy_unchanged() && !changed_fact_;
  }
  // To be called when classes were registered with abstract ones since the
  // last run that succeeded, which is why no run does: true if nothing that
  // the program relies on has changed, and it may match again. Runs Python
  // code, of abstract classes, so the program must be held.
  bool renew_class_facts() noexcept;

  // The first guard that doesn't hold for this call, with both values:
  // "self.training is True, but it is False". Empty if all hold.
  std::string explain_failure(const CallView& view) const;
  // The same with the place in the user's program that needs the guard (the
  // outermost frame first), if it is known.
  struct Explained {
    std::string text;
    std::span<const FrameSummary> stack = {};
  };
  Explained first_failure(const CallView& view) const;

  // One line per guard, in the order of checking.
  std::vector<std::string> describe() const;
  // Those about numbers only, with their places.
  std::vector<Explained> describe_numbers() const;

  // The sizes of tensors and the constants of this call that differ from those
  // that the guards ask for, all of them, by their names: "x.size(0)",
  // "self.n".
  std::vector<std::string> variations(const CallView& view) const;

  // For tests and statistics.
  struct Counts {
    uint64_t pinned_runs = 0;  // of a region whose words were unchanged
    uint64_t renewed_groups = 0;
    uint64_t precise_runs = 0;  // of a region
  };
  const Counts& counts() const { return counts_; }
  size_t node_count() const { return nodes_.size(); }
  size_t word_count() const;

 private:
  friend class GuardProgramBuilder;
  friend class Explainer;

  GuardProgram() = default;

  struct Group {
    uint32_t node;
    uint32_t first_word;
  };
  struct Range {
    uint32_t begin;
    uint32_t end;
  };
  // What is pinned together: everything below one argument, or everything
  // below the globals, cells and constants.
  struct Region {
    uint32_t begin = 0;
    uint32_t end = 0;
    std::vector<uint32_t> roots;  // those that the call brings
    bool is_pinned = false;
    uint32_t hits = 0;          // since it was pinned
    uint32_t useless_pins = 0;  // in a row, that had no hit
    uint32_t wait = 0;          // runs until it may be pinned again
    std::vector<Word> words;
    std::vector<Group> groups;           // of words, in their order
    std::vector<TensorEntry> tensors;    // that no words cover
    std::vector<uint32_t> tensor_nodes;  // parallel to tensors
    std::vector<Range> live;
  };
  enum class Renewal : uint8_t { Holds, Fails, Unknown };

  bool all_hold(const CallView& view, PyObject** inputs);
  bool run_nodes(uint32_t begin, uint32_t end, PyObject** slots,
                 const CallView& view);
  bool run_node(uint32_t number, PyObject** slots, const CallView& view);
  bool checks_hold(const Node& node, PyObject* value) const;

  bool region_holds(Region& region, const CallView& view);
  bool roots_unchanged(const Region& region, const CallView& view) const;
  bool run_precisely(Region& region, const CallView& view);

  void pin(Region& region);
  void keep(uint32_t number);
  Renewal words_hold(Region& region);
  Renewal renew(Region& region, size_t group);
  bool replace_group(Region& region, size_t group);
  Renewal child_holds(uint32_t number) const;
  bool adopt_child(Region& region, uint32_t number);

  std::vector<Node> nodes_;
  std::vector<Check> checks_;
  std::vector<Region> regions_;
  uint32_t first_pinnable_ = 0;  // nodes before it are run on every call
  static constexpr uint32_t kNumber = 0xffffffffu;
  std::vector<uint32_t> input_nodes_;    // kNumber: the input is a number
  std::vector<uint32_t> number_inputs_;  // which inputs those are
  std::vector<AmbientGuard> ambients_;
  std::vector<ClassFactPtr> class_facts_;
  const ClassFact* changed_fact_ = nullptr;  // one that doesn't hold any more
  uint64_t hierarchy_ = 0;                   // see python::class_hierarchy()
  Relations relations_;
  Numbers numbers_;

  // By node. Borrowed and possibly dead between runs: never followed before
  // the words that lead to it are checked.
  std::vector<PyObject*> slots_;
  std::vector<PyObject*> trial_;
  // Of pinned nodes: the type of the value that was seen, whether it was
  // stable (see WordGroup), and whether it is read on every run.
  std::vector<PyTypeObject*> seen_types_;
  std::vector<uint8_t> is_stable_;
  std::vector<uint8_t> is_live_;
  std::vector<GroupTraits> traits_;  // of the words collected for the node
  // Constants seen below pins, so that no other gets their address; by node.
  std::vector<Ref> kept_;
  WordGroup group_;     // scratch
  uint64_t epoch_ = 1;  // a new one whenever a pinnable slot may have changed
  Counts counts_;

  // What the nodes and checks point to.
  Watch watch_;
  std::vector<std::shared_ptr<const void>> snapshots_;
  std::vector<std::unique_ptr<PyObject*[]>> key_lists_;
};

// What variations() calls a size of the tensor at `path`.
std::string size_name(const std::string& path, size_t dimension);
// "x.size(0)", "len(xs)": the number at a source that prints as `path`.
std::string number_name(const std::string& path, IntKind kind, int64_t dim);
// ... and an item of the tuple at `path`.
std::string item_name(const std::string& path, Py_ssize_t index);
// Whether variations() names it: a bool chooses what a program does.
bool is_number(PyObject* value);

// Compiles the guards, and the reads of `requests`: the sources of the graph's
// inputs, in order. A requested source must be present for a run to succeed.
std::unique_ptr<GuardProgram> compile(const SourceTable& sources,
                                      const GuardSet& guards,
                                      const NumberGuards& numbers,
                                      std::span<const Request> requests);

}  // namespace magneto::guards
