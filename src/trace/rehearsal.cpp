// SPDX-License-Identifier: BSD-3-Clause
// A check of the tracer itself (MAGNETO_REHEARSE=1): each instruction is run,
// taken back and run again. What a rollback forgets to take back shows as a
// difference between the state before the first run and before the second.
#include <algorithm>

#include "trace/handlers.h"
#include "values/model/dump.h"
#include "values/model/speculation.h"
#include "values/protocol/attributes.h"

namespace magneto::trace {

namespace {

// A text of a larger state takes too long to be made at each instruction.
constexpr size_t kMostObjects = 400;

void append_values(std::string& text, std::span<const V> values) {
  char buffer[32];
  for (V value : values) {
    std::snprintf(buffer, sizeof buffer, " %p",
                  static_cast<const void*>(value));
    text += buffer;
  }
  text += "\n";
}

void append_frame(std::string& text, const Frame& frame) {
  text += std::to_string(frame.pc) + " handlers " +
          std::to_string(frame.handlers) + " locals";
  append_values(text, frame.locals);
  text += "stack";
  append_values(text, frame.stack);
  const V rest[] = {frame.object, frame.handled, frame.handled_outside,
                    frame.namespace_value};
  append_values(text, rest);
}

std::string first_line_that_differs(const std::string& before,
                                    const std::string& after) {
  const auto [in_before, in_after] = std::ranges::mismatch(before, after);
  const auto line_at = [](const std::string& text, size_t at) {
    const size_t begin = at ? text.rfind('\n', at - 1) + 1 : 0;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  return line_at(before, static_cast<size_t>(in_before - before.begin())) +
         "\n  is now\n" +
         line_at(after, static_cast<size_t>(in_after - after.begin()));
}

}  // namespace

std::string Interpreter::dump() const {
  std::string text;
  const V own[] = {handled, raised_object_};
  append_values(text, own);
  text += std::to_string(calls_in_blocks_) + std::to_string(broken_.size());
  for (const Frame* frame = frame_; frame; frame = frame->caller)
    append_frame(text, *frame);
  for (const auto& state : generators_) {
    text += "generator " + std::to_string(state->phase) + " ";
    append_frame(text, state->frame);
  }
  text += "unfinished";
  for (size_t number : unfinished_) text += " " + std::to_string(number);
  text += " dropped";
  append_values(text, dropped_);
  return text;
}

void Interpreter::rehearse(Frame& frame, Instruction instruction) {
  if (is_rehearsing_ || ctx.heap.size() > kMostObjects ||
      ctx.graph().node_count() > kMostObjects)
    return;
  is_rehearsing_ = true;
  Frame* const running = std::exchange(frame_, &frame);
  const Frame frame_before = frame;
  const int64_t steps = ctx.steps_to_check;
  const std::string before = values::dump(ctx);
  {
    values::Speculation step(ctx);
    try {
      (void)kHandlers[static_cast<size_t>(instruction.op)](*this, frame,
                                                           instruction);
    } catch (const values::BreakException&) {
      PyErr_Clear();  // the run that counts breaks again
    }
    PyErr_Clear();
    step.rollback();
  }
  frame = frame_before;
  frame_ = &frame;
  ctx.steps_to_check = steps;
  const std::string after = values::dump(ctx);
  frame_ = running;
  is_rehearsing_ = false;
  MG_CHECK(before == after,
           std::string("a rollback of ") +
               std::string(bytecode::info(instruction.op).name) + " in " +
               values::attribute_name(frame.py_code->co_qualname) +
               " leaves something behind:\n" +
               first_line_that_differs(before, after));
}

}  // namespace magneto::trace
