# SPDX-License-Identifier: BSD-3-Clause
"""Backtracking by generators, sets and itertools."""

import itertools

import torch


def placements(n, row=0, columns=frozenset(), up=frozenset(), down=frozenset()):
    if row == n:
        yield ()
        return
    for column in range(n):
        if column in columns or row + column in up or row - column in down:
            continue
        for rest in placements(
            n,
            row + 1,
            columns | {column},
            up | {row + column},
            down | {row - column},
        ):
            yield (column, *rest)


def program(x, n):
    every = placements(n)
    first = next(every, None)
    if first is None:
        return x, "none"
    board = torch.zeros(n, n)
    for row, column in enumerate(first):
        board[row, column] = 1
    count = 1 + sum(1 for _ in itertools.islice(every, 5))
    text = "\n".join(
        "".join("Q" if c == q else "." for c in range(n)) for q in first
    )
    return x + board.sum() + count, board, text


CALLS = [(torch.ones(2), 4), (torch.ones(2), 5), (torch.ones(2), 3)]
