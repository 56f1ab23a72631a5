# SPDX-License-Identifier: BSD-3-Clause
"""Which tests aren't run behind another backend (`--behind`), and why.

An entry is `file::test`, for all of a test's parameters, or
`file::test[parameters]`, where `*` stands for anything. One that names no test
is an error, also in a run without `--behind`.
"""

from __future__ import annotations

import re

REASONS: dict[str, tuple[str, ...]] = {}


def _pattern(entry: str) -> re.Pattern[str]:
    text = re.escape(entry).replace(r"\*", ".*")
    return re.compile(text if "[" in entry else text + r"(\[.*)?")


PATTERNS = {
    entry: (_pattern(entry), reason)
    for reason, entries in REASONS.items()
    for entry in entries
}


def reason_for(identity: str) -> str | None:
    """Why a test, named as the entries are, says nothing behind a backend."""
    for pattern, reason in PATTERNS.values():
        if pattern.fullmatch(identity):
            return reason
    return None


def without_test(identities: list[str]) -> list[str]:
    """The entries that name none of these tests, of files that are there."""
    files = {identity.partition("::")[0] for identity in identities}
    return [
        entry
        for entry, (pattern, _) in PATTERNS.items()
        if entry.partition("::")[0] in files
        and not any(map(pattern.fullmatch, identities))
    ]
