# SPDX-License-Identifier: BSD-3-Clause
"""Text: formats, templates, regular expressions, and a small markup."""

import re
import string
from operator import attrgetter, itemgetter, methodcaller

import torch


class Row:
    __slots__ = ("name", "size", "share")

    def __init__(self, name, size, share):
        self.name, self.size, self.share = name, size, share

    def __format__(self, spec):
        width, _, fill = spec.partition("|")
        return f"{self.name:{fill or ' '}<{width or 1}}{self.size:>5,}{self.share:>8.2%}"

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"


MARKUP = re.compile(
    r"\*(?P<bold>[^*]+)\*|_(?P<italic>[^_]+)_|\{(?P<field>\w+)(?::(?P<spec>[^}]*))?\}"
)


def render(text, **fields):
    def replace(match):
        match match.lastgroup, match.groupdict():
            case "bold", {"bold": inner}:
                return inner.upper()
            case "italic", {"italic": inner}:
                return inner.swapcase()
            case _, {"field": name, "spec": spec}:
                return format(fields.get(name, "?"), spec or "")

    return MARKUP.sub(replace, text)


def program(x, text):
    sizes = {f"dim{i}": n for i, n in enumerate(x.shape)}
    total = sum(sizes.values())
    rows = [Row(name, n * 1000, n / total) for name, n in sizes.items()]
    rows.sort(key=attrgetter("size", "name"), reverse=True)
    lines = [f"{row:9|.}" for row in rows]
    lines.append(string.Template("$a of ${b}").safe_substitute(a=total, c=1))
    lines.append(render(text, n=total, f=total / 7))
    lines.append(
        "{0:>{1}}|{0!r:<5}|{2[dim0]}|{3.name}".format(total, 6, sizes, rows[0])
    )
    words = sorted(re.findall(r"\w+", text), key=methodcaller("lower"))
    pairs = sorted(((len(w), w) for w in words), key=itemgetter(0))
    return (
        x + total,
        lines,
        words,
        pairs,
        repr(rows[-1]),
        "%-5s|%03d|%+.1e" % ("ab", total, total),
    )


CALLS = [
    (torch.ones(2, 3), "a *bold* and _It_ {n:>4} {f:.2f} {q}"),
    (torch.ones(4), "plain"),
    (torch.ones(1, 2, 3), "*a*_b_{n}"),
]
