// SPDX-License-Identifier: BSD-3-Clause
// What a part of a trace has written since its checkpoint, and how two parts
// that began at one checkpoint differ.
#include "values/model/speculation.h"

#include <gtest/gtest.h>

#include <functional>

#include "values/model/callers_objects.h"
#include "values/model/dump.h"

namespace magneto::values {
namespace {

using Writes = std::function<void(Context&)>;

class SpeculationTest : public ::testing::Test {
 protected:
  SpeculationTest() {
    Ref name = Ref::steal(PyUnicode_InternFromString("log"));
    real_ = Ref::steal(PyList_New(0));
    log_ = callers_object(ctx_, Kind::List, real_,
                          ctx_.sources.local(0, ctx_.keep(std::move(name))));
    own_ = ctx_.list({});
    cell_ = ctx_.cell(ctx_.integer(0));
  }

  std::vector<WrittenState> changes_of(const Writes& writes) {
    const std::string before = dump(ctx_);
    Speculation part(ctx_);
    writes(ctx_);
    std::vector<WrittenState> changes = part.changes();
    EXPECT_EQ(part.has_effects(), !changes.empty());
    part.rollback();
    EXPECT_EQ(dump(ctx_), before);
    EXPECT_FALSE(part.has_effects());
    return changes;
  }
  std::string difference(const Writes& first, const Writes& second) {
    return first_difference(changes_of(first), "branch true",
                            changes_of(second), "branch false");
  }
  void append(V list, V item) { ctx_.heap.append(list->heap, item); }

  Context ctx_;
  Ref real_;
  V log_, own_, cell_;
};

TEST_F(SpeculationTest, TellsWhatWasWrittenInTheUsersTerms) {
  const auto changes = changes_of([&](Context& ctx) {
    append(log_, ctx.integer(1));
    append(log_, ctx.string("a"));
  });
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].name, "list log");
  EXPECT_EQ(changes[0].content, "[1, 'a']");
}

TEST_F(SpeculationTest, WhatIsMadeInItIsNoEffect) {
  EXPECT_TRUE(changes_of([&](Context& ctx) {
                V made = ctx.list({});
                append(made, ctx.integer(1));
                V mapping = ctx.dict();
                Ref token = Ref::steal(PyLong_FromLong(3));
                ctx.heap.dict_set(mapping->heap, made, made, token);
              }).empty());
}

TEST_F(SpeculationTest, WhatOlderThingsHoldIsToldByItsContent) {
  const auto changes = changes_of([&](Context& ctx) {
    V made = ctx.list({});
    append(own_, made);
    append(made, ctx.integer(7));
  });
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].content, "[list[7]]");
}

TEST_F(SpeculationTest, EqualPartsDoNotDiffer) {
  const Writes writes = [&](Context& ctx) {
    append(log_, ctx.list(std::vector<V>{ctx.integer(1)}));
    ctx.heap.set_slot(cell_->heap, 0, ctx.integer(5));
  };
  EXPECT_EQ(difference(writes, writes), "");
}

TEST_F(SpeculationTest, TheFirstDifferenceIsNamed) {
  const Writes appends = [&](Context& ctx) { append(log_, ctx.integer(1)); };
  const Writes nothing = [](Context&) {};
  EXPECT_EQ(difference(appends, nothing),
            "branch true writes to list log, which branch false doesn't");
  EXPECT_EQ(difference(nothing, appends),
            "branch false writes to list log, which branch true doesn't");
  EXPECT_EQ(
      difference(appends, [&](Context& ctx) { append(log_, ctx.integer(2)); }),
      "branch true leaves list log as [1], branch false as [2]");
}

TEST_F(SpeculationTest, TheSameOldObjectIsOneInBothParts) {
  // Two lists without a name.
  V other = ctx_.list({});
  EXPECT_EQ(difference([&](Context& ctx) { append(own_, ctx.none()); },
                       [&](Context& ctx) { append(other, ctx.none()); }),
            "branch true writes to a list, which branch false doesn't");
}

TEST_F(SpeculationTest, ReadsAreNoEffects) {
  V unread = callers_object(ctx_, Kind::Dict, real_,
                            ctx_.sources.list_item(log_->source, 0));
  ctx_.heap.make_dict(unread->heap, false);
  Ref token = Ref::steal(PyUnicode_InternFromString("key"));
  EXPECT_TRUE(changes_of([&](Context& ctx) {
                ctx.heap.dict_note(unread->heap, ctx.constant(token.share()),
                                   nullptr, token);
              }).empty());
}

TEST_F(SpeculationTest, AnExceptionUnderWayIsTheOneFromBefore) {
  Speculation part(ctx_);
  V made = ctx_.object(reinterpret_cast<PyTypeObject*>(PyExc_ValueError));
  ctx_.restore_exception(made);
  part.rollback();
  EXPECT_EQ(ctx_.exception(), nullptr);
}

}  // namespace
}  // namespace magneto::values
