// SPDX-License-Identifier: BSD-3-Clause
// What entry says to the user: errors, warnings, and reports of its work to an
// observer (logs, explain). The texts are made in python/magneto/reports.py.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "entry/cache.h"
#include "python/frame.h"
#include "values/model/capture.h"

namespace magneto::entry {

// Somebody wants to hear of every compilation.
bool is_observed() noexcept;
// Somebody wants to hear of what traces do while they do it.
bool is_trace_observed() noexcept;
// `observer`: None, or called as observer(kind, id, details), where id is
// "frame/recompile" or "frame/recompile_restart" and details is a dict. It
// hears of steps of traces only if `wants_traces`.
void set_observer(PyObject* observer, bool wants_traces) noexcept;

// The setting as magneto.heard_settings has it; `otherwise` if reading it
// fails.
int64_t config_number(const char* name, int64_t otherwise);
bool config_flag(const char* name);
// Null if there are none.
Ref config_functions(const char* name);

// A list of (file, line, function). Null with a Python error set.
Ref stack_object(std::span<const values::FrameSummary> stack);

// A dict of details, filled key by key.
class Details {
 public:
  Details() : dict_(Ref::steal(PyDict_New())) {}
  Details& add(const char* key, const std::string& text);
  Details& add(const char* key, int64_t number);
  Details& add(const char* key, PyObject* object);
  Details& add(const char* key, const std::vector<std::string>& lines);
  // function, filename and line of an instruction.
  Details& add_place(PyCodeObject* code, int32_t instruction);
  Details& add_break(const values::BreakInfo& info);
  PyObject* dict() const { return dict_.get(); }

 private:
  Ref dict_;
};

// Calls the observer, if there is one. An observer's exception is printed; a
// KeyboardInterrupt is raised again at the next check for one.
void report(const char* kind, const CodeCache& cache, const Details& details);

// Calls magneto.reports.<function>(details), which warns or returns an
// exception to raise. False with a Python error set when it raised, or when the
// warning was turned into an error.
bool tell_user(const char* function, const Details& details);

}  // namespace magneto::entry
