// SPDX-License-Identifier: BSD-3-Clause
#include "entry/limits.h"

#include <algorithm>
#include <utility>

#include "entry/report/report.h"

namespace magneto::entry {
namespace {

int64_t own_limit(const CodeCache& cache) {
  const int64_t limit = cache.settings()->recompile_limit;
  return limit > 0 ? limit : config_number("recompile_limit", 8);
}

// Entries die with what they are about, and each point of a frame has some of
// its own; making new ones forever is no gain.
int64_t limit_of_all() {
  return config_number("accumulated_recompile_limit", 256);
}

// Those that the frame was compiled for, without those that raise.
int64_t useful_entries(CodeCache& cache) {
  return std::ranges::count_if(
      cache.entries(), [](const EntryHold& entry) { return !entry->raised; });
}

// Of all points of the frame, where the first one at another point is free.
int64_t useful_compilations(const CodeCache& cache) {
  int64_t count = 0;
  cache.record().for_each_cache(cache.settings(), [&](const CodeCache& each) {
    const int64_t of_point = each.compilations - each.raised;
    count += &each == &cache ? of_point : std::max<int64_t>(of_point - 1, 0);
  });
  return count;
}

// Whether something is lost where nothing more is compiled: here, or at any
// point of the frame.
bool computes_tensors(CodeCache& cache, bool anywhere) {
  bool found = false;
  cache.record().for_each_cache(cache.settings(), [&](CodeCache& each) {
    if (anywhere || &each == &cache)
      found |= std::ranges::any_of(
          each.entries(), [](const auto& entry) { return entry->has_calls; });
  });
  return found;
}

}  // namespace

Limit reached_limit(CodeCache& cache) {
  const int64_t limit = own_limit(cache);
  const int64_t most = limit_of_all();
  if (useful_entries(cache) >= limit) cache.drop_outdated();
  const bool is_below_all =
      useful_compilations(cache) < most && cache.raised_in_a_row < most;
  if (is_below_all && useful_entries(cache) < limit) return {};
  Limit reached{.setting = is_below_all ? "recompile_limit"
                                        : "accumulated_recompile_limit",
                .count = is_below_all
                             ? std::min<int64_t>(cache.compilations, most)
                             : most,
                .is_of_frame = !is_below_all};
  reached.costs_something = computes_tensors(cache, reached.is_of_frame);
  return reached;
}

bool note_reported(CodeCache& cache, const Limit& reached) {
  const bool is_new = !std::exchange(cache.limit_was_reported, true);
  if (reached.is_of_frame)  // once for all points
    cache.record().for_each_cache(cache.settings(), [](CodeCache& each) {
      each.limit_was_reported = true;
    });
  return is_new;
}

void count_compilation(CodeCache& cache, Compiled compiled) {
  ++cache.compilations;
  std::vector<EntryHold>& entries = cache.entries();
  if (compiled != Compiled::Raises) return;
  ++cache.raised;
  ++cache.raised_in_a_row;
  int64_t room = own_limit(cache);
  std::vector<EntryHold> dropped;  // freed when the list is consistent again
  const auto is_too_much = [&](const EntryHold& entry) {
    return entry->raised && --room < 0;
  };
  for (EntryHold& entry : entries)
    if (is_too_much(entry)) dropped.push_back(std::exchange(entry, {}));
  std::erase_if(entries, [](const EntryHold& entry) { return !entry; });
}

}  // namespace magneto::entry
