# SPDX-License-Identifier: BSD-3-Clause
"""Which tests aren't run behind another backend (`--behind`), and why.

An entry is a file, `file::test` for all of a test's parameters, or
`file::test[parameters]`, where `*` stands for anything. One that names no test
is an error, also in a run without `--behind`.
"""

from __future__ import annotations

import re

_LATER_RUN = (
    "test_failures_after_writes.py"
    "::test_failure_of_a_later_run_is_what_it_is_in_plain_python"
)

REASONS: dict[str, tuple[str, ...]] = {
    "a result's grad_fn is AOTAutograd's function": (
        "test_break_reasons.py::test_program_with_the_break_computes_the_same"
        "[tensor-attribute]",
        "test_failures_after_writes.py"
        "::test_leaves_are_not_written_to_by_what_was_compiled_for_others",
        "test_failures_after_writes.py"
        "::test_failure_behind_a_write_is_what_it_is_in_plain_python"
        "[differentiates_behind_a_break]",
    ),
    "what a graph makes in an inference mode that it has entered itself is no "
    "inference tensor": (
        "test_breaks_in_blocks.py"
        "::test_block_with_a_break_gives_what_plain_python_gives"
        "[inference_mode]",
        "test_breaks_in_blocks.py"
        "::test_block_with_a_break_gives_what_plain_python_gives"
        "[inference_modes_in_modes]",
        "test_breaks_in_blocks.py"
        "::test_block_with_a_break_is_captured_on_both_sides[inference_mode]",
        "test_breaks_in_blocks.py"
        "::test_block_with_a_break_is_captured_on_both_sides"
        "[inference_modes_in_modes]",
    ),
    "strides of a result without items": (
        "test_data_operators.py::test_one_graph_for_all_sizes"
        "[F.scaled_dot_product_attention(*",
    ),
    "what a graph that writes raises in a later run leaves the function": (
        *(
            f"{_LATER_RUN}[{name}]"
            for name in (
                "index",
                "index-select",
                "index-add",
                "gather",
                "scatter",
                "take",
                "embedding",
                "one-hot",
                "nll-loss",
                "cross-entropy",
                "floor-divide",
                "remainder",
                "div",
                "repeat-interleave",
                "inv",
                "solve",
                "cholesky",
                "topk",
                "split",
                "check",
            )
        ),
        "test_failures_after_writes.py::test_later_failure_behind_a_write_is_"
        "raised_where_the_user_sees_it",
    ),
    "an operator whose result nobody uses isn't called": (
        f"{_LATER_RUN}[not-used]",
        f"{_LATER_RUN}[assertion]",
    ),
    "a tensor that is needed for the backward as it was in front of a write is "
    "the written one": (
        "test_failures_after_writes.py::test_the_history_of_views_is_put_back",
    ),
    "PyTorch's compilers keep memory of their own": (
        "test_entry.py::test_rounds_of_compile_call_reset_leave_memory_flat",
    ),
    "their guards are more than ours": ("test_guards_not_stricter.py",),
    "they import modules while they compile, with the program's __import__": (
        "test_imports.py::test_a_way_to_import_that_is_put_in_place_later",
        "test_imports.py::test_what_the_trace_has_written_to_sys_modules"
        "[imports_in_a_way_that_fails]",
    ),
    "tens of thousands of programs, which would take hours": ("test_fuzz.py",),
}


def _pattern(entry: str) -> re.Pattern[str]:
    text = re.escape(entry).replace(r"\*", ".*")
    if "::" not in entry:
        return re.compile(f"{text}::.*")
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
