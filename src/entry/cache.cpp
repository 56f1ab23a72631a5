// SPDX-License-Identifier: BSD-3-Clause
#include "entry/cache.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "python/code_extra.h"
#include "python/code_object.h"
#include "support/check.h"

namespace magneto::entry {
namespace {

// All records that there are; for reset_all().
std::unordered_set<CodeRecord*>& all_records() {
  static auto* const records = new std::unordered_set<CodeRecord*>;
  return *records;
}

bool mentions(PyObject* names, std::initializer_list<std::string_view> wanted) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const char* name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(names, i));
    if (name && std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      return true;
  }
  return false;
}

// Whether the function, or one that is defined in it, looks at frames.
bool looks_at_frames(PyCodeObject* code) {
  if (mentions(code->co_names,
               {"_getframe", "currentframe", "f_locals", "tb_frame"}))
    return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code->co_consts); ++i) {
    PyObject* constant = PyTuple_GET_ITEM(code->co_consts, i);
    if (PyCode_Check(constant) &&
        looks_at_frames(reinterpret_cast<PyCodeObject*>(constant)))
      return true;
  }
  return false;
}

// Slots that are read without an instruction that says so.
std::vector<int32_t> pinned_slots(PyCodeObject* code) {
  std::vector<int32_t> pinned;
  // These see all variables.
  if (mentions(code->co_names, {"locals", "vars", "dir", "eval", "exec"}) ||
      looks_at_frames(code)) {
    for (int32_t i = 0; i < code->co_nlocalsplus; ++i) pinned.push_back(i);
    return pinned;
  }
  // super() takes the first argument.
  if (code->co_argcount > 0 && mentions(code->co_names, {"super"}))
    pinned.push_back(0);
  return pinned;
}

}  // namespace

// -- CodeCache ----------------------------------------------------------------

CodeCache::CodeCache(CodeRecord& record, Settings* settings, Point point)
    : record_(record), settings_(settings), point_(std::move(point)) {
  settings_->caches->insert(this);
}

CodeCache::~CodeCache() {
  entries_.clear();
  settings_->caches->erase(this);
}

void CodeCache::add(EntryHold entry) {
  entries_.insert(entries_.begin(), std::move(entry));
}

void CodeCache::move_to_front(size_t index) {
  std::rotate(entries_.begin(),
              entries_.begin() + static_cast<std::ptrdiff_t>(index),
              entries_.begin() + static_cast<std::ptrdiff_t>(index) + 1);
}

void CodeCache::drop_dead() {
  drop_unless(
      [](const guards::GuardProgram& guards) { return guards.alive(); });
}

void CodeCache::drop_outdated() {
  drop_unless(
      [](const guards::GuardProgram& guards) { return guards.can_match(); });
}

void CodeCache::drop_unless(bool (*is_kept)(const guards::GuardProgram&)) {
  std::vector<EntryHold> dead;  // freed when the list is consistent again
  auto first = std::stable_partition(
      entries_.begin(), entries_.end(), [is_kept](const EntryHold& entry) {
        return !entry->guards || is_kept(*entry->guards);
      });
  dead.assign(std::make_move_iterator(first),
              std::make_move_iterator(entries_.end()));
  entries_.erase(first, entries_.end());
}

std::vector<EntryHold> CodeCache::take() {
  varied.clear();
  is_plain = false;
  limit_was_reported = false;
  was_called = false;
  compilations = raised = raised_in_a_row = 0;
  std::vector<EntryHold> entries = std::exchange(entries_, {});
  if (seen) {
    entries.emplace_back(new Entry);
    entries.back()->guards = std::move(seen);
  }
  return entries;
}

// -- CodeRecord ---------------------------------------------------------------

CodeRecord::CodeRecord() { all_records().insert(this); }

CodeRecord::~CodeRecord() {
  all_records().erase(this);
  caches_.clear();
}

CodeRecord& CodeRecord::of(PyCodeObject* code) {
  return python::code_extra<CodeRecord>(
      code, [] { return std::unique_ptr<CodeRecord>(new CodeRecord); });
}

CodeCache& CodeRecord::cache(Settings* settings, const Point& point) {
  for (const auto& cache : caches_)
    if (cache->settings() == settings && cache->point() == point) return *cache;
  caches_.push_back(std::make_unique<CodeCache>(*this, settings, point));
  return *caches_.back();
}

void CodeRecord::drop_caches_of(Settings* settings) {
  std::vector<std::unique_ptr<CodeCache>> dropped;
  auto first = std::stable_partition(
      caches_.begin(), caches_.end(),
      [&](const auto& cache) { return cache->settings() != settings; });
  dropped.assign(std::make_move_iterator(first),
                 std::make_move_iterator(caches_.end()));
  caches_.erase(first, caches_.end());
}

const artifact::Island* CodeRecord::island(PyCodeObject* code, int32_t index) {
  auto found = islands_.find(index);
  if (found == islands_.end())
    found = islands_.emplace(index, artifact::make_island(code, index)).first;
  return found->second ? &*found->second : nullptr;
}

const bytecode::Liveness& CodeRecord::liveness(PyCodeObject* code) {
  if (!liveness_)
    liveness_ = std::make_unique<bytecode::Liveness>(python::decoded(code),
                                                     pinned_slots(code));
  return *liveness_;
}

void CodeRecord::reset_all() {
  // Dropping what was compiled may run finalizers and free code objects, with
  // their records: last of all.
  std::vector<EntryHold> dropped;
  for (CodeRecord* record : all_records()) {
    record->varies_too_much.clear();
    for (const auto& cache : record->caches_) {
      std::vector<EntryHold> entries = cache->take();
      std::move(entries.begin(), entries.end(), std::back_inserter(dropped));
    }
  }
}

}  // namespace magneto::entry
