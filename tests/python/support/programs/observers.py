# SPDX-License-Identifier: BSD-3-Clause
"""Objects that are seen weakly, and forgotten when they go."""

import contextvars
import threading
import weakref

import torch

depth = contextvars.ContextVar("depth", default=0)
local = threading.local()


class Node:
    alive = weakref.WeakSet()
    by_name = weakref.WeakValueDictionary()

    def __init__(self, name, parent=None):
        self.name = name
        self.children = []
        self.parent = weakref.ref(parent) if parent else lambda: None
        if parent:
            parent.children.append(self)
        self.alive.add(self)
        self.by_name[name] = self

    def path(self):
        above = self.parent()
        return f"{above.path()}/{self.name}" if above else self.name

    def visit(self, x):
        token = depth.set(depth.get() + 1)
        try:
            return sum((c.visit(x * depth.get()) for c in self.children), x)
        finally:
            depth.reset(token)


def program(x, names):
    local.count = getattr(local, "count", 0) + len(names)
    root = Node("root")
    nodes = [root]
    for i, name in enumerate(names):
        nodes.append(Node(name, nodes[i // 2]))
    total = root.visit(x)
    paths = [n.path() for n in nodes]
    gone = nodes.pop()
    known = sorted(Node.by_name)
    if gone.parent():
        gone.parent().children.remove(gone)
    del gone
    return (
        total,
        paths,
        known,
        sorted(Node.by_name),
        len(Node.alive),
        depth.get(),
    )


CALLS = [
    (torch.ones(2), ["a", "b", "c"]),
    (torch.ones(2), ["z"]),
    (torch.ones(2), []),
]
