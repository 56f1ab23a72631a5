# SPDX-License-Identifier: BSD-3-Clause
"""Writes that drop the last reference to a generator which is inside of a with
or try block: it ends there, as in plain Python.
"""

import collections

import pytest
import torch

from magneto.testing import check_calls
from support.generators import Holder, numbers

X = torch.arange(4.0)


def dropped(*drops):
    """Writes that drop the last holder of a generator, of each kind."""

    def program(x, notes):
        holder = Holder(None)
        for drop in drops:
            made = numbers(notes, drop.__name__)
            x = x + next(made)
            drop(holder, made, notes)
            notes.append("behind")
        return x

    program.__name__ = f"dropped_by_{drops[0].__name__}"
    return program


KEPT = []
kept_global = None


def item_of_a_dict(holder, made, notes):
    held = {"a": made}
    del made
    holder.held = held
    notes.append("held")
    del holder.held["a"]
    notes.append("deleted")
    holder.held = None


def item_of_a_list(holder, made, notes):
    held = [made, 1]
    del made
    notes.append("held")
    held[0] = None
    notes.append("set")


def slice_of_a_list(holder, made, notes):
    held = [made, 1]
    del made
    notes.append("held")
    held[:1] = []
    notes.append("set")


def attribute(holder, made, notes):
    holder.generator = made
    del made
    notes.append("held")
    holder.generator = None
    notes.append("set")


def deleted_attribute(holder, made, notes):
    holder.generator = made
    del made
    notes.append("held")
    del holder.generator
    notes.append("deleted")


def setattr_of_it(holder, made, notes):
    holder.generator = [made]
    del made
    notes.append("held")
    setattr(holder, "generator", 1)  # noqa: B010
    notes.append("set")


def cleared(holder, made, notes):
    held = {"a": [made]}
    del made
    notes.append("held")
    held.clear()
    notes.append("cleared")


def cleared_list_of_the_caller(holder, made, notes):
    KEPT.append(made)
    del made
    notes.append("held")
    KEPT.clear()
    notes.append("cleared")


def global_variable(holder, made, notes):
    global kept_global
    kept_global = made
    del made
    notes.append("held")
    kept_global = None
    notes.append("set")


def discarded(holder, made, notes):
    held = {made}
    held.discard(made)
    notes.append("held")
    del made
    notes.append("deleted")


def by_a_method(holder, made, notes):
    def forget():
        holder.generator = None
        notes.append("forgotten")

    holder.generator = made
    del made
    notes.append("held")
    forget()
    notes.append("called")


def updated(holder, made, notes):
    held = {"a": made}
    del made
    notes.append("held")
    held.update(a=1)
    notes.append("updated")


def bounded_deque(holder, made, notes):
    held = collections.deque([made], maxlen=1)
    del made
    notes.append("held")
    held.append(1)
    notes.append("appended")


DROPS = [
    item_of_a_dict,
    item_of_a_list,
    slice_of_a_list,
    attribute,
    deleted_attribute,
    setattr_of_it,
    cleared,
    cleared_list_of_the_caller,
    global_variable,
    discarded,
    by_a_method,
    updated,
    bounded_deque,
]


@pytest.mark.parametrize(
    "drops", [*((drop,) for drop in DROPS), DROPS], ids=lambda d: d[0].__name__
)
def test_generator_ends_where_a_write_drops_it(drops):
    calls = [((x, []), {}) for x in (X, X + 1)]
    check_calls(dropped(*drops), calls, graphs=1)
