# SPDX-License-Identifier: BSD-3-Clause
"""Random programs over tensors that share memory: views, writes through them,
gradients and what is known about each, with breaks of the graph between.
"""

from __future__ import annotations

import random
from typing import Any

import torch

import magneto
from tests.fuzz.support.running import difference_of, of_sources
from tests.fuzz.support.showing import cleaned, named
from tests.fuzz.support.showing import told as told_whole
from tests.fuzz.support.writing import caught, indented

NAMES = ["a", "b", "c", "d", "w", "v"]
# {t}: a tensor, {n}: a small number, {i}: an index.
MAKING = [
    "{t} + {t}", "{t} * {n}", "{t} - {t}.mean()", "-{t}", "{t}.clone()",
    "{t}.detach()", "{t}.view(-1)", "{t}.reshape(2, -1)", "{t}.t()",
    "{t}.transpose(0, -1)", "{t}[{i}]", "{t}[{i}]", "{t}.unsqueeze(0)",
    "{t}.squeeze()", "{t}.flatten()", "{t}.expand(2, *{t}.shape)",
    "{t}.narrow(0, 0, 1)", "{t}.chunk(2)[0]", "{t}.unbind(0)[-1]",
    "{t}.split(1)[0]", "{t}.contiguous()", "{t}.to({y})", "{t}.double()",
    "{t}.diagonal()", "{t}.unfold(0, 1, 1)", "{t}.select(0, 0)",
    "{t}.as_strided((2,), (1,))", "{t}.T", "{t}.mT", "{t}.data", "{t}.real",
    "{t}.abs().sqrt()", "{t}.sum(0)", "{t}.max()", "{t}.sort()[0]",
    "{t} > {t}", "({t} > 0).float()", "torch.where({t} > 0, {t}, {n})",
    "torch.cat([{t}.flatten(), {t}.flatten()])", "torch.stack([{t}, {t}])",
    "torch.zeros_like({t})", "torch.full((2, 2), {n}.0)", "torch.arange({n})",
    "torch.tensor([{n}.0, {n}.5])", "{t}.new_ones(2)", "torch.ones(0)",
    "{t}.masked_fill({t} > 0, {n})", "{t}.index_select(0, torch.tensor([0]))",
    "{t}.requires_grad_({g})", "{t}.add({t}, alpha={n})", "{t} @ {t}",
    "torch.relu({t})", "{t}.softmax(-1)", "{t}.tanh().requires_grad_()",
    "torch.from_numpy({t}.detach().numpy())", "{t}.repeat(2, 1)",
    "{t}.movedim(0, -1)", "{t}.broadcast_to(2, *{t}.shape)", "{t}.swapaxes(0, 0)",
    "torch.nn.Parameter({t}.detach())", "{t}.cumsum(0)", "{t}.roll(1)",
    "torch.broadcast_tensors({t}, {t})[0]", "{t}.type(torch.float64)",
]  # fmt: skip
WRITES = [
    "{t}.add_({n})", "{t}.mul_({t})", "{t} += {n}", "{t} *= {t}",
    "{t}[{i}] = {n}", "{t}[{i}] = {t}", "{t}[{i}] += {n}", "{t}.zero_()",
    "{t}.copy_({t})", "{t}.fill_({n})", "{t}.data.add_({n})",
    "{t}.data = {t}.data", "{t}.clamp_(0, {n})", "{t}.neg_()", "{t}.t_()",
    "{t}.detach_()", "{t}.requires_grad_({g})", "{t}.requires_grad = {g}",
    "{t}.squeeze_()", "{t}.unsqueeze_(0)", "{t}.masked_fill_({t} > 0, {n})",
    "{t}.index_fill_(0, torch.tensor([0]), {n})",
    "{t}.set_({t})", "{t}.grad = None", "{t}.grad = torch.ones_like({t})",
    "{t}.sum().backward()", "({t} * {t}).sum().backward()",
    "torch.add({t}, {n}, out={t})", "{t}.exponential_().zero_()",
    "{t}.tag = {n}", "{t}.retain_grad()", "{t}.transpose_(0, -1)",
    "{t}.swapdims_(0, 0)",
]  # fmt: skip
LOOKS = [
    "{t}.shape", "{t}.stride()", "{t}.dtype", "{t}.requires_grad",
    "{t}.is_leaf", "{t}.grad_fn is None", "{t}.is_contiguous()", "{t}.numel()",
    "{t}.storage_offset()", "{t} is {t}", "{t}._version", "{t}.grad",
    "{t}.tolist()", "{t}.sum().item()", "len({t})", "{t}.dim()",
    "type({t}).__name__", "getattr({t}, 'tag', None)", "{t}._base is {t}",
    "{t}.is_set_to({t})", "torch.equal({t}, {t})", "{t}.size(0)",
    "[*{t}.shape]", "{t}.element_size()", "{t}.nelement() > 2",
    "{t}.data_ptr() == {t}.data_ptr()", "hash({t}) == hash({t})",
    "{t}.untyped_storage().nbytes()", "bool({t}.sum() > {n})", "{t}.names",
    "{t}.is_inference()", "{t}.retains_grad", "{t}.layout", "{t}.itemsize",
    "torch.is_grad_enabled()", "{t}._is_view()", "{t}.is_floating_point()",
]  # fmt: skip
AROUND = [
    "with torch.no_grad():", "with torch.enable_grad():",
    "with torch.inference_mode():", "if {t}.sum() > {n}:",
    "for k in range(2):", "if {t}.requires_grad:", "for row in {t}:",
    "if {t}.shape[0] > 1:", "with torch.set_grad_enabled({g}):",
]  # fmt: skip


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        # Inference tensors can't be written to outside, which is all that a
        # program with them would find.
        self.kept = [k for k in AROUND if "inference" not in k]
        if choose.random() < 0.1:
            self.kept = AROUND

    def program(self) -> str:
        """A function of some tensors, and notes."""
        lines = [f"def program({', '.join(NAMES)}, notes):"]
        for _ in range(self.choose.randint(3, 10)):
            lines += caught(self.statement(), "told(error)")
        lines.append(f"    return {', '.join(NAMES)}")
        return "\n".join(lines)

    def statement(self) -> list[str]:
        """The lines of one."""
        kind = self.choose.random()
        if kind < 0.4:
            name = self.choose.choice(NAMES)
            return [f"{name} = {self.filled(self.choose.choice(MAKING))}"]
        if kind < 0.65:
            return [self.filled(self.choose.choice(WRITES))]
        if kind < 0.8:
            look = self.filled(self.choose.choice(LOOKS))
            return [f"notes.append({look})"]
        if kind < 0.88:
            return ["magneto.graph_break()"]
        around = self.filled(self.choose.choice(self.kept))
        return [around, *indented(self.statement())]

    def filled(self, template: str) -> str:
        """With something in each hole."""
        pick = self.choose.choice
        parts = template.split("{t}")
        text = parts[0]
        for part in parts[1:]:
            text += pick(NAMES) + part
        return text.format(
            n=pick(["0", "1", "2", "3"]),
            i=pick(["0", "-1", "1:", ":1", "..., 0", "None", "[0]", "::2",
                    "d > 0", "0, 0", "torch.tensor([0, 0])"]),
            g=pick(["True", "False"]),
            y=pick(["torch.float64", "'cpu'", "a.dtype", "torch.int32"]),
        )  # fmt: skip


def told(error: BaseException) -> tuple[str, str]:
    """An exception, in words that two runs share."""
    # The words of the frameworks of dispatch and autograd name places.
    name, text = told_whole(error)
    return name, text.split("\n")[0][:150]


def inputs() -> tuple[Any, ...]:
    """Some of which share memory."""
    a = torch.arange(6.0).view(2, 3) - 2
    w = torch.ones(2, 3, requires_grad=True)
    return a, a[1], a.t(), torch.linspace(-1, 1, 4).view(2, 2), w, w * 2


def shown(value: Any, *, versions: bool = True) -> Any:
    """In words that two runs share."""
    if not isinstance(value, torch.Tensor):
        return cleaned(repr(value))
    try:
        return facts(value, versions=versions)
    except RuntimeError as error:
        # Of some views it can't be told what they were computed by.
        return told(error)


def items(value: torch.Tensor) -> Any:
    """What it holds. Nothing if that goes beyond its memory, as it does where
    memory that isn't torch's should have been made larger.
    """
    last = value.storage_offset() + sum(
        (size - 1) * stride
        for size, stride in zip(value.shape, value.stride(), strict=True)
    )
    have = value.untyped_storage().nbytes() // value.element_size()
    return value.tolist() if value.numel() == 0 or last < have else None


def facts(value: torch.Tensor, *, versions: bool) -> Any:
    """What is known about a tensor."""
    is_counted = not (value.requires_grad or value.is_inference())
    return (
        type(value).__name__,
        items(value),
        value.shape,
        value.stride(),
        value.dtype,
        value.requires_grad,
        value.is_leaf,
        type(value.grad_fn).__name__,
        # What a failed run has written to is written again in plain Python.
        value._version if versions and is_counted else None,
        getattr(value, "tag", None),
        shown(value.grad) if value.is_leaf or value.retains_grad else None,
    )


def sharing(values: list[torch.Tensor]) -> list[tuple[int, int]]:
    """Which of them are the same object, or have the same memory."""
    return [
        (
            next(j for j, other in enumerate(values) if other is value),
            next(
                j
                for j, other in enumerate(values)
                if other.untyped_storage()._cdata
                == value.untyped_storage()._cdata
            ),
        )
        for value in values
    ]


def result_of(call: Any) -> str:
    """What a call gives, notes and leaves, as text."""
    torch.manual_seed(0)
    notes: list[Any] = []
    given = inputs()
    result: Any
    try:
        result = call(*given, notes)
        known = [*given, *result]
        shared = sharing(known)
    except Exception as error:
        result, shared = [told(error)], []
    finally:
        torch.set_grad_enabled(True)
    return repr([[shown(v) for v in k] for k in (result, notes, given)]) + repr(
        shared
    )


GLOBALS = named(magneto, torch, told)


def differs(source: str, seed: int) -> str:
    """What differs for a program; empty if nothing."""
    return difference_of(source, dict(GLOBALS), result_of)


write, try_seed = of_sources(Writer, differs)
