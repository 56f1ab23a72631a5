# SPDX-License-Identifier: BSD-3-Clause
"""Explanations and logs of symbols: ranges, values, where each came from, and
which line of the program asked for each guard.
"""

from __future__ import annotations

import inspect

import pytest
import torch

import magneto
from magneto import logs, shape_report


def x(*sizes: int) -> torch.Tensor:
    return torch.ones(*sizes)


def line_of(mark: str) -> int:
    """The line of this file that ends with the comment `# mark`."""
    source = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    (number,) = (
        i for i, line in enumerate(source, 1) if line.endswith(f"  # {mark}")
    )
    return number


# -- programs, with the symbols and guards that they have ----------------------


def bounds(t):
    y = t + 1  # bounds: t
    if t.size(0) > 3:  # bounds: branch
        y = y * 2
    return y


def equal_sizes(t, u):
    return (
        t  # equal: t
        + u  # equal: u
    )


def helper(t):
    return t.reshape(-1, 4)  # helper: reshape


def in_a_call(t):
    return helper(t) + 1  # in a call


def in_torch(t, u):
    return torch.nn.functional.l1_loss(t, u)  # in torch


def argument(t, n):
    if n % 2 == 0:  # argument: n
        return t[0] * n  # argument: t
    return t[0] - n


def specialised(t):
    return t * [0, 0, 0, 7][t.size(0)]  # specialised


def in_a_module(module, t):
    return module(t)  # module


def number_out_of_tensor(t):
    n = t.item()  # item
    torch._check(n >= 2)
    torch._check(n < 9)
    return torch.zeros(n)


def size_out_of_tensor(t):
    return t.nonzero() * 2  # nonzero


def float_argument(t, f):
    return t * f if f > 0.5 else t  # float


def nothing_varies(t):
    return t + 1


class Net(torch.nn.Module):
    def forward(self, t):
        if t.size(1) == 7:  # in forward
            return t
        return t * 2


# Program, arguments, symbols (what `equals` and the bounds say, and a mark in
# the line), guards on sizes (condition, a mark in the line).
PROGRAMS = [
    (
        bounds,
        [x(5, 2)],
        [
            ("s0", "int", "t.size(0)", 5, 4, None, None, "bounds: t"),
            ("s1", "int", "t.size(1)", 2, 2, None, None, "bounds: t"),
        ],
        [
            ("t.size(1) >= 2", "bounds: t"),
            ("t.size(1) == t.stride(0)", "bounds: t"),
            ("t.size(0) >= 4", "bounds: branch"),
        ],
    ),
    (
        equal_sizes,
        [x(5), x(5)],
        [
            ("s0", "int", "t.size(0)", 5, 2, None, None, "equal: t"),
            ("s1", "int", "u.size(0)", 5, 2, None, "s0", "equal: t"),
        ],
        [
            ("t.size(0) >= 2", "equal: t"),
            ("t.size(0) == u.size(0)", "equal: t"),
        ],
    ),
    (
        in_a_call,
        [x(6, 2)],
        None,
        [
            ("t.size(0) >= 2", "helper: reshape"),
            ("t.size(1) >= 2", "helper: reshape"),
            ("t.size(1) == t.stride(0)", "helper: reshape"),
            (
                "t.size(0) * t.size(1) % 4 == 0 or t.size(0) * t.size(1) == 4",
                "helper: reshape",
            ),
            ("t.size(0) * t.size(1) // 4 != 1", "in a call"),
        ],
    ),
    (
        in_torch,
        [x(6), x(6)],
        None,
        [
            ("t.size(0) >= 2", "in torch"),
            ("t.size(0) == u.size(0)", "in torch"),
        ],
    ),
    (
        argument,
        [x(6), 4],
        [
            ("s0", "int", "n", 4, None, None, None, "argument: n"),
            ("s1", "int", "t.size(0)", 6, 2, None, None, "argument: t"),
        ],
        [("t.size(0) >= 2", "argument: t"), ("n % 2 == 0", "argument: n")],
    ),
    (
        specialised,
        [x(3)],
        [("s0", "int", "t.size(0)", 3, 3, 3, "3", "specialised")],
        [("t.size(0) == 3", "specialised")],
    ),
    (
        Net(),
        [x(3, 4)],
        None,
        [
            ("args[0].size(0) >= 2", "in forward"),
            ("args[0].size(1) >= 2", "in forward"),
            ("args[0].size(1) == args[0].stride(0)", "in forward"),
            ("args[0].size(1) != 7", "in forward"),
        ],
    ),
    (
        number_out_of_tensor,
        [torch.tensor(4)],
        [("u0", "int", None, None, 2, 8, None, "item")],
        [],
    ),
    (
        size_out_of_tensor,
        [torch.tensor([0, 1, 2])],
        [
            ("s0", "int", "t.size(0)", 3, 2, None, None, "nonzero"),
            ("u0", "int", None, None, 0, None, None, "nonzero"),
        ],
        [("t.size(0) >= 2", "nonzero")],
    ),
    (
        float_argument,
        [torch.tensor(2.0), 0.75],
        [("s0", "float", "f", 0.75, None, None, None, "float")],
        [("0.5 < f", "float")],
    ),
    (nothing_varies, [torch.tensor(1.0)], [], []),
]


def mark_of(stack):
    """The comment at the end of the user's line."""
    filename, line, _ = shape_report.user_line(stack)
    assert filename == __file__
    source = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return source[line - 1].partition("  # ")[2] or None


@pytest.mark.parametrize(
    ("fn", "args", "symbols", "guards"),
    PROGRAMS,
    ids=[getattr(row[0], "__name__", "module") for row in PROGRAMS],
)
def test_symbols_and_guards_with_their_lines(fn, args, symbols, guards):
    found = magneto.explain(fn, dynamic=True)(*args)
    (shape_guards,) = found.shape_guards
    assert [
        (each.condition, mark_of(each.stack)) for each in shape_guards
    ] == guards
    assert {each.condition for each in shape_guards} <= set(found.guards[0])
    if symbols is not None:
        assert [
            (
                each.name,
                each.type,
                each.source,
                each.value,
                each.least,
                each.most,
                each.equals,
                mark_of(each.stack),
            )
            for each in found.symbols[0]
        ] == symbols
    text = str(found)
    for each in (*shape_guards, *found.symbols[0]):
        assert f"  {each}" in text.splitlines()


def test_numbers_of_the_graph_name_their_nodes():
    found = magneto.explain(number_out_of_tensor)(torch.tensor(4))
    ((symbol,),) = found.symbols
    (graph,) = found.graphs
    assert symbol.node in [node.name for node in graph.graph.nodes]
    assert str(symbol) == (
        f"u0 = an int out of {symbol.node}, 2 to 8, made at "
        f"{__file__}:{line_of('item')} in number_out_of_tensor"
    )


def test_texts_of_symbols_and_guards():
    found = magneto.explain(bounds, dynamic=True)(x(5, 2))
    at = f"{__file__}:{line_of('bounds: t')} in bounds"
    assert list(map(str, found.symbols[0])) == [
        f"s0 = t.size(0), 5 in this call, at least 4, first met at {at}",
        f"s1 = t.size(1), 2 in this call, at least 2, first met at {at}",
    ]
    asked = f"{__file__}:{line_of('bounds: branch')} in bounds"
    assert f"t.size(0) >= 4  # {asked}" in map(str, found.shape_guards[0])


def test_the_whole_stack_is_there():
    found = magneto.explain(in_a_call, dynamic=True)(x(6, 2))
    guard = found.shape_guards[0][-2]
    assert [frame.name for frame in guard.user_stack] == ["in_a_call", "helper"]
    assert guard.user_stack[-1].lineno == line_of("helper: reshape")


def test_what_the_backend_asks_for_is_told_apart(heard):
    def backend(gm, inputs):
        (t,) = (i for i in inputs if isinstance(i, torch.SymInt))
        assert t < 100
        return gm.forward

    logs.set_logs("guards")
    magneto.compile(lambda t: t * t.size(0), backend=backend, dynamic=True)(
        x(4)
    )
    (record,) = heard.named("guards")
    asked = {
        guard["condition"]: bool(guard["stack"])
        for guard in record["shape_guards"]
    }
    assert asked == {"t.size(0) >= 2": True, "t.size(0) <= 99": False}


# -- logs ----------------------------------------------------------------------


def test_recompiles_tell_which_line_asked(heard):
    logs.set_logs("recompiles")
    compiled = magneto.compile(bounds, backend="eager", dynamic=True)
    compiled(x(5, 2))
    compiled(x(3, 2))
    (record,) = heard.records
    asked = f"{__file__}:{line_of('bounds: branch')} in bounds"
    assert record.getMessage().endswith(
        f"t.size(0) >= 4, but t.size(0) is 3 (asked for at {asked})"
    )
    ((place,),) = record.magneto["stacks"]
    assert place == (__file__, line_of("bounds: branch"), "bounds")


def test_sizes_are_shown_as_symbols_and_as_numbers(heard):
    def f(t, m):
        y = t @ t.t()
        return y.reshape(-1), t[m], torch.ones(2)

    logs.set_logs("graph_sizes")
    magneto.compile(f, backend="eager", dynamic=True)(
        x(3, 4), torch.tensor([True, False, True])
    )
    (record,) = heard.records
    lines = [
        line.partition("graph_sizes: ")[2].partition(": ")[2]
        for line in record.getMessage().splitlines()
    ]
    assert lines == [
        "(s0, s1) = (3, 4)",
        "(s0,) = (3,)",
        "(s1, s0) = (4, 3)",
        "(s0, s0) = (3, 3)",
        "(s0 * s0,) = (9,)",
        "(u0, s1) = (?, 4)",
        "(2,)",
    ]
    assert record.magneto["sizes"]["l_t_"] == ["s0", "s1"]
    assert record.magneto["concrete"]["l_t_"] == [3, 4]
    assert [None, 4] in record.magneto["concrete"].values()


def test_symbols_have_a_log(heard):
    logs.set_logs("symbols")
    magneto.compile(number_out_of_tensor, backend="eager")(torch.tensor(4))
    magneto.compile(nothing_varies, backend="eager")(x(2))
    one, other = heard.records
    assert "u0 = an int out of" in one.getMessage()
    assert one.magneto["symbols"][0]["least"] == 2
    assert other.getMessage().endswith("no symbols")
    assert other.magneto["symbols"] == []
