# SPDX-License-Identifier: BSD-3-Clause
"""Tables of one-line programs, run eagerly and compiled."""

import re

import torch

from magneto.testing import check


def lines(table):
    """The expressions of a table, one a line; `#` starts a comment line."""
    stripped = (line.strip() for line in table.splitlines())
    return [line for line in stripped if line and not line.startswith("#")]


def check_expression(expression, namespace):
    """`expression` of a tensor `x`, in one graph and equal to eager."""
    program = eval(f"lambda x: (x + 1, {expression})", dict(namespace))
    check(program, torch.arange(3.0), fullgraph=True, graphs=1)


def check_error(expression, namespace):
    """`expression` raises what it raises in eager, also when it is caught."""
    source = (
        "def program(x):\n"
        "    y = x + 1\n"
        "    try:\n"
        f"        {expression}\n"
        "    except Exception as error:\n"
        "        return y, type(error), str(error)\n"
        "    return y, 'nothing was raised', ''\n"
    )
    scope = dict(namespace)
    exec(source, scope)
    assert scope["program"](torch.arange(3.0))[1] != "nothing was raised"
    check(scope["program"], torch.arange(3.0), fullgraph=True, graphs=1)


def shown(value):
    """Its class and text, without addresses."""
    return type(value).__name__, re.sub("0x[0-9a-f]+", "", repr(value))


def telling(expression, known, first="pass", also=""):
    """A program of a tensor and a value. `first`: a statement in front of the
    expression, which may fail too; `also`: what it returns besides.
    """
    source = f"""
def program(x, value=None):
    try:
        {first}
        given = {expression}
    except Exception as error:
        given = type(error).__name__, str(error), error.args
    return x + 1, shown(given){also}
"""
    namespace = {**known, "shown": shown}
    exec(source, namespace)
    return namespace["program"]
