# SPDX-License-Identifier: BSD-3-Clause
"""Dictionaries of objects' attributes with keys that are not identifiers."""

import pytest
import torch

import magneto

X = torch.arange(3.0)


class Thing:
    pass


class Name(str):
    __slots__ = ()


def asked(x, thing):
    found = vars(thing)
    return 1 in found, found.get(2.5), (1, 2) in found, 3 in found, x + 1


def asked_by_another_str(x, thing):
    return Name("n") in vars(thing), vars(thing)[Name("n")], x + 1


def written(x, thing):
    vars(thing)[1] = 2
    return list(vars(thing).items()), x + 1


def written_by_another_str(x, thing):
    vars(thing)[Name("q")] = 2
    return thing.q, [type(key) for key in vars(thing)], x + 1


def updated(x, thing):
    vars(thing).update({1: 2})
    thing.later = 3
    return vars(thing), x + 1


def united(x, thing):
    return vars(thing) | {1: 2}, {**vars(thing)}, len(vars(thing)), x + 1


def popped(x, thing):
    return vars(thing).pop(3, "none"), list(vars(thing)), x + 1


def deleted(x, thing):
    del vars(thing)[3]
    return vars(thing), x + 1


def made_here(x, thing):
    thing = Thing()
    thing.n = x
    vars(thing)[1] = 2
    return vars(thing), thing.n + 1


def things():
    plain, odd = Thing(), Thing()
    plain.n = odd.n = 1
    vars(odd)[3] = 4
    return plain, odd


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    "program",
    [
        asked,
        asked_by_another_str,
        written,
        written_by_another_str,
        updated,
        united,
        popped,
        deleted,
        made_here,
    ],
)
def test_keys(program, which):
    def outcome(run):
        thing = things()[which]
        try:
            return repr(run(X, thing)), repr(vars(thing))
        except KeyError as error:
            return repr(error), repr(vars(thing))

    compiled = magneto.compile(program, backend="eager")
    assert [outcome(compiled) for _ in range(2)] == [outcome(program)] * 2
