// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/generators.h"

#include "python/code_object.h"
#include "python/names.h"
#include "values/model/capture.h"
#include "values/types/type_table.h"

namespace magneto::values {

namespace {

void fill_names(Context& ctx, V generator, StepWriter& writer) {
  const auto& slots = ctx.heap[generator->heap].slots;
  const PyCodeObject* code = writer.suspended(generator).code;
  const auto name = [&](size_t slot, PyObject* of_code, PyObject* attribute) {
    if (slots[slot]->object != of_code)
      writer.act(StepOp::SetAttribute,
                 {generator, ctx.constant_share(attribute), slots[slot]});
  };
  name(kGeneratorName, code->co_name, interned().dunder_name);
  name(kGeneratorQualifiedName, code->co_qualname, interned().dunder_qualname);
}

void fill(Context& ctx, V generator, StepWriter& writer) {
  fill_names(ctx, generator, writer);
  const SuspendedFrame& frame = writer.suspended(generator);
  const bytecode::Code& code = python::decoded(frame.code);
  // One that is at its end may stand after its last instruction.
  const bool goes_on = frame.phase != python::GeneratorPhase::Finished;
  const int32_t unit = goes_on ? code[frame.pc].offset : 0;
  std::vector<V> operands{generator,
                          ctx.integer(static_cast<int64_t>(frame.phase)),
                          ctx.integer(unit), frame.function, frame.handled};
  operands.insert(operands.end(), frame.locals.begin(), frame.locals.end());
  operands.insert(operands.end(), frame.stack.begin(), frame.stack.end());
  writer.act(StepOp::FillGenerator, operands);
}

}  // namespace

std::span<const TypeRow> generator_types() {
  static const TypeRow rows[] = {
      {.kind = Kind::Generator, .fill = fill},
  };
  return rows;
}

}  // namespace magneto::values
