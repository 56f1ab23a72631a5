# SPDX-License-Identifier: BSD-3-Clause
"""A configuration out of a text: a dataclass with all its features."""

import dataclasses

import torch


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


def program(x, text):
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


CALLS = [
    (torch.ones(2, 4), "width=4, depth=1"),
    (torch.ones(2, 4), "activation=tanh,flavour=odd"),
    (torch.ones(2, 4), "width"),
    (torch.ones(2, 4), "depth=x"),
]
