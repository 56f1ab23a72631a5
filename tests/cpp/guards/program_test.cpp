// SPDX-License-Identifier: BSD-3-Clause
// What each kind of guard accepts and refuses. The fixture's run() checks that
// a program with pins, one without and the explanation agree.
#include "guards/program.h"

#include <ostream>

#include "guards/fixture.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

class ProgramTest : public GuardFixture {
 protected:
  SourceId x() { return sources_.local(0, name("x")); }
  SourceId y() { return sources_.local(1, name("y")); }
  PyTypeObject* type(const char* text) {
    return reinterpret_cast<PyTypeObject*>(keep(eval(text)));
  }
};

// One guard on x.o, met directly, and below a dict, a list, inline values and
// a slot: containers with and without versions.
struct GuardCase {
  const char* name;
  const char* setup;  // defines `seen`
  const char* guard;
  const char* accepted;  // expressions
  const char* refused;
};

std::ostream& operator<<(std::ostream& out, const GuardCase& guard) {
  return out << guard.name;
}

class GuardKindTest
    : public ProgramTest,
      public testing::WithParamInterface<std::tuple<GuardCase, const char*>> {
 protected:
  void record(const std::string& kind, SourceId source, PyObject* seen) {
    if (kind == "type_is") guards_.type_is(source, Py_TYPE(seen));
    if (kind == "identity") guards_.identity(source, seen);
    if (kind == "not_none") guards_.not_none(source);
    if (kind == "constant") guards_.constant_equals(source, seen);
    if (kind == "length") guards_.length(source, PyObject_Size(seen));
    if (kind == "keys") {
      guards_.dict_keys(source, keep(Ref::steal(PySequence_Tuple(seen))));
    }
    if (kind == "instance_keys") {
      Ref dict = Ref::steal(PyObject_GetAttrString(seen, "__dict__"));
      guards_.instance_keys(source, keep(Ref::steal(PySequence_Tuple(dict))));
    }
    if (kind == "items") {
      guards_.set_items(source, keep(Ref::steal(PyFrozenSet_New(seen))));
    }
    if (kind == "table") guards_.set_table(source, seen);
    if (kind == "tensor") {
      guards_.tensor(source, shape(PyByteArray_GET_SIZE(seen)));
    }
  }

  SourceId place(const std::string& container) {
    if (container == "dict") return sources_.dict_item(x(), name("o"));
    if (container == "list") return sources_.list_item(x(), 0);
    if (container == "slot") {
      return sources_.slot_member(x(), keep(eval("Slot.o")));
    }
    if (container == "local") return x();
    return sources_.instance_attr(x(), name("o"));
  }

  // Puts a new value where the guard looks.
  void put(const std::string& container, const std::string& value) {
    if (container == "dict") return exec("x['o'] = " + value);
    if (container == "list") return exec("x[0] = " + value);
    if (container == "local") return exec("x = " + value);
    exec("x.o = " + value);
  }
};

TEST_P(GuardKindTest, AcceptsWhatIsEqualAndRefusesWhatIsNot) {
  const auto& [guard, container] = GetParam();
  exec(
      "import math, collections\n"
      "class Plain: pass\n"
      "class Other: pass\n"
      "class Attrs:\n"
      "  def __init__(self, **kw):\n"
      "    for k, v in kw.items(): setattr(self, k, v)\n"
      "class Slot:\n  __slots__ = ('o', '__weakref__')\n"
      "class IntSub(int): pass\n"
      "class Dicted: pass\n"
      "d = Dicted(); d.__dict__\n"
      "containers = dict(dict={}, list=[None], slot=Slot(), inline=Plain(),"
      " instance=d, local=None)");
  exec(guard.setup);
  exec(std::string("x = containers['") + container + "']");
  put(container, "seen");
  const SourceId source = place(container);
  record(guard.guard, source, var("seen"));
  // A second place beside it keeps the region's words from being all equal.
  const auto program = compiled({source});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], var("seen"));
  for (const char* value : {guard.accepted, "seen"}) {
    put(container, value);
    EXPECT_TRUE(run(*program, view({"x"}))) << value;
    EXPECT_TRUE(run(*program, view({"x"}))) << value;
    put(container, guard.refused);
    EXPECT_FALSE(run(*program, view({"x"}))) << guard.refused;
    EXPECT_FALSE(run(*program, view({"x"}))) << guard.refused;
  }
  put(container, "seen");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], var("seen"));
}

const GuardCase kGuardCases[] = {
    {"type", "seen = Plain()", "type_is", "Plain()", "Other()"},
    {"type_not_subclass", "seen = 7", "type_is", "8", "IntSub(7)"},
    {"identity", "seen = Plain()", "identity", "seen", "Plain()"},
    {"identity_of_function", "def seen(): pass", "identity", "seen",
     "lambda: 0"},
    {"not_none", "seen = Plain()", "not_none", "3", "None"},
    {"small_int", "seen = 4", "constant", "2 + 2", "5"},
    {"large_int", "seen = 10 ** 30", "constant", "10 ** 15 * 10 ** 15",
     "10 ** 30 + 1"},
    {"int_not_bool", "seen = 1", "constant", "1", "True"},
    {"int_not_float", "seen = 1", "constant", "1", "1.0"},
    {"int_not_subclass", "seen = 7", "constant", "7", "IntSub(7)"},
    {"float", "seen = 0.5", "constant", "float('0.5')", "0.25"},
    {"nan", "seen = float('nan')", "constant", "float('nan')", "0.0"},
    {"zero_sign", "seen = 0.0", "constant", "float('0')", "-0.0"},
    {"complex", "seen = 1j", "constant", "complex(0, 1)", "2j"},
    {"str", "seen = 'a b'", "constant", "' '.join('ab')", "'ab'"},
    {"bytes", "seen = b'ab'", "constant", "bytes([97, 98])", "'ab'"},
    {"none", "seen = None", "constant", "None", "0"},
    {"bool", "seen = True", "constant", "not False", "False"},
    {"tuple", "seen = (1, ('a', 2.0))", "constant",
     "tuple([1, ('a', float('2'))])", "(1, ('a', 2))"},
    {"frozenset", "seen = frozenset([1, 'a'])", "constant",
     "frozenset([1, 'a'])", "frozenset(['a', True])"},
    {"frozenset_of_str", "seen = frozenset('abc')", "constant",
     "frozenset('abc')", "frozenset('abd')"},
    {"frozenset_order", "seen = frozenset([8, 16])", "constant",
     "frozenset([8, 16])", "frozenset([16, 8])"},
    {"range", "seen = range(0, 8, 2)", "constant", "range(0, 8, 2)",
     "range(0, 9, 2)"},
    {"range_end", "seen = range(0, 8, 2)", "constant", "range(0, 8, 2)",
     "range(0, 7, 2)"},
    {"slice", "seen = slice(1, None)", "constant", "slice(1, None)",
     "slice(1, 2)"},
    {"list_length", "seen = [1, 2]", "length", "['a', 'b']", "[1]"},
    {"tuple_length", "seen = (1, 2)", "length", "(3, 4)", "(1, 2, 3)"},
    {"str_length", "seen = 'ab'", "length", "'cd'", "'abc'"},
    {"dict_length", "seen = {1: 2}", "length", "{3: 4}", "{}"},
    {"set_length", "seen = {1}", "length", "{2}", "{1, 2}"},
    {"keys", "seen = {'a': 1, 'b': 2}", "keys", "{'a': 3, 'b': 4}",
     "{'b': 1, 'a': 2}"},
    {"keys_of_types", "seen = {int: 1, 2: 2}", "keys", "{int: 3, 2: 0}",
     "{str: 1, 2: 2}"},
    {"key_types", "seen = {1: 2}", "keys", "{1: 3}", "{True: 2}"},
    {"ordered_keys", "seen = collections.OrderedDict(a=1, b=2)", "keys",
     "collections.OrderedDict(a=3, b=4)", "collections.OrderedDict(b=1, a=2)"},
    {"instance_keys", "seen = Attrs(a=1, b=2)", "instance_keys",
     "Attrs(a=3, b=4)", "Attrs(b=1, a=2)"},
    {"instance_keys_inline", "seen = Attrs(a=1); v = Attrs(a=1)",
     "instance_keys", "Attrs(a=5)", "Attrs(a=1, b=2)"},
    {"items", "seen = {1, 'a', int}", "items", "{'a', int, 1}",
     "{1, 'a', str}"},
    {"item_types", "seen = {1}", "items", "{1}", "{True}"},
    {"many_items", "seen = {str(i) for i in range(500)}", "items",
     "{str(i) for i in range(499, -1, -1)}", "{str(i) for i in range(1, 501)}"},
    {"items_in_frozenset", "seen = frozenset('ab')", "items", "{'b', 'a'}",
     "frozenset('a')"},
    {"table", "seen = {8, 16}", "table", "{8, 16}", "{16, 8}"},
    {"table_after_pop", "seen = {0, 8, 16}; seen.pop()", "table", "seen",
     "{8, 16}"},
    {"table_freed_places", "seen = {8, 16}", "table", "{8, 16}",
     "(lambda s: s.discard(1) or s)({8, 16, 1})"},
    {"property", "seen = property(len, abs)", "identity", "seen",
     "property(len, abs)"},
    {"tensor", "seen = bytearray(4)", "tensor", "bytearray(b'abcd')",
     "bytearray(5)"},
    {"tensor_type", "seen = bytearray(4)", "tensor", "bytearray(4)", "b'abcd'"},
};

INSTANTIATE_TEST_SUITE_P(Kinds, GuardKindTest,
                         testing::Combine(testing::ValuesIn(kGuardCases),
                                          testing::Values("dict", "list",
                                                          "slot", "inline",
                                                          "instance", "local")),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) +
                                  "_in_" + std::get<1>(test.param);
                         });

TEST_F(ProgramTest, ChangesInPlaceAreSeen) {
  exec("x = dict(l=[1], d={}, s={1}, t=bytearray(2), o=type('C', (), {})())");
  const auto item = [this](const char* key) {
    return sources_.dict_item(x(), name(key));
  };
  guards_.length(item("l"), 1);
  guards_.dict_keys(item("d"), keep(eval("()")));
  guards_.set_items(item("s"), keep(eval("frozenset([1])")));
  guards_.tensor(item("t"), shape(2));
  guards_.type_is(item("o"), type("type(x['o'])"));
  const auto program = compiled();
  const auto check = [&](const char* change, const char* back) {
    ASSERT_TRUE(run(*program, view({"x"})));
    exec(change);
    EXPECT_FALSE(run(*program, view({"x"}))) << change;
    exec(back);
    EXPECT_TRUE(run(*program, view({"x"}))) << back;
  };
  check("x['l'].append(2)", "x['l'].pop()");
  check("x['d']['k'] = 1", "x['d'].clear()");
  check("x['s'].add(2)", "x['s'].remove(2)");
  check("x['s'].add(2); x['s'].remove(1)", "x['s'].add(1); x['s'].remove(2)");
  check("x['t'].append(0)", "x['t'].pop()");
  check("O = type(x['o']); x['o'].__class__ = type('D', (), {})",
        "x['o'].__class__ = O");
}

TEST_F(ProgramTest, AbsenceEndsWhenSomethingIsPutThere) {
  exec(
      "class C: pass\n"
      "class S:\n  __slots__ = ('o',)\n"
      "x = C(); x.inline = C(); x.dict = {}; x.list = []; x.slot = S()\n"
      "x.instance = C(); x.instance.__dict__\n"
      "def f(): pass\nx.f = f\nx.type = C");
  const auto attr = [this](const char* text) {
    return sources_.instance_attr(x(), name(text));
  };
  guards_.absent(sources_.instance_attr(attr("inline"), name("o")));
  guards_.absent(sources_.instance_attr(attr("instance"), name("o")));
  guards_.absent(sources_.dict_item(attr("dict"), name("o")));
  guards_.absent(sources_.list_item(attr("list"), 0));
  guards_.absent(sources_.slot_member(attr("slot"), keep(eval("S.o"))));
  guards_.absent(sources_.field(attr("f"), SourceKind::FunctionDefaults));
  guards_.absent(sources_.type_attr(attr("type"), name("o")));
  const auto program = compiled();
  const auto check = [&](const char* change, const char* back) {
    ASSERT_TRUE(run(*program, view({"x"})));
    ASSERT_TRUE(run(*program, view({"x"})));
    exec(change);
    EXPECT_FALSE(run(*program, view({"x"}))) << change;
    exec(back);
    EXPECT_TRUE(run(*program, view({"x"}))) << back;
  };
  check("x.inline.o = 1", "del x.inline.o");
  check("x.instance.o = 1", "del x.instance.o");
  check("x.dict['o'] = 1", "del x.dict['o']");
  check("x.list.append(1)", "x.list.pop()");
  check("x.slot.o = 1", "del x.slot.o");
  check("x.f.__defaults__ = (1,)", "x.f.__defaults__ = None");
  check("C.o = 1", "del C.o");
}

TEST_F(ProgramTest, WhatWasThereAndIsGoneFails) {
  exec("class C: pass\nx = C(); x.o = C(); x.o.p = 1; x.o.q = 2");
  const SourceId o = sources_.instance_attr(x(), name("o"));
  guards_.constant_equals(sources_.instance_attr(o, name("p")),
                          keep(eval("1")));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("del x.o.p");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x.o.p = 1");
  EXPECT_TRUE(run(*program, view({"x"})));
  exec("del x.o");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(ProgramTest, ReorderedKeysFailEvenWithoutANewVersion) {
  exec(
      "from collections import OrderedDict\n"
      "class C: pass\n"
      "x = C(); x.d = OrderedDict(a=1, b=2)");
  const SourceId d = sources_.instance_attr(x(), name("d"));
  guards_.dict_keys(d, keep(eval("('a', 'b')")));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("x.d.move_to_end('a')");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x.d.move_to_end('b')");
  EXPECT_TRUE(run(*program, view({"x"})));
}

TEST_F(ProgramTest, AWriteToTheTypeFailsTypeUnmodified) {
  exec("class A: pass\nclass B(A): pass\nx = B()");
  const SourceId t = sources_.type_of(x());
  guards_.type_unmodified(t, type("B"));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("A.new = 1");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(ProgramTest, AWriteToTheTypeLeavesOtherNamesAlone) {
  exec("class A:\n  def f(self): pass\nclass B(A): pass\nx = B()");
  const SourceId t = sources_.constant(keep(eval("B")));
  guards_.type_is(x(), type("B"));
  guards_.identity(sources_.type_attr(t, name("f")), keep(eval("A.f")));
  guards_.absent(sources_.type_attr(t, name("__getattr__")));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("A.unrelated = 1");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().renewed_groups, 1u);
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().renewed_groups, 1u);
  exec("A.__getattr__ = lambda self, n: 1");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("del A.__getattr__");
  EXPECT_TRUE(run(*program, view({"x"})));
  exec("B.f = lambda self: 2");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(ProgramTest, FunctionsAreReadThroughTheirFields) {
  exec(
      "def outer(v):\n"
      "  def f(a=1, *, k=2): return v\n"
      "  return f\n"
      "class C: pass\n"
      "x = C(); x.f = outer(5)");
  const SourceId f = sources_.instance_attr(x(), name("f"));
  guards_.identity(sources_.field(f, SourceKind::FunctionCode),
                   keep(eval("x.f.__code__")));
  guards_.constant_equals(
      sources_.tuple_item(sources_.field(f, SourceKind::FunctionDefaults), 0),
      keep(eval("1")));
  guards_.constant_equals(
      sources_.dict_item(sources_.field(f, SourceKind::FunctionKwDefaults),
                         name("k")),
      keep(eval("2")));
  guards_.constant_equals(
      sources_.cell_contents(sources_.tuple_item(
          sources_.field(f, SourceKind::FunctionClosure), 0)),
      keep(eval("5")));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("x.f = outer(5)");  // another function, the same in all that counts
  EXPECT_TRUE(run(*program, view({"x"})));
  const auto check = [&](const char* change, const char* back) {
    ASSERT_TRUE(run(*program, view({"x"})));
    exec(change);
    EXPECT_FALSE(run(*program, view({"x"}))) << change;
    exec(back);
    EXPECT_TRUE(run(*program, view({"x"}))) << back;
  };
  check("x.f.__closure__[0].cell_contents = 6",
        "x.f.__closure__[0].cell_contents = 5");
  check("x.f.__defaults__ = (3,)", "x.f.__defaults__ = (1,)");
  check("x.f.__kwdefaults__['k'] = 3", "x.f.__kwdefaults__['k'] = 2");
  check("c = x.f.__code__; x.f.__code__ = c.replace(co_name='g')",
        "x.f.__code__ = c");
}

TEST_F(ProgramTest, GlobalsCellsAndBuiltinsAreRoots) {
  exec("g = 1\nx = 0\ndef f():\n  v = 3\n  return lambda: v\nf = f()");
  cells_ = {keep(eval("f.__closure__[0]"))};
  guards_.constant_equals(sources_.dict_item(sources_.globals(), name("g")),
                          keep(eval("1")));
  guards_.absent(sources_.dict_item(sources_.globals(), name("len")));
  guards_.identity(sources_.dict_item(sources_.builtins(), name("len")),
                   keep(eval("len")));
  guards_.constant_equals(
      sources_.cell_contents(sources_.closure_cell(0, name("v"))),
      keep(eval("3")));
  const auto program = compiled();
  const auto check = [&](const char* change, const char* back) {
    ASSERT_TRUE(run(*program, view({"x"})));
    exec(change);
    EXPECT_FALSE(run(*program, view({"x"}))) << change;
    exec(back);
    EXPECT_TRUE(run(*program, view({"x"}))) << back;
  };
  check("g = 2", "g = 1");
  check("len = 2", "del len");
  check("f.__closure__[0].cell_contents = 4",
        "f.__closure__[0].cell_contents = 3");
  exec("unrelated = 1");
  const uint64_t precise = program->counts().precise_runs;
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().precise_runs, precise);
}

TEST_F(ProgramTest, AnUnboundOrMissingArgumentFails) {
  exec("x = 1");
  guards_.not_none(x());
  const auto program = compiled();
  CallView call = view({"x"});
  EXPECT_TRUE(run(*program, call));
  locals_[0] = nullptr;
  EXPECT_FALSE(run(*program, call));
  call.nlocals = 0;
  EXPECT_FALSE(run(*program, call));
}

TEST_F(ProgramTest, InputsComeInTheOrderOfTheRequests) {
  exec(
      "class C: pass\n"
      "x = C(); x.a = bytearray(1); x.b = bytearray(2)\ny = bytearray(3)");
  const SourceId a = sources_.instance_attr(x(), name("a"));
  const SourceId b = sources_.instance_attr(x(), name("b"));
  guards_.tensor(y(), shape(3));
  guards_.tensor(a, shape(1));
  guards_.tensor(b, shape(2));
  const auto program = compiled({b, y(), a, b});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(*program, view({"x", "y"})));
    const std::vector<PyObject*> expected = {
        keep(eval("x.b")), var("y"), keep(eval("x.a")), keep(eval("x.b"))};
    EXPECT_EQ(inputs_, expected);
    exec("x.a = bytearray(1); y = bytearray(3)");
  }
}

TEST_F(ProgramTest, AliasesMustStayAliases) {
  exec("class C: pass\nx = bytearray(2); y = x");
  guards_.same_object(x(), y());
  const auto program = compiled();
  EXPECT_TRUE(run(*program, view({"x", "y"})));
  exec("y = bytearray(2)");
  EXPECT_FALSE(run(*program, view({"x", "y"})));
}

TEST_F(ProgramTest, DistinctObjectsMustStayDistinct) {
  exec(
      "class C: pass\n"
      "x = C(); x.p = [bytearray(1) for i in range(30)]\ny = bytearray(1)");
  const SourceId p = sources_.instance_attr(x(), name("p"));
  std::vector<SourceId> all = {y()};
  for (int i = 0; i < 30; ++i) all.push_back(sources_.list_item(p, i));
  guards_.distinct(all);
  const auto program = compiled();
  const auto check = [&](const char* change, const char* back) {
    ASSERT_TRUE(run(*program, view({"x", "y"})));
    exec(change);
    EXPECT_FALSE(run(*program, view({"x", "y"}))) << change;
    exec(back);
    EXPECT_TRUE(run(*program, view({"x", "y"}))) << back;
  };
  check("y = x.p[17]", "y = bytearray(1)");
  check("old = x.p[3]; x.p[3] = x.p[20]", "x.p[3] = old");
  check("old = x.p[3]; x.p[3] = y", "x.p[3] = old");
}

TEST_F(ProgramTest, RollbackTakesGuardsBack) {
  exec("x = 1");
  guards_.not_none(x());
  const Journal::Position here = journal_.position();
  guards_.constant_equals(x(), keep(eval("2")));
  guards_.ambient(Ambient::GradMode, 1);
  guards_.distinct(std::vector<SourceId>{x(), y()});
  journal_.rollback(here);
  EXPECT_EQ(guards_.guards().size(), 1u);
  EXPECT_TRUE(guards_.relations().empty());
  EXPECT_TRUE(guards_.ambients().empty());
  // What was taken back can be recorded again.
  guards_.constant_equals(x(), keep(eval("1")));
  EXPECT_EQ(guards_.guards().size(), 2u);
  EXPECT_TRUE(run(*compiled(), view({"x"})));
}

TEST_F(ProgramTest, TheSameGuardIsRecordedOnce) {
  exec("x = 1");
  for (int i = 0; i < 3; ++i) {
    guards_.not_none(x());
    guards_.type_is(x(), &PyLong_Type);
    guards_.same_object(x(), y());
    guards_.same_object(y(), x());
    guards_.distinct(std::vector<SourceId>{x(), y()});
    guards_.distinct(std::vector<SourceId>{y(), x()});
  }
  EXPECT_EQ(guards_.guards().size(), 2u);
  EXPECT_EQ(guards_.relations().size(), 2u);
}

TEST_F(ProgramTest, ImpliedGuardsAreLeftOut) {
  exec("x = 1");
  guards_.not_none(x());
  guards_.type_is(x(), &PyLong_Type);
  guards_.constant_equals(x(), keep(eval("1")));
  EXPECT_EQ(compiled()->describe(), std::vector<std::string>{"x == 1"});
}

TEST_F(ProgramTest, ContradictionsAreDefects) {
  exec("x = 1");
  const SourceId o = sources_.instance_attr(x(), name("o"));
  guards_.absent(o);
  EXPECT_THROW(compiled({o}), InternalError);
  guards_.not_none(o);
  EXPECT_THROW(compiled(), InternalError);
}

TEST_F(ProgramTest, ValuesThatRunUserCodeAreNoConstants) {
  exec("class I(int): pass\nx = I(3); y = [1]");
  EXPECT_THROW(guards_.constant_equals(x(), var("x")), InternalError);
  EXPECT_THROW(guards_.constant_equals(y(), var("y")), InternalError);
  EXPECT_FALSE(is_constant(keep(eval("(1, [2])"))));
}

TEST_F(ProgramTest, NoUserCodeRunsWhileGuardsAreChecked) {
  exec(
      "calls = []\n"
      "class Evil:\n"
      "  def __getattribute__(self, n): calls.append(n); return 1\n"
      "  def __eq__(self, o): calls.append('eq'); return True\n"
      "  def __hash__(self): calls.append('hash'); return 1\n"
      "  def __len__(self): calls.append('len'); return 1\n"
      "  def __repr__(self): calls.append('repr'); return ''\n"
      "  def __bool__(self): calls.append('bool'); return True\n"
      "x = Evil(); y = {'k': Evil(), 1: Evil()}; x.a = Evil()\n"
      "calls.clear()");
  const SourceId a = sources_.instance_attr(x(), name("a"));
  guards_.type_is(a, type("Evil"));
  guards_.absent(sources_.instance_attr(a, name("b")));
  guards_.dict_keys(y(), keep(eval("('k', 1)")));
  guards_.not_none(sources_.dict_item(y(), name("k")));
  guards_.constant_equals(sources_.local(2, name("z")), keep(eval("1")));
  const auto program = compiled();
  exec("z = 1");
  EXPECT_TRUE(run(*program, view({"x", "y", "z"})));
  exec("z = Evil(); calls.clear()");
  EXPECT_FALSE(run(*program, view({"x", "y", "z"})));
  exec("z = 1; y.clear(); y['k'] = y[Evil()] = Evil(); calls.clear()");
  EXPECT_FALSE(run(*program, view({"x", "y", "z"})));
  EXPECT_TRUE(is_true("calls == []"));
  EXPECT_FALSE(program->describe().empty());
  EXPECT_TRUE(is_true("calls == []"));
}

}  // namespace
}  // namespace magneto::guards
