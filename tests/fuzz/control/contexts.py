# SPDX-License-Identifier: BSD-3-Clause
"""Random programs of nothing but torch's state: what switches it, entered and
left in every way a program has, with breaks of the graph and errors between,
called where this or that is switched already.
"""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import magneto
from tests.fuzz.control.state import shown, told, torch_state, usual_state
from tests.fuzz.support.running import difference_of, of_sources, text_of_child
from tests.fuzz.support.showing import named as by_name
from tests.fuzz.support.writing import BlockWriter, indented

DEEPEST = 4
WEIGHT = torch.full((2, 2), 0.5, requires_grad=True)

# What a program can enter; what of it may be a decorator, too.
DECORATORS = [
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.inference_mode()",
    "torch.inference_mode(False)",
    "torch.autocast('cpu')",
    "torch.autocast('cpu', enabled=False)",
    "torch.autocast('cpu', dtype=torch.float16, cache_enabled=False)",
    "named('decorated')",
]
MANAGERS = [
    *DECORATORS,
    "torch.set_grad_enabled(n == 0)",
    "torch.set_grad_enabled(False)",
    "torch.inference_mode(n == 0)",
    "torch.amp.autocast('cpu', enabled=n == 1)",
    "torch.device('meta')",
    "torch.device('cpu')",
    "sdpa_kernel(SDPBackend.MATH)",
    "torch.autograd.set_multithreading_enabled(False)",
    "torch.autograd.graph.saved_tensors_hooks(abs, abs)",
    "torch.autograd.profiler.record_function('region')",
    "without_gradients()",
    "in_half(n)",
    "contextlib.nullcontext()",
    "kept",
]
SWITCHES = [
    "torch.set_grad_enabled(n != 0)",
    "torch.set_grad_enabled(True)",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.float32)",
    "torch.set_autocast_enabled('cpu', n == 0)",
    "torch.use_deterministic_algorithms(n == 0)",
    "torch.set_default_device('meta' if n == 1 else None)",
    "torch.set_float32_matmul_precision('high')",
    "torch.backends.mkldnn.set_flags(False)",
]


class Named:
    """A manager of the program's own, which switches one thing by hand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.before: list[bool] = []

    def __enter__(self) -> Named:
        self.before.append(torch.is_grad_enabled())
        torch.set_grad_enabled(not self.before[-1])
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        torch.set_grad_enabled(self.before.pop())
        return kind is KeyError


@contextlib.contextmanager
def named(name: str) -> Any:
    """The same as a generator."""
    with Named(name) as inside:
        yield inside.name


@contextlib.contextmanager
def without_gradients() -> Any:
    """Two states around a body, one of them by a `finally`."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def in_half(n: int) -> Any:
    """A state that is entered under a condition, with a break inside."""
    with contextlib.ExitStack() as stack:
        if n != 1:
            stack.enter_context(torch.autocast("cpu"))
        magneto.graph_break()
        yield


class Writer(BlockWriter):
    """Writes one program of a few functions, each of which may call those
    before it.
    """

    def program(self) -> str:
        """The functions, of which the last is `program(x, n, kept, notes)`."""
        return self.all_functions(self.choose.randint(0, 2), 0.5)

    def function(self, name: str, is_generator: bool) -> list[str]:
        """A whole function."""
        self.room = self.choose.randint(3, 9)
        self.is_generator, self.is_in_loop = is_generator, False
        lines = []
        if name != "program" and self.choose.random() < 0.4:
            lines.append(f"@{self.choose.choice(DECORATORS)}")
        lines.append(f"def {name}(x, n, kept, notes):")
        body = ["y = x", "left = []"]
        while self.room > 0:
            body += self.statement(0)
        if is_generator:
            body.append("yield x")
        return [*lines, *indented([*body, "return x, y, torch_state()"])]

    def statement(self, depth: int) -> list[str]:
        """One, with what is in it."""
        self.room -= 1
        kinds = [self.simple] * 6 + [self.by_hand] * 2 + [self.leaving]
        if depth < DEEPEST and self.room > 0:
            kinds += [self.managed] * 5
            kinds += [self.attempt, self.loop, self.choice, self.inner]
        if self.is_generator:
            kinds += [self.yielding] * 3
        return self.choose.choice(kinds)(depth)

    def simple(self, depth: int) -> list[str]:
        """What has no control flow of its own."""
        calls = [
            f"notes.append(shown({name}(x, n, kept, notes)))"
            for name, generates in self.functions
            if not generates
        ]
        steps = [
            "notes.append(torch_state())",
            "notes.append(torch_state())",
            "magneto.graph_break()",
            "magneto.graph_break()",
            "x = x + 1",
            "y = WEIGHT @ WEIGHT",
            "notes.append(shown(y * y))",
            "notes.append(shown(x @ WEIGHT))",
            "notes.append(shown(torch.zeros(2)))",
            "notes.append(shown(torch.tensor(1.5)))",
            "n += 1",
            "x = x.detach()",
            self.choose.choice(SWITCHES),
        ]
        return [self.choose.choice([*steps, *calls])]

    def by_hand(self, depth: int) -> list[str]:
        """A manager entered or left where no `with` says so."""
        manager = self.choose.choice(MANAGERS)
        number = self.number()
        steps = [
            [f"c{number} = {manager}", f"c{number}.__enter__()",
             *self.block(depth), f"c{number}.__exit__(None, None, None)"],
            [f"c{number} = {manager}", f"left.append(c{number})",
             "left[-1].__enter__()"],
            ["if left:", "    left.pop().__exit__(None, None, None)"],
            [f"kept = {manager}"],
        ]  # fmt: skip
        return self.choose.choice(steps)

    def leaving(self, depth: int) -> list[str]:
        """A way out: an error, a return, the end of a loop."""
        ways = [f"raise {self.choose.choice(['KeyError', 'OSError'])}(n)"]
        ways += ["open('/none')", "x.missing", "return x, y, torch_state()"]
        if self.is_in_loop:
            ways += ["break", "continue"]
        return [
            f"if n == {self.choose.randint(0, 2)}:",
            f"    {self.choose.choice(ways)}",
        ]

    def managed(self, depth: int) -> list[str]:
        """A `with` statement, or what stands for one."""
        managers = self.choose.choices(
            MANAGERS, k=self.choose.choice([1, 1, 1, 2])
        )
        body = self.block(depth)
        if self.choose.random() < 0.2:
            stack = f"s{self.number()}"
            entered = [f"{stack}.enter_context({m})" for m in managers]
            return [
                f"with contextlib.ExitStack() as {stack}:",
                *indented([*entered, *body]),
            ]
        return [f"with {', '.join(managers)}:", *indented(body)]

    def attempt(self, depth: int) -> list[str]:
        """A `try` with a handler or a `finally`."""
        lines = ["try:", *indented(self.block(depth))]
        if self.choose.random() < 0.7:
            kind = self.choose.choice(["KeyError", "OSError", "Exception"])
            lines.append(f"except {kind} as error:")
            return [*lines, *indented(["told(error)", *self.block(depth)])]
        return [*lines, "finally:", *indented(self.block(depth))]

    def loop(self, depth: int) -> list[str]:
        """A loop over a few things, or over what a generator gives."""
        made = [
            f"{name}(x, n, kept, notes)"
            for name, generates in self.functions
            if generates
        ]
        items = self.choose.choice(["range(2)", *made, *made])
        return [
            f"for _ in {items}:",
            *indented(self.block(depth, is_in_loop=True)),
        ]

    def inner(self, depth: int) -> list[str]:
        """A function of its own, decorated, that is called at once."""
        name = f"inner{self.number()}"
        body = ["nonlocal n", "n += 1"]
        body += self.block(depth, is_generator=False, is_in_loop=False)
        return [
            f"@{self.choose.choice(MANAGERS[: len(DECORATORS)])}",
            f"def {name}(x=x, y=y, kept=kept, left=left):",
            *indented([*body, "return x"]),
            f"x = {name}()" if depth else f"{name}()",
            # What it holds would die in another order behind it.
            f"del {name}",
        ]

    def yielding(self, depth: int) -> list[str]:
        """A step out of a generator."""
        return [
            self.choose.choice(["yield x", "yield", "notes.append((yield))"])
        ]


NAMES = {
    "WEIGHT": WEIGHT,
    **by_name(
        SDPBackend, contextlib, in_half, magneto, named, sdpa_kernel, shown,
        told, torch, torch_state, without_gradients,
    ),
}  # fmt: skip


def surroundings() -> list[tuple[int, Any, Any]]:
    """What calls differ in: `n`, the manager that is passed, the state around."""
    return [
        (0, torch.no_grad(), contextlib.nullcontext()),
        (1, torch.autocast("cpu"), contextlib.nullcontext()),
        (1, torch.inference_mode(), torch.no_grad()),
        (0, Named("kept"), torch.autocast("cpu")),
        (2, contextlib.nullcontext(), torch.inference_mode()),
    ]


def text_of_runs(call: Any) -> str:
    """What some calls give, note and leave."""
    seen = []
    for n, kept, around in [*surroundings(), *surroundings()]:
        notes: list[Any] = []
        with usual_state():
            with around:
                x = torch.ones(2, 2)
                try:
                    result = shown(call(x, n, kept, notes))
                except Exception as error:
                    result = told(error)
                    del error
                seen.append((result, notes, torch_state()))
            # What is left of generators changes the state when it dies.
            gc.collect()
            seen.append(torch_state())
    return "\n".join(map(repr, seen))


def result_of(call: Any) -> str:
    """The same out of a process of its own, as states that are entered and
    never left can't be told from those of the process.
    """
    return text_of_child(lambda: text_of_runs(call))


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""
    return difference_of(source, dict(NAMES), result_of)


write, try_seed = of_sources(Writer, differs)
