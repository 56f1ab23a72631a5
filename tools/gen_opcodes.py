# SPDX-License-Identifier: BSD-3-Clause
"""Prints the opcode table of the CPython that runs it (3.11).

    python tools/gen_opcodes.py > src/bytecode/v311/opcodes.inc

A test compares the file with what this prints.
"""

import dis
import opcode
import sys

HEADER = """\
// SPDX-License-Identifier: BSD-3-Clause
// Written by tools/gen_opcodes.py under CPython 3.11; don't edit.
//
//   MG_RAW(number, name, inline caches, jump)   jump: 1 forward, -1 backward
//   MG_RAW_FORM(number, name, base)             base: what it stands for
"""


def jump_direction(name: str, number: int) -> int:
    """1: forward, -1: backward, 0: no jump."""
    if number not in opcode.hasjrel:
        return 0
    return -1 if "BACKWARD" in name else 1


def table() -> str:
    """The rows: first all opcodes, then the specialised forms of some."""
    rows = []
    caches = opcode._inline_cache_entries
    for name, number in sorted(opcode.opmap.items(), key=lambda item: item[1]):
        jump = jump_direction(name, number)
        rows.append(f"MG_RAW({number}, {name}, {caches[number]}, {jump})")
    for name, number in sorted(
        dis._all_opmap.items(), key=lambda item: item[1]
    ):
        if name in dis.deoptmap:
            rows.append(f"MG_RAW_FORM({number}, {name}, {dis.deoptmap[name]})")
    return HEADER + "\n".join(rows) + "\n"


if __name__ == "__main__":
    if sys.version_info[:2] != (3, 11) or opcode.hasjabs:
        sys.exit(
            "gen_opcodes.py reads the tables of CPython 3.11: run it there"
        )
    sys.stdout.write(table())
