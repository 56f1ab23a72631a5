# SPDX-License-Identifier: BSD-3-Clause
"""Classes with parameters, protocols, abstract classes and overloads."""

import abc
import dataclasses
import typing

import torch

T = typing.TypeVar("T")


@typing.runtime_checkable
class Shaped(typing.Protocol):
    shape: tuple

    def sum(self): ...


class Stage(abc.ABC, typing.Generic[T]):
    stages: typing.ClassVar[list] = []

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if (
            not cls.__abstractmethods__
            if hasattr(cls, "__abstractmethods__")
            else True
        ):
            Stage.stages.append(cls.__name__)

    @abc.abstractmethod
    def run(self, value: T) -> T: ...

    def __rshift__(self, other: "Stage[T]") -> "Pipeline[T]":
        return Pipeline([self, other])

    def __class_getitem__(cls, item):
        return super().__class_getitem__(item)


class Times(Stage[torch.Tensor]):
    def __init__(self, by):
        self.by = by

    def run(self, value):
        return value * self.by


class Named(typing.Generic[T]):
    name: str = "?"

    def __str__(self):
        return f"<{self.name}>"


@dataclasses.dataclass
class Pipeline(Named[T], Stage[T]):
    stages: list = dataclasses.field(default_factory=list)
    name: str = "pipeline"

    def run(self, value):
        for stage in self.stages:
            value = stage.run(value)
        return value

    def __rshift__(self, other):
        return dataclasses.replace(
            self, stages=[*self.stages, other], name=self.name + "+"
        )


def program(x, n):
    pipeline = Times(2) >> Times(n) >> Times(n + 1)
    try:
        Stage()
    except TypeError as error:
        message = str(error)
    origin = typing.get_origin(Pipeline[int])
    bases = [b.__name__ for b in Pipeline.__mro__]
    return (
        pipeline.run(x),
        str(pipeline),
        message,
        origin is Pipeline,
        typing.get_args(typing.Optional[int]),
        isinstance(x, Shaped),
        isinstance(n, Shaped),
        issubclass(Pipeline, Stage),
        bases,
        Pipeline[int](stages=[]).run(n),
    )


CALLS = [(torch.ones(2), 2), (torch.ones(2), 5)]
