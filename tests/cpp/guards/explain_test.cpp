// SPDX-License-Identifier: BSD-3-Clause
// What a user reads of a failed guard, and relations and ambient state.
#include "guards/fixture.h"
#include "guards/program.h"
#include "guards/show.h"

namespace magneto::guards {
namespace {

int64_t grad_mode = 1;

class ExplainTest : public GuardFixture {
 protected:
  ExplainTest() {
    grad_mode = 1;
    AmbientHook& hook = hooks().ambient[static_cast<size_t>(Ambient::GradMode)];
    hook.read = []() noexcept { return grad_mode; };
    hook.print = [](int64_t value) -> std::string {
      return value ? "True" : "False";
    };
  }

  SourceId x() { return sources_.local(0, name("x")); }
  SourceId y() { return sources_.local(1, name("y")); }
  SourceId attr(const char* text) {
    return sources_.instance_attr(x(), name(text));
  }

  // What the compiled guards say after `change`.
  std::string after(const std::string& change,
                    std::initializer_list<const char*> arguments = {"x"}) {
    const auto program = compiled();
    EXPECT_TRUE(run(*program, view(arguments)));
    exec(change);
    EXPECT_FALSE(run(*program, view(arguments)));
    return program->explain_failure(view(arguments));
  }
};

struct TextCase {
  const char* name;
  const char* seen;    // of x.o
  const char* record;  // which guard
  const char* change;
  const char* text;
};

class ExplainTextTest : public ExplainTest,
                        public testing::WithParamInterface<TextCase> {};

TEST_P(ExplainTextTest, NamesTheSourceAndBothValues) {
  const TextCase& test = GetParam();
  exec(
      "import collections, math, types\n"
      "torch_like = types.ModuleType('torch_like')\n"
      "class Linear: pass\n"
      "class C: pass\n"
      "def relu(): pass\n"
      "def gelu(): pass\n"
      "x = C()");
  exec(std::string("x.o = ") + test.seen);
  const std::string kind = test.record;
  PyObject* seen = keep(eval("x.o"));
  if (kind == "constant") guards_.constant_equals(attr("o"), seen);
  if (kind == "identity") guards_.identity(attr("o"), seen);
  if (kind == "type") guards_.type_is(attr("o"), Py_TYPE(seen));
  if (kind == "not_none") guards_.not_none(attr("o"));
  if (kind == "length") guards_.length(attr("o"), PyObject_Size(seen));
  if (kind == "limit") guards_.deque_limit(attr("o"), 3);
  if (kind == "position") guards_.iterator_position(attr("o"), 0);
  if (kind == "absent") guards_.absent(attr("p"));
  if (kind == "keys") {
    guards_.dict_keys(attr("o"), keep(Ref::steal(PySequence_Tuple(seen))));
  }
  if (kind == "instance_keys") {
    guards_.instance_keys(x(), keep(eval("('o',)")));
  }
  if (kind == "items") {
    guards_.set_items(attr("o"), keep(Ref::steal(PyFrozenSet_New(seen))));
  }
  if (kind == "table") guards_.set_table(attr("o"), seen);
  if (kind == "tensor") guards_.tensor(attr("o"), shape(4));
  EXPECT_EQ(after(test.change), test.text);
}

INSTANTIATE_TEST_SUITE_P(
    Texts, ExplainTextTest,
    testing::Values(
        TextCase{"bool", "True", "constant", "x.o = False",
                 "x.o is True, but it is False"},
        TextCase{"number", "4", "constant", "x.o = 5", "x.o == 4, but it is 5"},
        TextCase{"number_type", "4", "constant", "x.o = 4.0",
                 "x.o == 4, but it is 4.0"},
        TextCase{"text", "'a'", "constant", "x.o = None",
                 "x.o == 'a', but it is None"},
        TextCase{"gone", "4", "constant", "del x.o",
                 "x.o exists, but it doesn't"},
        TextCase{"function", "relu", "identity", "x.o = gelu",
                 "x.o is relu, but it is gelu"},
        TextCase{"builtin", "len", "identity", "x.o = abs",
                 "x.o is len, but it is abs"},
        TextCase{"module", "math", "identity", "x.o = torch_like",
                 "x.o is math, but it is torch_like"},
        TextCase{"alike", "C()", "identity", "x.o = C()",
                 "x.o is a C object, but it is another object that reads the"
                 " same"},
        TextCase{"type", "Linear()", "type", "x.o = C()",
                 "type(x.o) is Linear, but it is C"},
        TextCase{"builtin_type", "1", "type", "x.o = []",
                 "type(x.o) is int, but it is list"},
        TextCase{"none", "C()", "not_none", "x.o = None",
                 "x.o is not None, but it is None"},
        TextCase{"length", "[1, 2]", "length", "x.o.append(3)",
                 "len(x.o) == 2, but it is 3"},
        TextCase{"limit", "collections.deque([], 3)", "limit",
                 "x.o = collections.deque([], 4)",
                 "x.o.maxlen == 3, but it is 4"},
        TextCase{"position", "iter(range(3))", "position", "next(x.o)",
                 "next(x.o) == 0, but it is 1"},
        TextCase{"absent", "1", "absent", "x.p = 7",
                 "'p' not in vars(x), but it is there: 7"},
        TextCase{"keys", "dict(a=1)", "keys", "x.o['b'] = 1",
                 "list(x.o) == ['a'], but it is ['a', 'b']"},
        TextCase{"instance_keys", "1", "instance_keys", "x.q = 1",
                 "list(vars(x)) == ['o'], but it is ['o', 'q']"},
        TextCase{"items", "{1}", "items", "x.o.add(2)",
                 "set(x.o) == [1], but it is [1, 2]"},
        TextCase{"table", "{8, 16}", "table", "x.o = {16, 8}",
                 "list(x.o) == [8, 16] with the same gaps in its table, but it"
                 " is [16, 8]"},
        TextCase{"tensor", "bytearray(4)", "tensor", "x.o.append(0)",
                 "x.o.size(0) == 4, but it is 5"}),
    [](const auto& test) { return test.param.name; });

TEST_F(ExplainTest, AmbientState) {
  exec("x = 1");
  guards_.ambient(Ambient::GradMode);
  grad_mode = 0;
  guards_.ambient(Ambient::GradMode);  // what the trace set itself
  grad_mode = 1;
  const auto program = compiled();
  EXPECT_TRUE(run(*program, view({"x"})));
  grad_mode = 0;
  EXPECT_FALSE(run(*program, view({"x"})));
  EXPECT_EQ(program->explain_failure(view({"x"})),
            "torch.is_grad_enabled() is True, but it is False");
  EXPECT_EQ(program->describe(),
            std::vector<std::string>{"torch.is_grad_enabled() is True"});
}

TEST_F(ExplainTest, ConditionsOnNumbers) {
  exec("x = bytearray(8); y = bytearray(8); n = 4; l = [1, 2]");
  shapes::Expressions& e = environment_->expressions();
  const shapes::E a = number(IntKind::Size, x(), 0);
  const shapes::E b = number(IntKind::Size, y(), 0);
  const shapes::E n = number(IntKind::Value, sources_.local(2, name("n")));
  const shapes::E len = number(IntKind::Length, sources_.local(3, name("l")));
  condition(e.equal(a, b));
  condition(e.equal(e.make(shapes::Operation::Modulo, a, e.integer(4)),
                    e.integer(0)));
  condition(e.less_equal(e.integer(2), a));
  condition(e.less_equal(a, e.integer(100)));
  condition(e.less(n, a));
  condition(e.less(len, n));
  condition(e.logical_not(e.equal(n, e.integer(7))));
  const std::vector<Request> wanted = {{.source = {}, .number = e.add(a, n)}};
  const auto program = compile(sources_, guards_, numbers(), wanted);
  const auto call = [this] { return view({"x", "y", "n", "l"}); };
  const auto text = [&](const char* change) {
    exec(change);
    EXPECT_FALSE(run(*program, call())) << change;
    const std::string found = program->explain_failure(call());
    exec("x = bytearray(8); y = bytearray(8); n = 4; l = [1, 2]");
    EXPECT_TRUE(run(*program, call()));
    return found;
  };
  ASSERT_TRUE(run(*program, call()));
  ASSERT_EQ(program->number_count(), 1u);
  EXPECT_EQ(program->number(0).input, 0u);
  EXPECT_EQ(program->number(0).value.integer(), 12);
  EXPECT_EQ(text("y = bytearray(4)"),
            "x.size(0) == y.size(0), but x.size(0) is 8 and y.size(0) is 4");
  EXPECT_EQ(text("x = bytearray(6); y = x"),
            "x.size(0) % 4 == 0, but x.size(0) is 6");
  EXPECT_EQ(text("x = y = bytearray(0)"), "x.size(0) >= 2, but x.size(0) is 0");
  EXPECT_EQ(text("x = y = bytearray(104)"),
            "x.size(0) <= 100, but x.size(0) is 104");
  EXPECT_EQ(text("n = 7"), "n != 7, but n is 7");
  EXPECT_EQ(text("n = 1 << 70"),
            "n is a 64-bit integer, but n is 1180591620717411303424");
  EXPECT_EQ(text("x = 3"), "x.size(0) is a 64-bit integer, but x is 3");
  exec("n = 9");
  EXPECT_FALSE(run(*program, call()));
  exec("n = 4; l = [1] * 4");
  EXPECT_FALSE(run(*program, call()));
  exec("l = []; x = y = bytearray(12)");
  EXPECT_TRUE(run(*program, call()));
  EXPECT_EQ(program->number(0).value.integer(), 16);
}

TEST_F(ExplainTest, ConditionsBelowPins) {
  exec("class C: pass\nx = C(); x.n = 3; y = bytearray(3)");
  const shapes::E n = number(IntKind::Value, attr("n"));
  const shapes::E size = number(IntKind::Size, y(), 0);
  condition(environment_->expressions().equal(n, size));
  const std::vector<Request> wanted = {{.source = {}, .number = n}};
  const auto program = compile(sources_, guards_, numbers(), wanted);
  for (int i = 3; i < 9; ++i) {
    exec("x.n = " + std::to_string(i) + "; y = bytearray(x.n)");
    EXPECT_TRUE(run(*program, view({"x", "y"})));
    EXPECT_EQ(program->number(0).value.integer(), i);
    exec("y = bytearray(x.n + 1)");
    EXPECT_FALSE(run(*program, view({"x", "y"})));
  }
}

TEST_F(ExplainTest, VariationsAreAllThatDiffers) {
  exec("x = bytearray(8); y = 3; n = 4");
  guards_.tensor(x(), shape(8));
  guards_.constant_equals(y(), var("y"));
  guards_.constant_equals(sources_.local(2, name("n")), var("n"));
  const auto program = compiled();
  const auto call = [this] { return view({"x", "y", "n"}); };
  EXPECT_EQ(program->variations(call()), std::vector<std::string>{});
  exec("x = bytearray(9); n = 5");
  EXPECT_EQ(program->variations(call()),
            (std::vector<std::string>{"x.size(0)", "n"}));
  // An int that is a float varies; a text is no number.
  exec("x = 3; n = 'text'; y = 3.0");
  EXPECT_EQ(program->variations(call()), std::vector<std::string>{"y"});
}

TEST_F(ExplainTest, ObjectsThatShouldBeOneOrTwo) {
  exec("x = y = bytearray(1)");
  const SourceId first = x();
  guards_.same_object(y(), first);
  EXPECT_EQ(after("y = bytearray(1)", {"x", "y"}),
            "x is y, but they are two objects");
}

TEST_F(ExplainTest, ObjectsThatShouldDiffer) {
  exec("x = bytearray(1); y = bytearray(1)");
  guards_.distinct(std::vector<SourceId>{x(), y()});
  EXPECT_EQ(after("y = x", {"x", "y"}), "x is not y, but they are one object");
}

struct ViewCase {
  const char* name;
  const char* then;
  const char* now;
  const char* text;
};

class ExplainViewsTest : public ExplainTest,
                         public testing::WithParamInterface<ViewCase> {};

TEST_P(ExplainViewsTest, NamesTheBase) {
  const ViewCase& test = GetParam();
  exec(
      "def parts(first, second):\n"
      "  base, other = bytearray(1), bytearray(1)\n"
      "  known = {'base': lambda: base, 'view': lambda: memoryview(base),\n"
      "           'other': lambda: memoryview(other)}\n"
      "  return known[first](), known[second]()");
  exec(std::string("x, y = parts(") + test.then + ")");
  guards_.views(std::vector<SourceId>{x(), y()},
                std::vector<PyObject*>{var("x"), var("y")});
  EXPECT_EQ(after(std::string("x, y = parts(") + test.now + ")", {"x", "y"}),
            test.text);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExplainViewsTest,
    testing::Values(
        ViewCase{"Tensor", "'base', 'base'", "'base', 'view'",
                 "y is no view, but it is a view of x"},
        ViewCase{"Alone", "'base', 'base'", "'other', 'base'",
                 "x is no view, but it is a view of another tensor"},
        ViewCase{"ViewOfTheOther", "'base', 'view'", "'base', 'other'",
                 "y is a view of x, but it is a view of another tensor"},
        ViewCase{"ViewsOfOne", "'view', 'view'", "'view', 'other'",
                 "y is a view of the base of x, but it is a view of another "
                 "tensor"},
        ViewCase{"View", "'view', 'base'", "'base', 'base'",
                 "x is a view of y, but it is no view"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST_F(ExplainTest, UnreadableKeys) {
  exec(
      "x = {'a': 1}\n"
      "class Evil:\n"
      "  def __hash__(self): return hash('b')\n"
      "  def __eq__(self, o): return True");
  guards_.absent(sources_.dict_item(x(), name("b")));
  EXPECT_EQ(after("x[Evil()] = 1"),
            "x['b'] can be read without running Python code, but now it"
            " can't");
}

TEST_F(ExplainTest, GuardsAreListedInTheOrderOfChecking) {
  exec("class C: pass\nx = C(); x.o = [bytearray(2)]; y = 3; F = abs");
  guards_.tensor(sources_.list_item(attr("o"), 0), shape(2));
  guards_.length(attr("o"), 1);
  guards_.absent(attr("p"));
  guards_.type_is(x(), Py_TYPE(var("x")));
  guards_.constant_equals(y(), var("y"));
  guards_.identity(sources_.dict_item(sources_.globals(), name("F")), var("F"));
  guards_.ambient(Ambient::GradMode);
  condition(environment_->expressions().equal(
      number(IntKind::Value, y()), environment_->expressions().integer(3)));
  guards_.distinct(std::vector<SourceId>{x(), y()});
  guards_.views(std::vector<SourceId>{x(), y()},
                std::vector<PyObject*>{var("x"), var("y")});
  const std::vector<std::string> expected = {
      "torch.is_grad_enabled() is True",
      "y == 3",
      "type(x) is C",
      "len(x.o) == 1",
      "x.o[0]: 2",
      "'p' not in vars(x)",
      "G['F'] is abs",
      "y == 3",
      "all different objects: y x",
      "x is no view",
      "y is no view",
  };
  EXPECT_EQ(compiled()->describe(), expected);
}

TEST_F(ExplainTest, LongValuesAreShortened) {
  exec("x = 'a' * 1000");
  const std::string text = show(var("x"));
  EXPECT_EQ(text.size(), 203u);
  EXPECT_EQ(text.substr(196), "aaaa...");
}

}  // namespace
}  // namespace magneto::guards
