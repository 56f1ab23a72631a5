# SPDX-License-Identifier: BSD-3-Clause
"""Dynamic programming by a cache in a closure; texts and slices."""

import functools

import torch


def program(x, a, b):
    steps = []

    @functools.lru_cache(maxsize=None)
    def distance(i, j):
        if not i or not j:
            return i + j
        same = a[i - 1] == b[j - 1]
        return min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (not same),
        )

    i, j = len(a), len(b)
    while i or j:
        here = distance(i, j)
        if i and j and here == distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]):
            steps.append(
                a[i - 1] if a[i - 1] == b[j - 1] else f"{a[i - 1]}>{b[j - 1]}"
            )
            i, j = i - 1, j - 1
        elif i and here == distance(i - 1, j) + 1:
            steps.append("-" + a[i - 1])
            i -= 1
        else:
            steps.append("+" + b[j - 1])
            j -= 1
    return (
        x * distance(len(a), len(b)),
        " ".join(steps[::-1]),
        distance.cache_info().maxsize,
    )


CALLS = [
    (torch.ones(2), "kitten", "sitting"),
    (torch.ones(2), "", "ab"),
    (torch.ones(2), "flaw", "lawn"),
]
