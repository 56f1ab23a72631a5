# SPDX-License-Identifier: BSD-3-Clause
"""Small programs whose graphs and guards are kept as text in golden/.

A row of PROGRAMS is a function that makes a program and its arguments, so that
each has modules and tensors of its own.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

import magneto

Case = tuple[Callable[..., Any], tuple[Any, ...]]
PROGRAMS: dict[str, Callable[[], Case]] = {}
DYNAMIC: set[str] = set()
"""Programs whose sizes and numbers are symbols from the first call on."""


def golden(make: Callable[[], Case]) -> Callable[[], Case]:
    """Adds a row of constant sizes."""
    PROGRAMS[make.__name__] = make
    return make


def golden_dynamic(make: Callable[[], Case]) -> Callable[[], Case]:
    """Adds a row whose sizes and numbers vary."""
    DYNAMIC.add(make.__name__)
    return golden(make)


def x(*sizes: int) -> torch.Tensor:
    return torch.arange(float(math.prod(sizes))).reshape(sizes) / 7


# -- modules -------------------------------------------------------------------


class Block(nn.Module):
    """Normalization and a layer with a residual connection."""

    def __init__(self, width, scale=1.0):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layer = nn.Linear(width, width)
        self.scale = scale

    def forward(self, x):
        return x + self.layer(self.norm(x)) * self.scale


class Layers(nn.Module):
    """Blocks in a loop."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(4, 0.5) for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Counting(nn.Module):
    """A buffer and a Python number that each call changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.total.add_(x)
        return self.total / self.calls


class Cell(nn.Module):
    """A recurrent step, unrolled over the rows of its input."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x):
        state = x.new_zeros(1, 4)
        for row in x.unbind(0):
            state = self.cell(row[None], state)
        return state


class Attention(nn.Module):
    """Attention with two heads."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.project(x).view(batch, length, 3, 2, width // 2)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return out.transpose(1, 2).reshape(batch, length, width)


@golden
def module_call():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), (
        x(2, 4),
    )


@golden
def loop_over_layers():
    return Layers(), (x(2, 4),)


@golden
def module_with_state():
    return Counting(), (x(4),)


@golden
def recurrent_module():
    return Cell(), (x(3, 4),)


@golden
def attention():
    return Attention(), (x(2, 3, 8),)


@golden_dynamic
def attention_of_any_size():
    return Attention(), (x(2, 3, 8),)


@golden
def convolution_and_batch_norm():
    module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU())
    return module, (x(1, 2, 5, 5),)


@golden
def dropout_in_evaluation():
    module = nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 2)).eval()
    return module, (x(2, 4),)


@golden
def embedding():
    return nn.Embedding(5, 3), (torch.tensor([0, 3, 1]),)


@golden
def module_with_a_hook():
    module = nn.Linear(4, 2)
    module.register_forward_hook(lambda module, args, out: out * 2)
    return module, (x(2, 4),)


@golden
def training_loss():
    module = nn.Linear(4, 3)

    def program(x, labels):
        return F.cross_entropy(module(x), labels)

    return program, (x(2, 4), torch.tensor([0, 2]))


# -- tensors -------------------------------------------------------------------


@golden
def views():
    def program(x):
        rows = x.view(2, 6).transpose(0, 1)
        return rows[1:, 0], x[..., ::2].unsqueeze(-1), x.expand(2, 3, 4)

    return program, (x(3, 4),)


@golden
def in_place():
    def program(x, y):
        x.add_(y).mul_(2)
        x[0] = y[1]
        y += 1
        return x.sum()

    return program, (x(2, 3), x(2, 3))


@golden
def write_to_a_view():
    def program(x):
        y = x * 2
        y.t()[0].zero_()
        return y

    return program, (x(2, 3),)


@golden
def indexing():
    def program(x, index):
        return x[index], x[x > 0.5], x[:, None, 1:], x[-1, index[0]]

    return program, (x(3, 4), torch.tensor([0, 2]))


@golden
def joins():
    def program(tensors):
        return torch.cat(tensors), torch.stack([t.sum() for t in tensors])

    return program, ([x(2, 3), x(1, 3)],)


@golden
def factories():
    def program(x):
        mask = torch.ones(x.shape[0], x.shape[0], dtype=torch.bool).tril()
        return x.new_zeros(2), torch.zeros_like(x), mask, torch.arange(3)

    return program, (x(3, 2),)


@golden
def same_tensor_twice():
    return lambda a, b: a + b, (t := x(3), t)


@golden
def requires_grad():
    def program(x):
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad((y * y).sum(), y)
        return gradient

    return program, (x(3),)


@golden
def autograd_function():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    return lambda x: Double.apply(x) + 1, (x(3).requires_grad_(),)


@golden
def random_numbers():
    def program(x):
        return F.dropout(x, 0.5) * random.random() + torch.rand(3)

    return program, (x(3),)


# -- sizes and numbers ---------------------------------------------------------


@golden_dynamic
def dynamic_sizes():
    def program(x, y):
        return (x + y).reshape(x.shape[0] * x.shape[1]), x.shape[1] // 2

    return program, (x(4, 6), x(4, 6))


@golden_dynamic
def branch_on_a_size():
    def program(x):
        if x.shape[0] > 2:
            return x[: x.shape[0] // 2]
        return x

    return program, (x(6, 3),)


@golden_dynamic
def dynamic_number():
    return lambda x, n, scale: x.repeat(n) * scale, (x(3), 3, 0.5)


@golden
def number_out_of_a_tensor():
    def program(x, n):
        count = n.item()
        torch._check(count >= 0)
        return torch.zeros(count) + x.sum()

    return program, (x(3), torch.tensor(4))


@golden
def size_out_of_a_tensor():
    return lambda x: x[x.nonzero()[:, 0]] * 2, (x(4),)


# -- arguments -----------------------------------------------------------------


@dataclasses.dataclass
class Options:
    """A dataclass argument."""

    scale: float
    bias: torch.Tensor | None = None


class Pair(NamedTuple):
    """A named tuple as argument and result."""

    first: torch.Tensor
    second: torch.Tensor


class Mode(enum.Enum):
    """An enumeration that a program branches on."""

    SUM = 1
    MEAN = 2


@golden
def dict_argument():
    def program(batch):
        batch["out"] = batch["x"] * batch["scale"]
        return {name: value for name, value in batch.items() if name != "x"}

    return program, ({"x": x(3), "scale": 2},)


@golden
def list_argument():
    def program(items, *, reverse=False):
        items.append(items[0] + 1)
        return [item.sum() for item in (items[::-1] if reverse else items)]

    return program, ([x(2), x(3)],)


@golden
def dataclass_argument():
    def program(x, options):
        if options.bias is not None:
            x = x + options.bias
        return dataclasses.replace(options, bias=x * options.scale)

    return program, (x(3), Options(0.5, x(3)))


@golden
def named_tuple_argument():
    return lambda pair: Pair(pair.second, pair.first + 1), (Pair(x(2), x(3)),)


@golden
def enum_argument():
    def program(x, mode):
        return x.sum() if mode is Mode.SUM else x.mean()

    return program, (x(3), Mode.MEAN)


@golden
def default_arguments():
    def program(x, y=None, *rest, scale=2, **others):
        return x * scale if y is None else x * y

    return program, (x(3),)


@golden
def checks_of_types():
    def program(value):
        if isinstance(value, dict):
            return value["x"] + 1
        if isinstance(value, tuple | list):
            return value[0] * len(value)
        return value

    return program, ((x(3), 1, "text"),)


# -- Python --------------------------------------------------------------------

SETTINGS = {"scale": 3}


@golden
def closure():
    factor, shift = 2.5, x(3)

    def scaled(y):
        return y * factor

    return lambda x: scaled(x) + shift, (x(3),)


@golden
def global_dict():
    return lambda x: x * SETTINGS["scale"] + math.sqrt(4), (x(3),)


@golden
def attribute_written():
    class Log:
        last = None

    log = Log()

    def program(x):
        log.last = x + 1
        log.count = getattr(log, "count", 0) + 1
        return x * 2

    return program, (x(3),)


@golden
def generator_and_comprehension():
    def rows(x):
        for i in range(x.shape[0]):
            yield x[i]

    def program(x):
        total = sum(row.sum() for row in rows(x))
        return total, [row * i for i, row in enumerate(rows(x))]

    return program, (x(2, 3),)


@golden
def library_functions():
    def program(tensors):
        add = functools.partial(torch.add, alpha=2)
        pairs = itertools.pairwise(tensors)
        recent = collections.deque((add(a, b) for a, b in pairs), maxlen=2)
        return functools.reduce(torch.mul, recent)

    return program, ([x(2), x(2) + 1, x(2) + 2],)


@golden
def caught_exception():
    def program(x, table):
        try:
            scale = table["missing"]
        except KeyError:
            scale = 2
        finally:
            x = x + 1
        return x * scale

    return program, (x(3), {})


@golden
def inheritance():
    class Base:
        def __init__(self, scale):
            self.scale = scale

        def apply(self, x):
            return x * self.scale

    class Derived(Base):
        def apply(self, x):
            return super().apply(x) + self.shift

        @property
        def shift(self):
            return self.scale - 1

    layer = Derived(3)
    return lambda x: layer.apply(x), (x(3),)


@golden
def match_statement():
    def program(x, action):
        match action:
            case ("scale", factor):
                return x * factor
            case {"shift": amount}:
                return x + amount
        return x

    return program, (x(3), ("scale", 2))


# -- contexts ------------------------------------------------------------------


@golden
def no_grad():
    def program(x, weight):
        with torch.no_grad():
            y = x * weight
        return y + weight

    return program, (x(3), x(3).requires_grad_())


@golden
def autocast():
    layer = nn.Linear(4, 2)

    def program(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = layer(x)
        return y.float() + 1

    return program, (x(2, 4),)


@golden
def context_manager():
    @contextlib.contextmanager
    def noting(notes):
        notes.append("enter")
        yield len(notes)
        notes.append("exit")

    def program(x, notes):
        with noting(notes) as count:
            return x * count

    return program, (x(3), [])


# -- graph breaks --------------------------------------------------------------


@golden
def graph_break():
    def program(x):
        y = x.sin()
        magneto.graph_break("between")
        return y.cos() + x

    return program, (x(3),)


@golden
def graph_break_in_a_call():
    def inner(x):
        y = x + 1
        magneto.graph_break()
        return y * 2

    return lambda x: inner(x.sin()).cos(), (x(3),)


@golden
def graph_break_in_a_with_block():
    def program(x):
        with torch.no_grad():
            y = x * 2
            magneto.graph_break()
            y = y + 1
        return y * x

    return program, (x(3).requires_grad_(),)


@golden
def branch_on_data():
    def program(x):
        return x * 2 if x.sum() > 1 else x - 1

    return program, (x(3),)


@golden
def disabled_call():
    plain = magneto.disable(lambda x: x * 2)
    return lambda x: plain(x + 1) - 1, (x(3),)


@golden
def printing():
    def program(x):
        y = x + 1
        print("sum", end="")
        return y * 2

    return program, (x(3),)
