# SPDX-License-Identifier: BSD-3-Clause
"""A cell over a tree: frozen dataclasses, a recursive generator."""

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Tree:
    value: int
    left: "Tree | None" = None
    right: "Tree | None" = None

    def __iter__(self):
        if self.left:
            yield from self.left
        yield self.value
        if self.right:
            yield from self.right

    @classmethod
    def of(cls, values):
        tree = None
        for value in values:
            tree = cls.insert(tree, value)
        return tree

    @classmethod
    def insert(cls, tree, value):
        if tree is None:
            return cls(value)
        side = "left" if value < tree.value else "right"
        return dataclasses.replace(
            tree, **{side: cls.insert(getattr(tree, side), value)}
        )


class TreeCell(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.embed = nn.Embedding(10, size)
        self.join = nn.Linear(3 * size, 2 * size)
        self.register_buffer("nothing", torch.zeros(size))

    def forward(self, values):
        tree = Tree.of(values)
        return (
            self.visit(tree),
            list(tree),
            hash(tree) == hash(Tree.of(values)),
            tree == Tree.of(values),
        )

    def visit(self, tree):
        if tree is None:
            return self.nothing
        joined = torch.cat(
            [
                self.embed.weight[tree.value],
                self.visit(tree.left),
                self.visit(tree.right),
            ]
        )
        gate, new = self.join(joined).chunk(2)
        return torch.sigmoid(gate) * torch.tanh(new)


def program(values):
    torch.manual_seed(3)
    return TreeCell()(values)


CALLS = [([4, 2, 7, 1, 9],), ([1],), ([5, 5, 3],)]
