# SPDX-License-Identifier: BSD-3-Clause
"""Strings with numbers in them that vary: each call formats them anew."""

from __future__ import annotations

import collections
import dataclasses

import pytest
import torch

from magneto.testing import check_calls
from support.varying_calls import calls_of, x


def f_strings(t, n):
    return f"{n} of {t.shape[0]}", f"<{n!r:}>", f"{n!s}{n!a}", t + 1


def formats(t, n):
    return f"{n:5d}|{n:<6}|{n:+,}|{n:#x}|{n:.2f}|{n:e}|{n:%}", t + 1


def formats_of_floats(t, n):
    half = n / 2
    return f"{half}|{half:8.3f}|{half:g}", str(half), repr(-half), t + 1


def formats_of_bools(t, n):
    return f"{n > 5}|{n > 5:d}", str(n != 7), t + 1


def width_that_varies(t, n):
    return f"{t.shape[1]:{n}}", t + 1


def functions(t, n):
    return str(n), repr(n + 1), ascii(n * 2), format(n), format(n, "04d"), t + 1


def sizes(t, n):
    return f"{t.shape}", str(t.shape), repr(t.size()), str(n), t + 1


def containers(t, n):
    return (
        repr([n, "a", (n, 1.5)]),
        str({"n": n, "list": [n > 5]}),
        str((n,)),
        f"{collections.deque([n], 3)} {collections.OrderedDict(a=n)}",
        f"{collections.defaultdict(list, a=n)} {dict(a=n).values()}",
        f"{slice(n, None)}",
        t + 1,
    )


def percent(t, n):
    return (
        "%d of %s, %r" % (n, t.shape[0], n),  # noqa: UP031
        "%5d|%05d|%x|%.3f|%e|%i" % (n, n, n, n / 2, n, n),  # noqa: UP031
        "%-5d|%+d|%.3d|%c" % (n, n, n, 65),  # noqa: UP031
        "%(n)s" % {"n": n},  # noqa: UP031
        t + 1,
    )


def joined(t, n):
    text = "a" + str(n)
    text += "b"
    return text + text, ", ".join([text, "c", str(n)]), "".join([]), t + 1


def format_method(t, n):
    return (
        "{0} of {size[0]}, {0:4d}".format(n, size=t.shape),
        "{} and {!r}".format(n, n),
        "{a}".format_map({"a": n}),
        t + 1,
    )


@dataclasses.dataclass
class Step:
    number: int
    name: str


Point = collections.namedtuple("Point", "x y")


class Named:
    def __init__(self, number):
        self.name = f"step {number}"

    def __repr__(self):
        return f"<{self.name}>"

    def __format__(self, spec):
        return self.name + spec


def objects(t, n):
    step = Step(n, f"step {n}")
    named = Named(n)
    return Point(n, t.shape[0]), step, named.name, f"{named} {named!r}", t + 1


def reprs_of_objects(t, n):
    return str(Point(n, 2)), str(Step(n, "a")), t + 1


def kept(t, n):
    log = {"last": f"{n} rows"}
    texts = [log["last"], *(f"{i}:{n}" for i in range(2))]
    return log, texts, isinstance(texts[0], str), type(texts[0]), t + 1


def asked_without_characters(t, n):
    text = f"n = {n}"
    return text if text else "", text is None, text is text, t + 1  # noqa: PLR0124


def raised(t, n):
    try:
        raise ValueError(f"no {n}")
    except ValueError as error:
        return error.args, str(error), f"{error}", t + 1


TEXTS = [
    f_strings,
    formats,
    formats_of_floats,
    formats_of_bools,
    functions,
    sizes,
    containers,
    joined,
    format_method,
    objects,
    reprs_of_objects,
    kept,
    asked_without_characters,
    raised,
]


@pytest.mark.parametrize("program", TEXTS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_text_needs_no_compilation_of_its_own(program, dynamic):
    check_calls(
        program,
        calls_of(*((x(n, 4), n) for n in (4, 6, 2, 9, 13, 5))),
        recompiles=0 if dynamic else 1,
        dynamic=dynamic,
        fullgraph=True,
    )


def looked_at(t, n):
    text = f"{n} rows"
    return text.upper(), len(text), text[0], text == "6 rows", {text: t + 1}


def character(t, n):
    return f"{n + 64:c}", "%c" % (n + 64), t + 1  # noqa: UP031


def quoted(t, n):
    return repr([f"{n}"]), f"{str(n):>6}", ascii(f"{n}é"), t + 1


@pytest.mark.parametrize(
    "program",
    [looked_at, character, quoted, width_that_varies, percent],
    ids=lambda p: p.__name__,
)
@pytest.mark.parametrize("dynamic", [None, True])
def test_who_asks_for_characters_gets_those_of_the_call(program, dynamic):
    check_calls(
        program,
        calls_of(*((x(4, 4), n) for n in (4, 6, 2, 9, 6, 4))),
        dynamic=dynamic,
        fullgraph=True,
    )


def wrong_format(t, n):
    return f"{n:q}", t + 1


def wrong_join(t, n):
    return ",".join([f"{n}", n]), t + 1


@pytest.mark.parametrize("program", [wrong_format, wrong_join])
@pytest.mark.parametrize("dynamic", [None, True])
def test_errors(program, dynamic):
    check_calls(
        program, calls_of(*((x(4), n) for n in (4, 6, 2))), dynamic=dynamic
    )


def out_of_data(t):
    total = t.sum().item()
    count = (t > 0).sum().item()
    return f"{count} of {total:.1f}", str(t.nonzero().shape), t + 1


def test_texts_with_numbers_out_of_tensors():
    check_calls(
        out_of_data,
        calls_of(x(3), x(3) + 1, x(3) * 0, x(3) - 4),
        recompiles=0,
        fullgraph=True,
    )


def prints(t, n):
    print(f"{n} rows", "of", str(t.shape))
    return t + 1


def raises(t, n):
    raise ValueError(f"no {n} rows")


@pytest.mark.parametrize("program", [prints, raises])
def test_texts_across_the_end_of_a_piece(program):
    check_calls(
        program,
        calls_of(*((x(n, 4), n) for n in (4, 6, 2, 9))),
        recompiles=0,
        dynamic=True,
    )


def test_a_module_writes_it_down():
    class Logged(torch.nn.Module):
        def forward(self, t):
            self.last = f"{t.shape[0]} rows of {t.shape[1]}"
            return t * 2

    check_calls(
        Logged(), calls_of(*(x(n, 3) for n in (4, 6, 2, 9))), recompiles=1
    )
