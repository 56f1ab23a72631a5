// SPDX-License-Identifier: BSD-3-Clause
#include "bytecode/stack_effect.h"

#include <algorithm>
#include <bit>

#include "support/check.h"

namespace magneto::bytecode {

int32_t stack_effect(const Instruction& instruction, bool jumps) {
  const int32_t arg = instruction.arg;
  switch (instruction.op) {
    case Op::Nop:
    case Op::Resume:
    case Op::Cache:
    case Op::Swap:
    case Op::DeleteFast:
    case Op::DeleteDeref:
    case Op::MakeCell:
    case Op::CopyFreeVars:
    case Op::DeleteGlobal:
    case Op::DeleteName:
    case Op::SetupAnnotations:
    case Op::LoadAttr:
    case Op::UnaryPositive:
    case Op::UnaryNegative:
    case Op::UnaryNot:
    case Op::UnaryInvert:
    case Op::ListToTuple:
    case Op::Jump:
    case Op::GetIter:
    case Op::GetYieldFromIter:
    case Op::CheckExcMatch:
    case Op::CheckEgMatch:
    case Op::YieldValue:
    case Op::AsyncGenWrap:
    case Op::GetAwaitable:
    case Op::GetAiter:
      return 0;

    case Op::PushNull:
    case Op::Copy:
    case Op::LoadConst:
    case Op::LoadFast:
    case Op::LoadClosure:
    case Op::LoadDeref:
    case Op::LoadClassDeref:
    case Op::LoadGlobal:
    case Op::LoadName:
    case Op::LoadBuildClass:
    case Op::LoadAssertionError:
    case Op::LoadMethod:
    case Op::PushExcInfo:
    case Op::BeforeWith:
    case Op::BeforeAsyncWith:
    case Op::WithExceptStart:
    case Op::GetAnext:
    case Op::GetLen:
    case Op::MatchMapping:
    case Op::MatchSequence:
    case Op::MatchKeys:
    case Op::ImportFrom:
    case Op::ReturnGenerator:  // what the first send() brings
      return 1;
    case Op::LoadGlobalNull:
      return 2;

    case Op::PopTop:
    case Op::StoreFast:
    case Op::StoreDeref:
    case Op::StoreGlobal:
    case Op::StoreName:
    case Op::DeleteAttr:
    case Op::BinarySubscr:
    case Op::BinaryOp:
    case Op::CompareOp:
    case Op::IsOp:
    case Op::ContainsOp:
    case Op::ListAppend:
    case Op::ListExtend:
    case Op::SetAdd:
    case Op::SetUpdate:
    case Op::DictUpdate:
    case Op::DictMerge:
    case Op::ReturnValue:
    case Op::PopJumpIfTrue:
    case Op::PopJumpIfFalse:
    case Op::PopJumpIfNone:
    case Op::PopJumpIfNotNone:
    case Op::PopExcept:
    case Op::PrepReraiseStar:
    case Op::Reraise:
    case Op::ImportName:
    case Op::ImportStar:
    case Op::PrintExpr:
      return -1;
    case Op::StoreAttr:
    case Op::DeleteSubscr:
    case Op::MapAdd:
    case Op::EndAsyncFor:
    case Op::MatchClass:
      return -2;
    case Op::StoreSubscr:
      return -3;

    case Op::BuildTuple:
    case Op::BuildList:
    case Op::BuildSet:
    case Op::BuildString:
      return 1 - arg;
    case Op::BuildMap:
      return 1 - 2 * arg;
    case Op::BuildConstKeyMap:
      return -arg;
    case Op::BuildSlice:
      return 1 - arg;
    case Op::FormatValue:
      return arg & 4 ? -1 : 0;  // 4: a format spec is on the stack
    case Op::UnpackSequence:
      return arg - 1;
    case Op::UnpackEx:  // before the star, after it, the rest
      return (arg & 0xff) + (arg >> 8);
    case Op::Call:
      return -1 - arg;
    case Op::CallFunctionEx:
      return -2 - (arg & 1);
    case Op::MakeFunction:
      return -std::popcount(static_cast<uint32_t>(arg & 15));
    case Op::RaiseVarargs:
      return -arg;

    case Op::JumpIfTrueOrPop:
    case Op::JumpIfFalseOrPop:
      return jumps ? 0 : -1;
    case Op::ForIter:
      return jumps ? -1 : 1;
    case Op::Send:
      return jumps ? -1 : 0;
  }
  MG_CHECK(false, "an instruction must be of the canonical set");
}

std::vector<int32_t> stack_depths(std::span<const Instruction> instructions,
                                  std::span<const Handler> handlers) {
  std::vector<int32_t> depths(instructions.size(), -1);
  std::vector<int32_t> pending;
  auto reach = [&](int32_t index, int32_t depth) {
    MG_CHECK(index >= 0 && static_cast<size_t>(index) < depths.size(),
             "control must stay in the code");
    int32_t& known = depths[static_cast<size_t>(index)];
    MG_CHECK(depth >= 0, "the value stack must not run empty");
    MG_CHECK(known < 0 || known == depth,
             "ways to an instruction must agree on the stack's depth");
    if (known >= 0) return;
    known = depth;
    pending.push_back(index);
  };
  if (!instructions.empty()) reach(0, 0);
  while (!pending.empty()) {
    const int32_t index = pending.back();
    pending.pop_back();
    const Instruction& instruction = instructions[static_cast<size_t>(index)];
    const OpInfo& op = info(instruction.op);
    const int32_t depth = depths[static_cast<size_t>(index)];
    if (op.jumps) {
      reach(instruction.arg, depth + stack_effect(instruction, true));
    }
    if (!op.terminates) {
      reach(index + 1, depth + stack_effect(instruction, false));
    }
    if (const Handler* handler = find_handler(handlers, index)) {
      reach(handler->target, handler->depth + handler->push_lasti + 1);
    }
  }
  return depths;
}

int32_t max_stack_depth(std::span<const Instruction> instructions,
                        std::span<const Handler> handlers) {
  const auto depths = stack_depths(instructions, handlers);
  int32_t deepest = 0;
  for (size_t i = 0; i < depths.size(); ++i) {
    if (depths[i] < 0) continue;
    deepest = std::max(
        {deepest, depths[i], depths[i] + stack_effect(instructions[i], false)});
  }
  return deepest;
}

}  // namespace magneto::bytecode
