# SPDX-License-Identifier: BSD-3-Clause
"""Random modules whose forward calls, changes and looks at what they have:
submodules in containers, parameters, buffers, hooks, modes and plain attributes.
"""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from torch import nn

import magneto
from tests.fuzz.support.running import NoEnd, by_calls, limited, of_sources
from tests.fuzz.support.showing import cleaned, named, told
from tests.fuzz.support.writing import indented

# What __init__ makes.
PARTS = {
    "linear": "self.linear = nn.Linear(3, 3)",
    "norm": "self.norm = nn.BatchNorm1d(3)",
    "dropout": "self.dropout = nn.Dropout(0.5)",
    "items": "self.items = nn.ModuleList([nn.ReLU(), nn.Linear(3, 3)])",
    "table": "self.table = nn.ModuleDict({'a': nn.Tanh(), 'b': nn.Identity()})",
    "chain": "self.chain = nn.Sequential(nn.Linear(3, 3), nn.GELU())",
    "weight": "self.weight = nn.Parameter(torch.ones(3))",
    "weights": "self.weights = nn.ParameterList([torch.ones(3), torch.zeros(3)])",
    "named": "self.named = nn.ParameterDict({'u': torch.ones(3)})",
    "buffer": "self.register_buffer('buffer', torch.zeros(3))",
    "hidden": "self.register_buffer('hidden', torch.ones(3), persistent=False)",
    "count": "self.count = 0",
    "flag": "self.flag = True",
    "notes": "self.notes = []",
    "cache": "self.cache = {}",
    "none": "self.register_parameter('none', None)",
    "lazy": "self.lazy = nn.LazyLinear(3)",
    "normed": "self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))",
    "embed": "self.embed = nn.Embedding(5, 3)",
    "inner": "self.inner = Inner(self)",
    "shared": "self.shared = self.linear",
}

# What forward does with what it has, by the part.
USES = {
    "linear": [
        "x = self.linear(x)",
        "x = nn.functional.linear(x, self.linear.weight)",
        "x = x + self.linear.weight.sum()",
        "x = torch.func.functional_call(self.linear, "
        "{'bias': torch.ones(3)}, (x,))",
        "log(self.linear.in_features, self.linear.bias.requires_grad)",
        "self.linear = nn.Identity()",
        "self.linear.weight.data.mul_(0.5)",
        "self.linear.requires_grad_(not self.linear.weight.requires_grad)",
        "self.linear.weight = nn.Parameter(self.linear.weight * 2)",
        "log(repr(self.linear))",
        "self.linear.extra = x.detach()",
        "self.linear.forward = lambda v: v + 1",
    ],
    "norm": ["x = self.norm(x)", "self.norm.eval()", "self.norm.momentum = 0.5",
             "log(self.norm.num_batches_tracked)"],
    "dropout": ["x = self.dropout(x)", "self.dropout.p = 0.1",
                "self.dropout.train(False)"],
    "items": [
        "for m in self.items:\n    x = m(x)",
        "x = self.items[n % 2](x)",
        "self.items.append(nn.Sigmoid())",
        "log(len(self.items))",
        "for i, m in enumerate(self.items):\n    log(i, type(m).__name__)",
        "x = self.items[-1](self.items[0](x))",
        "self.items[0] = nn.Tanh()",
    ],
    "table": [
        "for key, m in self.table.items():\n    log(key)\n    x = m(x)",
        "x = self.table['a'](x)",
        "log('b' in self.table, list(self.table))",
        "self.table['c'] = nn.ReLU()",
        "self.table.pop('b', None) if 'b' in self.table else None",
    ],
    "chain": ["x = self.chain(x)", "x = self.chain[0](x)",
              "log(len(self.chain))", "x = self.chain[:1](x)"],
    "weight": [
        "x = x * self.weight",
        "self.weight.data.add_(1)",
        "with torch.no_grad():\n    self.weight.mul_(2)",
        "self.weight = nn.Parameter(torch.zeros(3))",
        "log(self.weight.requires_grad, type(self.weight).__name__)",
        "self.weight.grad = None",
    ],
    "weights": ["x = x + sum(self.weights)", "log(len(self.weights))",
                "for w in self.weights:\n    x = x * w",
                "self.weights[0].data.add_(1)"],
    "named": ["x = x + self.named['u']", "log(list(self.named.keys()))",
              "for k, w in self.named.items():\n    x = x * w"],
    "buffer": [
        "self.buffer += x.detach().sum(0)",
        "self.buffer = self.buffer + 1",
        "x = x + self.buffer",
        "self.buffer.zero_()",
        "log(self.buffer.sum())",
        "self.register_buffer('buffer', torch.ones(3))",
        "del self.buffer\nself.buffer = torch.ones(3)",
    ],
    "hidden": ["x = x - self.hidden", "self.hidden = None"],
    "count": ["self.count += 1", "x = x + self.count", "log(self.count)",
              "if self.count > 1:\n    x = x * 2"],
    "flag": ["self.flag = not self.flag", "x = x * 2 if self.flag else x"],
    "notes": ["self.notes.append(n)", "self.notes.append(x.detach().sum())",
              "log(len(self.notes))"],
    "cache": ["self.cache[n] = x.detach()", "x = x + self.cache.get(n, 1)",
              "self.cache.clear()", "log(sorted(self.cache))"],
    "none": ["log(self.none is None)", "x = x if self.none is None else x * 0"],
    "lazy": ["x = self.lazy(x)", "log(type(self.lazy).__name__)"],
    "normed": ["x = self.normed(x)", "log(self.normed.weight.sum())"],
    "embed": ["x = x + self.embed(torch.arange(2))",
              "log(self.embed.num_embeddings)"],
    "inner": ["x = self.inner(x)", "log(self.inner.calls)"],
    "shared": ["x = self.shared(x)", "log(self.shared is self.linear)"],
}  # fmt: skip
GENERAL = [
    "x = x + 1", "x = torch.relu(x)", "magneto.graph_break()",
    "log(self.training)", "x = x * 2 if self.training else x",
    "log([k for k, _ in self.named_parameters()])",
    "log([k for k, _ in self.named_children()])",
    "log([k for k, _ in self.named_buffers()])",
    "log([type(m).__name__ for m in self.modules()])",
    "log(sum(p.numel() for p in self.parameters()))",
    "log(list(self.state_dict()))", "self.train(not self.training)",
    "log(hasattr(self, 'linear'), hasattr(self, 'missing'))",
    "try:\n    self.missing\nexcept AttributeError as error:\n"
    "    log(str(error))",
    "self.apply(lambda m: log(type(m).__name__))", "self.zero_grad()",
    "x = checked(self, x)", "self.late = x.detach()",
    "log(hasattr(self, 'late'))", "self.extra = nn.Linear(3, 3)",
    "x = self.extra(x) if hasattr(self, 'extra') else x",
    "for p in self.parameters():\n    x = x + p.sum() * 0",
    "with torch.no_grad():\n    x = x + 1", "log(x.requires_grad)",
    "x = x.detach()", "log(self.get_parameter('linear.weight').shape)"
    " if hasattr(self, 'linear') else None",
    "log(len(self._parameters), len(self._buffers), len(self._modules))",
    "log(self.__class__.__name__, isinstance(self, nn.Module))",
    "if n > 1:\n    return x", "n += 1",
    "self.hook = self.register_forward_hook(lambda m, i, o: o + 1)",
    "self.hook.remove() if hasattr(self, 'hook') else None",
]  # fmt: skip
HOOKS = [
    "{m}.register_forward_hook(lambda m, i, o: (log('hook'), None)[1])",
    "{m}.register_forward_hook(lambda m, i, o: o * 2)",
    "{m}.register_forward_pre_hook(lambda m, i: (i[0] + 1,))",
    "{m}.register_forward_pre_hook(lambda m, i: log('pre'))",
    "{m}.register_forward_pre_hook(lambda m, a, k: (a, k), with_kwargs=True)",
    "{m}.register_full_backward_hook(lambda m, gi, go: log('backward'))",
    "{m}.register_forward_hook(count_calls, always_call=True)",
]
HOOKED = ["linear", "chain", "norm", "items[0]", "table['a']", "inner"]


class Inner(nn.Module):
    """One that knows whose it is, and counts its calls."""

    def __init__(self, owner: nn.Module) -> None:
        super().__init__()
        self.__dict__["owner"] = owner
        self.calls = 0
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Changes itself and looks at its owner."""
        self.calls += 1
        self.seen += 1
        return x + self.seen if self.owner.training else x


def checked(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """A function that is given a module."""
    if any(p.isnan().any() for p in module.parameters() if p.numel() < 9):
        return x * 0
    return x + len(list(module.children()))


LOG: list[Any] = []


def log(*what: Any) -> None:
    """Called by the programs."""
    LOG.append([w.tolist() if isinstance(w, torch.Tensor) else w for w in what])


def count_calls(module: Any, inputs: Any, output: Any) -> None:
    """A hook that writes to the module."""
    module.hook_calls = getattr(module, "hook_calls", 0) + 1


class Writer:
    """Writes a class `M`, and what is done to an instance before."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose

    def program(self) -> str:
        """The class, and `prepare(module)`."""
        choose = self.choose
        parts = sorted(choose.sample([*PARTS], choose.randint(2, 6)),
                       key=[*PARTS].index)  # fmt: skip
        if "shared" in parts and "linear" not in parts:
            parts.insert(0, "linear")
        lines = ["class M(nn.Module):", "    def __init__(self):"]
        lines.append("        super().__init__()")
        lines += indented([PARTS[part] for part in parts], 2)
        lines.append("    def forward(self, x, n=1):")
        for _ in range(choose.randint(3, 10)):
            if choose.random() < 0.65:
                step = choose.choice(USES[choose.choice(parts)])
            else:
                step = choose.choice(GENERAL)
            body = step.split("\n")
            if choose.random() < 0.15:
                body = ["if self.training:", *indented(body)]
            lines += indented(body, 2)
        lines.append("        return x")
        lines.append("def prepare(module):")
        lines.append("    pass")
        for _ in range(choose.choice([0, 0, 1, 2])):
            of = choose.choice([*(h for h in HOOKED if h[:5] in
                                  [p[:5] for p in parts]), ""])  # fmt: skip
            target = f"module.{of}" if of else "module"
            hook = choose.choice(HOOKS).format(m=target)
            lines.append(f"    {hook}")
        if choose.random() < 0.3:
            lines.append("    module.eval()")
        return "\n".join(lines)


GLOBALS = named(Inner, checked, count_calls, log, magneto, torch) | {"nn": nn}


def shown(value: Any) -> Any:
    """In words that two runs share."""
    if isinstance(value, torch.Tensor):
        return type(value).__name__, value.tolist(), value.requires_grad
    if isinstance(value, list | tuple):
        return [shown(v) for v in value]
    if isinstance(value, dict):
        return {shown_key(k): shown(v) for k, v in value.items()}
    return cleaned(repr(value))


def shown_key(key: Any) -> Any:
    """A key of a dict."""
    return key if isinstance(key, int | str) else type(key).__name__


def state(module: nn.Module) -> Any:
    """What a module is."""
    plain = {
        k: shown(v)
        for k, v in sorted(vars(module).items())
        if not k.startswith("_") and k not in ("hook", "owner")
    }
    return (
        [
            (name, m.training, type(m).__name__)
            for name, m in module.named_modules()
        ],
        [
            (name, shown(v), shown(v.grad))
            for name, v in module.named_parameters()
        ],
        [(name, shown(v)) for name, v in module.named_buffers()],
        plain,
    )


def results(source: str, seed: int, is_compiled: bool) -> list[str]:
    """What some calls give, each as text."""
    namespace: dict[str, Any] = dict(GLOBALS)
    exec(compile(source, "<program>", "exec"), namespace)
    torch.manual_seed(0)
    module = namespace["M"]()
    try:
        namespace["prepare"](module)
    except Exception:
        return []
    call = magneto.compile(module, backend="eager") if is_compiled else module
    found = []
    for number, n in enumerate((1, 1, 2, 1)):
        LOG.clear()
        torch.manual_seed(number)
        x = torch.linspace(-1, 1, 6).view(2, 3)
        result: Any
        try:
            with limited(10):
                y = call(x, n)
                result = shown(y)
                if y.requires_grad:
                    y.sum().backward()
        except NoEnd:
            result = "no end"
        except Exception as error:
            result = told(error)[0], told(error)[1][:200]
        try:
            left = state(module)
        except Exception as error:
            left = type(error).__name__
        found.append(repr((result, copy.copy(LOG), left)))
        if number == 1:
            module.train(not module.training)
    return found


differs = by_calls(results)
write, try_seed = of_sources(Writer, differs)
