# SPDX-License-Identifier: BSD-3-Clause
"""Graphs, guards and graph breaks of small programs, compared with the texts in
golden/. `make golden` writes these anew; the difference is to be read.
"""

import linecache
import re

import pytest

import magneto
from magneto import log_texts
from support.golden_programs import DYNAMIC, PROGRAMS
from support.paths import TESTS
from support.releases import MINOR

FOLDER = TESTS / "golden"
STATE = "torch's state is as usual"


# Each list of guards begins with torch's state, which is usually this.
USUAL = [
    "torch.is_grad_enabled() is True",
    "torch.is_inference_mode_enabled() is False",
    "autocast state of cpu is off with torch.bfloat16",
    "autocast state of cuda is off with torch.float16",
    "autocast state of other devices is off",
    "torch.get_default_dtype() is torch.float32",
    "torch.get_default_device() is none that is set",
    "deterministic algorithms is off",
    "__torch_function__ is on",
]


def section(title, lines):
    return [title, *(f"    {line}" for line in lines)]


def guard_lines(guards, shape_guards):
    """The guards; of torch's state only what isn't as usual."""
    lines = log_texts.with_places(guards, shape_guards)
    state, others = lines[: len(USUAL)], lines[len(USUAL) :]
    assert [subject(line) for line in state] == [*map(subject, USUAL)]
    unusual = [line for line in state if line not in USUAL]
    usual = "torch's other state is as usual" if unusual else STATE
    return [*unusual, usual, *others]


def subject(line):
    return line.partition(" is ")[0]


def with_source_lines(text):
    """With the text of a line in place of its number, which is another one as
    soon as something is written in front of it.
    """

    def source_line(place):
        return f"`{linecache.getline(place[1], int(place[2])).strip()}`"

    return re.sub(r"(/\S+\.py):(\d+)", source_line, text)


def text_of(found):
    """What an explanation says, in the order of the pieces."""
    lines = []
    for number, graph in enumerate(found.graphs, 1):
        text = graph._captured.handle.text()
        lines += section(f"graph {number}:", text.splitlines())
    pieces = zip(found.symbols, found.guards, found.shape_guards, strict=True)
    for number, (symbols, guards, shape_guards) in enumerate(pieces, 1):
        if symbols:
            lines += section(f"symbols of piece {number}:", symbols)
        lines += section(
            f"guards of piece {number}:", guard_lines(guards, shape_guards)
        )
    if found.breaks:
        lines += section("graph breaks:", found.breaks)
    if found.skips:
        lines += section("in plain Python:", found.skips)
    return with_source_lines("\n".join(lines)) + "\n"


def path_of(name):
    """The file with the text. Where newer releases of PyTorch make it another
    one, that lies in a folder that says since when: `golden/since_2.14`."""
    for minor in range(MINOR, 13, -1):
        newer = FOLDER / f"since_2.{minor}" / f"{name}.txt"
        if newer.exists():
            return newer
    return FOLDER / f"{name}.txt"


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_and_guards_are_as_written_down(name, request):
    program, args = PROGRAMS[name]()
    explain = magneto.explain(program, dynamic=name in DYNAMIC or None)
    text = text_of(explain(*args))
    path = path_of(name)
    if request.config.option.update_golden:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.exists(), "no text is kept for it: run `make golden`"
    assert text == path.read_text(), "run `make golden` and read the difference"


def test_each_text_is_of_a_program(request):
    for path in FOLDER.rglob("*.txt"):
        if request.config.option.update_golden and path.stem not in PROGRAMS:
            path.unlink()
    assert {path.stem for path in FOLDER.rglob("*.txt")} <= set(PROGRAMS)
