// SPDX-License-Identifier: BSD-3-Clause
// How an island returns what its instruction pushed:
//
//   nothing          None
//   one value        the value
//   several          a tuple of them
//
// An instruction that may jump has two ways on, one of which pushes nothing;
// that one returns a token which is no value of the user's.
#include "artifact/island.h"

#include "bytecode/builder.h"
#include "bytecode/stack_effect.h"
#include "python/call_layout.h"
#include "python/code_object.h"
#include "support/check.h"

namespace magneto::artifact {

using bytecode::Code;
using bytecode::CodeBuilder;
using bytecode::Instruction;
using bytecode::Label;
using bytecode::Op;

namespace {

// -1: it doesn't run alone.
int32_t operand_count(const Instruction& instruction) {
  if (!bytecode::info(instruction.op).runs_alone) return -1;
  return bytecode::stack_use(instruction, false).takes;
}

// The instruction to run in its place. A method is loaded as an attribute, and
// goes on as NULL and a bound method.
Op stand_in(Op op) {
  if (op == Op::LoadMethod) return Op::LoadAttr;
  if (op == Op::LoadGlobalNull) return Op::LoadGlobal;
  return op;
}

// Instructions that break the graph for what they let go of, which dies between
// the pieces: nothing is left to do here, but to raise where there is nothing
// to delete.
bool only_lets_go(Op op) {
  return op == Op::StoreFast || op == Op::DeleteFast || op == Op::ReturnValue;
}

// The operand, if there is one, is there again for what comes next: StoreFast
// and ReturnValue themselves, of which nothing dies any more.
Branch lets_go(const Instruction& instruction, int32_t index) {
  if (instruction.op == Op::DeleteFast) return {index + 1, {}, instruction.arg};
  return {
      index, {true}, instruction.op == Op::StoreFast ? instruction.arg : -1};
}

std::vector<bool> pushes_of(const Instruction& instruction, bool jumps) {
  const int32_t count = bytecode::stack_use(instruction, jumps).gives;
  std::vector<bool> pushes(static_cast<size_t>(count), true);
  if (instruction.op != stand_in(instruction.op))
    pushes[python::kNullOfHead] = false;
  return pushes;
}

const Branch* pointer_to(const std::optional<Branch>& branch) {
  return branch ? &*branch : nullptr;
}

// The token of the branch that pushes nothing. Lives as long as the process.
PyObject* branch_token() {
  static PyObject* const token =
      PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
  return token;
}

// Indices of what an island's constants have beyond the function's.
struct Constants {
  Ref tuple;
  int32_t none;
  int32_t token;
};

Constants constants_of(PyCodeObject* code) {
  const Py_ssize_t count = PyTuple_GET_SIZE(code->co_consts);
  Ref extra = Ref::steal(PyTuple_Pack(2, Py_None, branch_token()));
  return {
      Ref::steal(extra ? PySequence_Concat(code->co_consts, extra) : nullptr),
      static_cast<int32_t>(count), static_cast<int32_t>(count) + 1};
}

void emit_return(CodeBuilder& builder, const Branch& branch, bool is_token,
                 const Constants& constants) {
  const size_t count = branch.value_count();
  if (is_token)
    builder.emit(Op::LoadConst, constants.token);
  else if (count == 0)
    builder.emit(Op::LoadConst, constants.none);
  else if (count > 1)
    builder.emit(Op::BuildTuple, static_cast<int32_t>(count));
  builder.emit(Op::ReturnValue);
}

// The branch whose return value is the token; null for an instruction with one
// way on.
const Branch* token_branch(const Island& island) {
  const Branch* jump = pointer_to(island.jump);
  const bool has_one_way = jump == nullptr;
  return has_one_way || jump->pushes.empty() ? jump
                                             : pointer_to(island.through);
}

bool falls_through(Op op) { return !bytecode::info(op).terminates; }

bytecode::EncodedCode assemble(const Code& code, int32_t index,
                               const Island& island,
                               const Constants& constants) {
  CodeBuilder builder;
  // Stands for the operands, so that the stack's depth is right.
  for (int32_t i = 0; i < island.operands; ++i) builder.emit(Op::PushNull);
  Instruction instruction = code[index];
  builder.set_position(code.position(index));
  Label taken = builder.label();
  Label raised = builder.label();
  const bool is_caught = code.handler_for(index) != nullptr;
  if (is_caught) builder.begin_try(raised, 0, false);
  if (only_lets_go(instruction.op) && instruction.op != Op::DeleteFast)
    builder.emit(Op::Nop);
  else if (island.jump)
    builder.jump(instruction.op, taken);
  else
    builder.emit(stand_in(instruction.op), instruction.arg, instruction.aux);
  if (is_caught) builder.end_try();
  const Branch* token = token_branch(island);
  if (island.through)
    emit_return(builder, *island.through, &*island.through == token, constants);
  if (island.jump) {
    builder.bind(taken);
    emit_return(builder, *island.jump, &*island.jump == token, constants);
  }
  // An exception that the function handles is made an object of while its frame
  // is there: that calls the exception's class.
  if (is_caught) {
    builder.bind(raised);
    builder.emit(Op::Reraise);
  }
  return builder.finish(bytecode::running_version(), code.first_line);
}

}  // namespace

size_t Branch::value_count() const {
  size_t count = 0;
  for (bool is_value : pushes) count += is_value;
  return count;
}

int32_t operand_count(PyCodeObject* code, size_t index) {
  return operand_count(python::decoded(code)[static_cast<int32_t>(index)]);
}

std::optional<Island> make_island(PyCodeObject* code_object, int32_t index) {
  const Code& code = python::decoded(code_object);
  const Instruction& instruction = code[index];
  Island island;
  island.operands = operand_count(instruction);
  if (island.operands < 0) return std::nullopt;
  if (only_lets_go(instruction.op))
    island.through = lets_go(instruction, index);
  else if (falls_through(instruction.op))
    island.through = Branch{index + 1, pushes_of(instruction, false)};
  if (bytecode::info(instruction.op).jumps)
    island.jump = Branch{instruction.arg, pushes_of(instruction, true)};

  Constants constants = constants_of(code_object);
  if (!constants.tuple) return std::nullopt;
  // Behind the function's own: tools may ask what the frame did before.
  Ref made = python::make_code(
      code_object,
      python::join(code_object, assemble(code, index, island, constants)),
      {.consts = constants.tuple,
       .argcount = 0,
       .posonly_argcount = 0,
       .kwonly_argcount = 0,
       .flags = code_object->co_flags & ~(CO_VARARGS | CO_VARKEYWORDS)});
  if (!made) return std::nullopt;
  island.code = BasicRef<PyCodeObject>::steal(
      reinterpret_cast<PyCodeObject*>(made.release()));
  island.unit = static_cast<int32_t>(Py_SIZE(code_object)) + island.operands;
  return island;
}

const Branch& branch_taken(const Island& island, PyObject* returned) {
  const Branch* through = pointer_to(island.through);
  const Branch* token = token_branch(island);
  const Branch* taken = token == through ? pointer_to(island.jump) : through;
  if (token != nullptr && returned == branch_token()) taken = token;
  MG_CHECK(taken, "an instruction that always raises doesn't return");
  return *taken;
}

void take_results(const Branch& branch, Ref returned,
                  std::span<PyObject*> stack) {
  const size_t count = branch.value_count();
  Py_ssize_t taken = 0;
  for (size_t i = 0; i < branch.pushes.size(); ++i) {
    if (!branch.pushes[i]) continue;
    stack[i] =
        count == 1
            ? returned.release()
            : Ref::share(PyTuple_GET_ITEM(returned.get(), taken++)).release();
  }
}

}  // namespace magneto::artifact
