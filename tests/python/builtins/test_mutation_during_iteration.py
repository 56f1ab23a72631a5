# SPDX-License-Identifier: BSD-3-Clause
"""Containers that change while they are iterated over, or while they change."""

from collections import Counter, OrderedDict, defaultdict, deque
from textwrap import indent

import pytest
import torch

from magneto.testing import check

X = torch.arange(3.0)
CLASSES = {k.__name__: k for k in (Counter, OrderedDict, defaultdict, deque)}
MADE = """
s = {3, 1, 2, 17, 40}
d = {"a": 1, "b": 2, "c": 3}
q = deque([1, 2, 3])
l = [4, 2, 3, 1]
o = OrderedDict(a=1, b=2, c=3)
f = defaultdict(list, a=[1])
c = Counter("ab")
"""

PROGRAMS = [
    """out = []
for it in (iter(q), reversed(q)):
    next(it)
    q.append(1)
    for _ in range(2):
        try:
            out.append(next(it, 'end'))
        except RuntimeError as error:
            out.append(str(error))
    out.append(it.__length_hint__())
    out.append(it.__reduce__()[1][1])
""",
    """it = iter(q)
next(it)
q.extend([])
q *= 1
e = deque()
other = iter(e)
e.clear()
out = next(it), next(other, None)
""",
    """def items():
    for i in range(3):
        yield len(q), i
    raise RuntimeError('end')
try:
    q.extend(items())
except RuntimeError:
    q.extendleft(q)
out = list(q)
q += q
""",
    # The table grows, though nothing comes.
    """out = []
t = {1, 8, 16}
for e in t:
    out.append(e)
    t |= t | t
""",
    """out = []
for e in s:
    out.append(e)
    if len(out) == 1:
        s |= {3, 1, 2, 17, 40}
""",
    """out = []
for e in reversed(d):
    out.append(e)
    d[e + 'z'] = 1
""",
    """out = []
for e in reversed(d.items()):
    out.append(e)
    d.popitem()
""",
    """out = []
for e in o.items():
    out.append(e)
    o.move_to_end('a')
""",
    """out = []
for e in o.values():
    out.append(e)
    o.move_to_end('c')
""",
    """out = []
for e in reversed(o):
    out.append(e)
    o.clear()
""",
    """out = [repr(type(iter(o))), repr(type(reversed(o.items())))]
out += [repr(type(reversed(d.values()))), repr(type(iter(d.items())))]
""",
    """it = iter(d)
out = []
d['n'] = 1
for _ in range(2):
    try:
        next(it)
    except RuntimeError as error:
        out.append(str(error))
    d.pop('n', None)
""",
    """it = iter(s)
out = []
s.add(-1)
for _ in range(2):
    try:
        next(it)
    except RuntimeError as error:
        out.append(str(error))
    s.discard(-1)
""",
    """out = []
for e in s:
    out.append(e)
    if len(out) < 3:
        s.add(e + 100)
""",
    """out = []
for e in s:
    out.append(e)
    if len(out) < 3:
        s.discard(e)
        s.add(e + 100)
""",
    """out = []
for e in s:
    out.append(e)
    if len(out) < 3:
        s.discard(e)
        s.add(e)
""",
    """out = []
it = iter(s)
out.append(next(it))
s.add(99)
out.append(next(it))
""",
    """out = []
it = iter(s)
out.append(next(it))
s.add(99)
s.discard(99)
out.append(next(it))
""",
    """out = []
for k in d:
    out.append(k)
    if len(out) < 3:
        d[k + 'z'] = 1
""",
    """out = []
for k in d:
    out.append(k)
    if len(out) < 3:
        del d[k]
        d[k + 'z'] = 1
""",
    """out = []
for k in d:
    out.append(k)
    if len(out) < 3:
        del d[k]
        d[k] = 1
""",
    """out = []
for k, v in d.items():
    out.append(k)
    if len(out) < 3:
        del d[k]
        d[k + 'z'] = 1
""",
    """out = []
for v in d.values():
    out.append(v)
    d['a'] = 7
    d['b'] = 9
""",
    """out = []
for k in d:
    out.append(k)
    d[k] = 7
""",
    """out = []
for e in q:
    out.append(e)
    if len(out) < 3:
        q.append(e)
""",
    """out = []
for e in q:
    out.append(e)
    q[0] = 5
""",
    """out = []
for e in q:
    out.append(e)
    q.rotate(1)
""",
    """out = []
for e in l:
    out.append(e)
    if len(out) < 4:
        l.remove(e)
""",
    """out = []
for e in reversed(l):
    out.append(e)
    if len(out) < 4:
        l.insert(0, e)
""",
    """out = []
for i, e in enumerate(l):
    out.append(e)
    if len(out) < 4:
        l[i:i] = [7, 8]
""",
    """out = []
for k in o:
    out.append(k)
    if len(out) < 3:
        o[k + 'z'] = 1
""",
    """out = []
for k in o:
    out.append(k)
    if len(out) < 3:
        o.move_to_end(k)
""",
    """out = []
for k in list(o):
    out.append(k)
    o.move_to_end(k)
""",
    """out = []
for k in o:
    out.append(k)
    if len(out) < 2:
        del o[k]
""",
    """out = [f[k] for k in ('q', 'a')]
for k in f:
    out.append(f[k + 'x'])
""",
    """out = []
for k in c:
    out.append(c[k + 'x'])
""",
    """out = []
it = iter(l)
out += [next(it)]
l.clear()
out += [next(it, None)]
l += [1, 2, 3]
out += [next(it, None)]
""",
    """out = []
it = iter(d)
out += [next(it)]
d.clear()
out += [next(it, None)]
""",
    """out = []
it = iter(s)
out += [next(it)]
s.clear()
out += [next(it, None)]
""",
    """out = []
it = iter(q)
out += [next(it)]
q.clear()
out += [next(it, None)]
""",
    """out = []
for e in s:
    out.append(e)
    s.clear()
""",
    """out = []
it = zip(l, iter(l))
out += [next(it)]
l.pop()
out += list(it)
""",
    "out = [len(it) if hasattr(it, '__len__') else it.__length_hint__() for it in (iter(l), iter(s), iter(d), reversed(l), iter(q), iter(d.items()))]",
    """out = []
it = iter(s)
next(it)
s.pop()
s.add(55)
out += list(it)
""",
    """out = []
it = iter(s)
out += [next(it), it.__length_hint__()]
s.pop()
out += [it.__length_hint__()]
""",
    "out = [s.pop(), s.pop(), s]",
    "out = [d.popitem(), d, o.popitem(last=False), o.popitem(), o]",
    "out = list(map(lambda e: (l.append(e) if len(l) < 9 else None, e)[1], l))",
    "out = [e for e in l if not (l.append(3) if len(l) < 9 else 0)]",
    "out = sorted(l, key=lambda e: l.append(e) or -e)",
    "out = [l.sort(key=lambda e: -e), l]",
    """l.extend((e for e in l if len(l) < 9))
out = l
""",
    """l.extend(l)
out = l
""",
    """l += l
out = l
""",
    """l[1:2] = l
out = l
""",
    """l[::2] = [7] * len(l[::2])
out = l
""",
    """s.update(s)
s.difference_update(s)
out = s
""",
    """d.update(d)
out = d
""",
    """out = list(filter(None, [l.pop() for _ in range(2)]))
out += l
""",
    """a, *b = s
out = [a, b]
""",
    """out = [*s, *d]
print(*out)
""",
    """out = dict.fromkeys(s, [])
out[list(out)[0]].append(1)
""",
    "out = [min(s), max(s), sum(s), any(s), len(s), sorted(s, reverse=True), str(s)]",
]


def made():
    namespace = dict(CLASSES)
    exec(MADE, namespace)
    return {name: namespace[name] for name in "sdqlofc"}


TEMPLATE = """
def program(x, s, d, q, l, o, f, c):
{made}
    out = None
    try:
{text}
    except RuntimeError as error:
        out = (out, str(error))
    return out, s, d, q, l, o, f, c, x + 1
"""


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("text", PROGRAMS)
def test_changes(text, is_own):
    namespace = dict(CLASSES)
    source = TEMPLATE.format(
        made=indent(MADE if is_own else "pass", " " * 4),
        text=indent(text, " " * 8),
    )
    exec(source, namespace)
    check(namespace["program"], X, *made().values())
