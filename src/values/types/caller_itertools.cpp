// SPDX-License-Identifier: BSD-3-Clause
#include "values/types/caller_itertools.h"

#include <algorithm>
#include <string_view>

#include "python/find.h"
#include "python/itertools_layout.h"
#include "values/protocol/protocol.h"
#include "values/types/iterators.h"

namespace magneto::values {

namespace {

enum class Holds : uint8_t {
  Object,  // null: END
  OrNone,  // null: None
  Number,
  OrUnlimited,  // a number, -1 of which stands for None
  Flag,
  Zero,  // a number that must be 0; no attribute has it
};

struct Part {
  const char* attribute;
  size_t word;
  Holds holds;
};

constexpr Part kAccumulate[] = {{"total", 0, Holds::Object},
                                {"it", 1, Holds::Object},
                                {"func", 2, Holds::OrNone},
                                {"initial", 3, Holds::OrNone}};
constexpr Part kChain[] = {{"source", 0, Holds::Object},
                           {"active", 1, Holds::Object}};
constexpr Part kCompress[] = {{"data", 0, Holds::Object},
                              {"selectors", 1, Holds::Object}};
constexpr Part kCount[] = {{"number", 0, Holds::Number},
                           {"by", 2, Holds::Object}};
// An itertools.count whose numbers aren't machine words.
constexpr Part kCountObjects[] = {{"number", 1, Holds::Object},
                                  {"by", 2, Holds::Object}};
constexpr Part kCycle[] = {{"it", 0, Holds::Object},
                           {"saved", 1, Holds::Object},
                           {"index", 2, Holds::Number},
                           {nullptr, 3, Holds::Zero}};
constexpr Part kDropWhile[] = {{"predicate", 0, Holds::Object},
                               {"it", 1, Holds::Object},
                               {"started", 2, Holds::Flag}};
constexpr Part kFilterFalse[] = {{"predicate", 0, Holds::Object},
                                 {"it", 1, Holds::Object}};
constexpr Part kIslice[] = {{"it", 0, Holds::Object},
                            {"wanted", 1, Holds::Number},
                            {"stop", 2, Holds::OrUnlimited},
                            {"by", 3, Holds::Number},
                            {"position", 4, Holds::Number}};
constexpr Part kPairwise[] = {{"it", 0, Holds::Object},
                              {"before", 1, Holds::Object}};
constexpr Part kRepeat[] = {{"object", 0, Holds::Object},
                            {"left", 1, Holds::OrUnlimited}};
constexpr Part kStarMap[] = {{"function", 0, Holds::Object},
                             {"it", 1, Holds::Object}};
constexpr Part kTakeWhile[] = {{"predicate", 0, Holds::Object},
                               {"it", 1, Holds::Object},
                               {"stopped", 2, Holds::Flag}};

struct ItertoolsClass {
  std::string_view iterator;  // tp_name
  const char* state;
  std::span<const Part> parts;
};
constexpr ItertoolsClass kItertoolsClasses[] = {
    {"itertools.accumulate", "Accumulate", kAccumulate},
    {"itertools.chain", "Chain", kChain},
    {"itertools.compress", "Compress", kCompress},
    {"itertools.count", "Count", kCount},
    {"itertools.cycle", "Cycle", kCycle},
    {"itertools.dropwhile", "DropWhile", kDropWhile},
    {"itertools.filterfalse", "FilterFalse", kFilterFalse},
    {"itertools.islice", "Islice", kIslice},
    {"itertools.pairwise", "Pairwise", kPairwise},
    {"itertools.repeat", "Repeat", kRepeat},
    {"itertools.starmap", "StarMap", kStarMap},
    {"itertools.takewhile", "TakeWhile", kTakeWhile},
};

const ItertoolsClass* itertools_class(PyTypeObject* type) {
  const auto found =
      std::ranges::find(kItertoolsClasses, std::string_view(type->tp_name),
                        &ItertoolsClass::iterator);
  return found == std::end(kItertoolsClasses) ? nullptr : &*found;
}

bool counts_objects(PyObject* iterator) {
  PyObject** number = python::iterator_object(iterator, 1);
  return number && *number;
}

std::span<const Part> parts_of(PyObject* iterator,
                               const ItertoolsClass& its_class) {
  const bool is_count = its_class.parts.data() == kCount;
  return is_count && counts_objects(iterator) ? std::span(kCountObjects)
                                              : its_class.parts;
}

// Reads the parts of one iterator. Numbers that aren't symbols are guarded all
// at once.
class Reader {
 public:
  Reader(Context& ctx, PyObject* object, SourceId source)
      : ctx_(ctx), object_(object), source_(source) {}

  // Null where there is no object.
  V object(size_t word) {
    const guards::Reading reading = guards::read_iterator_word(object_, word);
    const SourceId at = ctx_.sources.iterator_word(source_, word);
    if (!reading.is_present()) {
      ctx_.guards.absent(at);
      return nullptr;
    }
    ctx_.guards.present(at);
    return ctx_.lazy(reading.value(), at);
  }

  int64_t plain_number(size_t word) const {
    int64_t number = 0;
    const bool is_one = python::iterator_number(object_, word, &number);
    MG_CHECK(is_one, "a word that is a number");
    return number;
  }

  int64_t exact(size_t word) {
    const int64_t number = plain_number(word);
    if (exact_.size() <= word) exact_.resize(word + 1);
    exact_[word] = Ref::steal(PyLong_FromLongLong(number));
    return number;
  }

  // A symbol, so that a loop with a graph break in it isn't compiled for each
  // step, unless the user wants none.
  V number(size_t word, shapes::Range range) {
    const int64_t number = plain_number(word);
    if (range.contains(number) && ctx_.symbol_policy &&
        ctx_.symbol_policy->is_symbolic(object_, source_))
      return ctx_.symbols.value(ctx_.symbols.make(
          shapes::Number::of(number),
          {guards::IntKind::Word, source_, static_cast<int64_t>(word)},
          shapes::Type::Integer, range));
    return ctx_.integer(exact(word));
  }

  void guard_exact() {
    if (exact_.empty()) return;
    Ref numbers =
        Ref::steal(PyTuple_New(static_cast<Py_ssize_t>(exact_.size())));
    MG_CHECK(numbers, "out of memory");
    for (size_t i = 0; i < exact_.size(); ++i)
      PyTuple_SET_ITEM(
          numbers.get(), static_cast<Py_ssize_t>(i),
          exact_[i] ? exact_[i].release() : Ref::share(Py_None).release());
    ctx_.guards.iterator_numbers(source_, numbers);
  }

 private:
  Context& ctx_;
  PyObject* object_;
  SourceId source_;
  std::vector<Ref> exact_;
};

constexpr int64_t kMost = int64_t{1} << 40;

V read_part(Context& ctx, Reader& reader, const Part& part) {
  switch (part.holds) {
    case Holds::Object: {
      V object = reader.object(part.word);
      return object ? object : ctx.constant_share(end_of_iterators());
    }
    case Holds::OrNone: {
      V object = reader.object(part.word);
      return object ? object : ctx.none();
    }
    case Holds::Number:
      return reader.number(part.word, {-kMost, kMost});
    case Holds::OrUnlimited:
      if (reader.plain_number(part.word) >= 0)
        return reader.number(part.word, {0, kMost});
      (void)reader.exact(part.word);
      return ctx.none();
    case Holds::Flag:
      return ctx.boolean(reader.exact(part.word) != 0);
    case Holds::Zero:
      return reader.exact(part.word) == 0 ? ctx.none() : nullptr;
  }
  MG_CHECK(false, "what a part holds");
}

// Lives as long as the process.
PyTypeObject* state_class(const char* name) {
  Ref module = import_module("magneto.polyfills.itertools");
  MG_CHECK(module, "a module of magneto's");
  Ref found = Ref::steal(PyObject_GetAttrString(module, name));
  MG_CHECK(found && PyType_Check(found.get()), "a class that is there");
  return reinterpret_cast<PyTypeObject*>(found.get());
}

}  // namespace

V caller_itertools_state(Context& ctx, PyObject* object, SourceId source) {
  const ItertoolsClass* its_class = itertools_class(Py_TYPE(object));
  if (!its_class || !python::has_iterator_words(object)) return nullptr;
  Reader reader(ctx, object, source);
  V state = ctx.object(state_class(its_class->state));
  const HeapId attributes = ctx.make_attributes(state);
  if (its_class->parts.data() == kCount && !counts_objects(object))
    (void)reader.object(1);
  for (const Part& part : parts_of(object, *its_class)) {
    V value = read_part(ctx, reader, part);
    if (!value) return nullptr;
    if (!part.attribute) continue;
    Ref name = Ref::steal(PyUnicode_InternFromString(part.attribute));
    MG_CHECK(name, "out of memory");
    ctx.heap.dict_initial(attributes, ctx.constant_share(name), value,
                          name.share());
  }
  reader.guard_exact();
  return state;
}

V iterator_of_state(Context& ctx, V state) {
  if (!is_iterator_state(state)) return nullptr;
  const auto& slots = ctx.heap[state->heap].slots;
  return slots.empty() ? nullptr : slots[0];
}

namespace {

struct IteratorWrite {
  size_t word;  // python/itertools_layout.h
  V value;      // null: no object
};

// For what the attribute of the iterator's state now has.
IteratorWrite iterator_write(Context& ctx, V iterator, PyObject* attribute,
                             V value) {
  const ItertoolsClass* its_class = itertools_class(iterator->type);
  MG_CHECK(its_class, "an iterator with a state");
  for (const Part& part : parts_of(iterator->object, *its_class)) {
    if (!part.attribute ||
        PyUnicode_CompareWithASCIIString(attribute, part.attribute) != 0)
      continue;
    const bool is_end = value->object == end_of_iterators();
    if (part.holds == Holds::Object && is_end) return {part.word, nullptr};
    if (part.holds == Holds::OrUnlimited && value == ctx.none())
      return {part.word, ctx.integer(-1)};
    if (part.holds == Holds::Flag)
      return {part.word, ctx.integer(value->object == Py_True)};
    return {part.word, value};
  }
  MG_CHECK(false, "an attribute of the state");
}

}  // namespace

void replay_iterator_state(Context& ctx, V iterator,
                           const HeapObject& attributes, StepWriter& writer) {
  for (const DictEntry& entry : attributes.dict->entries) {
    if (!entry.written) continue;
    const auto [word, value] =
        iterator_write(ctx, iterator, entry.key->object, entry.value);
    writer.act(StepOp::SetIteratorWord,
               {iterator, ctx.integer(static_cast<int64_t>(word)), value});
  }
}

}  // namespace magneto::values
