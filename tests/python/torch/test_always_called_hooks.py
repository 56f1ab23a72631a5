# SPDX-License-Identifier: BSD-3-Clause
"""Forward hooks that are called even if forward() raises."""

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook

import magneto


class Raising(torch.nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.breaks = breaks
        self.raises = True

    def forward(self, x):
        if self.breaks:
            magneto.graph_break()
        if self.raises:
            raise KeyError("forward")
        return x + 1


@pytest.mark.parametrize("everywhere", [False, True])
@pytest.mark.parametrize("breaks", [False, True])
def test_hook_is_called(everywhere, breaks):
    module = Raising(breaks)
    log = []

    def hook(module, args, output):
        log.append(type(output).__name__)
        module.count.add_(1)

    def program(x):
        try:
            return module(x)
        except KeyError:
            return x * 2

    def outcome(call):
        log.clear()
        module.count.zero_()
        return call(torch.ones(1)), [*log], module.count.item()

    compiled = magneto.compile(program, backend="eager")
    register = (
        register_module_forward_hook
        if everywhere
        else module.register_forward_hook
    )
    with register(hook, always_call=True):
        for module.raises in (True, False, True):
            assert outcome(compiled) == outcome(program)
    assert outcome(compiled) == outcome(program)
    assert log == []
