// SPDX-License-Identifier: BSD-3-Clause
#include "guards/source.h"

#include "guards/fixture.h"
#include "guards/hooks.h"
#include "guards/show.h"
#include "support/check.h"

namespace magneto::guards {
namespace {

class SourceTest : public GuardFixture {
 protected:
  Reading read(SourceId id) { return sources_.read(id, view({"x"})); }
  SourceId x() { return sources_.local(0, name("x")); }
};

TEST_F(SourceTest, EqualPathsHaveEqualIds) {
  const SourceId a = sources_.instance_attr(x(), name("weight"));
  EXPECT_EQ(a, sources_.instance_attr(x(), name("weight")));
  EXPECT_NE(a, sources_.instance_attr(x(), name("bias")));
  EXPECT_NE(a, sources_.type_attr(x(), name("weight")));
  EXPECT_EQ(sources_.list_item(a, 1), sources_.list_item(a, 1));
  EXPECT_NE(sources_.list_item(a, 1), sources_.list_item(a, 2));
  EXPECT_NE(sources_.list_item(a, 1), sources_.tuple_item(a, 1));
}

TEST_F(SourceTest, NamesAreInternedSoEqualNamesAreOneSource) {
  PyObject* built = keep(eval("''.join(['wei', 'ght'])"));
  ASSERT_NE(built, name("weight"));
  EXPECT_EQ(sources_.instance_attr(x(), built),
            sources_.instance_attr(x(), name("weight")));
}

TEST_F(SourceTest, KeysOfDifferentTypesAreDifferentSources) {
  const SourceId one = sources_.dict_item(x(), keep(eval("1")));
  EXPECT_NE(one, sources_.dict_item(x(), keep(eval("1.0"))));
  EXPECT_NE(one, sources_.dict_item(x(), Py_True));
  const SourceId text = sources_.dict_item(x(), keep(eval("'a b'")));
  EXPECT_EQ(text, sources_.dict_item(x(), keep(eval("' '.join('ab')"))));
}

TEST_F(SourceTest, ReadsInlineValuesWithoutMakingADict) {
  exec(
      "class C: pass\n"
      "x = C(); x.a = 1; x.b = 2\n"
      "y = C(); y.c = 3");
  EXPECT_EQ(read(sources_.instance_attr(x(), name("a"))).value(),
            keep(eval("1")));
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("c"))).is_absent());
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("zzz"))).is_absent());
  // Still inline: sys.getsizeof counts no dict, gc sees none.
  EXPECT_TRUE(is_true(
      "not any(type(r) is dict for r in __import__('gc').get_referents(x))"));
}

TEST_F(SourceTest, ReadsAttributesFromTheDictOnceThereIsOne) {
  exec(
      "class C: pass\n"
      "x = C(); x.a = 1; x.__dict__['b'] = 2");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("b"))).is_present());
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("c"))).is_absent());
}

TEST_F(SourceTest, ReadsAttributesOfModulesFunctionsAndClasses) {
  exec("import math as x");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("sqrt"))).is_present());
  exec("def x(): pass\nx.mark = 'm'");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("mark"))).is_present());
  exec("class x:\n  mark = 1");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("mark"))).is_present());
  exec("class D(dict): pass\nx = D(); x.mark = 1");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("mark"))).is_present());
  exec("class T(tuple): pass\nx = T((1, 2, 3)); x.mark = 1");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("mark"))).is_present());
  exec("class I(int): pass\nx = I(1 << 80); x.mark = 1");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("mark"))).is_present());
  exec("x = 3");
  EXPECT_TRUE(read(sources_.instance_attr(x(), name("mark"))).is_absent());
}

TEST_F(SourceTest, NeverRunsTheUsersCode) {
  exec(
      "calls = []\n"
      "class Evil:\n"
      "  def __getattribute__(self, n): calls.append(n); return 1\n"
      "  def __getattr__(self, n): calls.append(n); return 1\n"
      "  def __eq__(self, o): calls.append('eq'); return True\n"
      "  def __hash__(self): calls.append('hash'); return hash('k')\n"
      "  @property\n"
      "  def p(self): calls.append('p'); return 1\n"
      "class EvilDict(dict):\n"
      "  def __getitem__(self, k): calls.append(k); return 1\n"
      "  def __missing__(self, k): calls.append(k); return 1\n"
      "evil = Evil()\n"
      "x = EvilDict({evil: 1, 'z': 2}); x.evil = evil\n"
      "calls.clear()");
  PyObject* k = keep(eval("'k'"));
  // Whether the evil key equals 'k' only its __eq__ could tell.
  EXPECT_TRUE(read(sources_.dict_item(x(), k)).is_unreadable());
  EXPECT_TRUE(read(sources_.dict_item(x(), keep(eval("'z'")))).is_present());
  EXPECT_TRUE(read(sources_.dict_item(x(), keep(eval("'y'")))).is_absent());
  const SourceId evil = sources_.instance_attr(x(), name("evil"));
  EXPECT_TRUE(read(evil).is_present());
  EXPECT_TRUE(read(sources_.instance_attr(evil, name("a"))).is_absent());
  EXPECT_TRUE(
      read(sources_.type_attr(sources_.type_of(evil), name("p"))).is_present());
  EXPECT_EQ(show(var("evil")), "an Evil object");
  EXPECT_TRUE(is_true("calls == []"));
}

TEST_F(SourceTest, DictItemsAreFoundByTheEqualityOfPython) {
  exec(
      "import math\nx = {1: 'a', (1, 'b'): 'c', math: 'd', 2.5: 'e', None: 0}");
  EXPECT_TRUE(read(sources_.dict_item(x(), Py_True)).is_present());
  EXPECT_TRUE(read(sources_.dict_item(x(), Py_None)).is_present());
  EXPECT_TRUE(read(sources_.dict_item(x(), var("math"))).is_present());
  EXPECT_TRUE(
      read(sources_.dict_item(x(), keep(eval("(1.0, 'b')")))).is_present());
  EXPECT_TRUE(read(sources_.dict_item(x(), keep(eval("2")))).is_absent());
  exec("x = {str(i): i for i in range(5000)}");
  for (int i = 0; i < 5000; i += 617) {
    Reading item = read(
        sources_.dict_item(x(), keep(eval("str(" + std::to_string(i) + ")"))));
    ASSERT_TRUE(item.is_present());
    EXPECT_EQ(PyLong_AsLong(item.value()), i);
  }
  exec(
      "x = {i * 64: i for i in range(300)}\nfor i in range(0, 300, 2): del x[i "
      "* 64]");
  EXPECT_TRUE(read(sources_.dict_item(x(), keep(eval("64")))).is_present());
  EXPECT_TRUE(read(sources_.dict_item(x(), keep(eval("128")))).is_absent());
}

TEST_F(SourceTest, KeysWithAHashOfTheUsersAreRefused) {
  exec("class K:\n  def __hash__(self): return 1\nk = K(); x = {k: 1}");
  EXPECT_THROW(sources_.dict_item(x(), var("k")), InternalError);
  EXPECT_TRUE(read(sources_.dict_item(x(), var("k"), 1)).is_present());
}

TEST_F(SourceTest, ItemsOfSequencesAndKeysInOrder) {
  exec("x = ['a', ('b', 'c'), {'k': 1, 'l': 2}]");
  EXPECT_TRUE(read(sources_.list_item(x(), 0)).is_present());
  EXPECT_TRUE(read(sources_.list_item(x(), 3)).is_absent());
  EXPECT_TRUE(read(sources_.tuple_item(x(), 0)).is_unreadable());
  const SourceId tuple = sources_.list_item(x(), 1);
  EXPECT_EQ(show(read(sources_.tuple_item(tuple, 1)).value()), "'c'");
  const SourceId dict = sources_.list_item(x(), 2);
  EXPECT_EQ(show(read(sources_.dict_key_at(dict, 1)).value()), "'l'");
  EXPECT_TRUE(read(sources_.dict_key_at(dict, 2)).is_absent());
}

TEST_F(SourceTest, AnOrderedDictsOwnOrderCounts) {
  exec(
      "from collections import OrderedDict\n"
      "x = OrderedDict(a=1, b=2, c=3); x.move_to_end('a')");
  EXPECT_EQ(show(read(sources_.dict_key_at(x(), 0)).value()), "'b'");
  EXPECT_EQ(show(read(sources_.dict_key_at(x(), 2)).value()), "'a'");
  EXPECT_TRUE(read(sources_.dict_key_at(x(), 3)).is_absent());
}

TEST_F(SourceTest, SlotsAreReadAtTheirPlace) {
  exec(
      "class S:\n  __slots__ = ('a', 'b')\n"
      "x = S(); x.a = 'one'\n"
      "a = S.a; b = S.b; other = type(len).__dict__['__self__']");
  ASSERT_TRUE(is_slot_member(var("a")));
  EXPECT_FALSE(is_slot_member(var("other")));
  EXPECT_EQ(show(read(sources_.slot_member(x(), var("a"))).value()), "'one'");
  EXPECT_TRUE(read(sources_.slot_member(x(), var("b"))).is_absent());
  const SourceId a = sources_.slot_member(x(), var("a"));
  exec("x = object()");
  EXPECT_TRUE(read(a).is_unreadable());
}

TEST_F(SourceTest, TypesAreLookedUpThroughTheMro) {
  exec(
      "class A:\n  def f(self): pass\n"
      "class B(A):\n  g = 1\n"
      "x = B()");
  const SourceId type = sources_.type_of(x());
  EXPECT_EQ(read(type).value(), var("B"));
  EXPECT_TRUE(read(sources_.type_attr(type, name("f"))).is_present());
  EXPECT_TRUE(read(sources_.type_own_attr(type, name("f"))).is_absent());
  EXPECT_TRUE(read(sources_.type_own_attr(type, name("g"))).is_present());
  EXPECT_TRUE(read(sources_.type_attr(type, name("h"))).is_absent());
  const SourceId mro = sources_.field(type, SourceKind::TypeMro);
  EXPECT_EQ(read(sources_.tuple_item(mro, 1)).value(), var("A"));
}

struct FieldCase {
  const char* name;
  const char* object;
  SourceKind kind;
  const char* expected;  // an expression; null: absent
};

class FieldTest : public GuardFixture,
                  public testing::WithParamInterface<FieldCase> {};

TEST_P(FieldTest, ReadsWhatPythonShows) {
  exec(
      "import functools, weakref, collections\n"
      "def outer():\n"
      "  v = 'cell'\n"
      "  def f(a, b=1, *, c=2): return v\n"
      "  return f\n"
      "f = outer()\n"
      "class C:\n"
      "  def m(self): pass\n"
      "  @staticmethod\n"
      "  def s(): pass\n"
      "  @classmethod\n"
      "  def c(cls): pass\n"
      "  p = property(m, f)\n"
      "o = C(); w = weakref.ref(o)\n"
      "part = functools.partial(f, 1, c=3)\n"
      "key = functools.cmp_to_key(f)\n"
      "keyed = key('object')\n"
      "dd = collections.defaultdict(list)");
  const FieldCase& field = GetParam();
  Ref object = eval(field.object);
  const Reading reading = read_field(field.kind, object);
  if (field.expected == nullptr) {
    EXPECT_TRUE(reading.is_absent());
  } else {
    EXPECT_EQ(reading.value(), keep(eval(field.expected)));
  }
  EXPECT_TRUE(read_field(field.kind, keep(eval("3"))).is_unreadable());
}

INSTANTIATE_TEST_SUITE_P(
    Fields, FieldTest,
    testing::Values(
        FieldCase{"code", "f", SourceKind::FunctionCode, "f.__code__"},
        FieldCase{"defaults", "f", SourceKind::FunctionDefaults,
                  "f.__defaults__"},
        FieldCase{"kwdefaults", "f", SourceKind::FunctionKwDefaults,
                  "f.__kwdefaults__"},
        FieldCase{"no_defaults", "C.m", SourceKind::FunctionDefaults, nullptr},
        FieldCase{"closure", "f", SourceKind::FunctionClosure, "f.__closure__"},
        FieldCase{"globals", "f", SourceKind::FunctionGlobals, "f.__globals__"},
        FieldCase{"cell", "f.__closure__[0]", SourceKind::CellContents,
                  "f.__closure__[0].cell_contents"},
        FieldCase{"method_self", "o.m", SourceKind::MethodSelf, "o"},
        FieldCase{"method_function", "o.m", SourceKind::MethodFunction, "C.m"},
        FieldCase{"builtin_self", "dd.get", SourceKind::BuiltinSelf, "dd"},
        FieldCase{"static_method", "C.__dict__['s']",
                  SourceKind::StaticMethodTarget, "C.s"},
        FieldCase{"class_method", "C.__dict__['c']",
                  SourceKind::ClassMethodTarget, "C.__dict__['c'].__func__"},
        FieldCase{"getter", "C.p", SourceKind::PropertyGetter, "C.p.fget"},
        FieldCase{"setter", "C.p", SourceKind::PropertySetter, "C.p.fset"},
        FieldCase{"deleter", "C.p", SourceKind::PropertyDeleter, nullptr},
        FieldCase{"partial_function", "part", SourceKind::PartialFunction,
                  "part.func"},
        FieldCase{"partial_args", "part", SourceKind::PartialArgs, "part.args"},
        FieldCase{"partial_keywords", "part", SourceKind::PartialKeywords,
                  "part.keywords"},
        FieldCase{"key_function", "key", SourceKind::KeyFunction, "f"},
        FieldCase{"key_object", "keyed", SourceKind::KeyObject, "keyed.obj"},
        FieldCase{"key_without_object", "key", SourceKind::KeyObject, nullptr},
        FieldCase{"default_factory", "dd", SourceKind::DefaultFactory, "list"},
        FieldCase{"weakref", "w", SourceKind::WeakrefTarget, "o"}),
    [](const auto& test) { return test.param.name; });

TEST_F(SourceTest, PathsPrintAsTheUserWritesThem) {
  const SourceId self = sources_.local(0, name("self"));
  const auto module = [this](SourceId owner, const char* key) {
    return sources_.dict_item(sources_.instance_attr(owner, name("_modules")),
                              name(key));
  };
  const SourceId layer = module(module(self, "layers"), "0");
  const SourceId weight = sources_.dict_item(
      sources_.instance_attr(layer, name("_parameters")), name("weight"));
  EXPECT_EQ(sources_.print(weight), "self.layers[0].weight");
  EXPECT_EQ(sources_.torch_name(weight),
            "L['self']._modules['layers']._modules['0']"
            "._parameters['weight']");
  EXPECT_EQ(sources_.print(sources_.instance_attr(self, name("training"))),
            "self.training");
  const SourceId cfg = sources_.local(1, name("cfg"));
  EXPECT_EQ(sources_.print(sources_.dict_item(cfg, name("hidden"))),
            "cfg['hidden']");
  EXPECT_EQ(sources_.torch_name(cfg), "L['cfg']");
  EXPECT_EQ(sources_.print(sources_.dict_item(sources_.globals(), name("F"))),
            "G['F']");
  EXPECT_EQ(
      sources_.print(sources_.dict_item(sources_.builtins(), name("len"))),
      "builtins.len");
  const SourceId cell = sources_.closure_cell(0, name("w"));
  EXPECT_EQ(sources_.print(sources_.cell_contents(cell)), "w");
  EXPECT_EQ(sources_.torch_name(sources_.cell_contents(cell)), "L['w']");
  exec("class C:\n  def f(self, a=1): pass");
  const SourceId type = sources_.constant(var("C"));
  const SourceId f = sources_.type_attr(type, name("f"));
  EXPECT_EQ(sources_.print(sources_.tuple_item(
                sources_.field(f, SourceKind::FunctionDefaults), 0)),
            "C.f.__defaults__[0]");
  EXPECT_EQ(
      sources_.print(sources_.type_own_attr(sources_.type_of(cfg), name("g"))),
      "type(cfg).__dict__['g']");
}

}  // namespace
}  // namespace magneto::guards
