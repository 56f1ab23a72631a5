# SPDX-License-Identifier: BSD-3-Clause
"""Which of CPython's test modules are run, and which of their tests may differ."""

MODULES = """
    list tuple dict set iter itertools generators exceptions with contextlib
    functools collections deque enum dataclasses descr super property patma
    scope unpack_ex extcall call string fstring format int float complex bool
    range slice sort operator heapq bisect copy weakref abc types typing
    coroutines raise traceback sys_settrace except_star exception_group
""".split()
"""The names of the modules, without `test_`."""

QUICK = """
    tuple slice unpack_ex bisect
""".split()
"""Modules that take a moment and pass whole: part of the regular tests."""

REASONS: dict[str, str] = {
    "test_coroutines.CoroutineTest.test_for_2": (
        "counts references to a constant, which a compiled piece holds, too, "
        "to compare with it"
    ),
    "test_descr.ClassPropertiesAndMethods.test_slots": (
        "counts all objects of the process before and after, and compiled "
        "pieces are made in between"
    ),
    "test_descr.SharedKeyTests.test_subclasses": (
        "compares sizes of dictionaries: one that a compiled piece builds is "
        "not made write by write, and shares no keys"
    ),
    "test_dict.DictTest.test_splittable_popitem": (
        "compares sizes of a dictionary before and after popitem(), which a "
        "compiled piece replays as the contents that come out"
    ),
    "test_raise.TestTracebackType.test_attrs": (
        "asks whether a traceback's frame is the very object of "
        "sys._getframe(): each piece behind a graph break has a frame of its "
        "own"
    ),
    **{
        f"test_sys_settrace.{case}.{test}": (
            "a tracer that C code attaches to a frame that runs hears of the "
            "end of the frame in which a single instruction ran at a graph "
            "break"
        )
        for case in (
            "TraceTestCase",
            "SkipLineEventsTraceTestCase",
            "TraceOpcodesTestCase",
        )
        for test in (
            "test_no_line_event_after_creating_generator",
            "test_testcapi_settrace_error",
        )
    },
    "test_traceback.TestStack.test_format_locals": (
        "looks at variables that are not read again: a graph break drops them"
    ),
}
"""Tests that pass in plain Python only, by `module.Class.method`, and why that
is as it should be."""
