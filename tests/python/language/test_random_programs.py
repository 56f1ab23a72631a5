# SPDX-License-Identifier: BSD-3-Clause
"""A short run of each generator of `make fuzz`: random programs, eager against
compiled.
"""

import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import magneto
from tests.fuzz.containers import sets
from tests.fuzz.general.programs import differs, write
from tests.fuzz.general.writer import Writer
from tests.fuzz.generators import PACKAGES, load, names_of
from tests.fuzz.operands import expressions, methods, numbers, scalars
from tests.fuzz.sizes import shapes


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_random_programs_do_what_they_do_in_plain_python(first):
    for seed in range(first, first + 20):
        source = write(seed, size=20)
        assert differs(source) == "", f"seed {seed}\n{source}"


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
    assert differs(source) == "", source


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
    assert differs(source) == ""


@pytest.mark.parametrize("first", range(0, 300, 50))
def test_programs_over_sizes(first):
    """A slice of `sizes.shapes`, with fewer calls."""
    found = [shapes.try_seed(seed, 8) for seed in range(first, first + 50)]
    assert not any(found), "\n".join(filter(None, found))


# How many seeds of each generator are tried here; `make fuzz` tries more.
SEEDS = {
    "classes.attributes": 900,
    "classes.definitions": 900,
    "classes.library": 900,
    "containers.iteration": 1500,
    "containers.keys": 900,
    "containers.sets": 600,
    "control.calls": 900,
    "modules.gradients": 600,
    "modules.layers": 450,
    "operands.arguments": 1500,
    "operands.derived": 1500,
    "operands.expressions": 3000,
    "operands.methods": 1500,
    "operands.numbers": 150,
    "operands.scalars": 150,
    "sizes.draws": 900,
    "subgraphs.nested": 450,
    "tensors.backends": 150,
    "tensors.variants": 900,
    "tensors.views": 900,
    "world.guards": 900,
    "world.states": 600,
}
SLICE = 150


@pytest.mark.parametrize(
    ("name", "first"),
    [
        (name, first)
        for name, n in SEEDS.items()
        for first in range(0, n, SLICE)
    ],
)
def test_programs_over_one_thing(name, first):
    try_seed = load(name).try_seed
    found = [try_seed(seed) for seed in range(first, first + SLICE)]
    assert not any(found), "\n".join(filter(None, found))


def run_command(*arguments):
    command = [sys.executable, "-m", "tests.fuzz", "--jobs", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("name", "count"), [("control.contexts", 300), ("control.flow", 900)]
)
def test_programs_in_a_process_of_their_own(name, count):
    """One forks for each program, and some of the other's generators don't let
    themselves be closed, and pytest keeps those.
    """
    run = run_command("--what", name, "--seeds", str(count))
    assert run.returncode == 0, run.stdout
    assert f"0 differences among {count} seeds" in run.stdout


def test_each_generator_has_a_name_and_says_what_it_does():
    run = run_command("--list")
    assert run.returncode == 0, run.stderr
    for package in PACKAGES:
        assert f"\n{package}: " in f"\n{run.stdout}"
        for name in names_of(package):
            assert f"\n    {name}: " in run.stdout


def test_what_nobody_knows_is_no_generator():
    run = run_command("--what", "operands.unknown")
    assert run.returncode == 2
    assert "no generator 'operands.unknown'" in run.stderr


def test_a_wrong_result_would_be_found(monkeypatch):
    def wrong(fn, **options):
        return lambda x, r: (x, "wrong", r)

    monkeypatch.setattr(magneto, "compile", wrong)
    assert methods.try_seed(0)


def test_a_method_that_is_not_asked_would_be_found(monkeypatch):
    def unasked(fn, **options):
        return lambda a, b, x: fn(a, type(b).__name__, x)

    monkeypatch.setattr(magneto, "compile", unasked)
    assert any(expressions.try_seed(seed) for seed in range(10))


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
    assert any(shapes.try_seed(seed, 4) for seed in range(5))
