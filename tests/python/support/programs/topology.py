# SPDX-License-Identifier: BSD-3-Clause
"""The order of a graph: recursion, a cycle that raises."""

import torch


def program(graph, x):
    state, order = {}, []

    def visit(node, path=()):
        if state.get(node) == "done":
            return
        if node in path:
            raise RecursionError(" -> ".join([*path, node]))
        for child in graph[node]:
            visit(child, (*path, node))
        state[node] = "done"
        order.insert(0, node)

    try:
        for node in graph:
            visit(node)
    except RecursionError as error:
        return str(error), x * 2
    values = {}
    for node in order:
        inputs = [values[p] for p in order if node in graph[p]]
        values[node] = sum(inputs, x) * (1 + len(inputs))
    return values, order


CALLS = [
    ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}, torch.ones(2)),
    ({"a": ["b"], "b": ["a"]}, torch.ones(2)),
]
