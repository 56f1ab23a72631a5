// SPDX-License-Identifier: BSD-3-Clause
#include "entry/misses.h"

#include <algorithm>
#include <utility>

#include "entry/callable/stance.h"
#include "entry/limits.h"
#include "entry/view.h"
#include "entry/worth.h"
#include "support/check.h"

namespace magneto::entry {

namespace {

// What to do instead of compiling; nothing: it may be compiled.
using Instead = std::optional<Compiled>;

Instead refuse(const char* how, CodeCache& cache,
               const python::FrameRequest& request) {
  Details details;
  details.add_place(request.code, request.start);
  add_why_missed(details, cache, request);
  return tell_user(how, details) ? Compiled::Plain : Compiled::Error;
}

Instead by_stance(CodeCache& cache, const python::FrameRequest& request) {
  switch (stance) {
    case Stance::Default:
    case Stance::InPlace:
    case Stance::EagerThenCompile:
      return {};
    case Stance::ForceEager:
    case Stance::EagerOnRecompile:
      return Compiled::Plain;
    case Stance::FailOnRecompile:
      return is_worth_compiling(request)
                 ? refuse("stance_refuses", cache, request)
                 : Compiled::Plain;
  }
  MG_CHECK(false, "a stance");
}

Instead by_settings(CodeCache& cache, const python::FrameRequest& request) {
  if (config_flag("disable")) return Compiled::Plain;
  if (!cache.entries().empty() && config_flag("error_on_recompile"))
    return refuse("recompile_refused", cache, request);
  return {};
}

Instead by_limits(CodeCache& cache, const python::FrameRequest& request) {
  const Limit reached = reached_limit(cache);
  if (!reached.setting) return {};
  if (!reached.costs_something) return Compiled::Plain;
  Details details;
  details.add_place(request.code, request.start)
      .add("setting", std::string(reached.setting))
      .add("limit", reached.count);
  add_why_missed(details, cache, request);
  const bool is_whole = cache.settings()->fullgraph;
  if (is_whole || config_flag("fail_on_recompile_limit_hit")) {
    details.add("fullgraph", is_whole ? Py_True : Py_False);
    (void)tell_user("limit_may_not_be_reached", details);
    return Compiled::Error;
  }
  const bool goes_on =
      !note_reported(cache, reached) || tell_user("limit_reached", details);
  return goes_on ? Compiled::Left : Compiled::Error;
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

std::optional<Compiled> instead_of_compiling(
    CodeCache& cache, const python::FrameRequest& request) {
  for (const auto says : {by_stance, by_settings, by_limits})
    if (Instead instead = says(cache, request)) return instead;
  return {};
}

}  // namespace magneto::entry
