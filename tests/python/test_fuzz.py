# SPDX-License-Identifier: BSD-3-Clause
# A slice of `make fuzz`: random programs, eager against compiled.
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import magneto
from tests.fuzz import (
    arguments,
    attributes,
    backends,
    calls,
    classes,
    derived,
    draws,
    gradients,
    guards,
    iteration,
    keys,
    library,
    methods,
    modules,
    numbers,
    operands,
    scalars,
    sets,
    shapes,
    specials,
    states,
    tensors,
    variants,
)
from tests.fuzz.running import difference, write
from tests.fuzz.writer import Writer


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs_do_what_they_do_in_plain_python(first):
    for seed in range(first, first + 20):
        source = write(seed, size=20)
        assert difference(source) == "", f"seed {seed}\n{source}"


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.randoms(use_true_random=False), st.integers(1, 16))
def test_programs_that_hypothesis_writes(random, size):
    """Hypothesis makes the writer's choices, and finds the smallest failure."""
    source = Writer(random, size).program()
    assert difference(source) == "", source


# Programs in which a difference was found once.
FOUND = {
    "a key that was found, and whose value nobody uses": """
def program(x, y, n, items, table, thing, notes, other, known):
    for i1 in range(n % 4):
        table.setdefault(f'{x!s:.3}', y)
""",
    "a generator that runs code of the user's when it dies": """
def program(x, y, n, items, table, thing, notes, other, known):
    def f4(a, m=1):
        try:
            yield torch.cat([a, x]).reshape(2, 4)[m % 2]
        finally:
            notes.append('end')
    for y in f4(x - y, 2):
        return y, n, list(items)
""",
    "a global of another module": """
def program(x, y, n, items, table, thing, notes, other, known):
    reset_total()
    magneto.graph_break()
    with Noted(str(n % 9), notes):
        add_to_total(thing.double)
    return world.total, x + y
""",
    "an index of floats, behind a write": """
def program(x, y, n, items, table, thing, notes, other, known):
    x[(n + table.get('b', hash(n))) % 4] = (torch.ones(4) * n).shape[0]
""",
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_difference_that_was_found_is_gone(source):
    assert difference(source) == ""


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_programs_over_sizes(first):
    """A slice of `make fuzz-shapes`."""
    found = [shapes.try_program(seed, 8) for seed in range(first, first + 50)]
    assert not any(found), "\n".join(filter(None, found))


# How many seeds of each generator are tried here; `make fuzz-NAME` tries more.
SEEDS = {
    arguments: 1500,
    attributes: 900,
    backends: 150,
    calls: 900,
    classes: 900,
    derived: 1500,
    draws: 900,
    gradients: 600,
    guards: 900,
    iteration: 1500,
    keys: 900,
    library: 900,
    methods: 1500,
    modules: 450,
    numbers: 150,
    operands: 1500,
    scalars: 150,
    sets: 600,
    specials: 1500,
    states: 600,
    tensors: 900,
    variants: 900,
}
SLICE = 150


@pytest.mark.parametrize(
    ("generator", "first"),
    [(g, first) for g, n in SEEDS.items() for first in range(0, n, SLICE)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_programs_over_one_thing(generator, first):
    found = [generator.try_seed(seed) for seed in range(first, first + SLICE)]
    assert not any(found), "\n".join(filter(None, found))


@pytest.mark.parametrize(
    ("name", "count"), [("contexts", 300), ("control", 900)]
)
def test_programs_in_a_process_of_their_own(name, count):
    """Slices of `make fuzz-contexts`, which forks for each program, and of
    `make fuzz-control`: some generators don't let themselves be closed, and
    pytest keeps those.
    """
    command = [
        sys.executable,
        "-m",
        f"tests.fuzz.{name}",
        "--count",
        str(count),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout
    assert f"0 differences among {count} seeds" in run.stdout


def test_a_wrong_result_would_be_found(monkeypatch):
    def wrong(fn, **options):
        return lambda x, r: (x, "wrong", r)

    monkeypatch.setattr(magneto, "compile", wrong)
    assert methods.try_seed(0)


def test_an_error_that_nobody_catches_would_be_found(monkeypatch):
    def failing(fn, **options):
        return lambda x, notes, arguments: fn(x, notes, [["refused"], {}])

    monkeypatch.setattr(magneto, "compile", failing)
    assert any(numbers.try_seed(seed) for seed in range(10))


def test_a_number_that_is_taken_for_another_would_be_found(monkeypatch):
    def misled(fn, **options):
        return lambda number, arguments: fn(number + 1, arguments)

    monkeypatch.setattr(magneto, "compile", misled)
    assert any(scalars.try_seed(seed) for seed in range(10))


def test_a_wrong_order_would_be_found(monkeypatch):
    def reversing(fn, **options):
        return lambda x, s, t, u, notes: fn(x, set([*s][::-1]), t, u, notes)

    monkeypatch.setattr(magneto, "compile", reversing)
    assert any(sets.try_seed(seed) for seed in range(50))


def test_a_wrong_size_would_be_found(monkeypatch):
    monkeypatch.setattr(
        magneto, "compile", lambda fn, **_: lambda *a: fn(*a[:2], 2)
    )
    assert any(shapes.try_program(seed, 4) for seed in range(5))
