# SPDX-License-Identifier: BSD-3-Clause
"""A machine with a stack: an IntEnum, slices, unpacking."""

import enum
import operator

import torch


class Op(enum.IntEnum):
    PUSH = enum.auto()
    ADD = enum.auto()
    MUL = enum.auto()
    DUP = enum.auto()
    JNZ = enum.auto()
    DEC = enum.auto()
    SWAP = enum.auto()

    @property
    def takes(self):
        return self in {Op.PUSH, Op.JNZ}


def program(x, code):
    stack, at, steps = [x], 0, 0
    try:
        code = [(Op[name], *rest) for name, *rest in code]
        while at < len(code):
            steps += 1
            op, *rest = code[at]
            assert op.takes == bool(rest), op
            at += 1
            if op is Op.PUSH:
                stack.append(rest[0])
            elif op in (Op.ADD, Op.MUL):
                b, a = stack.pop(), stack.pop()
                stack.append(
                    {Op.ADD: operator.add, Op.MUL: operator.mul}[op](a, b)
                )
            elif op == Op.DUP:
                stack += stack[-1:]
            elif op == Op.SWAP:
                stack[-2:] = stack[:-3:-1]
            elif op == Op.DEC:
                stack[-1] -= 1
            elif stack[-1]:
                at = rest[0]
    except (IndexError, KeyError) as error:
        return repr(error), steps, stack
    return stack, steps, [op.name for op, *_ in code]


CALLS = [
    (
        torch.full((2,), 1.5),
        [
            ("PUSH", 3),
            ("SWAP",),
            ("DUP",),
            ("ADD",),
            ("SWAP",),
            ("DEC",),
            ("JNZ", 1),
        ],
    ),
    (torch.full((2,), 1.5), [("DUP",), ("MUL",)]),
    (torch.full((2,), 1.5), [("MUL",)]),
    (torch.full((2,), 1.5), [("NOP",)]),
]
