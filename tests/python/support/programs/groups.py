# SPDX-License-Identifier: BSD-3-Clause
"""Several errors at once, and what they were caused by."""

import torch


def check(x, rules):
    errors = []
    for name, rule in rules.items():
        try:
            if not rule(x):
                raise ValueError(name)
        except ValueError as error:
            error.add_note(f"rule {len(errors)}")
            errors.append(error)
        except ZeroDivisionError as error:
            wrapped = TypeError(name)
            wrapped.__cause__ = error
            errors.append(wrapped)
    if errors:
        raise ExceptionGroup("checks", errors)
    return x


def program(x, n):
    rules = {
        "size": lambda v: v.numel() > n,
        "rank": lambda v: v.dim() == 1 // n,
        "shape": lambda v: v.shape[0] % 2 == 0,
    }
    notes = []
    try:
        try:
            x = check(x, rules) + 1
        except* ValueError as group:
            notes.append([(e.args, e.__notes__) for e in group.exceptions])
            if len(group.exceptions) > 1:
                raise KeyError("many") from group
        except* TypeError as group:
            notes.append([repr(e.__cause__) for e in group.exceptions])
        else:
            notes.append("fine")
    except ExceptionGroup as group:
        notes.append([type(e).__name__ for e in group.exceptions])
    finally:
        x = x * 2
    return x, notes


CALLS = [
    (torch.ones(4), 1),
    (torch.ones(3), 5),
    (torch.ones(3), 0),
    (torch.ones(2), 0),
]
