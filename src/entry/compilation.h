// SPDX-License-Identifier: BSD-3-Clause
// The compilation of one frame: it is traced, what it needs is planned, the
// graph goes to the backend, and the entry into the cache.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "artifact/plan.h"
#include "entry/compiler.h"
#include "entry/resume/live_variables.h"
#include "entry/symbol_policy.h"
#include "values/model/capture.h"

namespace magneto::entry {

// The compilation of one frame.
class Compilation {
 public:
  // `failure`: which guard didn't hold behind the analysis before this one, if
  // that was why it starts again; what becomes of this one is written there.
  Compilation(CodeCache& cache, const python::FrameRequest& request,
              Wanted wanted, std::string& failure);
  // Nothing: to be started again. The cache now says that it takes no data, or
  // shares nothing, or a module that the trace needed is now there; or what it
  // looked at was changed meanwhile.
  std::optional<Compiled> run();

  // What guards would hold for this call. Nothing is compiled.
  std::unique_ptr<guards::GuardProgram> look();

 private:
  std::optional<Compiled> finish(values::Capture& capture);
  // Where the frame ended with Return or Break: how it is gone on with, in
  // plan_. False if it can't be.
  bool make_plan(const values::Capture& capture, values::BreakInfo* why);
  bool keeps_promises();
  // Whether what came out of a cache is no more to be shared.
  bool touched_shared();
  Compiled refuse(const values::BreakInfo& why, int32_t instruction);
  enum class Why : uint8_t { IsRefused, IsWithoutWork };
  Compiled add_plain(Why why = Why::IsRefused);
  Compiled add_raising(const values::Capture& capture);
  // Whether the frame computes no tensor, now or in any other call so far.
  bool is_idle(const values::Capture& capture) const;
  std::optional<Compiled> add(const values::Capture& capture);
  bool can_break(const values::Capture& capture, values::BreakInfo* why);
  std::vector<size_t> written_inputs(std::span<PyObject* const> reals) const;
  std::unique_ptr<guards::GuardProgram> compile_guards(
      std::span<const guards::Request> requests);
  bool make_guards(Entry& entry, std::span<const guards::Request> wanted,
                   std::span<PyObject*> inputs);
  bool guard_static_addresses(std::span<PyObject* const> inputs);
  std::vector<guards::Request> requests();
  Ref compile_graph(std::span<const guards::Request> requests, Ref examples,
                    const values::Capture& capture, Entry& entry);
  CodeCache& cache_;
  const python::FrameRequest& request_;
  const Wanted wanted_;
  PyCodeObject* code_;
  const std::string failed_before_;
  std::string& failure_;
  bool must_not_break_;
  LiveVariables slots_;
  std::unique_ptr<artifact::Plan> plan_;
  Py_ssize_t modules_;  // that there were
  values::Context ctx_;
  FrameSymbols symbols_{cache_, ctx_.sources};
};

}  // namespace magneto::entry
