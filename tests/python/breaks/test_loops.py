# SPDX-License-Identifier: BSD-3-Clause
"""Graph breaks in the body of a loop: one compilation serves all of its
iterations, whatever changes from one to the next.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import magneto
from magneto.testing import check_calls

X = torch.arange(4.0)
STEPS = 40
# The first steps are compiled for the values that they have.
MOST_COMPILATIONS = 16


class Thing:
    def __init__(self, value: Any):
        self.value = value
        self.count = 0


def counted(x, n):
    for i in range(n):
        magneto.graph_break()
        x = x + i
    return x


def while_counted(x, n):
    i = 0
    while i < n:
        magneto.graph_break()
        x = x + i
        i += 1
    return x


def item_of_own_list(x, n):
    items = [x * k for k in range(n)]
    for i in range(n):
        magneto.graph_break()
        x = x + items[i]
    return x


def item_of_argument(x, items):
    for i in range(len(items)):
        magneto.graph_break()
        x = x + items[i]
    return x


def enumerated(x, items):
    for i, t in enumerate(items):
        magneto.graph_break()
        x = x + t * i
    return x


def appended(x, n):
    out = []
    for i in range(n):
        magneto.graph_break()
        out.append(x * i)
    return out


def extended(x, n):
    out = []
    for i in range(n):
        magneto.graph_break()
        out += [x, x * i]
        out.extend((x + i,))
    return out


def appended_and_read_in_the_end(x, n):
    out = [x]
    for i in range(n):
        magneto.graph_break()
        out.append(x * i)
    return torch.stack(out).sum(0), len(out)


def comprehension(x, n):
    return [(magneto.graph_break(), x * i)[1] for i in range(n)]


def item_written(x, n):
    out = [None] * n
    for i in range(n):
        magneto.graph_break()
        out[i] = x * i
    return out


def dict_by_number(x, n):
    out = {}
    for i in range(n):
        magneto.graph_break()
        out[i] = x * i
    return out


def dict_by_text(x, n):
    out = {}
    for i in range(n):
        magneto.graph_break()
        out[f"k{i}"] = x * i
    return out


def nested(x, n):
    for i in range(n // 6):
        for j in range(n // 6):
            magneto.graph_break()
            x = x + i * j
    return x


def texts(x, names):
    for name in names:
        magneto.graph_break()
        x = x + len(name)
    return x


def keys_of_own(x, n):
    table = {f"k{k}": x * k for k in range(n)}
    table["other"] = x
    for name in table:
        magneto.graph_break()
        x = x + table[name]
    return x


def own_set(x, n):
    for k in set(range(n)):
        magneto.graph_break()
        x = x + k
    return x


def backwards(x, items):
    items.append(x)
    for item in reversed(items):
        magneto.graph_break()
        x = x + item
    return x


def by_name(x, table):
    for name in table:
        magneto.graph_break()
        x = x + table[name]
    return x


def objects(x, things):
    for thing in things:
        magneto.graph_break()
        x = x + thing.value
    return x


def attribute_counted(x, thing, n):
    for _ in range(n):
        magneto.graph_break()
        thing.count += 1
        x = x + thing.count
    return x


def decayed(x, n):
    rate = 0.1
    for _ in range(n):
        magneto.graph_break()
        rate = rate * 0.9
        x = x * rate
    return x


def in_a_try(x, n):
    for i in range(n):
        try:
            magneto.graph_break()
            x = x + i
        finally:
            x = x * 2
    return x


def in_a_with(x, n):
    for i in range(n):
        with torch.no_grad():
            magneto.graph_break()
            x = x + i
    return x


def called(x, n):
    def step(x, i):
        magneto.graph_break()
        return x + i

    for i in range(n):
        x = step(x, i)
    return x


def modules(x, layers):
    for layer in layers:
        magneto.graph_break()
        x = layer(x)
    return x


def shape_of_step(x, n):
    total = 0
    for i in range(1, n):
        magneto.graph_break()
        total = total + torch.ones(i).sum()
    return total


def numbers_of_tensors(x, items):
    out = {}
    for t in items:
        magneto.graph_break()
        with torch.set_grad_enabled(bool(t.sum() > 3)):
            out[int(t[1])] = x * t
    return out


def tensors() -> list[torch.Tensor]:
    return [X * k for k in range(STEPS)]


PROGRAMS = [
    (counted, (STEPS,)),
    (while_counted, (STEPS,)),
    (item_of_own_list, (STEPS,)),
    (item_of_argument, (tensors(),)),
    (enumerated, (tensors(),)),
    (appended, (STEPS,)),
    (extended, (STEPS,)),
    (appended_and_read_in_the_end, (STEPS,)),
    (comprehension, (STEPS,)),
    (item_written, (STEPS,)),
    (dict_by_number, (STEPS,)),
    (dict_by_text, (STEPS,)),
    (nested, (STEPS,)),
    (texts, (["a" * k for k in range(STEPS)],)),
    (keys_of_own, (STEPS,)),
    (own_set, (STEPS,)),
    (backwards, (tensors(),)),
    (by_name, ({f"k{k}": X * k for k in range(STEPS)},)),
    (objects, ([Thing(X * k) for k in range(STEPS)],)),
    (objects, ([Thing(k) for k in range(STEPS)],)),
    (attribute_counted, (Thing(1), STEPS)),
    (decayed, (STEPS,)),
    (in_a_try, (STEPS,)),
    (in_a_with, (STEPS,)),
    (called, (STEPS,)),
    (modules, (torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(9)),)),
    (shape_of_step, (STEPS,)),
    (numbers_of_tensors, (tensors(),)),
]


@pytest.mark.parametrize(
    ("program", "args"), PROGRAMS, ids=lambda p: getattr(p, "__name__", "")
)
@pytest.mark.filterwarnings("error::magneto.exc.RecompileLimitWarning")
def test_no_compilation_for_each_step(program, args):
    before = magneto.stats()["compilations"]
    report = check_calls(program, [((X, *args), {}), ((X, *args), {})])
    assert report.graphs
    assert magneto.stats()["compilations"] - before <= MOST_COMPILATIONS
