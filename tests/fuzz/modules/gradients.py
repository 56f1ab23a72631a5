# SPDX-License-Identifier: BSD-3-Clause
"""Random steps of training: what is differentiated, by which functions and with
which hooks, what is done to gradients and to what they are of, and optimizers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint

import magneto
from tests.fuzz.support.running import NoEnd, by_calls, limited, of_sources
from tests.fuzz.support.showing import cleaned, named
from tests.fuzz.support.writing import caught, indented
from tests.fuzz.tensors.views import told as told_exactly

# {t}: a tensor, {p}: a leaf, {m}: a module, {F}: a Function, {k}: a number.
MAKING = [
    "{t} * {p}", "{t} + {t}", "({t} * {t}).tanh()", "{m}(x)", "{m}({t})",
    "{F}.apply({t})", "{F}.apply({p})", "{F}.apply({t} * {p})", "Both.apply({t}, {p})[{b}]",
    "Scaled.apply({t}, {k})", "{t}.detach()", "{t}.detach().requires_grad_()",
    "{t}.clone()", "{p} * {k}", "{t}.sum()", "{t}.exp()", "{t} / {k}",
    "torch.autograd.grad({t}.sum(), {p}, retain_graph=True)[0]",
    "torch.autograd.grad({t}.sum(), {p}, create_graph=True)[0]",
    "torch.autograd.grad({t}.pow(2).sum(), [{p}, {p}], create_graph=True, "
    "allow_unused=True)[{b}]",
    "torch.autograd.grad(({t} * {p}).sum(), {t}, create_graph=True)[0]",
    "checkpoint(block, {t}, use_reentrant=False)",
    "checkpoint(block, {t}, {p}, use_reentrant={g})",
    "torch.func.grad(lambda v: (v * {p}).sum())({t})",
    "torch.func.vmap(lambda v: v * 2)({t})",
    "torch.func.jvp(torch.sin, ({t},), (torch.ones_like({t}),))[{b}]",
    "torch.func.functional_call({m}, {{'bias': {p}}}, ({t},))",
    "{p}.grad", "{p}.grad.clone()", "{t}.grad", "{p}.data", "{p}.data * {k}",
    "{p}.detach()[:2]", "{t}.view(-1)", "{t}.view(3)", "{t}[:2]", "{t}[{b}]",
    "torch.where({t} > 0, {t}, {p})", "nn.functional.dropout({t}, 0.5)",
    "nn.functional.mse_loss({t}, {p})", "{t}.expand(2, 3)", "{t}.max()",
    "nn.Parameter({t}.detach())", "torch.cat([{t}.flatten(), {p}])",
    "torch.stack([{t}, {p}]).sum(0)", "{m}.weight", "{m}.bias * {t}",
    "{t}.requires_grad_()", "{t}.norm()", "{t} @ {m}.weight", "block({t})",
    "block({t}, {p})", "sum(v.sum() for v in {m}.parameters())",
    "torch.zeros(3, requires_grad={g})", "{t}.double().float()",
]  # fmt: skip
ACTS = [
    "{t}.sum().backward()", "{t}.sum().backward(retain_graph=True)",
    "{t}.backward(torch.ones_like({t}))", "({t} * {p}).sum().backward()",
    "torch.autograd.backward([{t}.sum(), {t}.mean()])",
    "{t}.sum().backward(inputs=[{p}])", "{t}.sum().backward(create_graph=True)",
    "{p}.grad = None", "{p}.grad.zero_()", "{p}.grad = {t}.detach()",
    "{p}.grad *= {k}", "{p}.grad.add_({t})", "del {p}.grad",
    "opt.step()", "opt.zero_grad()", "opt.zero_grad(set_to_none=False)",
    "opt.step(lambda: ({p} * {t}).sum())", "opt.param_groups[0]['lr'] *= 0.5",
    "nn.utils.clip_grad_norm_({m}.parameters(), 1.0)",
    "nn.utils.clip_grad_value_([{p}], 0.5)", "{m}.zero_grad()",
    "{p}.data.mul_({k})", "{p}.data = {p}.data * {k}", "{p}.add_({k})",
    "{t}.mul_({k})", "{t}.add_({p})", "{t}.zero_()", "{t}[0] = {k}",
    "hooked({t}, lambda g: g * 2)", "hooked({t}, heard)",
    "{p}.register_hook(lambda g: heard(g, {k}))",
    "hooks.append(hooked({t}, heard))", "hooks.pop().remove()",
    "{p}.register_post_accumulate_grad_hook(heard)", "{t}.retain_grad()",
    "{t}.grad_fn.register_hook(lambda *g: heard({k}))",
    "{t}.grad_fn.register_prehook(lambda g: heard({k}))",
    "hooks.append({m}.register_full_backward_hook(lambda *g: heard({k})))",
    "hooks.append({m}.register_forward_hook(lambda m, i, o: o * 2))",
    "{p}.requires_grad_({g})", "{p}.requires_grad = {g}",
    "{m}.requires_grad_({g})", "{m}.weight.requires_grad_({g})",
    "{m}.weight.grad = None", "{m}.bias.data.fill_({k})",
    "{m}.load_state_dict({m}.state_dict())", "{t}.detach_()", "kept.append({t})",
    "kept.append({t}.detach())", "sum(kept).sum().backward()",
    "torch.optim.SGD([{p}], lr=0.1).step()", "average.update_parameters(lin)",
    "plan.step()", "scaler.scale({t}.sum()).backward()",
]  # fmt: skip
LOOKS = [
    "{t}.requires_grad", "{t}.is_leaf", "{p}.grad is None", "{p}.grad",
    "type({t}.grad_fn).__name__", "{t}.grad_fn is None", "{t}.output_nr",
    "{t}.grad_fn.name()", "type({t}.grad_fn.next_functions[0][0]).__name__",
    "{t}.retains_grad", "torch.is_grad_enabled()", "{t}.sum().item()",
    "{t} is {t}", "{p}.grad is {p}.grad", "opt.state_dict()['param_groups']",
    "[v.grad is None for v in {m}.parameters()]", "len(kept)", "len(hooks)",
    "{t}.tolist()", "{t}.shape", "type({t}).__name__", "sorted(opt.state_dict())",
    "{m}.weight.grad", "{t}.grad", "len(opt.state)", "plan.get_last_lr()",
    "{t}.grad_fn.saved_tensors", "{t}.grad_fn.metadata",
    "torch.autograd.gradcheck(torch.sin, {t}.detach().double().requires_grad_())",
    "bool(({t} > 0).all())", "{p}.is_leaf",
]  # fmt: skip
AROUND = [
    "with torch.no_grad():", "with torch.enable_grad():",
    "with torch.set_grad_enabled({g}):", "if {t}.requires_grad:",
    "if {t}.sum() > 0:", "for _ in range(2):", "if n == {b}:",
    "with saving(lambda t: t * 1, lambda t: t):",
    "with saving(lambda t: (heard('pack'), t)[1], lambda t: t * 2):",
    "with torch.autograd.graph.save_on_cpu():",
    "with torch.autograd.graph.disable_saved_tensors_hooks('no'):",
    "for v in {m}.parameters():", "with torch.autograd.profiler.record_function('r'):",
    "with nn.utils.parametrize.cached():", "if {p}.grad is not None:",
    "with torch.autocast('cpu', torch.bfloat16, enabled={g}):",
    "with torch.autograd.forward_ad.dual_level():",
]  # fmt: skip
FUNCTIONS = ["Saving", "Inward", "Silent", "Once", "Late", "Dirty", "Plain"]
OPTIMIZERS = [
    "torch.optim.SGD(given, lr=0.5, momentum=0.5)",
    "torch.optim.SGD(given, lr=0.5, foreach=False)",
    "torch.optim.Adagrad(given, lr=0.5)", "torch.optim.RMSprop(given, lr=0.5)",
    "torch.optim.Rprop(given)", "torch.optim.SGD(given, lr=0.1, weight_decay=0.1)",
]  # fmt: skip

HEARD: list[Any] = []


def heard(*what: Any) -> None:
    """What hooks call."""
    HEARD.append(
        [w.tolist() if isinstance(w, torch.Tensor) else w for w in what]
    )


class Saving(Function):
    """Saves what it is given and what it gives."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """x²."""
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Not the derivative, so that it can be told which one was asked."""
        x, y = ctx.saved_tensors
        heard("saving")
        return grad * x * 3 + y


class Inward(Function):
    """In the newer style, with an attribute."""

    @staticmethod
    def forward(x: Any) -> Any:
        """sin x."""
        return x.sin()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keeps a number."""
        ctx.size = inputs[0].dim()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """With the number."""
        return grad + ctx.size

    @staticmethod
    def jvp(ctx: Any, tangent: Any) -> Any:
        """Forwards."""
        return tangent * 5


class Silent(Function):
    """Whose gradients aren't made where there are none."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Says so."""
        ctx.set_materialize_grads(False)
        return x + 1

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Passes it on."""
        return None if grad is None else grad * 7


class Once(Function):
    """Differentiable once."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Whose items are written to."""
        y = x.clone()
        y[0] = 0
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Any) -> Any:
        """Without a graph."""
        return grad * 2


class Late(Function):
    """Which asks what needs gradients, and gives an output without."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """The input itself."""
        ctx.needs = ctx.needs_input_grad
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """If it was needed."""
        heard(ctx.needs)
        return grad.neg()


class Dirty(Function):
    """Writes to its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Says so."""
        x.add_(1)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Twice."""
        return grad * 2


class Plain(Function):
    """Whose output isn't differentiable."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        """Says so."""
        y = x > 0
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Never."""
        return grad


class Both(Function):
    """Of two, giving two."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        """Their sum and product."""
        ctx.save_for_backward(x, y)
        return x + y, x * y

    @staticmethod
    def backward(ctx: Any, one: Any, other: Any) -> Any:
        """Only of the first."""
        x, y = ctx.saved_tensors
        return one * 2 + other * y, None


class Scaled(Function):
    """With a number."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: Any) -> Any:
        """Kept for the way back."""
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """One more than it."""
        return grad * (ctx.factor + 1), None


def hooked(x: Any, hook: Any) -> Any:
    """Registers one, but of a view: PyTorch crashes where the view's base was
    written to since.
    """
    if x._is_view():
        raise ValueError("a view")
    return x.register_hook(hook)


def told(error: BaseException) -> tuple[str, str]:
    """An exception, in words that two runs share: a Function that is traced
    isn't named, and its `mark_dirty` not counted (docs/differences.md).
    """
    name, text = told_exactly(error)
    return name, re.sub(r" (is at version \d|Given that|This view).*", "", text)


def block(x: Any, y: Any = 1) -> Any:
    """What is checkpointed."""
    return (x.sin() * y).cos()


class Writer:
    """Writes one program."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.catches = choose.random() < 0.6

    def program(self) -> str:
        """A step, and what makes the optimizer."""
        lines = [
            "def program(x, p, q, lin, opt, n, kept, hooks, notes):",
            "    a = b = c = x",
        ]
        for _ in range(self.choose.randint(3, 10)):
            lines += self.step(self.statement())
        lines.append("    return a, b, c")
        lines.append("def make(given):")
        lines.append(f"    return {self.choose.choice(OPTIMIZERS)}")
        return "\n".join(lines)

    def step(self, lines: list[str]) -> list[str]:
        """In a function, within a `try` or not."""
        if not self.catches:
            return indented(lines)
        return caught(lines, "told(error)")

    def statement(self, depth: int = 0) -> list[str]:
        """The lines of one."""
        kind = self.choose.random()
        if kind < 0.35:
            name = self.choose.choice("abc")
            return [f"{name} = {self.filled(MAKING)}"]
        if kind < 0.7:
            return [self.filled(ACTS)]
        if kind < 0.78:
            return [f"notes.append({self.filled(LOOKS)})"]
        if kind < 0.85:
            return ["magneto.graph_break()"]
        if depth > 2:
            return ["a = a * 2"]
        lines = [self.filled(AROUND)]
        for _ in range(self.choose.randint(1, 2)):
            lines += indented(self.statement(depth + 1))
        return lines

    def filled(self, templates: list[str]) -> str:
        """One of them, with something in each hole."""
        pick = self.choose.choice
        text = pick(templates)
        for hole, items in (("{t}", "abcabcx"), ("{p}", "pq")):
            first, *parts = text.split(hole)
            text = first + "".join(pick(items) + part for part in parts)
        return text.format(
            F=pick(FUNCTIONS), m="lin", b=pick("01"), g=pick(["True", "False"]),
            k=pick(["2", "0.5", "3", "n"]),
        )  # fmt: skip


GLOBALS: dict[str, Any] = {
    "nn": nn,
    "saving": torch.autograd.graph.saved_tensors_hooks,
    **named(
        block, checkpoint, heard, hooked, magneto, told, torch, Saving, Inward,
        Silent, Once, Late, Dirty, Plain, Both, Scaled,
    ),
}  # fmt: skip


def shown(value: Any) -> Any:
    """In words that two runs share."""
    if isinstance(value, torch.Tensor):
        try:
            grad = value.grad if value.is_leaf or value.retains_grad else None
            return (type(value).__name__, value.tolist(), value.dtype,
                    value.requires_grad, value.is_leaf,
                    type(value.grad_fn).__name__, shown(grad))  # fmt: skip
        except RuntimeError as error:
            return told(error)
    if isinstance(value, list | tuple):
        return [shown(v) for v in value]
    return cleaned(repr(value))


def results(source: str, seed: int, is_compiled: bool) -> list[str]:
    """What some steps give and leave, each as text."""
    torch.manual_seed(0)
    lin = nn.Linear(3, 3)
    p = torch.linspace(-1, 1, 3).requires_grad_()
    q = nn.Parameter(torch.ones(3))
    namespace: dict[str, Any] = dict(GLOBALS)
    namespace["average"] = torch.optim.swa_utils.AveragedModel(lin)
    exec(compile(source, "<program>", "exec"), namespace)
    opt = namespace["make"]([p, q, *lin.parameters()])
    namespace["plan"] = torch.optim.lr_scheduler.StepLR(opt, 1, 0.5)
    namespace["scaler"] = torch.amp.GradScaler("cpu", init_scale=2.0)
    call: Callable[..., Any] = namespace["program"]
    if is_compiled:
        call = magneto.compile(call, backend="eager")
    kept: list[Any] = []
    hooks: list[Any] = []
    found = []
    for number, n in enumerate((1, 0, 1, 2)):
        HEARD.clear()
        notes: list[Any] = []
        torch.manual_seed(number)
        x = torch.linspace(-1, 1, 3)
        result: Any
        try:
            with limited(10):
                result = call(x, p, q, lin, opt, n, kept, hooks, notes)
                for r in result:
                    if r.requires_grad and not r.is_leaf:
                        r.sum().backward(retain_graph=True)
        except NoEnd:
            result = "no end"
        except Exception as error:
            result = told(error)
        finally:
            torch.set_grad_enabled(True)
        left = (x, p, q, *lin.parameters(), kept, len(hooks))
        state = sorted(opt.state_dict()["state"].items())
        if number == 0 and isinstance(result, tuple | list):
            opt.step()
        found.append(repr([shown(v) for v in (result, notes, left)]) +
                     repr((HEARD, cleaned(repr(state)))))  # fmt: skip
    return found


differs = by_calls(results)
write, try_seed = of_sources(Writer, differs)
