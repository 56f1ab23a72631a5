// SPDX-License-Identifier: BSD-3-Clause
// Building containers, strings and functions; unpacking.
#include "python/names.h"
#include "trace/handlers.h"
#include "values/protocol/attributes.h"
#include "values/protocol/hashing.h"
#include "values/types/exceptions.h"
#include "values/types/functions.h"
#include "values/types/sets.h"
#include "values/types/texts.h"

namespace magneto::trace {

namespace {

std::span<const V> operands(const Frame& frame, int32_t count) {
  return std::span<const V>(frame.stack)
      .subspan(frame.stack.size() - static_cast<size_t>(count));
}

}  // namespace

Outcome<Next> op_BuildTuple(Interpreter& in, Frame& frame, Instruction ins) {
  frame.replace(static_cast<size_t>(ins.arg),
                in.ctx.tuple(operands(frame, ins.arg)));
  return Next::Continue;
}

Outcome<Next> op_BuildList(Interpreter& in, Frame& frame, Instruction ins) {
  frame.replace(static_cast<size_t>(ins.arg),
                in.ctx.list(operands(frame, ins.arg)));
  return Next::Continue;
}

Outcome<Next> op_BuildSet(Interpreter& in, Frame& frame, Instruction ins) {
  V set = in.ctx.set();
  for (V item : operands(frame, ins.arg))
    MG_DO(values::set_add(in.ctx, set, item));
  frame.replace(static_cast<size_t>(ins.arg), set);
  return Next::Continue;
}

Outcome<Next> op_BuildMap(Interpreter& in, Frame& frame, Instruction ins) {
  V dict = in.ctx.dict();
  auto items = operands(frame, ins.arg * 2);
  for (size_t i = 0; i < items.size(); i += 2)
    MG_DO(values::dict_set(in.ctx, dict, items[i], items[i + 1]));
  frame.replace(items.size(), dict);
  return Next::Continue;
}

Outcome<Next> op_BuildConstKeyMap(Interpreter& in, Frame& frame,
                                  Instruction ins) {
  V dict = in.ctx.dict();
  PyObject* keys = frame.top()->object;
  auto items = operands(frame, ins.arg + 1);
  for (int32_t i = 0; i < ins.arg; ++i)
    MG_DO(values::dict_set(in.ctx, dict,
                           in.ctx.constant_share(PyTuple_GET_ITEM(keys, i)),
                           items[static_cast<size_t>(i)]));
  frame.replace(items.size(), dict);
  return Next::Continue;
}

Outcome<Next> op_BuildString(Interpreter& in, Frame& frame, Instruction ins) {
  auto parts = operands(frame, ins.arg);
  MG_TRY(V text, values::concatenated(in.ctx, parts));
  frame.replace(parts.size(), text);
  return Next::Continue;
}

Outcome<Next> op_BuildSlice(Interpreter& in, Frame& frame, Instruction ins) {
  auto parts = operands(frame, ins.arg);
  frame.replace(parts.size(),
                in.ctx.slice(parts[0], parts[1],
                             ins.arg == 3 ? parts[2] : in.ctx.none()));
  return Next::Continue;
}

Outcome<Next> op_ListToTuple(Interpreter& in, Frame& frame, Instruction) {
  V list = in.ctx.look(frame.top());
  std::vector<V> items = in.ctx.heap.items(list->heap);
  frame.replace(1, in.ctx.tuple(items));
  return Next::Continue;
}

Outcome<Next> op_ListAppend(Interpreter& in, Frame& frame, Instruction ins) {
  // Behind a graph break it comes from the caller.
  V list = in.ctx.look(frame.top(static_cast<size_t>(ins.arg) + 1));
  in.ctx.heap.append(list->heap, frame.top());
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_ListExtend(Interpreter& in, Frame& frame, Instruction ins) {
  V list = in.ctx.look(frame.top(static_cast<size_t>(ins.arg) + 1));
  PyTypeObject* type = in.ctx.look_symbolic(frame.top())->type;
  if (!values::is_iterable(in.ctx, type))
    return in.ctx.raise(
        PyExc_TypeError,
        std::string("Value after * must be an iterable, not ") + type->tp_name);
  std::vector<V> items;
  MG_DO(values::unpack_to_list(in.ctx, frame.top(), items));
  in.ctx.heap.extend(list->heap, items);
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_SetAdd(Interpreter& in, Frame& frame, Instruction ins) {
  MG_DO(values::set_add(in.ctx, frame.top(static_cast<size_t>(ins.arg) + 1),
                        frame.top()));
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_SetUpdate(Interpreter& in, Frame& frame, Instruction ins) {
  MG_DO(values::set_update(in.ctx, values::SetOperation::Union,
                           frame.top(static_cast<size_t>(ins.arg) + 1),
                           frame.top()));
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_MapAdd(Interpreter& in, Frame& frame, Instruction ins) {
  MG_DO(values::dict_set(in.ctx, frame.top(static_cast<size_t>(ins.arg) + 2),
                         frame.top(2), frame.top(1)));
  frame.pop(2);
  return Next::Continue;
}

namespace {

// {**mapping}: a dict, or anything with keys() and items. With `unique` a key
// that is there is a KeyError.
Status update(Context& ctx, V dict, V mapping, bool unique) {
  auto check = [&](V key) -> Status {
    if (!unique) return done;
    MG_TRY(V there, values::dict_get(ctx, dict, key));
    if (!there) return done;
    return ctx.raise_value(values::make_exception(
        ctx, reinterpret_cast<PyTypeObject*>(PyExc_KeyError), {&key, 1}));
  };
  if (mapping->kind == Kind::Dict &&
      values::is_merged_directly(ctx, mapping->type)) {
    for (const values::DictEntry* entry : values::dict_entries(ctx, mapping)) {
      MG_DO(check(entry->key));
      MG_DO(values::dict_set(ctx, dict, entry->key, entry->value));
    }
    return done;
  }
  MG_TRY(V method, values::get_attribute(ctx, mapping, interned().keys));
  std::vector<V> all;
  MG_DO(values::take_keys(ctx, mapping, method, all));
  for (V key : all) {
    MG_DO(check(key));
    MG_TRY(V value, values::get_item(ctx, mapping, key));
    MG_DO(values::dict_set(ctx, dict, key, value));
  }
  return done;
}

// What a call with ** says instead of what merging the mapping has raised.
Signal arguments_error(Interpreter& in, V callable, V mapping, Signal signal) {
  Context& ctx = in.ctx;
  if (signal != Signal::Raised) return signal;
  if (ctx.exception_is(PyExc_AttributeError)) {
    (void)ctx.take_exception();
    return values::wrong_arguments(
        ctx, callable,
        std::string("argument after ** must be a mapping, not ") +
            mapping->type->tp_name);
  }
  if (!ctx.exception_is(PyExc_KeyError)) return signal;
  // CPython 3.11 doesn't recognise it where it is an exception by then, and no
  // longer its argument: as where another one is being handled.
  if (ctx.look(in.handled) != ctx.none() ||
      in.is_raised_object(ctx.exception()))
    return signal;
  V args = values::exception_field(ctx, ctx.exception(), interned().args);
  std::vector<V> keys;
  MG_DO(values::unpack(ctx, args, keys));
  if (keys.size() != 1) return signal;
  (void)ctx.take_exception();
  MG_TRY(V text, ctx.natives->format(ctx, keys[0], FVC_STR, nullptr));
  return values::wrong_arguments(
      ctx, callable,
      "got multiple values for keyword argument '" +
          values::attribute_name(ctx.look(text)->object) + "'");
}

}  // namespace

Outcome<Next> op_DictUpdate(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  V mapping = ctx.look(frame.top());
  const Status updated =
      update(ctx, frame.top(static_cast<size_t>(ins.arg) + 1), mapping, false);
  if (!updated) {
    if (updated.signal() != Signal::Raised ||
        !ctx.exception_is(PyExc_AttributeError))
      return updated.signal();
    (void)ctx.take_exception();
    return ctx.raise(PyExc_TypeError, std::string("'") +
                                          mapping->type->tp_name +
                                          "' object is not a mapping");
  }
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_DictMerge(Interpreter& in, Frame& frame, Instruction ins) {
  Context& ctx = in.ctx;
  const auto depth = static_cast<size_t>(ins.arg);
  V mapping = ctx.look(frame.top());
  const Status updated = update(ctx, frame.top(depth + 1), mapping, true);
  if (!updated)
    return arguments_error(in, frame.top(depth + 3), mapping, updated.signal());
  frame.pop();
  return Next::Continue;
}

Outcome<Next> op_FormatValue(Interpreter& in, Frame& frame, Instruction ins) {
  const bool has_spec = ins.arg & FVS_HAVE_SPEC;
  V spec = has_spec ? in.ctx.look(frame.top(1)) : nullptr;
  MG_TRY(V text, in.ctx.natives->format(in.ctx, frame.top(has_spec ? 2 : 1),
                                        ins.arg & FVC_MASK, spec));
  frame.replace(has_spec ? 2 : 1, text);
  return Next::Continue;
}

// -- unpacking ----------------------------------------------------------------

namespace {

Signal wrong_count(Context& ctx, size_t want, size_t got, bool star) {
  if (got < want)
    return ctx.raise(PyExc_ValueError,
                     std::string("not enough values to unpack (expected ") +
                         (star ? "at least " : "") + std::to_string(want) +
                         ", got " + std::to_string(got) + ")");
  return ctx.raise(PyExc_ValueError, "too many values to unpack (expected " +
                                         std::to_string(want) + ")");
}

constexpr size_t kAll = SIZE_MAX;

// Not more than `most` items are taken out of it; all of them: `before` singly,
// the others as a list.
Status unpack_iterable(Context& ctx, V iterable, size_t most, size_t before,
                       std::vector<V>& items) {
  iterable = ctx.look(iterable);
  if (iterable->kind != Kind::Tensor &&
      !values::is_iterable(ctx, iterable->type))
    return ctx.raise(PyExc_TypeError,
                     std::string("cannot unpack non-iterable ") +
                         iterable->type->tp_name + " object");
  const bool has_end =
      iterable->type == &PyTuple_Type || iterable->type == &PyList_Type;
  if (has_end) return values::unpack(ctx, iterable, items);
  MG_TRY(V iterator, values::iterate(ctx, iterable));
  while (items.size() < (most == kAll ? before : most)) {
    MG_TRY(V item, values::next(ctx, iterator));
    if (!item) return done;
    items.push_back(item);
  }
  return most == kAll ? values::unpack_to_list(ctx, iterator, items)
                      : Status(done);
}

}  // namespace

Outcome<Next> op_UnpackSequence(Interpreter& in, Frame& frame,
                                Instruction ins) {
  std::vector<V> items;
  const auto want = static_cast<size_t>(ins.arg);
  MG_DO(unpack_iterable(in.ctx, frame.top(), want + 1, 0, items));
  if (items.size() != want)
    return wrong_count(in.ctx, want, items.size(), false);
  frame.pop();
  for (size_t i = want; i-- > 0;) frame.push(items[i]);
  return Next::Continue;
}

Outcome<Next> op_UnpackEx(Interpreter& in, Frame& frame, Instruction ins) {
  const auto before = static_cast<size_t>(ins.arg & 0xff);
  const auto after = static_cast<size_t>(ins.arg >> 8);
  std::vector<V> items;
  MG_DO(unpack_iterable(in.ctx, frame.top(), kAll, before, items));
  if (items.size() < before + after)
    return wrong_count(in.ctx, before + after, items.size(), true);
  std::span<const V> all(items);
  V rest = in.ctx.list(all.subspan(before, items.size() - before - after));
  frame.pop();
  for (size_t i = items.size(); i-- > items.size() - after;)
    frame.push(items[i]);
  frame.push(rest);
  for (size_t i = before; i-- > 0;) frame.push(items[i]);
  return Next::Continue;
}

// -- functions ----------------------------------------------------------------

Outcome<Next> op_MakeFunction(Interpreter& in, Frame& frame, Instruction ins) {
  values::FunctionValue parts{};
  parts.code = reinterpret_cast<PyCodeObject*>(frame.top()->object);
  parts.globals = frame.globals;
  size_t used = 1;
  // Defaults come from before a graph break where annotations break.
  auto next = [&] { return in.ctx.look(frame.top(++used)); };
  // Cells are never constants, so this is a Tuple.
  if (ins.arg & 0x08) parts.closure = values::tuple_items(next());
  if (ins.arg & 0x04) parts.annotations = next();
  if (ins.arg & 0x02) parts.kwdefaults = next();
  if (ins.arg & 0x01) parts.defaults = next();
  frame.replace(used, in.ctx.function(parts));
  return Next::Continue;
}

}  // namespace magneto::trace
