// SPDX-License-Identifier: BSD-3-Clause
#include "entry/misses.h"

#include <algorithm>
#include <utility>

#include "entry/stance.h"
#include "entry/view.h"
#include "entry/worth.h"
#include "support/check.h"

namespace magneto::entry {

namespace {

enum class Permission : uint8_t { Given, Plain, Error };

Permission refuse(const char* how, CodeCache& cache,
                  const python::FrameRequest& request) {
  Details details;
  details.add_place(request.code, request.start);
  add_why_missed(details, cache, request);
  return tell_user(how, details) ? Permission::Plain : Permission::Error;
}

Permission by_stance(CodeCache& cache, const python::FrameRequest& request) {
  switch (stance) {
    case Stance::Default:
    case Stance::InPlace:
    case Stance::EagerThenCompile:
      return Permission::Given;
    case Stance::ForceEager:
    case Stance::EagerOnRecompile:
      return Permission::Plain;
    case Stance::FailOnRecompile:
      return is_worth_compiling(request)
                 ? refuse("stance_refuses", cache, request)
                 : Permission::Plain;
  }
  MG_CHECK(false, "a stance");
}

Permission by_settings(CodeCache& cache, const python::FrameRequest& request) {
  if (config_flag("disable")) return Permission::Plain;
  if (!cache.entries().empty() && config_flag("error_on_recompile"))
    return refuse("recompile_refused", cache, request);
  return Permission::Given;
}

bool is_within_limits(CodeCache& cache) {
  const int64_t own_limit = cache.settings()->recompile_limit;
  const int64_t limit =
      own_limit > 0 ? own_limit : config_number("recompile_limit", 8);
  // Entries die with what they are about; making new ones forever is no gain.
  const int64_t most = config_number("accumulated_recompile_limit", 256);
  if (static_cast<int64_t>(cache.entries().size()) >= limit)
    cache.drop_outdated();
  return static_cast<int64_t>(cache.entries().size()) < limit &&
         cache.compilations < most;
}

Permission by_limits(CodeCache& cache, const python::FrameRequest& request) {
  if (is_within_limits(cache)) return Permission::Given;
  // Where no tensor is computed, nothing is lost.
  if (std::ranges::none_of(cache.entries(), [](const EntryHold& entry) {
        return entry->has_calls;
      }))
    return Permission::Plain;
  Details details;
  details.add_place(request.code, request.start)
      .add("limit", int64_t{cache.compilations});
  add_why_missed(details, cache, request);
  const bool is_whole = cache.settings()->fullgraph;
  if (is_whole || config_flag("fail_on_recompile_limit_hit")) {
    details.add("fullgraph", is_whole ? Py_True : Py_False);
    (void)tell_user("limit_may_not_be_reached", details);
    return Permission::Error;
  }
  if (std::exchange(cache.limit_was_reported, true)) return Permission::Plain;
  return tell_user("limit_reached", details) ? Permission::Plain
                                             : Permission::Error;
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
  for (const auto says : {by_stance, by_settings, by_limits}) {
    const Permission permission = says(cache, request);
    if (permission == Permission::Given) continue;
    *instead =
        permission == Permission::Error ? Compiled::Error : Compiled::Plain;
    return false;
  }
  return true;
}

}  // namespace magneto::entry
