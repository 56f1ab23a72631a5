// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/builder.h"

#include <algorithm>

#include "support/check.h"

namespace magneto::bytecode {
namespace {

int32_t mapped(std::span<const int32_t> map, int32_t index) {
  if (map.empty()) return index;
  MG_CHECK(index >= 0 && static_cast<size_t>(index) < map.size(),
           "every operand of the copied code needs an entry");
  return map[static_cast<size_t>(index)];
}

}  // namespace

Label CodeBuilder::label() {
  bound_.push_back(-1);
  return {static_cast<int32_t>(bound_.size()) - 1};
}

void CodeBuilder::bind(Label label) {
  MG_CHECK(!is_bound(label), "a label is bound once");
  bound_[static_cast<size_t>(label.id)] = size();
}

bool CodeBuilder::is_bound(Label label) const {
  MG_CHECK(label.id >= 0 && static_cast<size_t>(label.id) < bound_.size(),
           "a label must come from this builder");
  return bound_[static_cast<size_t>(label.id)] >= 0;
}

void CodeBuilder::emit(Op op, int32_t arg, int32_t aux) {
  MG_CHECK(!info(op).jumps, "jumps go to labels: use jump()");
  instructions_.push_back({op, arg, aux});
  positions_.all.push_back(position_);
}

void CodeBuilder::jump(Op op, Label target) {
  MG_CHECK(info(op).jumps, "only jumps have a target");
  instructions_.push_back({op, target.id});
  positions_.all.push_back(position_);
}

void CodeBuilder::append(const Code& code, const Copy& copy) {
  const int32_t begin = copy.begin;
  const int32_t end = copy.end < 0 ? code.size() : copy.end;
  MG_CHECK(begin >= 0 && begin <= end && end <= code.size(),
           "the copied range must lie in the code");
  // By original instruction: the label that stands for it. Targets inside the
  // range get one when they are first met.
  std::vector<int32_t> labels(code.instructions.size(), -1);
  for (const Anchor& anchor : copy.anchors) {
    labels.at(static_cast<size_t>(anchor.index)) = anchor.label.id;
  }
  auto label_of = [&](int32_t index) {
    int32_t& id = labels[static_cast<size_t>(index)];
    MG_CHECK(id >= 0 || (index >= begin && index < end),
             "a way out of the copied range needs an anchor");
    if (id < 0) id = label().id;
    return Label{id};
  };
  const int32_t base = size() - begin;
  const PositionTable& positions = code.position_table();
  for (int32_t i = begin; i < end; ++i) {
    Instruction instruction = code[i];
    const OpInfo& op = info(instruction.op);
    if (op.jumps) {
      instruction.arg = label_of(instruction.arg).id;
    } else if (op.operand == OperandKind::Local) {
      instruction.arg = mapped(copy.locals, instruction.arg);
    } else if (op.operand == OperandKind::Const) {
      instruction.arg = mapped(copy.consts, instruction.arg);
    } else if (op.operand == OperandKind::Name) {
      instruction.arg = mapped(copy.names, instruction.arg);
    } else if (instruction.op == Op::Call && instruction.aux >= 0) {
      instruction.aux = mapped(copy.consts, instruction.aux);
    }
    instructions_.push_back(instruction);
    positions_.all.push_back(positions.all[static_cast<size_t>(i)]);
  }
  for (const auto& [index, position] : positions.keywords) {
    if (index < begin || index >= end) continue;
    positions_.keywords.push_back({base + index, position});
  }
  if (copy.handlers) {
    for (const Handler& handler : code.handlers) {
      const int32_t start = std::max(handler.start, begin);
      const int32_t stop = std::min(handler.end, end);
      if (start >= stop) continue;
      add_handler({base + start, base + stop, label_of(handler.target),
                   handler.depth, handler.push_lasti});
    }
  }
  for (int32_t i = begin; i < end; ++i) {
    const int32_t id = labels[static_cast<size_t>(i)];
    if (id < 0) continue;
    MG_CHECK(!is_bound({id}), "an anchor in the copied range is bound by it");
    bound_[static_cast<size_t>(id)] = base + i;
  }
}

void CodeBuilder::begin_try(Label handler, int32_t depth, bool push_lasti) {
  MG_CHECK(!in_try_, "exception ranges must not nest");
  in_try_ = true;
  open_ = {size(), -1, handler, depth, push_lasti};
}

void CodeBuilder::end_try() {
  MG_CHECK(in_try_, "an exception range must be begun before it ends");
  in_try_ = false;
  open_.end = size();
  if (open_.start < open_.end) add_handler(open_);
}

void CodeBuilder::add_handler(const PendingHandler& handler) {
  MG_CHECK(handlers_.empty() || handlers_.back().end <= handler.start,
           "exception ranges must not overlap");
  handlers_.push_back(handler);
}

int32_t CodeBuilder::resolve(int32_t label) const {
  MG_CHECK(is_bound({label}), "a label that is jumped to must be bound");
  return bound_[static_cast<size_t>(label)];
}

std::vector<bool> CodeBuilder::reachable(
    std::span<const Handler> handlers) const {
  std::vector<bool> reached(instructions_.size());
  std::vector<int32_t> pending;
  auto reach = [&](int32_t index) {
    MG_CHECK(index >= 0 && index < size(), "control must stay in the code");
    if (reached[static_cast<size_t>(index)]) return;
    reached[static_cast<size_t>(index)] = true;
    pending.push_back(index);
  };
  reach(0);
  while (!pending.empty()) {
    const int32_t index = pending.back();
    pending.pop_back();
    const Instruction& instruction = instructions_[static_cast<size_t>(index)];
    const OpInfo& op = info(instruction.op);
    if (op.jumps) reach(instruction.arg);
    if (!op.terminates) reach(index + 1);
    if (const Handler* handler = find_handler(handlers, index)) {
      reach(handler->target);
    }
  }
  return reached;
}

EncodedCode CodeBuilder::finish(const VersionTable& version,
                                int32_t first_line) {
  MG_CHECK(!in_try_, "an exception range must end");
  for (Instruction& instruction : instructions_) {
    if (info(instruction.op).jumps) instruction.arg = resolve(instruction.arg);
  }
  std::vector<Handler> handlers;
  for (const PendingHandler& handler : handlers_) {
    handlers.push_back({handler.start, handler.end, resolve(handler.target.id),
                        handler.depth, handler.push_lasti});
  }
  std::vector<bool> keep = reachable(handlers);
  drop_empty_jumps(keep);
  compact(keep, handlers);
  return encode(version, instructions_, positions_, handlers, first_line);
}

void CodeBuilder::compact(const std::vector<bool>& keep,
                          std::vector<Handler>& handlers) {
  // By instruction: where it is, or the next kept one, when the others are
  // gone.
  std::vector<int32_t> moved(instructions_.size() + 1);
  size_t kept = 0;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    moved[i] = static_cast<int32_t>(kept);
    if (!keep[i]) continue;
    instructions_[kept] = instructions_[i];
    positions_.all[kept] = positions_.all[i];
    ++kept;
  }
  moved.back() = static_cast<int32_t>(kept);
  instructions_.resize(kept);
  positions_.all.resize(kept);
  auto now = [&](int32_t index) { return moved[static_cast<size_t>(index)]; };
  for (Instruction& instruction : instructions_) {
    if (info(instruction.op).jumps) instruction.arg = now(instruction.arg);
  }
  std::erase_if(positions_.keywords, [&](const auto& keywords) {
    return !keep[static_cast<size_t>(keywords.index)];
  });
  for (auto& keywords : positions_.keywords) {
    keywords.index = now(keywords.index);
  }
  for (Handler& handler : handlers) {
    handler.start = now(handler.start);
    handler.end = now(handler.end);
    handler.target = now(handler.target);
  }
  std::erase_if(handlers, [](const Handler& handler) {
    return handler.start == handler.end;
  });
}

void CodeBuilder::drop_empty_jumps(std::vector<bool>& keep) const {
  for (int32_t i = 0; i < size(); ++i) {
    const Instruction& instruction = instructions_[static_cast<size_t>(i)];
    if (!keep[static_cast<size_t>(i)] || instruction.op != Op::Jump ||
        instruction.arg <= i) {
      continue;
    }
    const auto between = keep.begin() + i + 1;
    const auto target = keep.begin() + instruction.arg;
    if (std::find(between, target, true) == target) {
      keep[static_cast<size_t>(i)] = false;
    }
  }
}

}  // namespace magneto::bytecode
