// SPDX-License-Identifier: BSD-3-Clause
// When a program may skip its steps, and when it must not: unchanged words,
// renewed words, objects that die, addresses that are used again.
#include <random>

#include "guards/fixture.h"
#include "guards/program.h"

namespace magneto::guards {
namespace {

class PinTest : public GuardFixture {
 protected:
  PinTest() {
    exec(
        "import gc, weakref\n"
        "class Module:\n"
        "  def __init__(self, **kw):\n"
        "    self.__dict__.update(_modules={}, _parameters={},"
        " training=True)\n"
        "    for k, v in kw.items():\n"
        "      kind = '_modules' if isinstance(v, Module) else '_parameters'\n"
        "      self.__dict__[kind][k] = v\n"
        "class Plain: pass\n"
        "def model():\n"
        "  return Module(a=Module(w=bytearray(1)), b=Module(w=bytearray(2)))\n"
        "x = model()");
  }

  SourceId x() { return sources_.local(0, name("x")); }
  SourceId attr(SourceId base, const char* text) {
    return sources_.instance_attr(base, name(text));
  }
  SourceId item(SourceId base, const char* key) {
    return sources_.dict_item(base, name(key));
  }
  SourceId sub(SourceId base, const char* key) {
    return item(attr(base, "_modules"), key);
  }

  // The guards that a trace of such a model leaves.
  void record_module(SourceId source, std::vector<const char*> modules) {
    guards_.type_is(source, module_type());
    guards_.constant_equals(attr(source, "training"), Py_True);
    guards_.absent(attr(source, "hook"));
    for (const char* key : modules) record_module(sub(source, key), {});
  }
  SourceId weight(const char* module, Py_ssize_t length) {
    const SourceId source = item(attr(sub(x(), module), "_parameters"), "w");
    guards_.tensor(source, shape(length));
    return source;
  }
  PyTypeObject* module_type() {
    return reinterpret_cast<PyTypeObject*>(var("Module"));
  }

  std::unique_ptr<GuardProgram> model_program() {
    record_module(x(), {"a", "b"});
    const SourceId a = weight("a", 1);
    return compiled({a, weight("b", 2)});
  }

  uint64_t precise(GuardProgram& program) {
    return program.counts().precise_runs;
  }
};

TEST_F(PinTest, AnUnchangedModelIsReadOnce) {
  const auto program = model_program();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(precise(*program), 1u);
  EXPECT_EQ(program->counts().pinned_runs, 4u);
  EXPECT_EQ(program->counts().renewed_groups, 0u);
  EXPECT_EQ(inputs_[0], keep(eval("x._modules['a']._parameters['w']")));
}

TEST_F(PinTest, AWriteOfSomethingElseRenewsOneGroup) {
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("x._modules['a'].counter = 1; x.counter = 2");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().renewed_groups, 2u);
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().renewed_groups, 2u);
  EXPECT_EQ(precise(*program), 1u);
}

TEST_F(PinTest, AGuardedWriteFailsAndComingBackHolds) {
  const auto program = model_program();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(*program, view({"x"})));
    exec("x._modules['b'].training = False");
    EXPECT_FALSE(run(*program, view({"x"})));
    EXPECT_FALSE(run(*program, view({"x"})));
    exec("x._modules['b'].training = True");
  }
  EXPECT_EQ(precise(*program), 1u);
}

TEST_F(PinTest, AReplacedTensorIsTheNewInput) {
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("x._modules['a']._parameters['w'] = bytearray(1)");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], keep(eval("x._modules['a']._parameters['w']")));
  EXPECT_EQ(precise(*program), 1u);
  exec("x._modules['a']._parameters['w'] = bytearray(7)");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x._modules['a']._parameters['w'].clear()");
  exec("x._modules['a']._parameters['w'].append(0)");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], keep(eval("x._modules['a']._parameters['w']")));
}

TEST_F(PinTest, AReplacedModuleIsReadAnew) {
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("x._modules['a'] = Module(w=bytearray(1))");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(precise(*program), 2u);
  EXPECT_EQ(inputs_[0], keep(eval("x._modules['a']._parameters['w']")));
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(precise(*program), 2u);
  exec("x._modules['a'] = Module(w=bytearray(3))");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(PinTest, AnotherDictIsSeen) {
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  // The first one stays alive and unchanged.
  exec("first = x.__dict__; x.__dict__ = dict(first, training=False)");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x.__dict__ = dict(first)");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(precise(*program), 1u);
}

TEST_F(PinTest, AnotherClassIsSeen) {
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("class Sub(Module): pass\nx._modules['a'].__class__ = Sub");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x._modules['a'].__class__ = Module");
  EXPECT_TRUE(run(*program, view({"x"})));
}

TEST_F(PinTest, InlineValuesThatBecomeADictAreFollowed) {
  exec("x = Plain(); x.o = Plain(); x.o.n = 1; x.o.t = bytearray(1)");
  const SourceId o = attr(x(), "o");
  guards_.constant_equals(attr(o, "n"), keep(eval("1")));
  guards_.absent(attr(o, "later"));
  guards_.tensor(attr(o, "t"), shape(1));
  const auto program = compiled({attr(o, "t")});
  ASSERT_TRUE(run(*program, view({"x"})));
  ASSERT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().pinned_runs, 1u);
  exec("x.o.__dict__");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_TRUE(run(*program, view({"x"})));
  exec("x.o.later = 1");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("del x.o.later");
  EXPECT_TRUE(run(*program, view({"x"})));
  exec("x.o.__dict__['n'] = 2");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(PinTest, SpecializedStoresAreSeen) {
  // CPython's adaptive interpreter writes attributes and items on paths of its
  // own once a loop is warm.
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec(
      "def store(m, values):\n"
      "  for v in values: m.training = v\n"
      "store(x, [True] * 100)");
  EXPECT_TRUE(run(*program, view({"x"})));
  exec("store(x, [False])");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("store(x, [True])");
  EXPECT_TRUE(run(*program, view({"x"})));
  exec(
      "def put(d, values):\n"
      "  for v in values: d['w'] = v\n"
      "put(x._modules['a']._parameters, [bytearray(1)] * 100)");
  EXPECT_TRUE(run(*program, view({"x"})));
  exec("put(x._modules['a']._parameters, [bytearray(3)])");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(PinTest, ConstantsAtAReusedAddressAreTheirNewValue) {
  // Lists and inline values carry no version: an equal address could be an
  // equal value or the next object that was put there.
  exec("x = Plain(); x.l = [10 ** 6, 0.5]; x.n = 10 ** 7");
  const SourceId list = attr(x(), "l");
  guards_.constant_equals(sources_.list_item(list, 0), keep(eval("10 ** 6")));
  guards_.constant_equals(sources_.list_item(list, 1), keep(eval("0.5")));
  guards_.constant_equals(attr(x(), "n"), keep(eval("10 ** 7")));
  const auto program = compiled();
  names_.clear();
  for (int i = 0; i < 50; ++i) {
    exec(
        "x.l[0] = int('1000000'); x.l[1] = float('0.5'); x.n = "
        "int('10000000')");
    ASSERT_TRUE(run(*program, view({"x"})));
    exec("x.l[0] = None; x.l[0] = int('1000001')");
    ASSERT_FALSE(run(*program, view({"x"})));
    exec("x.l[0] = int('1000000'); x.l[1] = None; x.l[1] = float('0.25')");
    ASSERT_FALSE(run(*program, view({"x"})));
    exec("x.l[1] = float('0.5'); x.n = None; x.n = int('10000001')");
    ASSERT_FALSE(run(*program, view({"x"})));
  }
}

TEST_F(PinTest, AnItemThatWentAndCameBackIsReadRight) {
  exec(
      "x = Plain(); x.l = [bytearray(1), bytearray(2)]\n"
      "old = x.l[0]");
  const SourceId list = attr(x(), "l");
  const SourceId first = sources_.list_item(list, 0);
  guards_.tensor(first, shape(1));
  guards_.tensor(sources_.list_item(list, 1), shape(2));
  guards_.length(list, 2);
  const auto program = compiled({first});
  ASSERT_TRUE(run(*program, view({"x"})));
  // The first item changes to one that fits, the second to one that doesn't.
  exec("x.l[0] = bytearray(1); second = x.l[1]; x.l[1] = 3");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x.l[0] = old; x.l[1] = second");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], var("old"));
}

TEST_F(PinTest, AReplacedLeafIsLookedAtWhereItIsNow) {
  exec("x = Plain(); x.__dict__; x.l = [1, 2]; x.t = bytearray(3)");
  guards_.length(attr(x(), "l"), 2);
  guards_.tensor(attr(x(), "t"), shape(3));
  for (const bool with_words : {true, false}) {
    if (!with_words) hooks().tensor.words = nullptr;
    const auto program = compiled();
    ASSERT_TRUE(run(*program, view({"x"})));
    for (const char* change : {"l", "t"}) {
      const std::string at = std::string("x.") + change;
      const std::string fresh = change[0] == 'l' ? "[None, 4]" : "bytearray(3)";
      exec(at + " = " + fresh);
      EXPECT_TRUE(run(*program, view({"x"})));
      EXPECT_EQ(precise(*program), 1u);
      exec(at + ".append(1)");
      EXPECT_FALSE(run(*program, view({"x"}))) << at;
      exec(at + ".pop()");
      EXPECT_TRUE(run(*program, view({"x"}))) << at;
    }
  }
}

TEST_F(PinTest, ALeafThatNeedsAnotherCheckGetsIt) {
  // An object's keys are covered by words once it has a dict, not before.
  exec(
      "class Keys: pass\n"
      "def make(d):\n"
      "  k = Keys(); k.a = 1\n"
      "  if d: k.__dict__\n"
      "  return k\n"
      "x = Plain(); x.__dict__; x.k = make(True)");
  guards_.instance_keys(attr(x(), "k"), keep(eval("('a',)")));
  const auto program = compiled();
  for (const char* made : {"True", "False", "True", "False"}) {
    exec(std::string("x.k = make(") + made + ")");
    EXPECT_TRUE(run(*program, view({"x"})));
    EXPECT_TRUE(run(*program, view({"x"})));
    exec("x.k.b = 2");
    EXPECT_FALSE(run(*program, view({"x"}))) << made;
    exec("del x.k.b");
    EXPECT_TRUE(run(*program, view({"x"}))) << made;
  }
}

TEST_F(PinTest, APoppedItemIsNotReadFromTheListsSpareRoom) {
  exec("x = Plain(); x.l = [bytearray(1), bytearray(2), bytearray(3)]");
  const SourceId last = sources_.list_item(attr(x(), "l"), 2);
  guards_.tensor(last, shape(3));
  const auto program = compiled({last});
  ASSERT_TRUE(run(*program, view({"x"})));
  exec("x.l.pop()");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(PinTest, AListThatMovedIsReadWhereItIsNow) {
  exec(
      "x = Plain(); x.l = [bytearray(1) for i in range(40)]\n"
      "old = list(x.l)");
  const SourceId item = sources_.list_item(attr(x(), "l"), 30);
  guards_.tensor(item, shape(1));
  const auto program = compiled({item});
  ASSERT_TRUE(run(*program, view({"x"})));
  // The old storage is freed; what it held may still stand there.
  exec("x.l.extend(range(100000)); del x.l[40:]; x.l[30] = bytearray(2)");
  EXPECT_FALSE(run(*program, view({"x"})));
  exec("x.l[30] = bytearray(1)");
  EXPECT_TRUE(run(*program, view({"x"})));
}

TEST_F(PinTest, NothingOfTheUsersIsKeptAlive) {
  const auto program = model_program();
  ASSERT_TRUE(run(*program, view({"x"})));
  exec(
      "class Tensor(bytearray): pass\n"
      "w = weakref.ref(x); m = weakref.ref(x._modules['a'])\n"
      "del x");
  locals_.clear();
  names_.clear();
  inputs_.clear();
  EXPECT_TRUE(is_true("w() is None and m() is None"));
  exec("x = model()");
  EXPECT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], keep(eval("x._modules['a']._parameters['w']")));
}

TEST_F(PinTest, ManyShortLivedModelsAreToldApart) {
  // Each model is freed before the next is made, so addresses are used again.
  const auto program = model_program();
  exec("x = None");
  for (int i = 0; i < 60; ++i) {
    exec(i % 3 == 0 ? "x = None; x = model(); x._modules['b'].training = False"
                    : "x = None; x = model()");
    ASSERT_EQ(run(*program, view({"x"})), i % 3 != 0) << i;
    ASSERT_EQ(run(*program, view({"x"})), i % 3 != 0) << i;
    if (i % 3 != 0) {
      ASSERT_EQ(inputs_[1], keep(eval("x._modules['b']._parameters['w']")));
      names_.clear();
    }
  }
}

TEST_F(PinTest, APinThatNeverHelpsIsMadeLessOften) {
  exec("models = [model() for i in range(4)]");
  const auto program = model_program();
  for (int i = 0; i < 400; ++i) {
    exec("x = models[" + std::to_string(i % 4) + "]");
    ASSERT_TRUE(run(*program, view({"x"})));
  }
  EXPECT_EQ(program->counts().pinned_runs, 0u);
  // And comes back when it does.
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(run(*program, view({"x"})));
  EXPECT_GT(program->counts().pinned_runs, 30u);
}

TEST_F(PinTest, TheDeathOfAComparedObjectEndsTheProgram) {
  exec("x = Plain()\ndef f(): pass\nx.f = f");
  guards_.identity(attr(x(), "f"), var("f"));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  guards_.undo(0, 0);  // the trace is over: its guards let go of f
  exec("w = weakref.ref(f); del f");
  ASSERT_TRUE(program->run(view({"x"}), nullptr));
  exec("del x.f");
  EXPECT_TRUE(is_true("w() is None"));
  EXPECT_FALSE(program->alive());
  exec("x.f = lambda: 0");
  EXPECT_FALSE(program->run(view({"x"}), nullptr));
  EXPECT_EQ(program->explain_failure(view({"x"})),
            "an object that the guards compare with no longer exists");
}

TEST_F(PinTest, TheDeathOfAClassEndsTheProgram) {
  exec("class C: pass\nx = C()");
  guards_.type_is(x(), Py_TYPE(var("x")));
  guards_.not_none(sources_.type_attr(sources_.type_of(x()), name("__dict__")));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  journal_.rollback(0);
  exec("x = None; del C; gc.collect()");
  EXPECT_FALSE(program->alive());
}

TEST_F(PinTest, DescriptorsDoNotKeepTheirClass) {
  exec(
      "class C:\n"
      "  __slots__ = ('s', '__weakref__', '__dict__')\n"
      "  @property\n"
      "  def p(self): return 1\n"
      "  @staticmethod\n"
      "  def t(): pass\n"
      "  @classmethod\n"
      "  def c(cls): pass\n"
      "x = C()");
  const SourceId type = sources_.type_of(x());
  std::unique_ptr<GuardProgram> program;
  {
    Journal journal;
    GuardSet guards(journal);
    for (const char* key : {"s", "p", "t", "c", "__dict__"}) {
      const SourceId source = sources_.type_attr(type, name(key));
      const Reading reading = sources_.read(source, view({"x"}));
      ASSERT_TRUE(reading.is_present());
      guards.identity(source, reading.value());
    }
    program = compile(sources_, guards, {}, {});
  }
  EXPECT_TRUE(program->run(view({"x"}), nullptr));
  EXPECT_EQ(program->describe()[1], "type(x).p is the property that was seen");
  exec("old = C.__dict__['p']; C.p = property(lambda self: 2)");
  EXPECT_FALSE(program->run(view({"x"}), nullptr));
  EXPECT_EQ(program->explain_failure(view({"x"})),
            "type(x).p is the property that was seen, but it is a property"
            " object");
  exec("C.p = old; C.new = 3");
  EXPECT_TRUE(program->run(view({"x"}), nullptr));
  EXPECT_TRUE(program->run(view({"x"}), nullptr));
  exec("C.t = staticmethod(lambda: 0)");
  EXPECT_FALSE(program->run(view({"x"}), nullptr));
  exec("w = weakref.ref(C); del C, x, old; gc.collect()");
  EXPECT_TRUE(is_true("w() is None"));
  EXPECT_FALSE(program->alive());
}

TEST_F(PinTest, ANamespaceIsWatchedThroughItsModule) {
  exec(
      "import sys, types\n"
      "m = sys.modules['pin_test_module'] = types.ModuleType("
      "'pin_test_module')\n"
      "m.n = 1; d = m.__dict__; x = 0");
  const SourceId n = item(sources_.constant(var("d")), "n");
  std::unique_ptr<GuardProgram> program;
  {
    Journal journal;
    GuardSet guards(journal);
    guards.constant_equals(n, keep(eval("1")));
    program = compile(sources_, guards, {}, {});
  }
  EXPECT_EQ(program->describe(),
            std::vector<std::string>{"pin_test_module.n == 1"});
  EXPECT_TRUE(program->run(view({"x"}), nullptr));
  exec("m.n = 2");
  EXPECT_FALSE(program->run(view({"x"}), nullptr));
  exec("m.n = 1");
  EXPECT_TRUE(program->run(view({"x"}), nullptr));
  exec("del m, sys.modules['pin_test_module']");
  EXPECT_FALSE(program->alive());
}

TEST_F(PinTest, TypesThatCannotBeWrittenToNeedNoGuard) {
  exec("x = [1]");
  const SourceId list =
      sources_.constant(reinterpret_cast<PyObject*>(&PyList_Type));
  guards_.absent(sources_.type_attr(list, name("foo")));
  guards_.identity(sources_.type_attr(list, name("append")),
                   keep(eval("list.append")));
  guards_.type_is(x(), &PyList_Type);
  const auto program = compiled();
  EXPECT_EQ(program->describe(), std::vector<std::string>{"type(x) is list"});
  EXPECT_EQ(program->node_count(), 1u);
}

TEST_F(PinTest, ADroppedProgramLeavesNoReferences) {
  exec(
      "def f(): pass\n"
      "before = None\n"
      "x = Plain(); x.f = f; x.n = 12345678");
  {
    guards_.identity(attr(x(), "f"), var("f"));
    guards_.constant_equals(attr(x(), "n"), keep(eval("12345678")));
    const auto program = compiled();
    ASSERT_TRUE(run(*program, view({"x"})));
    EXPECT_GT(PyObject_Size(keep(eval("weakref.getweakrefs(f)"))), 0);
    names_.clear();
  }
  EXPECT_TRUE(is_true("weakref.getweakrefs(f) == []"));
}

TEST_F(PinTest, OneSharedModuleUnderTwoNamesIsReadTwice) {
  exec("x._modules['b'] = x._modules['a']");
  record_module(x(), {"a", "b"});
  const SourceId a = sub(x(), "a");
  const SourceId b = sub(x(), "b");
  guards_.same_object(a, b);
  const auto program = compiled({a, b});
  ASSERT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(inputs_[0], inputs_[1]);
  exec("x._modules['b'] = Module()");
  EXPECT_FALSE(run(*program, view({"x"})));
}

TEST_F(PinTest, GradsAreReadOnEveryRun) {
  // The hook reads what no word shows.
  static PyObject* grad = nullptr;
  hooks().tensor.grad = [](PyObject*) noexcept { return grad; };
  exec("g1 = bytearray(1); g2 = bytearray(2)");
  const SourceId w = item(attr(x(), "_parameters"), "w");
  exec("x._parameters['w'] = bytearray(4)");
  guards_.tensor(w, shape(4));
  const SourceId g = sources_.field(w, SourceKind::TensorGrad);
  guards_.tensor(g, shape(1));
  const auto program = compiled({g});
  grad = var("g1");
  ASSERT_TRUE(run(*program, view({"x"})));
  ASSERT_TRUE(run(*program, view({"x"})));
  EXPECT_EQ(program->counts().pinned_runs, 1u);
  EXPECT_EQ(inputs_[0], var("g1"));
  grad = var("g2");
  EXPECT_FALSE(run(*program, view({"x"})));
  grad = Py_None;
  EXPECT_FALSE(run(*program, view({"x"})));
  grad = var("g1");
  EXPECT_TRUE(run(*program, view({"x"})));
}

// ---- Random graphs of objects ----------------------------------------------

constexpr const char* kRandomWorld =
    "import random\n"
    "class Slot:\n  __slots__ = ('a', 'b', '__weakref__')\n"
    "def make(r, depth):\n"
    "  kind = r.randrange(8 if depth else 3)\n"
    "  if kind == 0: return r.choice([0, 1, 2.5, None, True, 'k', 10 ** 9])\n"
    "  if kind == 1: return bytearray(r.randrange(3))\n"
    "  if kind == 2: return (r.randrange(3), 'x')\n"
    "  if kind == 3: return [make(r, depth - 1) for i in "
    "range(r.randrange(4))]\n"
    "  if kind == 4: return {k: make(r, depth - 1) for k in 'abc'}\n"
    "  o = [Plain, Slot, Module][kind % 3]()\n"
    "  if r.randrange(2) and kind % 3 == 0: o.__dict__\n"
    "  for k in 'ab': setattr(o, k, make(r, depth - 1))\n"
    "  return o\n"
    "def containers(o, found):\n"
    "  found.append(o)\n"
    "  if isinstance(o, list): parts = o\n"
    "  elif isinstance(o, dict): parts = o.values()\n"
    "  elif isinstance(o, Slot):\n"
    "    parts = [getattr(o, k) for k in 'ab' if hasattr(o, k)]\n"
    "  elif isinstance(o, (Plain, Module)):\n"
    "    parts = [getattr(o, k) for k in 'ab' if hasattr(o, k)]\n"
    "  elif isinstance(o, bytearray): return found\n"
    "  else:\n"
    "    found.pop(); return found\n"
    "  for p in parts: containers(p, found)\n"
    "  return found\n"
    "undo = []\n"
    "def change(r, root):\n"
    "  o = r.choice(containers(root, []))\n"
    "  old = None\n"
    "  if isinstance(o, bytearray):\n"
    "    o.append(0); undo.append(lambda: o.pop()); return\n"
    "  if isinstance(o, list):\n"
    "    old = list(o)\n"
    "    undo.append(lambda: o.__setitem__(slice(None), old))\n"
    "    if o and r.randrange(3): o[r.randrange(len(o))] = make(r, 1)\n"
    "    elif o and r.randrange(2): o.pop()\n"
    "    else: o.append(make(r, 1))\n"
    "    return\n"
    "  if isinstance(o, dict):\n"
    "    old = dict(o)\n"
    "    undo.append(lambda: (o.clear(), o.update(old)))\n"
    "    k = r.choice('abcd')\n"
    "    if r.randrange(3): o[k] = make(r, 1)\n"
    "    elif k in o: del o[k]\n"
    "    return\n"
    "  k = r.choice('abc' if not isinstance(o, Slot) else 'ab')\n"
    "  had = hasattr(o, k)\n"
    "  old = getattr(o, k, None)\n"
    "  undo.append(lambda: setattr(o, k, old) if had else delattr(o, k))\n"
    "  if had and not r.randrange(4):\n"
    "    undo.pop(); delattr(o, k); undo.append(lambda: setattr(o, k, old))\n"
    "  else: setattr(o, k, make(r, 1))\n"
    "def undo_all():\n"
    "  while undo: undo.pop()()\n";

class RandomPinTest : public PinTest, public testing::WithParamInterface<int> {
 protected:
  // Guards on everything below `source`, as it is now.
  void record(SourceId source, PyObject* value, int depth = 0) {
    if (PyByteArray_CheckExact(value)) {
      return guards_.tensor(source, shape(PyByteArray_GET_SIZE(value)));
    }
    if (is_constant(value)) return guards_.constant_equals(source, value);
    guards_.type_is(source, Py_TYPE(value));
    if (PyList_CheckExact(value)) {
      guards_.length(source, PyList_GET_SIZE(value));
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); ++i) {
        record(sources_.list_item(source, i), PyList_GET_ITEM(value, i));
      }
      return;
    }
    if (PyDict_CheckExact(value)) {
      guards_.dict_keys(source, keep(Ref::steal(PySequence_Tuple(value))));
      PyObject *key, *item_value;
      Py_ssize_t position = 0;
      while (PyDict_Next(value, &position, &key, &item_value)) {
        record(sources_.dict_item(source, key), item_value);
      }
      return;
    }
    const bool slots = Py_TYPE(value) == slot_type();
    for (const char* key : {"a", "b"}) {
      const SourceId child =
          slots ? sources_.slot_member(source,
                                       keep(eval(std::string("Slot.") + key)))
                : attr(source, key);
      const Reading reading =
          slots
              ? read_slot_member(value, keep(eval(std::string("Slot.") + key)))
              : read_instance_attr(value, name(key));
      if (reading.is_present()) record(child, reading.value());
      if (reading.is_absent()) guards_.absent(child);
    }
    if (!slots) guards_.absent(attr(source, "c"));
  }
  PyTypeObject* slot_type() {
    return reinterpret_cast<PyTypeObject*>(var("Slot"));
  }
};

TEST_P(RandomPinTest, PinsAndPreciseStepsAlwaysAgree) {
  exec(kRandomWorld);
  if (GetParam() % 2 == 0) hooks().tensor.words = nullptr;
  exec("r = random.Random(" + std::to_string(GetParam()) + ")");
  exec("x = Plain(); x.a = make(r, 5); x.b = make(r, 5)");
  record(x(), var("x"));
  const auto program = compiled();
  ASSERT_TRUE(run(*program, view({"x"})));
  int held = 0;
  for (int round = 0; round < 60; ++round) {
    exec("for i in range(r.randrange(3)): change(r, x)");
    held += run(*program, view({"x"}));  // run() compares with a fresh program
    if (round % 3 == 0) {
      exec("undo_all()");
      ASSERT_TRUE(run(*program, view({"x"}))) << round;
    }
  }
  EXPECT_GT(held, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPinTest, testing::Range(0, 40));

}  // namespace
}  // namespace magneto::guards
