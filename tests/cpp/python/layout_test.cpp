// SPDX-License-Identifier: BSD-3-Clause
// Each layout that python/layout.h reads, against what Python reports.
#include "python/layout.h"

#include <gtest/gtest.h>

#include <string>

#include "python/ref.h"
#include "python/type_version.h"

namespace magneto::python {
namespace {

class LayoutTest : public testing::Test {
 protected:
  LayoutTest() {
    globals_ = Ref::steal(PyDict_New());
    PyDict_SetItemString(globals_, "__builtins__", PyEval_GetBuiltins());
  }
  void exec(const std::string& source) {
    Ref result = Ref::steal(
        PyRun_String(source.c_str(), Py_file_input, globals_, globals_));
    if (!result) PyErr_Print();
    ASSERT_TRUE(result);
  }
  PyObject* var(const char* name) {
    return PyDict_GetItemString(globals_, name);
  }
  uint64_t version(const char* name) { return *dict_version(var(name)); }

  Ref globals_;
};

// Keys that are not identical are not known to be equal.
int never_known(PyObject*, PyObject*) noexcept { return -1; }

TEST_F(LayoutTest, EveryWriteGivesADictANewVersion) {
  exec(
      "import collections\n"
      "d = {'a': 1, 'b': 2}\n"
      "class C: pass\n"
      "o = C(); o.a = 1; split = o.__dict__\n"
      "od = collections.OrderedDict(a=1, b=2)\n"
      "dd = collections.defaultdict(list, a=1)\n"
      "def store(o, v): o.a = v\n"
      "for i in range(100): store(o, i)\n"
      "def put(d, v): d['a'] = v\n"
      "for i in range(100): put(d, i)");
  for (const char* dict : {"d", "split", "od", "dd"}) {
    for (const char* write :
         {"D['a'] = 'x'", "D['c'] = 1", "del D['c']", "D.pop('a')",
          "D.setdefault('a', 1)", "D.popitem()", "D.update(a=2, z=3)",
          "D |= {'y': 1}", "D.clear()", "D.update({'a': 1})", "D.__init__(a=5)",
          "put(D, 'new')", "exec('q = 1', D)", "D.__ior__([('r', 1)])"}) {
      const uint64_t before = version(dict);
      std::string statement = write;
      for (size_t at; (at = statement.find('D')) != std::string::npos;) {
        statement.replace(at, 1, dict);
      }
      exec(statement);
      EXPECT_NE(version(dict), before) << statement;
    }
  }
  uint64_t before = version("split");
  exec("store(o, 'new')");
  EXPECT_NE(version("split"), before);
  before = version("split");
  exec("del o.a");
  EXPECT_NE(version("split"), before);
}

TEST_F(LayoutTest, ReadsLeaveTheVersion) {
  exec("d = {'a': 1}");
  const uint64_t before = version("d");
  exec("d['a']; d.get('b'); list(d.items()); 'a' in d; dict(d); d.copy()");
  EXPECT_EQ(version("d"), before);
}

TEST_F(LayoutTest, NoTwoDictsShareAVersion) {
  exec("a = {}; b = {}; c = dict(x=1); e = c.copy(); f = dict(c)");
  const uint64_t versions[] = {version("a"), version("b"), version("c"),
                               version("e"), version("f")};
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < i; ++j) EXPECT_NE(versions[i], versions[j]);
  }
}

TEST_F(LayoutTest, AWriteTakesATypesTagAway) {
  exec("class A: pass\nclass B(A): pass");
  auto* type = reinterpret_cast<PyTypeObject*>(var("B"));
  Ref x = Ref::steal(PyUnicode_InternFromString("x"));
  _PyType_Lookup(type, x);
  const unsigned int tag = type->tp_version_tag;
  EXPECT_NE(tag, 0u);
  exec("A.y = 1");
  EXPECT_EQ(type->tp_version_tag, 0u);
  exec("hasattr(B, 'y')");
  EXPECT_NE(type->tp_version_tag, tag);
}

TEST_F(LayoutTest, OrderChangesOnlyAnOrderedDictsState) {
  exec("import collections\nod = collections.OrderedDict(a=1, b=2)");
  const uint64_t before = *order_state(var("od"));
  const uint64_t dict_before = version("od");
  exec("od.move_to_end('a')");
  EXPECT_EQ(version("od"), dict_before);
  EXPECT_NE(*order_state(var("od")), before);
  exec("d = {}");
  EXPECT_EQ(order_state(var("d")), nullptr);
}

TEST_F(LayoutTest, RegistrationsAreThoseOfAbc) {
  exec("import abc\nclass Base(abc.ABC): pass");
  for (const char* change : {"pass", "Base.register(int)", "Base.register(str)",
                             "class Derived(Base): pass"}) {
    exec(change);
    exec("token = abc.get_cache_token()");
    EXPECT_EQ(PyLong_AsLongLong(var("token")), abstract_registrations());
  }
}

TEST_F(LayoutTest, KeysComeInTheOrderOfIteration) {
  exec(
      "import collections\n"
      "od = collections.OrderedDict((str(i), i) for i in range(20))\n"
      "for i in range(0, 20, 3): od.move_to_end(str(i))\n"
      "for i in range(0, 20, 4): del od[str(i)]\n"
      "d = {i: i for i in range(50)}\n"
      "for i in range(0, 50, 2): del d[i]\n"
      "class C: pass\n"
      "o = C(); o.a = 1; o.b = 2; p = C(); p.b = 1; p.a = 2; s = p.__dict__");
  for (const char* dict : {"od", "d", "s"}) {
    Ref expected = Ref::steal(PySequence_List(var(dict)));
    DictKeys keys(var(dict));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(expected.get()); ++i) {
      EXPECT_EQ(keys.next(), PyList_GET_ITEM(expected.get(), i)) << dict;
    }
    EXPECT_EQ(keys.next(), nullptr);
  }
}

TEST_F(LayoutTest, LookUpsAgreeWithPythons) {
  exec(
      "tables = [\n"
      "  {}, {'a': 1}, {i: i for i in range(1000)},\n"
      "  {str(i): i for i in range(70000)},\n"
      "  {(i, str(i)): i for i in range(300)},\n"
      "  {i * 2 ** 20: i for i in range(200)},\n"
      "]\n"
      "for t in tables[2:]:\n"
      "  for k in list(t)[::3]: del t[k]\n"
      "class C: pass\n"
      "o = C(); o.a = 1; tables.append(o.__dict__)\n"
      "keys = [k for t in tables for k in list(t)[:500]] + ['zz', 10 ** 8]");
  Ref tables = Ref::share(var("tables"));
  Ref keys = Ref::share(var("keys"));
  for (Py_ssize_t t = 0; t < PyList_GET_SIZE(tables.get()); ++t) {
    PyObject* table = PyList_GET_ITEM(tables.get(), t);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(keys.get()); ++k) {
      PyObject* key = PyList_GET_ITEM(keys.get(), k);
      const DictLookup found =
          dict_lookup(table, key, PyObject_Hash(key), never_known);
      PyObject* expected = PyDict_GetItem(table, key);
      // The same key object is in the table, or none that is equal.
      if (found.known) {
        ASSERT_EQ(found.value, expected) << t << " " << k;
      }
      ASSERT_TRUE(found.known || expected != nullptr);
    }
  }
}

TEST_F(LayoutTest, EqualHashesAskTheComparison) {
  exec("d = {1: 'one', 'k': 0}\nkey = 2 ** 61 - 1 + 1");
  PyObject* key = var("key");
  ASSERT_EQ(PyObject_Hash(key), 1);
  EXPECT_FALSE(dict_lookup(var("d"), key, 1, never_known).known);
  const auto different = [](PyObject*, PyObject*) noexcept { return 0; };
  EXPECT_TRUE(dict_lookup(var("d"), key, 1, different).known);
  EXPECT_EQ(dict_lookup(var("d"), key, 1, different).value, nullptr);
}

TEST_F(LayoutTest, InlineValuesAreFoundByName) {
  exec(
      "class C:\n"
      "  def __init__(self): self.a = 1; self.b = 'two'\n"
      "o = C(); p = C(); del p.a; p.c = 3\n"
      "q = C(); q.__dict__\n"
      "class S:\n  __slots__ = ()\n"
      "s = S()");
  Ref a = Ref::steal(PyUnicode_InternFromString("a"));
  Ref built = Ref::steal(PyUnicode_FromFormat("%c", 'b'));
  Ref missing = Ref::steal(PyUnicode_InternFromString("zz"));
  PyObject** place = inline_value(var("o"), a);
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(PyLong_AsLong(*place), 1);
  ASSERT_NE(inline_value(var("o"), built), nullptr);
  EXPECT_STREQ(PyUnicode_AsUTF8(*inline_value(var("o"), built)), "two");
  EXPECT_EQ(inline_value(var("o"), missing), nullptr);
  EXPECT_EQ(*inline_value(var("p"), a), nullptr);
  EXPECT_EQ(inline_count(var("p")), 2);
  EXPECT_STREQ(PyUnicode_AsUTF8(inline_name(var("p"), 0)), "b");
  EXPECT_STREQ(PyUnicode_AsUTF8(inline_name(var("p"), 1)), "c");
  EXPECT_EQ(*shared_key_count(Py_TYPE(var("o"))), 3);
  // With a dict there are no inline values.
  EXPECT_EQ(*dict_slot(var("o")), nullptr);
  EXPECT_NE(*dict_slot(var("q")), nullptr);
  EXPECT_EQ(inline_value(var("q"), a), nullptr);
  EXPECT_EQ(inline_count(var("q")), -1);
  EXPECT_EQ(*values_slot(var("q")), nullptr);
  EXPECT_EQ(dict_slot(var("s")), nullptr);
  EXPECT_EQ(values_slot(var("s")), nullptr);
}

TEST_F(LayoutTest, TheSlotOfADictIsFoundInEveryKindOfObject) {
  exec(
      "import types\n"
      "class T(tuple): pass\n"
      "class I(int): pass\n"
      "class L(list): pass\n"
      "class E(Exception): pass\n"
      "def f(): pass\n"
      "objects = [T((1, 2, 3)), T(), I(-(1 << 90)), I(0), L(), E(), f,\n"
      "           types.ModuleType('m'), T]\n"
      "for i, o in enumerate(objects): o.mark = i");
  Ref objects = Ref::share(var("objects"));
  Ref mark = Ref::steal(PyUnicode_InternFromString("mark"));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(objects.get()); ++i) {
    PyObject* object = PyList_GET_ITEM(objects.get(), i);
    PyObject** slot = dict_slot(object);
    ASSERT_NE(slot, nullptr) << i;
    PyObject* value = nullptr;
    if (*slot != nullptr) {
      value = PyDict_GetItem(*slot, mark);
    } else {
      PyObject** place = inline_value(object, mark);
      ASSERT_NE(place, nullptr) << i;
      value = *place;
    }
    ASSERT_NE(value, nullptr) << i;
    EXPECT_EQ(PyLong_AsLong(value), i);
  }
}

}  // namespace
}  // namespace magneto::python
