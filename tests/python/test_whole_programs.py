# SPDX-License-Identifier: BSD-3-Clause
"""Programs as people write them: many parts of Python at work in one function.

Each is run eagerly and compiled, several times, with breaks where they may be.
"""

import bisect
import collections
import contextlib
import dataclasses
import enum
import functools
import heapq
import io
import itertools
import operator
import random
import re
import string
import textwrap
import typing
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from magneto.testing import check_calls

PROGRAMS = []


def program(*inputs, **options):
    """The function is called with each of the inputs in turn, twice."""

    def keep(fn):
        PROGRAMS.append(pytest.param(fn, inputs, options, id=fn.__name__))
        return fn

    return keep


# -- an expression parser -------------------------------------------------------


class Token(typing.NamedTuple):
    kind: str
    text: str
    at: int


TOKENS = re.compile(
    r"(?P<number>\d+(\.\d*)?)|(?P<name>[a-z]\w*)|(?P<op>[-+*/()^])|(?P<space>\s+)"
)


def tokens(text):
    at = 0
    while at < len(text):
        match = TOKENS.match(text, at)
        if not match:
            raise SyntaxError(
                f"what is {text[at]!r}?", ("<it>", 1, at + 1, text)
            )
        if match.lastgroup != "space":
            yield Token(match.lastgroup, match.group(), at)
        at = match.end()
    yield Token("end", "", at)


class Parser:
    POWERS = {"+": 10, "-": 10, "*": 20, "/": 20, "^": 30}

    def __init__(self, text, names):
        self.stream = tokens(text)
        self.names = names
        self.next()

    def next(self):
        self.token = next(self.stream)

    def parse(self, power=0):
        left = self.prefix()
        while (
            self.token.kind == "op"
            and self.POWERS.get(self.token.text, -1) > power
        ):
            op = self.token.text
            self.next()
            right = self.parse(self.POWERS[op] - (op == "^"))
            match op:
                case "+":
                    left = left + right
                case "-":
                    left = left - right
                case "*":
                    left = left * right
                case "/":
                    left = left / right
                case "^":
                    left = left**right
        return left

    def prefix(self):
        match self.token:
            case Token("number", text):
                self.next()
                return float(text) if "." in text else int(text)
            case Token("name", name) if name in self.names:
                self.next()
                return self.names[name]
            case Token("name", name, at):
                raise NameError(f"no {name} at {at}", name=name)
            case Token(kind="op", text="-"):
                self.next()
                return -self.parse(25)
            case Token(kind="op", text="("):
                self.next()
                inner = self.parse()
                if self.token.text != ")":
                    raise SyntaxError(f"unclosed at {self.token.at}")
                self.next()
                return inner
            case other:
                raise SyntaxError(f"unexpected {other.kind}")


@program(
    (torch.arange(4.0), "x * (2 + y) ^ 2 - -x / 4"),
    (torch.arange(4.0), "1 + 2 * 3"),
    (torch.arange(3.0), "2 ^ 3 ^ 2 - x"),
    (torch.arange(4.0), "x + z"),
    (torch.arange(4.0), "x + $"),
    (torch.arange(4.0), "(x + y"),
    (torch.arange(4.0), "x +"),
)
def parser(x, text):
    try:
        return Parser(text, {"x": x, "y": x + 1}).parse() + x
    except (SyntaxError, NameError) as error:
        return (
            type(error).__name__,
            str(error),
            getattr(error, "name", None),
            x * 2,
        )


# -- micrograd ------------------------------------------------------------------


class Value:
    """A scalar that knows how it came to be."""

    def __init__(self, data, parents=(), op=""):
        self.data = data
        self.grad = torch.zeros(())
        self._backward = lambda: None
        self._prev = set(parents)
        self._op = op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad = self.grad + other.data * out.grad
            other.grad = other.grad + self.data * out.grad

        out._backward = _backward
        return out

    __radd__ = __add__
    __rmul__ = __mul__

    def tanh(self):
        t = torch.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad = self.grad + (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        order, seen = [], set()

        def build(v):
            if v not in seen:
                seen.add(v)
                for child in sorted(v._prev, key=lambda c: c._op):
                    build(child)
                order.append(v)

        build(self)
        self.grad = torch.ones(())
        for v in reversed(order):
            v._backward()


class Neuron:
    def __init__(self, n):
        self.w = [Value(torch.tensor(0.1 * (i + 1))) for i in range(n)]
        self.b = Value(torch.tensor(0.5))

    def __call__(self, x):
        return sum((wi * xi for wi, xi in zip(self.w, x)), self.b).tanh()

    def parameters(self):
        return [*self.w, self.b]


@program((torch.tensor(0.3),), (torch.tensor(-1.0),))
def micrograd(x):
    net = [Neuron(2) for _ in range(3)]
    hidden = [n([x, x * 2]) for n in net]
    loss = sum(h * h for h in hidden)
    loss.backward()
    return loss.data, [p.grad for n in net for p in n.parameters()]


# -- events and weak references ---------------------------------------------------


class Bus:
    def __init__(self):
        self.handlers = collections.defaultdict(list)
        self.log = collections.deque(maxlen=4)

    def on(self, *names):
        def decorate(fn):
            for name in names:
                self.handlers[name].append(fn)
            return fn

        return decorate

    def emit(self, name, /, *args, **kwargs):
        results = []
        for handler in tuple(self.handlers.get(name, ())):
            try:
                results.append(handler(*args, **kwargs))
            except StopIteration as stop:
                results.append(stop.value)
                break
            except Exception as error:
                error.add_note(f"while handling {name}")
                results.append((type(error), error.args, error.__notes__))
        self.log.append((name, len(results)))
        return results


@program((torch.ones(3), 2), (torch.ones(3), 5), (torch.ones(3), 0))
def events(x, n):
    bus = Bus()

    @bus.on("scale", "both")
    def scale(t, by=2):
        return t * by

    @bus.on("both")
    def fail(t, by=1):
        return t + 1 // by

    @bus.on("both")
    def stop(t, by=1):
        raise StopIteration(t - by)

    @bus.on("both")
    def never(t, by):
        raise AssertionError

    out = [bus.emit("scale", x), bus.emit("both", x, by=n), bus.emit("none", x)]
    for i in range(4):
        bus.emit(f"n{i}")
    return out, list(bus.log), sorted(bus.handlers)


# -- beam search --------------------------------------------------------------------


@dataclasses.dataclass(order=True)
class Beam:
    score: float
    ids: list = dataclasses.field(compare=False, default_factory=list)
    state: torch.Tensor = dataclasses.field(
        compare=False, default=None, repr=False
    )
    done: bool = dataclasses.field(compare=False, default=False)

    def extend(self, score, token, state):
        return dataclasses.replace(
            self,
            score=self.score + score,
            ids=[*self.ids, token],
            state=state,
            done=token == 0,
        )


@program(
    (torch.eye(4) + torch.arange(4.0) / 7, 3, 2),
    (torch.rand(5, 5, generator=torch.Generator().manual_seed(1)), 4, 3),
)
def beam_search(w, steps, width):
    beams = [Beam(0.0, [1], w[1])]
    for _ in range(steps):
        candidates = []
        for beam in beams:
            if beam.done:
                candidates.append(beam)
                continue
            scores = torch.log_softmax(beam.state, -1)
            for score, token in zip(*(t.tolist() for t in scores.topk(width))):
                candidates.append(
                    beam.extend(
                        round(score, 4),
                        token,
                        torch.tanh(w[token] + beam.state),
                    )
                )
        beams = heapq.nlargest(width, candidates)
    return [(b.score, b.ids, b.state, repr(b)) for b in beams]


# -- a registry by metaclass ----------------------------------------------------------


class Registered(type):
    known = {}

    def __new__(mcs, name, bases, namespace, *, key=None, **kwargs):
        cls = super().__new__(mcs, name, bases, namespace, **kwargs)
        if key is not None:
            mcs.known[key] = cls
        return cls

    def __call__(cls, *args, **kwargs):
        made = super().__call__(*args, **kwargs)
        made.args = args
        return made

    def __getitem__(cls, key):
        return cls.known[key]

    def __contains__(cls, key):
        return key in cls.known

    def __iter__(cls):
        return iter(sorted(cls.known))

    def __len__(cls):
        return len(cls.known)


class Layer(metaclass=Registered):
    def __init_subclass__(cls, /, scale=1, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.scale = scale

    def __matmul__(self, x):
        return self.apply(x) * self.scale


class Double(Layer, key="double", scale=2):
    def apply(self, x):
        return x + x


class Shift(Layer, key="shift"):
    def __init__(self, by=1):
        self.by = by

    def apply(self, x):
        return x + self.by


class Negate(Double, key="negate", scale=-1):
    def apply(self, x):
        return super().apply(x) / 2


@program(
    (torch.arange(3.0), "double shift:3 negate"),
    (torch.arange(3.0), "shift"),
    (torch.arange(3.0), "double bad:1"),
)
def registry(x, spec):
    for part in spec.split():
        name, _, argument = part.partition(":")
        if name not in Layer:
            return f"{name!r} is none of {', '.join(Layer)} ({len(Layer)})", x
        layer = Layer[name](*map(int, filter(None, [argument])))
        x = layer @ x + len(layer.args)
    return x


# -- resources --------------------------------------------------------------------


class Resource(contextlib.ContextDecorator):
    def __init__(self, log, name, swallow=()):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append(f"+{self.name}")
        return self

    def __exit__(self, kind, error, traceback):
        self.log.append(f"-{self.name}:{kind.__name__ if kind else None}")
        return kind is not None and issubclass(kind, self.swallow)


@contextlib.contextmanager
def timed(log, name):
    log.append(f"<{name}")
    try:
        yield len(log)
    except ValueError as error:
        log.append(f"!{error}")
        raise RuntimeError(name) from error
    finally:
        log.append(f">{name}")


@program(
    (torch.ones(2), 0),
    (torch.ones(2), 1),
    (torch.ones(2), 2),
    (torch.ones(2), 3),
    (torch.ones(2), 4),
)
def resources(x, how):
    log = []

    @Resource(log, "decorated", (KeyError,))
    def inner(x):
        with contextlib.ExitStack() as stack:
            for i in range(how + 1):
                stack.enter_context(
                    Resource(log, i, (LookupError,) if i == 1 else ())
                )
            stack.callback(log.append, "callback")
            n = stack.enter_context(timed(log, "timed"))
            x = x * n
            if how == 1:
                raise IndexError("one")
            if how == 2:
                raise ValueError("two")
            if how == 3:
                kept = stack.pop_all()
                log.append("popped")
                kept.close()
            if how == 4:
                print("four", n)
                raise KeyError("four")
        return x + 1

    try:
        result = inner(x)
    except RuntimeError as error:
        result = (str(error), repr(error.__cause__), error.__suppress_context__)
    else:
        log.append("else")
    finally:
        log.append("finally")
    return result, log, x + 1


# -- life ---------------------------------------------------------------------------


@program(
    ({(1, 0), (1, 1), (1, 2)}, torch.zeros(3, 3)),
    ({(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)}, torch.zeros(3, 3)),
)
def life(cells, board):
    for _ in range(3):
        near = collections.Counter(
            (r + dr, c + dc)
            for r, c in cells
            for dr, dc in itertools.product((-1, 0, 1), repeat=2)
            if dr or dc
        )
        cells = {
            p for p, n in near.items() if n == 3 or (n == 2 and p in cells)
        }
        for r, c in sorted(cells):
            if 0 <= r < 3 and 0 <= c < 3:
                board[r, c] += 1
    return board, cells


# -- tree LSTM ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Tree:
    value: int
    left: "Tree | None" = None
    right: "Tree | None" = None

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right

    @classmethod
    def of(cls, values):
        tree = None
        for value in values:
            tree = cls.insert(tree, value)
        return tree

    @classmethod
    def insert(cls, tree, value):
        if tree is None:
            return cls(value)
        side = "left" if value < tree.value else "right"
        return dataclasses.replace(
            tree, **{side: cls.insert(getattr(tree, side), value)}
        )


class TreeCell(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.embed = nn.Embedding(10, size)
        self.join = nn.Linear(3 * size, 2 * size)
        self.register_buffer("nothing", torch.zeros(size))

    def forward(self, values):
        tree = Tree.of(values)
        return (
            self.visit(tree),
            list(tree),
            hash(tree) == hash(Tree.of(values)),
            tree == Tree.of(values),
        )

    def visit(self, tree):
        if tree is None:
            return self.nothing
        joined = torch.cat(
            [
                self.embed.weight[tree.value],
                self.visit(tree.left),
                self.visit(tree.right),
            ]
        )
        gate, new = self.join(joined).chunk(2)
        return torch.sigmoid(gate) * torch.tanh(new)


@program(([4, 2, 7, 1, 9],), ([1],), ([5, 5, 3],))
def tree_lstm(values):
    torch.manual_seed(3)
    return TreeCell()(values)


# -- a virtual machine ------------------------------------------------------------------


class Op(enum.IntEnum):
    PUSH = enum.auto()
    ADD = enum.auto()
    MUL = enum.auto()
    DUP = enum.auto()
    JNZ = enum.auto()
    DEC = enum.auto()
    SWAP = enum.auto()

    @property
    def takes(self):
        return self in {Op.PUSH, Op.JNZ}


@program(
    (
        torch.full((2,), 1.5),
        [
            ("PUSH", 3),
            ("SWAP",),
            ("DUP",),
            ("ADD",),
            ("SWAP",),
            ("DEC",),
            ("JNZ", 1),
        ],
    ),
    (torch.full((2,), 1.5), [("DUP",), ("MUL",)]),
    (torch.full((2,), 1.5), [("MUL",)]),
    (torch.full((2,), 1.5), [("NOP",)]),
)
def machine(x, code):
    stack, at, steps = [x], 0, 0
    try:
        code = [(Op[name], *rest) for name, *rest in code]
        while at < len(code):
            steps += 1
            op, *rest = code[at]
            assert op.takes == bool(rest), op
            at += 1
            if op is Op.PUSH:
                stack.append(rest[0])
            elif op in (Op.ADD, Op.MUL):
                b, a = stack.pop(), stack.pop()
                stack.append(
                    {Op.ADD: operator.add, Op.MUL: operator.mul}[op](a, b)
                )
            elif op == Op.DUP:
                stack += stack[-1:]
            elif op == Op.SWAP:
                stack[-2:] = stack[:-3:-1]
            elif op == Op.DEC:
                stack[-1] -= 1
            elif stack[-1]:
                at = rest[0]
    except (IndexError, KeyError) as error:
        return repr(error), steps, stack
    return stack, steps, [op.name for op, *_ in code]


# -- text ---------------------------------------------------------------------------------


@program(
    (torch.ones(4), "the cat sat on the mat. The end!"),
    (torch.ones(2), "a b a"),
    (torch.ones(2), ""),
)
def vocabulary(x, text):
    words = (
        text.lower()
        .translate(str.maketrans("", "", string.punctuation))
        .split()
    )
    counts = collections.Counter(words)
    ranked = sorted(counts, key=lambda w: (-counts[w], w))
    index = {word: i for i, word in enumerate(ranked, 1)}
    ids = torch.tensor([index[w] for w in words], dtype=torch.long)
    table = io.StringIO()
    for word, n in counts.most_common(3):
        print(f"{word:<6}|{n:>3}|{n / max(len(words), 1):.1%}", file=table)
    wrapped = textwrap.fill(text, 12).splitlines()
    return (
        F.pad(ids, (0, 2)),
        table.getvalue(),
        wrapped,
        x.sum() + len(index),
        f"{ids.shape!r:>20}",
    )


# -- caches and partials ------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    @functools.cached_property
    def derivative(self):
        return type(self)(
            *(i * c for i, c in enumerate(self.coefficients))
        )._shifted()

    def _shifted(self):
        return type(self)(*self.coefficients[1:])

    def __call__(self, x):
        return functools.reduce(
            lambda a, c: a * x + c, reversed(self.coefficients), 0
        )

    @functools.singledispatchmethod
    def compose(self, other):
        raise TypeError(f"not with {type(other).__name__}")

    @compose.register
    def _(self, other: int):
        return Polynomial(*(c * other for c in self.coefficients))

    @compose.register(tuple)
    @compose.register(list)
    def _(self, other):
        return Polynomial(*map(operator.add, self.coefficients, other))


@program((torch.arange(3.0), 4), (torch.arange(3.0), 6), (torch.arange(3.0), 2))
def polynomials(x, n):
    p = Polynomial(*(binomial(n, k) for k in range(n + 1)))
    q = p.compose(3).compose([1, 2]).compose((1,))
    try:
        p.compose("x")
    except TypeError as error:
        message = str(error)
    evaluate = functools.partial(Polynomial.__call__, x=x)
    return (
        evaluate(p),
        evaluate(p.derivative.derivative),
        evaluate(q),
        message,
        "derivative" in vars(p),
    )


# -- pipelines of generators --------------------------------------------------------------


def chunked(items, size):
    it = iter(items)
    while chunk := tuple(itertools.islice(it, size)):
        yield chunk


def averager():
    total, n, average = 0, 0, None
    while True:
        try:
            value = yield average
        except ZeroDivisionError:
            total, n = 0, 0
            continue
        except GeneratorExit:
            return
        total, n = total + value, n + 1
        average = total / n


def prefetch(source, ahead):
    queue = collections.deque(itertools.islice(source, ahead))
    for item in source:
        queue.append(item)
        received = yield queue.popleft()
        if received is not None:
            queue.appendleft(received)
    yield from queue
    return len(queue)


@program(
    (torch.arange(10.0), 3), (torch.arange(4.0), 3), (torch.arange(0.0), 2)
)
def pipelines(x, size):
    out = []
    average = averager()
    next(average)
    for chunk in chunked(x, size):
        out.append(average.send(sum(chunk)))
        if len(out) == 2:
            average.throw(ZeroDivisionError)
    average.close()
    source = prefetch(iter(range(6)), 2)
    got = [next(source), source.send(40), *source]
    last = list(average)
    groups = {k: [*g] for k, g in itertools.groupby(got, key=lambda v: v > 3)}
    return out, got, last, groups, [*itertools.accumulate(got, max)], x + 1


# -- reinforcement --------------------------------------------------------------------------


class Buffer:
    __slots__ = ("items", "capacity", "rng", "__weakref__")

    def __init__(self, capacity, seed):
        self.items, self.capacity = [], capacity
        self.rng = random.Random(seed)

    def add(self, priority, item):
        if len(self.items) >= self.capacity:
            heapq.heappushpop(self.items, (priority, len(self.items), item))
        else:
            heapq.heappush(self.items, (priority, len(self.items), item))

    def sample(self, n):
        return self.rng.choices(
            self.items, weights=[p + 1 for p, *_ in self.items], k=n
        )

    def __len__(self):
        return len(self.items)


@program((torch.zeros(3), 5), (torch.zeros(3), 9))
def replay(x, steps):
    buffer = Buffer(4, 7)
    watch = weakref.ref(buffer)
    random.seed(steps)
    state = x
    for step in range(steps):
        action = random.choice(["left", "right", "stay"])
        state = state + {"left": -1, "right": 1}.get(action, 0)
        buffer.add(random.randint(0, 9), state * step)
    batch = torch.stack([item for *_, item in buffer.sample(3)])
    order = [p for p, *_ in sorted(buffer.items)]
    at = bisect.bisect_left(order, 3)
    bisect.insort(order, 3)
    return batch, order, at, watch() is buffer, random.random()


# -- matrices with operators -------------------------------------------------------------------


class Lazy:
    """What is asked of it is computed when it is needed."""

    def __init__(self, make):
        self._make = make

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name == "value":
            self.__dict__["value"] = self._make()
            return self.value
        return Lazy(lambda: getattr(self.value, name))

    def __call__(self, *args, **kwargs):
        return Lazy(lambda: self.value(*args, **kwargs))

    def __setattr__(self, name, value):
        if name != "_make":
            raise TypeError("can't be changed")
        super().__setattr__(name, value)

    def __add__(self, other):
        return Lazy(
            lambda: (
                self.value + (other.value if isinstance(other, Lazy) else other)
            )
        )

    def __rsub__(self, other):
        return Lazy(lambda: other - self.value)

    def __getitem__(self, key):
        return Lazy(lambda: self.value[key])

    def __bool__(self):
        return bool((self.value > 0).all())

    def __format__(self, spec):
        return format(tuple(self.value.shape).__repr__(), spec)


@program((torch.arange(6.0).reshape(2, 3),), (torch.ones(2, 2),))
def lazy(x):
    a = Lazy(lambda: x)
    b = a.t().clone() + 1
    c = 5 - b[0] + a.sum()
    try:
        a.other = 3
    except TypeError as error:
        message = str(error)
    positive = "yes" if b else "no"
    return (
        c.value,
        "value" in vars(b),
        "value" in vars(a),
        message,
        f"{a:>10}",
        positive,
    )


# -- training with early stopping ------------------------------------------------------------------


class History(collections.UserList):
    def improved(self, tolerance):
        match self.data:
            case [] | [_]:
                return True
            case [*_, before, now] if before - now > tolerance:
                return True
            case _:
                return False


class EarlyStop(Exception):
    def __init__(self, epoch, history):
        super().__init__(f"after {epoch}")
        self.epoch, self.history = epoch, history


@program((0.5, 0.01), (0.1, 0.2), (0.01, 1.0))
def training(rate, tolerance):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    x = torch.linspace(-1, 1, 8).reshape(4, 2)
    y = x.sum(1, keepdim=True)
    history = History()
    try:
        for epoch in range(4):
            optimizer.zero_grad()
            loss = F.mse_loss(net(x), y)
            loss.backward()
            optimizer.step()
            history.append(round(loss.item(), 4))
            if not history.improved(tolerance):
                raise EarlyStop(epoch, history)
            if epoch == 2:
                print(f"epoch {epoch}: {history[-1]:.3f}")
    except EarlyStop as stop:
        return str(stop), list(stop.history), net[0].weight
    else:
        return history.data, net[0].weight
    finally:
        history.clear()


# -- k-means ------------------------------------------------------------------------------------------


@program(
    (torch.tensor([[0.0, 0], [0, 1], [5, 5], [6, 5], [9, 0]]), 2),
    (torch.arange(8.0).reshape(4, 2), 3),
)
def k_means(points, k):
    centers = points[:k].clone()
    seen = []
    for step in itertools.count():
        nearest = torch.cdist(points, centers).argmin(1)
        groups = collections.defaultdict(list)
        for point, group in zip(points, nearest.tolist()):
            groups[group].append(point)
        new = torch.stack(
            [
                torch.stack(groups[g]).mean(0) if g in groups else centers[g]
                for g in range(k)
            ]
        )
        seen.append({g: len(members) for g, members in sorted(groups.items())})
        if torch.equal(new, centers) or step > 5:
            break
        centers = new
    return centers, seen, step


# -- configuration -----------------------------------------------------------------------------------------


@dataclasses.dataclass(kw_only=True, slots=True)
class Config:
    width: int = 4
    depth: int = 2
    activation: str = "relu"
    extra: dict = dataclasses.field(default_factory=dict)
    name: str = dataclasses.field(init=False)
    seed: dataclasses.InitVar[int] = 0

    def __post_init__(self, seed):
        self.name = f"{self.activation}-{self.width}x{self.depth}-{seed:04d}"

    @classmethod
    def parse(cls, text):
        hints = {f.name: f.type for f in dataclasses.fields(cls) if f.init}
        known, extra = {}, {}
        for part in text.split(","):
            key, separator, value = map(str.strip, part.partition("="))
            if not separator:
                raise ValueError(f"{part!r} has no '='") from None
            target = known if key in hints else extra
            target[key] = hints.get(key, str)(value)
        return cls(**known, extra=extra)


@program(
    (torch.ones(2, 4), "width=4, depth=1"),
    (torch.ones(2, 4), "activation=tanh,flavour=odd"),
    (torch.ones(2, 4), "width"),
    (torch.ones(2, 4), "depth=x"),
)
def configured(x, text):
    try:
        config = Config.parse(text)
    except ValueError as error:
        return str(error), x + 1
    for _ in range(config.depth):
        x = getattr(torch, config.activation)(
            x @ torch.ones(x.shape[-1], config.width)
        )
    return (
        x,
        dataclasses.asdict(config),
        repr(config),
        config == Config.parse(text),
    )


# -- a scheduler of coroutines made of generators ----------------------------------------------------------------


class Sleep(typing.NamedTuple):
    ticks: int


def worker(name, x, log):
    for i in range(3):
        log.append((name, i))
        got = yield Sleep(i + len(name))
        x = x + got
    return x


def scheduler(tasks):
    queue, results, order = (
        [(0, i, name) for i, name in enumerate(tasks)],
        {},
        itertools.count(len(tasks)),
    )
    heapq.heapify(queue)
    while queue:
        now, _, name = heapq.heappop(queue)
        try:
            request = tasks[name].send(now if now else None)
        except StopIteration as stop:
            results[name] = stop.value
        else:
            heapq.heappush(queue, (now + request.ticks, next(order), name))
    return results


@program((torch.zeros(2),), (torch.ones(3),))
def coroutines(x):
    log = []
    tasks = {
        name: worker(name, x * i, log)
        for i, name in enumerate(["a", "bb", "ccc"])
    }
    return scheduler(tasks), log


# -- graphs ---------------------------------------------------------------------------------------------------------


@program(
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, torch.ones(2)),
    ({"a": ["b"], "b": ["a"]}, torch.ones(2)),
)
def topology(graph, x):
    state, order = {}, []

    def visit(node, path=()):
        if state.get(node) == "done":
            return
        if node in path:
            raise RecursionError(" -> ".join([*path, node]))
        for child in graph[node]:
            visit(child, (*path, node))
        state[node] = "done"
        order.insert(0, node)

    try:
        for node in graph:
            visit(node)
    except RecursionError as error:
        return str(error), x * 2
    values = {}
    for node in order:
        inputs = [values[p] for p in order if node in graph[p]]
        values[node] = sum(inputs, x) * (1 + len(inputs))
    return values, order


# -- descriptors ------------------------------------------------------------------------------------------------------


class Checked:
    def __set_name__(self, owner, name):
        self.name = name
        owner.fields = [*getattr(owner, "fields", []), name]

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__[self.name]

    def __set__(self, instance, value):
        if not self.test(value):
            raise ValueError(f"{self.name}: {self.describe(value)}")
        instance.__dict__[self.name] = value

    def describe(self, value):
        return f"{value!r} is not allowed"


class Positive(Checked):
    def test(self, value):
        return value > 0


class Shaped(Checked):
    def __init__(self, *shape):
        self.shape = shape

    def test(self, value):
        return all(
            want in (None, have)
            for want, have in zip(self.shape, value.shape, strict=True)
        )

    def describe(self, value):
        return f"{list(value.shape)} is not {[*self.shape]}"


class Affine:
    scale = Positive()
    weight = Shaped(None, 3)

    def __init__(self, scale, weight):
        for name, value in zip(self.fields, (scale, weight)):
            setattr(self, name, value)

    def __call__(self, x):
        return self.weight @ x * self.scale


@program(
    (torch.ones(3), 2, (2, 3)),
    (torch.ones(3), -1, (2, 3)),
    (torch.ones(3), 2, (2, 2)),
    (torch.ones(3), 2, (3,)),
)
def descriptors(x, scale, shape):
    try:
        return (
            Affine(scale, torch.ones(shape))(x),
            Affine.fields,
            Affine.scale.name,
        )
    except ValueError as error:
        return str(error), x


@pytest.mark.parametrize(("fn", "inputs", "options"), PROGRAMS)
def test_program_compiled_is_eager(fn, inputs, options):
    calls = [(args, {}) for _ in range(2) for args in inputs]
    check_calls(fn, calls, **options)
