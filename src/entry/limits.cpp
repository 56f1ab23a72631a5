// SPDX-License-Identifier: BSD-3-Clause
#include "entry/limits.h"

#include <algorithm>

#include "entry/view.h"

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

void add_why_missed(Details& details, CodeCache& cache,
                    const python::FrameRequest& request) {
  std::vector<std::string> lines;
  Ref stacks = Ref::steal(PyList_New(0));
  const guards::CallView view = view_of(request);
  for (const EntryHold& entry : cache.entries()) {
    auto [text, stack] = entry->guards->first_failure(view);
    lines.push_back(std::move(text));
    const Ref places = stack_object(stack);
    if (!stacks || !places || PyList_Append(stacks, places) != 0) PyErr_Clear();
  }
  details.add("why", lines).add("stacks", stacks.get());
}

bool may_compile(CodeCache& cache, const python::FrameRequest& request,
                 Compiled* instead) {
  const int64_t limit = own_limit(cache);
  const int64_t most = limit_of_all();
  if (useful_entries(cache) >= limit) cache.drop_outdated();
  const bool has_room = useful_entries(cache) < limit;
  const bool is_below_all =
      useful_compilations(cache) < most && cache.raised_in_a_row < most;
  if (has_room && is_below_all) return true;
  *instead = Compiled::Plain;
  if (!computes_tensors(cache, !is_below_all)) return false;
  *instead = Compiled::Left;
  Details details;
  details.add_place(request.code, request.start)
      .add("setting", std::string(is_below_all ? "recompile_limit"
                                               : "accumulated_recompile_limit"))
      .add("limit",
           is_below_all ? std::min<int64_t>(cache.compilations, most) : most);
  add_why_missed(details, cache, request);
  if (cache.settings()->fullgraph) {
    (void)tell_user("limit_reached_in_full_graph", details);
    *instead = Compiled::Error;
  } else if (!cache.limit_was_reported) {
    cache.limit_was_reported = true;
    if (!is_below_all)  // once for all points
      cache.record().for_each_cache(cache.settings(), [](CodeCache& each) {
        each.limit_was_reported = true;
      });
    if (!tell_user("limit_reached", details)) *instead = Compiled::Error;
  }
  return false;
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
