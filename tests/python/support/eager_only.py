# SPDX-License-Identifier: BSD-3-Clause
"""Which tests aren't run behind another backend (`--behind`), and why.

An entry is a file below tests/python, `file::test` for all of a test's
parameters, or `file::test[parameters]`, where `*` stands for anything. One that
names no test is an error, also in a run without `--behind`.
"""

from __future__ import annotations

import re

from support.paths import TESTS

_LATER_RUN = (
    "effects/test_failures_after_writes.py"
    "::test_failure_of_a_later_run_is_what_it_is_in_plain_python"
)

REASONS: dict[str, tuple[str, ...]] = {
    "a result's grad_fn is AOTAutograd's function": (
        "breaks/test_break_reasons.py::test_program_with_the_break_computes_the_same"
        "[tensor-attribute]",
        "effects/test_failures_after_writes.py"
        "::test_leaves_are_not_written_to_by_what_was_compiled_for_others",
        "effects/test_failures_after_writes.py"
        "::test_failure_behind_a_write_is_what_it_is_in_plain_python"
        "[differentiates_behind_a_break]",
        "torch/test_torch_functions.py"
        "::test_history_of_a_view_that_torch_does_not_tell",
        "effects/test_training_steps.py::test_effects[functions_of_the_graph]",
        "shapes/test_varying_numbers.py::test_positions_that_vary_select_once",
    ),
    "a write to an input is counted twice in its _version": (
        "effects/test_failures_after_writes.py"
        "::test_versions_count_what_plain_python_writes",
        "torch/test_autograd_functions.py"
        "::test_function_that_takes_the_history_of_its_input",
    ),
    "what a graph makes in an inference mode that it has entered itself is no "
    "inference tensor": (
        "breaks/test_blocks.py"
        "::test_block_with_a_break_gives_what_plain_python_gives"
        "[inference_mode]",
        "breaks/test_blocks.py"
        "::test_block_with_a_break_gives_what_plain_python_gives"
        "[inference_modes_in_modes]",
        "breaks/test_blocks.py"
        "::test_block_with_a_break_is_captured_on_both_sides[inference_mode]",
        "breaks/test_blocks.py"
        "::test_block_with_a_break_is_captured_on_both_sides"
        "[inference_modes_in_modes]",
    ),
    "strides of a result without items": (
        "shapes/test_data_dependent_sizes.py::test_one_graph_for_all_sizes"
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
        "effects/test_failures_after_writes.py::test_later_failure_behind_a_write_is_"
        "raised_where_the_user_sees_it",
    ),
    "an operator whose result nobody uses isn't called": (
        f"{_LATER_RUN}[not-used]",
        f"{_LATER_RUN}[assertion]",
        "language/test_binary_operators.py::test_devices_with_a_number",
        *(
            f"torch/test_operator_errors.py::test_wrong_arguments[{name}]"
            for name in (
                "masked_scatter",
                "scatter",
                "scatter_add",
                "bucketize",
            )
        ),
        "torch/test_torch_functions.py"
        "::test_an_index_that_nobody_needs_may_be_out_of_range",
    ),
    "a tensor that is needed for the backward as it was in front of a write is "
    "the written one": (
        "effects/test_failures_after_writes.py::test_the_history_of_views_is_put_back",
    ),
    "PyTorch's compilers keep memory of their own": (
        "surface/test_compiled_functions.py::test_rounds_of_compile_call_reset_leave_memory_flat",
    ),
    "sizes that are marked as unbacked may be 0 or 1 to them": (
        "shapes/test_mark_unbacked.py"
        "::test_sizes_of_one_and_zero_have_kernels_of_their_own",
    ),
    "a graph for each of hundreds of methods, of which none is in the graph": (
        "builtins/test_methods_by_name.py::test_called_by_name",
    ),
    "an out of another dtype, or that is read too, isn't refused": (
        *(
            f"torch/test_operator_errors.py::test_wrong_arguments[{name}]"
            for name in ("complex", "aminmax", "multinomial", "cat")
        ),
    ),
    "a fault of ours, which docs/plan.md lists (28)": (
        "torch/test_operator_errors.py::test_wrong_arguments[gather]",
        "torch/test_tensor_iteration.py::test_rows[written-*-True]",
    ),
    "operators that are written over torch.Tensor's are seen while compiling": (
        "torch/test_patched_tensor_methods.py::test_patched[__getitem__-*",
        "torch/test_patched_tensor_methods.py::test_patched[__add__-*",
    ),
    "a number that varies and is too large for the dtype doesn't raise": (
        "shapes/test_refused_numbers.py::test_a_number_that_varies_past_what_is_taken"
        "[hardshrink]",
    ),
    "a signal's exception may end PyTorch's compilers anywhere, or be lost": (
        "surface/test_threads_and_signals.py"
        "::test_exceptions_of_signal_handlers_arrive_in_the_program",
        "surface/test_threads_and_signals.py::test_exceptions_of_signal_handlers_end_a_trace",
        "surface/test_threads_and_signals.py"
        "::test_exceptions_of_signal_handlers_are_not_dropped",
    ),
    "a signal's handler may run within PyTorch's compilers, under their modes": (
        "surface/test_threads_and_signals.py"
        "::test_signal_handlers_may_call_compiled_functions",
        "surface/test_threads_and_signals.py::test_what_changes_while_it_is_traced",
    ),
    "what is saved for a backward, and how often, is AOTAutograd's": (
        "effects/test_training_steps.py::test_effects[hooks_on_saved_tensors]",
    ),
    "AOTAutograd's backward can't be differentiated": (
        "effects/test_training_steps.py::test_effects[twice_differentiated]",
    ),
    "rounded otherwise, and compared as text": (
        "effects/test_training_steps.py::test_effects[step_of_sgd]",
    ),
    "what operators warn of, they warn of while they are compiled": (
        "torch/test_torch_audit.py"
        "::test_torch_functions_warn_each_time_that_they_run[always-*",
        "torch/test_torch_audit.py"
        "::test_torch_functions_warn_each_time_that_they_run[default-*",
    ),
    "who looks at operators sees those of PyTorch's compilers, too": (
        "torch/test_observers.py::test_profiler_around_a_first_call",
        "torch/test_observers.py::test_execution_trace_of_a_first_call",
    ),
    "their guards are more than ours": ("guards/test_guard_strictness.py",),
    "they import modules while they compile, with the program's __import__": (
        "language/test_imports.py::test_a_way_to_import_that_is_put_in_place_later",
        "language/test_imports.py::test_what_the_trace_has_written_to_sys_modules"
        "[imports_in_a_way_that_fails]",
    ),
    "random programs, which would take hours; their texts have grad_fn": (
        "language/test_random_programs.py::test_random_programs_do_what_they_do_in_plain_python",
        "language/test_random_programs.py::test_programs_that_hypothesis_writes",
        "language/test_random_programs.py::test_programs_over_sizes",
        "language/test_random_programs.py::test_programs_over_one_thing",
        "language/test_random_programs.py::test_programs_in_a_process_of_their_own",
    ),
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
    """The entries that name none of these tests, of the files that were
    collected, or a file that does not exist.
    """
    files = {identity.partition("::")[0] for identity in identities}

    def is_left_out(entry: str) -> bool:
        name = entry.partition("::")[0]
        return name not in files and (TESTS / name).exists()

    return [
        entry
        for entry, (pattern, _) in PATTERNS.items()
        if not is_left_out(entry)
        and not any(map(pattern.fullmatch, identities))
    ]
