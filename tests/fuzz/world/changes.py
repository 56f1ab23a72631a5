# SPDX-License-Identifier: BSD-3-Clause
"""The world that programs of `guards` look at, and what changes in it, as tables."""

# What the programs see; made anew for each.
WORLD = """
class Base:
    level = 1
    kind = "base"
    def method(self, a=1): return self.level + a
    @property
    def double(self): return self.count * 2
    def __init__(self, count): self.count = count

class Sub(Base):
    kind = "sub"

class Other:
    level = 7
    count = 3
    double = 5
    def method(self, a=1): return a

class Slotted:
    __slots__ = ("u", "v")

class Meta(type):
    def __len__(cls): return cls.size
class WithMeta(metaclass=Meta):
    size = 2

class Color(enum.Enum):
    RED = 1
    BLUE = 2

@dataclasses.dataclass
class Data:
    a: object = 1
    b: object = "x"

Pair = collections.namedtuple("Pair", "p q")

def helper(a, b=2, *, c=3): return a * b + c
def helper2(a, b=5, *, c=1): return a - b - c
def shift(a): return a + number
def swing(a): return a - number

box = Base(2)
box.child = Sub(1)
box.items = [1, "a", 2.5]
box.table = {"a": 1, "b": 2}
box.tags = {"s", "t"}
box.f = shift
slotted = Slotted()
slotted.u = 1
number = 2
text = "abc"
pair = Pair(1, "q")
data = Data()
color = Color.RED
ordered = collections.OrderedDict(a=1, b=2)
grouped = collections.defaultdict(list, a=[1])
queue = collections.deque([1, 2, 3])
module = types.ModuleType("module")
module.value = 1
module.fn = shift
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
net.scale = 2
partial = functools.partial(helper, b=4)
ref = weakref.ref(box.child)
x = torch.arange(4.0)
y = torch.ones(4)
w = nn.Parameter(torch.full((4,), 0.5))

class Error(Exception): pass
class Raised(Error): pass
def raised(kind):
    try:
        raise kind
    except Error:
        return 1
    except Exception:
        return 2
cached = functools.lru_cache(lambda value: (value, number))
chosen = functools.singledispatch(lambda value: "any")
under = {"a": 1}
proxy = types.MappingProxyType(under)
context = contextvars.ContextVar("context", default=1)
log = logging.getLogger("magneto.fuzz")

def factory():
    cell = 1
    def get(): return cell
    def put(value):
        nonlocal cell
        cell = value
    return get, put
get, put = factory()
"""

PLACES = [
    "box.items",
    "box.table",
    "box.count",
    "box.child",
    "box.extra",
    "box.child.count",
    "number",
    "text",
    "pair",
    "data.a",
    "data.b",
    "color",
    "slotted.u",
    "module.value",
    "net.scale",
    "Base.level",
    "get()",
    "x",
    "ordered",
    "queue",
]
# What a program looks at, as expressions; {p} is any place.
LOOKS = """
len({p})
bool({p})
{p} == {v}
{p} is {p}
type({p})
isinstance({p}, (int, str))
isinstance({p}, Base)
str({p})
repr({p})
f"{{{p}!s:>4}}"
hash({p})
{p} + 1
{p} * 2
-{p}
{p} > 1
{p} in (1, 2.0, "a", None)
[*{p}]
{p}[0]
{p}[-1]
{p}["a"]
{p}.count
{p}[1:]
{v} in {p}
sorted({p}, key=str)
x * {p}
x.sum() + {p}
torch.full((2,), {p})
x[{p}]
max({p}, 1)
{p} and 1
not {p}
{p} or 2
callable({p})
id({p}) == id({q})
{p} is {q}
{p} == {q}
{p} is None
[{p}, {q}]
range({p})
int({p})
float({p})
box.double
box.method()
box.method({p})
box.f(x)
box.f({p})
box.child.method(2)
box.child.kind
box.child.double
type(box.child).level
type(box.child).__name__
box.child.__class__ is Sub
hasattr(box, "extra")
getattr(box, "extra", None)
getattr(box.child, "level")
box.extra
"extra" in box.__dict__
[*vars(box)]
vars(box)["count"]
isinstance(box.child, Base)
issubclass(type(box.child), Base)
hasattr(slotted, "v")
slotted.u
slotted.v
len(WithMeta)
WithMeta.size
Color.RED.value
color is Color.RED
color.name
{{Color.RED: 1}}.get(color)
pair.p
pair._replace(p=3)
dataclasses.replace(data, a=2)
dataclasses.asdict(data)
data == Data(1, "x")
helper(number)
helper(1, c={p})
helper(x)
helper.__name__
helper.__defaults__
partial(3)
partial.keywords
shift(x)
get()
x + get()
module.fn(x)
module.value
hasattr(module, "other")
ref() is box.child
ref() is None
len(box.items), box.items[0]
[i for i in box.items]
box.items.index("a")
box.items.count(1)
tuple(box.items)
box.table["a"]
box.table.get("c", 9)
[*box.table]
[*box.table.items()]
"c" in box.table
{{**box.table}}
box.table == {{"a": 1, "b": 2}}
"s" in box.tags
len(box.tags)
sorted(box.tags, key=str)
box.tags | {{"z"}} == {{"s", "t", "z"}}
[*ordered]
next(iter(ordered), None)
ordered.get("a")
[*reversed(ordered.items())]
[*grouped.items()]
"a" in grouped
queue[0]
[*queue]
queue.maxlen
net(x)
net.training
len(net)
[type(m).__name__ for m in net]
[n for n, _ in net.named_parameters()]
[n for n, _ in net.named_buffers()]
[p.requires_grad for p in net.parameters()]
net[0].weight.shape
net[0].in_features
net[0].bias is None
net.scale
x * net.scale
hasattr(net, "extra")
x.shape
x.dtype
x.stride()
x.is_contiguous()
x.requires_grad
x.ndim
x.is_leaf
x.numel() > 3
x.size(-1)
x.storage_offset()
x.dim() == y.dim()
x.shape == y.shape
x.size(0) == y.size(0)
x is y
x.dtype == y.dtype
x + y
x @ y
x * w
(x * w).requires_grad
w.grad is None
w.requires_grad
x.view(-1)
x.to(y.dtype)
torch.ones(2).dtype
torch.is_grad_enabled()
(w * 2).requires_grad
torch.get_default_dtype()
str(inspect.signature(helper))
str(inspect.signature(Base))
str(inspect.signature(box.method))
typing.get_type_hints(helper)
typing.get_type_hints(Base)
helper.__kwdefaults__
helper.__annotations__
helper.__doc__
Base.method.__defaults__
box.method.__name__
dir(Base)[-1]
dir(box)[-1]
"extra" in Base.__dict__
"extra" in vars(Sub)
Sub.__base__
Sub.__mro__[1:]
Sub.mro()[1].__name__
Base.__subclasses__()
super(Sub, box.child).method(3)
repr(Sub)
Sub.__name__
Color.RED.label
hasattr(Color.RED, "label")
[*Color]
cached({p})
chosen({p})
chosen.dispatch(type({p}))
copy.copy(box.child).count
copy.copy({p})
vars(box) is box.__dict__
dataclasses.fields(data)[0].default
[each.name for each in dataclasses.fields(Data)]
sum(1 for _ in {p})
helper({p}, *box.items[:1])
helper(**{{"a": 1, "c": {p}}})
proxy["a"]
[*proxy]
context.get()
log.level
log.isEnabledFor(10)
"MG_FUZZ" in os.environ
raised(Raised)
len("abc")
math.floor(2.5)
sum([1, 2])
min(3, number)
__name__
""".strip().splitlines()

# Statements around them.
BLOCKS = [
    "if {p}:\n    out.append(1)",
    "for each in {p}:\n    out.append(each)",
    "for each in box.items:\n    out.append(each)",
    "for key, value in box.table.items():\n    out.append((key, value))",
    "try:\n    out.append({e})\nexcept Exception as error:\n"
    "    out.append(type(error))",
    "match {p}:\n    case int():\n        out.append('int')\n"
    "    case [first, *rest]:\n        out.append(first)\n"
    "    case {{'a': found}}:\n        out.append(found)\n"
    "    case Base(count=c):\n        out.append(c)",
    "with torch.no_grad():\n    out.append({e})",
    "magneto.graph_break()",
    "out.append((lambda: {e})())",
    "out.extend([{e} for _ in range(2)])",
]

VALUES = [
    "0", "1", "2", "3", "-1", "True", "False", "None", "0.0", "-0.0", "1.0",
    "2.5", "float('nan')", "float('inf')", "'a'", "'abc'", "''", "(1, 2)",
    "()", "[1, 2]", "[]", "{'a': 1}", "{}", "b'a'", "10 ** 20", "1j",
    "Sub(1)", "Base(2)", "Other()", "Color.BLUE", "Pair(1, 2)", "Data()",
    "x", "torch.tensor(2)", "torch.float64", "torch.Size([2])", "range(3)",
    "Sub", "int", "helper", "len", "{1, 2}", "frozenset({1})", "slice(1)",
    "collections.OrderedDict(b=1, a=2)", "collections.Counter('aab')",
    "1 << 62", "...", "'é'", "torch.nn", "Base.method", "math.pi",
]  # fmt: skip

# What happens between calls.
CHANGES = """
{t} = {v}
{t} = {v}
{t} = {v}
{t} = {v}
box.items.append({v})
box.items[0] = {v}
box.items.pop()
box.items.reverse()
box.items[:] = [{v}]
box.table["a"] = {v}
box.table["c"] = {v}
del box.table["a"]
box.table = dict(reversed(box.table.items()))
box.tags.add("z")
box.tags.discard("s")
box.tags = {{"t", "s"}}
box.extra = {v}
del box.extra
del box.count
box.child = Sub(3)
box.child = Other()
box.child.__class__ = Base
box.child.level = {v}
box.child.method = lambda a=1: {v}
del box.child.method
box.__dict__["double"] = {v}
Base.level = {v}
Sub.level = {v}
del Sub.level
Sub.kind = {v}
Base.method = lambda self, a=1: (a, {v})
Base.double = property(lambda self: {v})
Base.double = {v}
Sub.__len__ = lambda self: 2
Base.__bool__ = lambda self: {v} is None
Sub.__eq__ = lambda self, other: {v}
Sub.__getattr__ = lambda self, name: {v}
Base.__getattribute__ = lambda self, name: object.__getattribute__(self, name)
Base.__hash__ = lambda self: 1
Sub.__add__ = lambda self, other: {v}
Sub.__repr__ = lambda self: "a Sub"
Sub.__iter__ = lambda self: iter([{v}])
Sub.__bases__ = (Other2,)
WithMeta.size = 3
Meta.__len__ = lambda cls: 5
slotted.u = {v}
slotted.v = {v}
del slotted.u
color = Color.BLUE
pair = Pair({v}, {v})
pair = (1, "q")
data.a = {v}
data = Data({v})
helper.__defaults__ = ({v},)
helper.__kwdefaults__ = {{"c": {v}}}
helper.__code__ = helper2.__code__
helper = helper2
shift.__code__ = swing.__code__
box.f = helper
box.f = swing
box.f = Sub
box.f = len
module.value = {v}
module.fn = swing
module.other = {v}
partial = functools.partial(helper, 1)
partial.keywords["b"] = {v}
put({v})
ref = weakref.ref(box)
ordered.move_to_end("a")
ordered["c"] = {v}
ordered.popitem(last=False)
grouped["b"].append(1)
grouped["a"] = {v}
queue.rotate(1)
queue.append({v})
queue = collections.deque(queue, 5)
net.eval()
net.train()
net[1] = nn.Tanh()
net.append(nn.Linear(4, 4, bias=False))
net[0].bias = None
net[0].weight.requires_grad_(False)
net[0] = nn.Linear(4, 3)
net.scale = {v}
net.register_buffer("extra", torch.ones(4))
net.register_forward_hook(lambda m, a, r: r + 1)
net[0].register_forward_pre_hook(lambda m, a: (a[0] * 2,))
net.forward = lambda a: a * 3
net.double()
nn.ReLU.forward = leaky
x = torch.arange(4.0)
x = torch.arange(8.0)[::2]
x = torch.arange(4)
x = torch.arange(5.0)
x = torch.ones(1)
x = torch.ones(4, 4)
x = torch.ones(4, 4).t()
x = torch.ones(2, 4)
x = torch.zeros(0)
x = torch.ones(4, dtype=torch.float64)
x = torch.ones(4, requires_grad=True)
x = torch.arange(5.0)[1:]
x = torch.tensor(3.0)
x = w
x = y
y = x
y = x[:]
y = torch.ones(x.shape)
y = y.double()
x = nn.Parameter(torch.ones(4))
x = torch.ones(4).bool()
w.requires_grad_(False)
w.grad = torch.ones(4)
w = nn.Parameter(torch.ones(4, dtype=torch.float64))
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_grad_enabled(True)
Base.__bases__ = (Other2,)
Raised.__bases__ = (ValueError,)
Base.extra = {v}
Sub.extra = {v}
Sub.__init__ = lambda self, count, z=1: setattr(self, "count", {v})
Sub.__name__ = "renamed"
Sub.__module__ = "moved"
Sub.__copy__ = lambda self: Base({v})
Base.method.__defaults__ = ({v},)
Base.__annotations__["a"] = str
helper.__annotations__["a"] = str
helper.__doc__ = "text"
helper.__signature__ = inspect.signature(len)
helper.__wrapped__ = swing
Color.RED.label = {v}
cached.cache_clear()
chosen.register(int, lambda value: "int")
chosen.register(Base, lambda value: "base")
Data.__init__ = lambda self, a=1, b=2: None
under["b"] = {v}
under["a"] = {v}
context.set({v})
log.setLevel(10)
log.setLevel(30)
os.environ["MG_FUZZ"] = "1"
class New(Base): pass
len = lambda value: 42
del len
math = types.SimpleNamespace(floor=lambda value: 7)
sum = max
__name__ = {v}
text = "ab" + "c"
number += 1
number += 1
number = Number(2)
text = Text("abc")
""".strip().splitlines()
