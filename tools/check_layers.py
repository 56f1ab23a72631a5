# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the rooms under src/ may contain.

Rooms, and the arrows between them, are those that CMakeLists.txt declares with
magneto_room(). A file may include its own room and the rooms that it uses;
torch's headers only in ATEN rooms, Python.h only in PYTHON rooms. The words in
BANNED may stand only in the files named there. Prints each violation as
`file:line: what` and exits with 1 if there is one.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

FILES = {".h", ".cpp", ".def", ".inc"}
DECLARATION = re.compile(r"^magneto_room\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
TORCH_HEADER = re.compile(r"^(ATen|c10|torch)/")
LINE_COMMENT = re.compile(r"//.*")

# The folder of src/python that is about the CPython in use, as CMake links it.
RUNNING = "running_python"

# (what, pattern, prefixes of the paths where it may stand, why)
BANNED = [
    (
        "counting references by hand",
        re.compile(r"\bPy_X?(INCREF|DECREF|NewRef)\b"),
        ("src/python/",),
        "use Ref::share, Ref::steal and release()",
    ),
    (
        "a test for the CPython version",
        re.compile(r"\bPY_(VERSION_HEX|M[AI][JN]OR_VERSION)\b"),
        ("src/python/",),
        "put what differs between versions behind a function of src/python",
    ),
    (
        "an internal header of CPython",
        re.compile(r"#\s*include\s*[<\"]internal/"),
        ("src/python/",),
        "reach it through a function of src/python",
    ),
    (
        "a private name of CPython's",
        re.compile(r"\b_Py[A-Za-z_]\w*|\b(ma|tp)_version_tag\b"),
        ("src/python/",),
        "give it a named function in src/python",
    ),
    (
        "a count of references",
        re.compile(r"\bPy_REFCNT\b"),
        ("src/python/",),
        "ask python/ownership.h",
    ),
    (
        "ending the process",
        re.compile(r"\b(std::)?(abort|terminate|_?exit)\s*\("),
        (),
        "throw with MG_CHECK or set a Python error",
    ),
    (
        "printing",
        re.compile(r"\bstd::(cerr|cout|clog|printf)\b|\bf?printf\s*\("),
        (),
        "use the logs",
    ),
    (
        "dynamic_cast or typeid",
        re.compile(r"\b(dynamic_cast|typeid)\b"),
        ("src/tensor/",),
        "give the class a tag",
    ),
]


@dataclass
class Room:
    """One magneto_room() declaration."""

    name: str
    python: bool = False
    aten: bool = False
    uses: set[str] = field(default_factory=set)


def declared_rooms() -> dict[str, Room]:
    """The rooms of CMakeLists.txt by name."""
    text = (ROOT / "CMakeLists.txt").read_text()
    rooms = {}
    for match in DECLARATION.finditer(text):
        head, _, uses = match[1].partition("USES")
        name, *flags = head.split()
        rooms[name] = Room(
            name, "PYTHON" in flags, "ATEN" in flags, set(uses.split())
        )
    return rooms


def include_fault(
    room: Room, rooms: dict[str, Room], quote: str, target: str
) -> str | None:
    """Says what is wrong with an #include in `room`, if anything."""
    if TORCH_HEADER.match(target):
        return None if room.aten else "torch's headers stay in ATEN rooms"
    if target == "Python.h":
        return None if room.python else f"room {room.name} has no Python"
    if quote == "<":
        return None
    head, _, rest = target.partition("/")
    if head == RUNNING:
        return running_fault(room, rest)
    if not rest:
        return f'"{target}" should name its room: "{room.name}/{target}"'
    if head in rooms and head != room.name and head not in room.uses:
        return f"room {room.name} does not use room {head}"
    if head in rooms and not (ROOT / "src" / target).exists():
        return f'"{target}" does not exist'
    return None


def running_fault(room: Room, name: str) -> str | None:
    """What is wrong with an #include of a version's own header, if anything."""
    if room.name != "python":
        return "a version's own headers are included by room python only"
    for folder in (ROOT / "src/python").glob("v[0-9]*"):
        if not (folder / name).exists():
            return f"{folder.relative_to(ROOT)} has no {name}"
    return None


def faults_in(
    path: Path, room: Room, rooms: dict[str, Room]
) -> Iterator[tuple[int, str]]:
    """Yields (line number, fault) for one file."""
    name = path.relative_to(ROOT).as_posix()
    in_comment = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if in_comment or line.lstrip().startswith("/*"):
            in_comment = "*/" not in line
            continue
        include = INCLUDE.match(line)
        if include:
            fault = include_fault(room, rooms, include[1], include[2])
            if fault:
                yield number, fault
        code = LINE_COMMENT.sub("", line)
        for what, pattern, homes, why in BANNED:
            if pattern.search(code) and not name.startswith(homes):
                yield number, f"{what}: {why}"
    if "SPDX-License-Identifier: BSD-3-Clause" not in path.read_text()[:200]:
        yield 1, "no SPDX line"


def main() -> int:
    """Prints all faults; returns the exit status."""
    rooms = declared_rooms()
    count = 0
    for folder in sorted((ROOT / "src").iterdir()):
        files = [p for p in sorted(folder.rglob("*")) if p.suffix in FILES]
        if files and folder.name not in rooms:
            print(f"src/{folder.name}: not declared in CMakeLists.txt")
            count += 1
            continue
        for path in files:
            for line, fault in faults_in(path, rooms[folder.name], rooms):
                print(f"{path.relative_to(ROOT)}:{line}: {fault}")
                count += 1
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
