// SPDX-License-Identifier: BSD-3-Clause
// What was compiled, and where it is kept: a CodeRecord hangs on each code
// object and dies with it; in it there is a CodeCache for each Settings and
// each point that a frame of that code can be entered at; in that, the entries,
// the one that hit last first.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "artifact/island.h"
#include "artifact/plan.h"
#include "artifact/program.h"
#include "bytecode/decode.h"
#include "bytecode/liveness.h"
#include "entry/callable/settings.h"
#include "entry/failure_policy.h"
#include "entry/report/call_places.h"
#include "graph/arg.h"
#include "guards/program.h"
#include "values/model/capture.h"

namespace magneto::entry {

class CodeRecord;

// Where a frame is entered: at its start, or behind a graph break.
struct Point {
  PyCodeObject* code = nullptr;  // borrowed
  int32_t start = 0;
  artifact::FrameShape shape = {};  // start != 0

  friend bool operator==(const Point&, const Point&) = default;
};

// What a frame of an inlined call needs to run again.
struct InnerFunction {
  Ref code;     // a weak reference: it may be the code that this is kept with
  Ref globals;  // null: the calling frame's, with its builtins
  Ref builtins;
};

// How a frame goes on where its graph broke.
struct ResumePoint {
  enum class Fate : uint8_t {
    LetGo,
    Hold,  // HeldVariables
    Keep,  // the piece there begins with it
  };
  // One way on from the instruction.
  struct Way {
    CodeCache* cache = nullptr;
    std::vector<Fate> fates;  // of the live locals
  };

  const artifact::Island* island = nullptr;  // lives in the code's record
  int32_t index = 0;                         // the instruction
  artifact::FrameShape shape;
  Way through;
  Way jump;
  // Where the instruction raises; null: the exception leaves the frame.
  const bytecode::Handler* handler = nullptr;  // lives with the code
  Way raised;
  // Of an inlined call.
  InnerFunction function;
  // The instruction calls it; what it returns is what the island's call gives.
  std::unique_ptr<ResumePoint> inner;
};

// One compilation. Kept alive by its cache and by whoever runs it.
class Entry {
 public:
  std::unique_ptr<guards::GuardProgram> guards;
  // None: where the guards hold, the frame runs in plain Python.
  std::optional<artifact::DirectProgram> program;
  // Then: what it calls isn't compiled either.
  bool leaves_calls = false;
  // What the trace raised there: an exception leaves such a frame, so there is
  // nothing to compile.
  std::optional<values::BreakInfo> raised;
  std::optional<ResumePoint> rest;
  bool has_calls = false;  // of operators
  // Those of the graph's inputs that it writes to, and, if there are any, where
  // in the program its calls stand.
  std::vector<size_t> written;
  CallPlaces places;
  FailurePolicy failure;
  // It makes frame objects of calls (python/shown_frame.h).
  bool shows_frames = false;
  // Of one that ends with the frame: the variables that still have what they
  // had when it began, and the instruction that it ends with (or raised at).
  std::vector<int32_t> unchanged;
  int32_t end = 0;
  // Of one that begins behind a break: the variables that it writes to.
  std::vector<int32_t> overwritten;

 private:
  friend class EntryHold;
  size_t holds_ = 0;
};

// Counts references to an Entry; the GIL is held.
class EntryHold {
 public:
  EntryHold() = default;
  explicit EntryHold(Entry* entry) : entry_(entry) {
    if (entry_) ++entry_->holds_;
  }
  EntryHold(const EntryHold& other) : EntryHold(other.entry_) {}
  EntryHold(EntryHold&& other) noexcept
      : entry_(std::exchange(other.entry_, nullptr)) {}
  EntryHold& operator=(EntryHold other) noexcept {
    std::swap(entry_, other.entry_);
    return *this;
  }
  ~EntryHold() {
    if (entry_ && --entry_->holds_ == 0) delete entry_;
  }
  Entry* operator->() const { return entry_; }
  Entry& operator*() const { return *entry_; }
  explicit operator bool() const { return entry_ != nullptr; }

 private:
  Entry* entry_ = nullptr;
};

class CodeCache {
 public:
  CodeCache(CodeRecord& record, Settings* settings, Point point);
  ~CodeCache();
  CodeCache(const CodeCache&) = delete;

  const Point& point() const { return point_; }
  CodeRecord& record() const { return record_; }
  Settings* settings() const { return settings_; }

  std::vector<EntryHold>& entries() { return entries_; }
  // Puts the entry in front.
  void add(EntryHold entry);
  void move_to_front(size_t index);
  void drop_dead();
  // Those, too, that never match again since the process has moved on.
  void drop_outdated();
  // Forgets everything that was compiled or decided, and gives the entries: to
  // free them may free this cache.
  std::vector<EntryHold> take();

  // Sizes and numbers that were not the same in all calls that were compiled,
  // by their names (GuardProgram::variations): they are symbols from then on.
  std::unordered_set<std::string> varied;
  // Nothing is compiled here any more.
  bool is_plain = false;
  bool limit_was_reported = false;
  // What guards would have held in a first call that was left to plain Python
  // (Stance::EagerThenCompile).
  std::unique_ptr<guards::GuardProgram> seen;
  bool was_called = false;  // so
  // Numbers for logs; the frame's is given at the first compilation.
  int32_t frame_id = -1;
  int32_t compilations = 0;
  int32_t raised = 0;  // of these: those that found a frame that raises
  int32_t raised_in_a_row = 0;  // since an entry last ran
  int32_t restarts = 0;         // of the last compilation's analysis
  // False once the backend has refused a graph with numbers out of tensors.
  bool takes_data = true;
  // False once it has refused one with an LSTM on a CPU that is differentiated.
  bool takes_lstm = true;
  // False once a program has touched what it got out of a cache.
  bool shares_cached = true;
  // False once a graph would have given a tensor whose requires_grad it sets.
  bool sets_requires_grad = true;

 private:
  void drop_unless(bool (*is_kept)(const guards::GuardProgram&));

  CodeRecord& record_;
  Settings* settings_;  // dies after this
  Point point_;
  std::vector<EntryHold> entries_;
};

class CodeRecord {
 public:
  // The record of a code object, made if there is none yet. Throws
  // InternalError if CPython has no place for it.
  static CodeRecord& of(PyCodeObject* code);

  // All that were made with these settings, of all points.
  template <class Function>
  void for_each_cache(const Settings* settings, Function function) const {
    for (const auto& cache : caches_)
      if (cache->settings() == settings) function(*cache);
  }

  // Made if there is none yet. `point.code` is the record's own code, or
  // another one that has to be told apart by this one: a module's __call__, of
  // which there is one for all modules, is kept with its forward().
  CodeCache& cache(Settings* settings, const Point& point);
  void drop_caches_of(Settings* settings);

  // By their names, what in the frame has another value each time: pieces
  // behind a break that need to know it break there (SymbolPolicy::leave).
  std::unordered_set<std::string> varies_too_much;

  // Of the code object with this record. Null if the instruction can't be an
  // island.
  const artifact::Island* island(PyCodeObject* code, int32_t index);
  const bytecode::Liveness& liveness(PyCodeObject* code);

  ~CodeRecord();
  CodeRecord(const CodeRecord&) = delete;

  // Everything compiled so far is forgotten, in all records.
  static void reset_all();

 private:
  CodeRecord();

  std::vector<std::unique_ptr<CodeCache>> caches_;
  std::unordered_map<int32_t, std::optional<artifact::Island>> islands_;
  std::unique_ptr<bytecode::Liveness> liveness_;
};

}  // namespace magneto::entry
