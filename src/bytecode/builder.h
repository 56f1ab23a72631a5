// SPDX-License-Identifier: BSD-3-Clause
// Writes new code: what artifact makes shells and resume functions with.
//
//   CodeBuilder b;
//   Label loop_body = b.label();
//   b.emit(Op::Resume, 0);
//   b.emit(Op::LoadFast, stack_argument);
//   b.jump(Op::Jump, loop_body);
//   b.append(code, {.anchors = {{index, loop_body}}});
//   EncodedCode encoded = b.finish(version, code.first_line);
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/encode.h"
#include "bytecode/instruction.h"

namespace magneto::bytecode {

struct Label {
  int32_t id = -1;
};

class CodeBuilder {
 public:
  // An original instruction and the label that stands for it: bound there if
  // the instruction is copied, else bound by the caller and jumped to.
  struct Anchor {
    int32_t index;
    Label label;
  };

  // How append() copies.
  struct Copy {
    int32_t begin = 0;
    int32_t end = -1;  // -1: to the end
    std::span<const Anchor> anchors = {};
    // From the original's localsplus slot, const and name index to the new
    // code's. Empty: unchanged. -1: not there any more, a defect if what names
    // it can be reached.
    std::span<const int32_t> locals = {};
    std::span<const int32_t> consts = {};
    std::span<const int32_t> names = {};
    bool handlers = true;  // false: an exception leaves the copied range
  };

  Label label();
  // The next instruction is where `label` is. Once for each label.
  void bind(Label label);
  bool is_bound(Label label) const;

  // What the following instructions are said to come from.
  void set_position(const Position& position) { position_ = position; }

  void emit(Op op, int32_t arg = 0, int32_t aux = -1);
  void jump(Op op, Label target);

  // Copies original instructions with their positions, the handlers that cover
  // them, and their jumps. A jump or handler out of the copied range needs an
  // anchor.
  void append(const Code& code, const Copy& copy);

  // Exceptions raised by the instructions emitted between begin_try and
  // end_try go to `handler` with the stack cut to `depth`.
  void begin_try(Label handler, int32_t depth, bool push_lasti);
  void end_try();

  int32_t size() const { return static_cast<int32_t>(instructions_.size()); }

  // Resolves the labels, drops what can't be reached and jumps that go nowhere,
  // and encodes; the builder is used up. The stack size is computed.
  EncodedCode finish(const VersionTable& version, int32_t first_line);

 private:
  struct PendingHandler {
    int32_t start = 0;
    int32_t end = 0;
    Label target;
    int32_t depth = 0;
    bool push_lasti = false;
  };

  void add_handler(const PendingHandler& handler);
  int32_t resolve(int32_t label) const;
  std::vector<bool> reachable(std::span<const Handler> handlers) const;
  void drop_empty_jumps(std::vector<bool>& keep) const;
  void compact(const std::vector<bool>& keep, std::vector<Handler>& handlers);

  std::vector<Instruction> instructions_;  // jump operands: label ids
  PositionTable positions_;
  std::vector<PendingHandler> handlers_;
  std::vector<int32_t> bound_;  // label id -> instruction index, or -1
  Position position_;
  bool in_try_ = false;
  PendingHandler open_;  // while in_try_
};

}  // namespace magneto::bytecode
