# SPDX-License-Identifier: BSD-3-Clause
"""Join points of branches: paths whose live variables are alike share the code
behind a decision, also where dead variables hold objects with finalizers, which
die when the variables do.
"""

import itertools
import warnings
import weakref

import pytest
import torch

import magneto
from support.compiled_calls import Recorder, moved

N = 4
BACKENDS = ["eager", "aot_eager"]


class Thing:
    def __init__(self, number=1):
        self.number = number


def in_a_row(one, other, before="pass", behind="return x", count=N):
    """`count` decisions in a row by data; {i}: which one."""
    lines = ["def program(x, p, o):", f"  {before}"]
    for i in range(count):
        lines.append(f"  if p[{i}] > 0:\n    {one.format(i=i)}")
        lines.append(f"  else:\n    {other.format(i=i)}")
    lines.append(f"  {behind}")
    names = {"torch": torch, "Thing": Thing, "weakref": weakref}
    exec("\n".join(lines), names)
    return names["program"]


def inputs(count=N):
    for ways in itertools.product((0, 1), repeat=count):
        yield torch.ones(2), torch.tensor(ways)


def graphs(compiler, program, thing):
    torch._dynamo.reset()
    magneto.reset()
    recorder = Recorder()
    call = compiler(program, backend=recorder)
    for x, ways in inputs():
        assert torch.equal(call(x, ways, thing), program(x, ways, thing))
    return recorder.graphs


# One way, the other, what comes before and behind; the same number of graphs as
# under torch.compile.
ROWS = {
    "numbers": (("x = x + {i}", "x = x * 2"), 9),
    "one way": (("x = x + {i}", "pass"), 9),
    "dead numbers": (("a{i} = 1; x = x + 1", "b{i} = 2; x = x * 2"), 9),
    "dead tensors": (("a{i} = x; x = x + 1", "b{i} = x; x = x * 2"), 9),
    "dead objects": (("a{i} = o; x = x + 1", "b{i} = o; x = x * 2"), 9),
    "dead on one way": (("a{i} = o; x = x + 1", "x = x * 2"), 9),
    "dead under one name": (("a = o; x = x + 1", "a = None; x = x * 2"), 9),
    "an argument is gone": (("x = x + 1", "o = None; x = x * 2"), 9),
    "made": (("a{i} = Thing(); x = x + 1", "x = x * 2"), 9),
    "made and kept by others": (
        ("a{i} = o.kept = Thing(); x = x + 1", "x = x * 2"),
        9,
    ),
    "in a cell": (
        ("a = o; f = lambda: a; x = x + 1", "a = 1; x = x * 2"),
        9,
    ),
    "live and unlike": (
        (
            "a{i} = Thing(2); x = x + 1",
            "a{i} = Thing(3); x = x * 2",
            "pass",
            "return x * (a0.number + a1.number + a2.number + a3.number)",
        ),
        15,
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_ways_share_what_follows(name):
    lines, most = ROWS[name]
    program = in_a_row(*lines)
    peers = graphs(torch.compile, program, Thing())
    ours = graphs(magneto.compile, program, Thing())
    assert ours <= min(peers, most)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ROWS)
def test_ways_that_share_compute_the_same(name, backend):
    magneto.reset()
    program = in_a_row(*ROWS[name][0])
    call = magneto.compile(program, backend=backend)
    for x, ways in inputs():
        assert torch.equal(call(x, ways, Thing()), program(x, ways, Thing()))


def test_ways_that_share_compute_the_same_with_inductor():
    magneto.reset()
    program = in_a_row(*ROWS["dead objects"][0][:2], count=2)
    call = magneto.compile(program, backend="inductor")
    for x, ways in inputs(2):
        assert torch.equal(call(x, ways, Thing()), program(x, ways, Thing()))


def test_what_a_frame_is_compiled_for_in_all_is_limited(monkeypatch):
    monkeypatch.setattr(magneto.config, "accumulated_recompile_limit", 6)
    program = in_a_row(
        "k.append({i}); x = x + 1", "x = x * 2", "k = []", "return x + len(k)"
    )
    magneto.reset()
    call = magneto.compile(program, backend="eager")

    def run():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for x, ways in inputs():
                assert torch.equal(call(x, ways, 1), program(x, ways, 1))
        return [str(warning.message) for warning in caught]

    before = magneto.stats()["compilations"]
    texts = run()
    # The first of each of the nine places is free.
    assert magneto.stats()["compilations"] - before <= 6 + 9
    assert len(texts) == 1
    assert "accumulated_recompile_limit" in texts[0]
    assert run() == []
    assert moved(run).get("compilations", 0) == 0


# -- deaths -------------------------------------------------------------------


class Log:
    def __init__(self):
        self.events = []

    def __call__(self, event):
        self.events.append(event)

    def make(self, name, calls_back=True):
        """An object whose death is noted."""
        thing = Thing()
        if calls_back:
            weakref.finalize(thing, self.events.append, f"{name} died")
        return thing


@torch.compiler.disable
def note(log, event, *alive):
    log(f"{event} {[reference() is not None for reference in alive]}")


@torch.compiler.disable
def make(log, name):
    return log.make(name)


@torch.compiler.disable
def make_quiet():
    thing = Thing()
    return thing, weakref.ref(thing)


@torch.compiler.disable
def watch(reference, log, event):
    weakref.finalize(reference(), log, event)


def overwritten(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    note(log, "held", r)
    a = x * 2
    note(log, "overwritten", r)
    return a


def overwritten_and_unbound(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    note(log, "held", r)
    a = x * 2
    x = x + a
    del a
    note(log, "overwritten", r)
    return x


def asked_in_the_piece(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    a = x * 2
    return a if r() is None else x - 1


def not_asked_before(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    b = x * 2
    return b if r() is None else x - 1


def watched_later(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    watch(r, log, "a died")
    x = x * 2
    a = None  # noqa: F841
    log("overwritten")
    note(log, "behind", r)
    return x


def at_the_end(x, p, log):
    a, r = make_quiet()
    b, s = make_quiet()
    if p[0] > 0:
        x = x + 1
    watch(s, log, "b died")
    watch(r, log, "a died")
    x = x * 2
    log("last")
    return x


def on_one_way(x, p, log):
    if p[0] > 0:
        a, r = make_quiet()
    else:
        b, r = make_quiet()
    if p[1] > 0:
        x = x + 1
    note(log, "held", r)
    b = x * 2
    note(log, "b is written to", r)
    a = x * 2
    note(log, "a is written to", r)
    return x + a + b


def in_a_loop(x, p, log):
    references = []
    for i in range(3):
        a, r = make_quiet()
        references.append(r)
        if p[i] > 0:
            x = x + 1
        note(log, i, *references)
    return x


def in_a_handler(x, p, log):
    a, r = make_quiet()
    try:
        if p[0] > 0:
            x = x + 1
        note(log, "held", r)
        raise ValueError
    except ValueError:
        note(log, "handled", r)
        a = x * 2
    note(log, "overwritten", r)
    return a


def left_by_an_error(x, p, log):
    try:
        helper_that_raises(x, p, log)
    except ValueError:
        log("caught")
    return x + 1


def helper_that_raises(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    watch(r, log, "a died")
    note(log, "held", r)
    raise ValueError


def helper(x, p, log):
    a, r = make_quiet()
    if p[0] > 0:
        x = x + 1
    note(log, "held", r)
    return x * 2, r


def of_a_call(x, p, log):
    x, r = helper(x, p, log)
    note(log, "behind the call", r)
    return x


def given_back(x, p, log):
    a, r = make_quiet()
    b = a
    if p[0] > 0:
        x = x + 1
    a = None  # noqa: F841
    note(log, "one name is left", r)
    x = x * 2
    b = None  # noqa: F841
    note(log, "none is left", r)
    return x


@torch.compiler.disable
def fill(things):
    things.append(Thing())
    return weakref.ref(things[0])


def in_a_list(x, p, log):
    things = []
    a = things
    if p[0] > 0:
        x = x + 1
    r = fill(things)
    things = None
    note(log, "held", r)
    a = x * 2
    note(log, "overwritten", r)
    return a


def in_a_written_list(x, p, log):
    a = [Thing()]
    log.kept = a
    if p[0] > 0:
        x = x + 1
    r = weakref.ref(log.kept[0])
    log.kept = None
    note(log, "held", r)
    a = x * 2
    note(log, "overwritten", r)
    return a


DEATHS = [
    overwritten,
    overwritten_and_unbound,
    asked_in_the_piece,
    not_asked_before,
    watched_later,
    at_the_end,
    on_one_way,
    in_a_loop,
    in_a_handler,
    left_by_an_error,
    of_a_call,
    given_back,
    in_a_list,
    in_a_written_list,
]


def outcomes(call):
    """What comes out of calls on all ways, twice, and what dies meanwhile."""
    found = []
    for x, ways in [*inputs(3), *inputs(3)]:
        log = Log()
        result = call(x, ways, log)
        log("returned")
        found.append((result.tolist(), log.events))
    return found


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", DEATHS, ids=lambda f: f.__name__)
def test_what_dead_variables_hold_dies_with_them(program, backend):
    magneto.reset()
    expected = outcomes(program)
    assert outcomes(magneto.compile(program, backend=backend)) == expected


def local_names(x, p, o):
    a = o  # noqa: F841
    if p[0] > 0:
        b = o  # noqa: F841
        x = x + 1
    else:
        c = o  # noqa: F841
        x = x * 2
    fail(x)
    return x


@torch.compiler.disable
def fail(x):
    raise ValueError("on purpose")


def holders_in_traceback(call, *arguments):
    with pytest.raises(ValueError, match="on purpose") as caught:
        call(*arguments)
    traceback = caught.tb
    while traceback.tb_frame.f_code is not local_names.__code__:
        traceback = traceback.tb_next
    variables = traceback.tb_frame.f_locals.items()
    return sorted(name for name, value in variables if type(value) is Thing)


@pytest.mark.parametrize("way", [0, 1])
def test_tracebacks_show_dead_variables_that_hold_something(way):
    magneto.reset()
    call = magneto.compile(local_names, backend="eager")
    arguments = torch.ones(2), torch.tensor([way]), Thing()
    expected = holders_in_traceback(local_names, *arguments)
    for _ in range(2):
        assert holders_in_traceback(call, *arguments) == expected
