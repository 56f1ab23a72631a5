// SPDX-License-Identifier: BSD-3-Clause
#include "python/ref.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace magneto {
namespace {

static_assert(!std::is_copy_constructible_v<Ref>);
static_assert(!std::is_constructible_v<Ref, PyObject*>);

TEST(Ref, StealTakesOverAndShareAddsAReference) {
  Ref list = Ref::steal(PyList_New(0));
  EXPECT_EQ(Py_REFCNT(list.get()), 1);
  {
    Ref other = list.share();
    EXPECT_EQ(Py_REFCNT(list.get()), 2);
  }
  EXPECT_EQ(Py_REFCNT(list.get()), 1);
}

TEST(Ref, MovingLeavesNothingBehind) {
  Ref list = Ref::steal(PyList_New(0));
  PyObject* object = list;
  Ref moved = std::move(list);
  EXPECT_FALSE(list);
  EXPECT_EQ(moved.get(), object);
  EXPECT_EQ(Py_REFCNT(object), 1);
}

TEST(Ref, ReleaseGivesTheReferenceAway) {
  Ref list = Ref::steal(PyList_New(0));
  Ref again = Ref::steal(list.release());
  EXPECT_FALSE(list);
  EXPECT_EQ(Py_REFCNT(again.get()), 1);
}

TEST(Ref, AssignmentDropsTheOldObject) {
  Ref kept = Ref::steal(PyList_New(0));
  Ref slot = kept.share();
  slot = Ref::steal(PyList_New(0));
  EXPECT_EQ(Py_REFCNT(kept.get()), 1);
}

}  // namespace
}  // namespace magneto
