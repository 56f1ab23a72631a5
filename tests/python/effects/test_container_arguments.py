# SPDX-License-Identifier: BSD-3-Clause
"""Statements that change a container of the caller's."""

from collections import Counter, OrderedDict, defaultdict, deque

import pytest
import torch

from magneto.testing import check
from support.expressions import lines

STATEMENTS = {
    "list": (
        lambda: [1, 2, 3, torch.ones(2)],
        """
c.append(x)
c.extend([x, 1])
c.insert(1, x)
c.pop()
c.pop(0)
c.remove(2)
c.clear()
c.reverse()
c[0] = x
c[1:3] = [x]
c[::2] = [5, 6]
del c[0]
del c[1:]
c += [x]
c *= 2
c[:] = []
c[:0] = [x, x]
c.append(c)
c[3].add_(1)
c[0], c[1] = c[1], c[0]
c.sort(key=str) if False else c.pop(3); c.sort(reverse=True)
c.append([]); c[-1].append(x)
c.__setitem__(0, 9)
c.__delitem__(0)
c.__iadd__([4])
d = c.copy(); d.append(1)
d = c; d.append(1)
for i in range(2): c.append(i)
c.append(len(c)); c.pop(0); c.append(len(c))
""",
    ),
    "dict": (
        lambda: {"a": 1, "b": [2], "t": torch.ones(2)},
        """
c["n"] = x
c["a"] = 5
c["a"] += 1
del c["a"]
c.pop("b")
c.pop("zz", None)
c.popitem()
c.clear()
c.update(z=x, a=2)
c.update({"q": 1})
c.setdefault("a", 3); c.setdefault("k", [])
c.setdefault("l", []).append(x)
c["b"].append(x)
c |= {"m": 1}
c["a"], c["b"] = c["b"], c["a"]
c["t"].mul_(2)
del c["a"]; c["a"] = 1
c.pop("a"); c["z"] = 1; c["a"] = 2
c["self"] = c
d = dict(c); d["q"] = 1
for k in list(c): c[k + "2"] = 1
c[1] = 2; c[None] = 3; c[(1, 2)] = x
c.__setitem__("k", 1)
c.__delitem__("a")
{**c}.pop("a")
c["n"] = {}; c["n"]["m"] = x
""",
    ),
    "set": (
        lambda: {1, 2, 3},
        """
c.add(5)
c.discard(1)
c.remove(2)
c.clear()
c.update([7, 8])
c |= {9}
c &= {1}
c -= {1}
c ^= {1, 10}
c.pop()
c.intersection_update([1])
c.add("a"); c.add(None)
""",
    ),
    "od": (
        lambda: OrderedDict(a=1, b=2, c=3),
        """
c["z"] = x
c.move_to_end("a")
c.move_to_end("c", last=False)
c.popitem()
c.popitem(last=False)
c.pop("b")
del c["a"]; c["a"] = 5
c.update(q=1)
c.clear()
c |= {"n": 1}
c.setdefault("s", x)
c["a"] = 9
""",
    ),
    "dd": (
        lambda: defaultdict(list, a=[1]),
        """
c["q"].append(x)
c["a"].append(2)
c["z"]
c.pop("a")
c["k"] = 3
c.update(m=1)
c |= {"n": 1}
del c["a"]
""",
    ),
    "counter": (
        lambda: Counter("aab"),
        """
c.update("abc")
c["q"] += 1
c.subtract("a")
c += Counter("z")
del c["a"]
c["x"] = 5
c.clear()
""",
    ),
    "deque": (
        lambda: deque([1, 2, 3], 4),
        """
c.append(x)
c.appendleft(x)
c.pop()
c.extend([1, 2, 3])
c.rotate(1)
c[0] = 5
c.clear()
c.remove(2)
""",
    ),
    "nested": (
        lambda: [{"a": [1]}, [2, {"b": 3}]],
        """
c[0]["a"].append(x)
c[1][1]["b"] = x
c[0] = c[1]
c[0], c[1] = c[1], c[0]
c[1].append(c[0])
c[0]["a"] = c[1]
""",
    ),
}


CASES = [
    (name, statement)
    for name, (_, table) in STATEMENTS.items()
    for statement in lines(table)
]


@pytest.mark.parametrize(("name", "statement"), CASES)
def test_callers_container_is_changed_as_in_eager(name, statement):
    scope = {"Counter": Counter}
    exec(
        "def program(x, c):\n"
        "    y = x + 1\n"
        f"    {statement}\n"
        "    return y, c, list(c)\n",
        scope,
    )
    make, _ = STATEMENTS[name]
    check(scope["program"], torch.ones(2), make())
