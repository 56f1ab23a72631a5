// SPDX-License-Identifier: BSD-3-Clause
#include "entry/compiler.h"

#include <exception>
#include <tuple>
#include <utility>

#include "entry/callable/foreign.h"
#include "entry/callable/stance.h"
#include "entry/compilation.h"
#include "entry/limits.h"
#include "entry/misses.h"
#include "entry/report/counters.h"
#include "entry/report/report.h"
#include "support/check.h"

namespace magneto::entry {

namespace {

// An analysis is started again at most that often.
constexpr int32_t kMostRestarts = 4;

thread_local bool compiling = false;
int32_t next_frame_id = 0;

// Nothing that runs meanwhile is compiled, by us or by others.
class CompilingScope {
 public:
  CompilingScope() : outer_(std::exchange(compiling, true)) {}
  ~CompilingScope() { compiling = outer_; }
  CompilingScope(const CompilingScope&) = delete;

 private:
  bool outer_;
  python::FrameHookScope pause_{false};
  ForeignPause foreign_;
};

// -- defects ------------------------------------------------------------------

// A defect of ours: the frame runs in plain Python, and the user is told.
Compiled defect(CodeCache& cache, const python::FrameRequest& request,
                const char* what) {
  // Whatever the trace left behind is of no interest.
  PyErr_Clear();
  ++counters().internal_errors;
  cache.is_plain = true;
  Details details;
  details.add("what", std::string(what)).add_place(request.code, request.start);
  if (!tell_user("internal_failure", details)) {
    cache.is_plain = false;
    return Compiled::Error;
  }
  return Compiled::Plain;
}

// Of a first call that plain Python runs: what varies is known at the second.
Compiled look_only(CodeCache& cache, const python::FrameRequest& request) {
  CompilingScope scope;
  std::string failure;
  try {
    cache.seen = Compilation(cache, request, Wanted::ByUser, failure).look();
  } catch (const InternalError& error) {
    return defect(cache, request, error.what());
  }
  return PyErr_Occurred() ? Compiled::Error : Compiled::Plain;
}

}  // namespace

bool is_compiling() noexcept { return compiling; }

bool make_numbers(const guards::GuardProgram& guards, PyObject** inputs,
                  std::vector<Ref>& numbers) {
  for (size_t i = 0; i < guards.number_count(); ++i) {
    const guards::GuardProgram::NumberInput number = guards.number(i);
    PyObject* made = nullptr;
    switch (number.type) {
      case shapes::Type::Integer:
        made = PyLong_FromLongLong(number.value.integer());
        break;
      case shapes::Type::Float:
        made = PyFloat_FromDouble(number.value.real());
        break;
      case shapes::Type::Boolean:
        made = PyBool_FromLong(number.value.truth());
        break;
    }
    if (!made) return false;
    numbers.push_back(Ref::steal(made));
    inputs[number.input] = made;
  }
  return true;
}

Compiled compile_frame(CodeCache& cache, const python::FrameRequest& request,
                       Wanted wanted) {
  cache.drop_dead();
  if (const auto instead = instead_of_compiling(cache, request))
    return *instead;
  if (stance == Stance::EagerThenCompile &&
      !std::exchange(cache.was_called, true))
    return look_only(cache, request);
  if (cache.frame_id < 0) cache.frame_id = next_frame_id++;
  note_variations(cache, request);
  CompilingScope scope;
  cache.restarts = 0;
  ++counters().compilations;
  if (!cache.entries().empty()) ++counters().recompiles;
  if (is_observed() && !cache.entries().empty()) {
    Details details;
    details.add_place(request.code, request.start);
    add_why_missed(details, cache, request);
    report("recompile", cache, details);
  }
  std::optional<Compiled> compiled;
  try {
    const auto learned = [&] {
      return std::tuple(cache.takes_data, cache.takes_lstm, cache.shares_cached,
                        cache.sets_requires_grad);
    };
    std::string failure;
    auto knew = learned();
    while (!(compiled = Compilation(cache, request, wanted, failure).run())) {
      ++cache.restarts;
      if (!failure.empty()) {
        // It changes too fast; the next call may have better luck.
        if (cache.restarts >= kMostRestarts) return Compiled::Plain;
      } else if (knew == learned()) {
        MG_CHECK(cache.restarts < kMostRestarts, "a reason to start again");
      }
      knew = learned();
    }
  } catch (const InternalError& error) {
    return defect(cache, request, error.what());
  }
  count_compilation(cache, *compiled);
  return *compiled;
}

}  // namespace magneto::entry
