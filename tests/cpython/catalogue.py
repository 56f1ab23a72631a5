# SPDX-License-Identifier: BSD-3-Clause
"""Which of CPython's test modules are run, and which of their tests may differ."""

MODULES = """
    list tuple dict set iter itertools generators exceptions with contextlib
    functools collections deque enum dataclasses descr super property patma
    scope unpack_ex extcall call string fstring format int float complex bool
    range slice sort operator heapq bisect copy weakref abc types typing
    coroutines raise traceback sys_settrace except_star exception_group

    augassign baseexception binop builtin compare context contains copyreg
    decorators defaultdict dictcomps dictviews dynamic dynamicclassattribute
    enumerate exception_hierarchy exception_variations asyncgen
    contextlib_async funcattrs genericalias genericclass genexps
    generator_stop global grammar hash index int_literal isinstance iterlen
    keywordonlyarg listcomps long metaclass module named_expressions
    numeric_tower opcodes ordered_dict peepholer positional_only_arg pow print
    reprlib richcmp setcomps string_literals strtod structseq subclassinit
    syntax threading_local type_annotations typechecks ucn unary unicode
    unicode_identifiers unpack utf8source weakset yield_from

    abstract_numbers argparse array ast base64 binascii buffer calendar cmath
    codecs colorsys configparser csv datetime decimal difflib fnmatch
    fractions getopt graphlib hashlib hmac html htmlparser inspect ipaddress
    json linecache logging math memoryview optparse pickle plistlib pprint
    queue random re sched secrets shlex statistics struct textwrap tokenize
    unparse urlparse userdict userlist userstring uuid xml_etree zlib

    bdb class cmd code code_module codeop compile dict_version doctest
    doctest2 email eof file filecmp fileinput fileio finalization flufl fork1
    frame future_stmt genericpath gettext glob gzip http_cookies
    http_cookiejar import importlib io keyword lib2to3 locale longexp lzma
    mailbox mailcap marshal mimetypes minidom modulefinder netrc ntpath
    opcache pathlib pdb pep646_syntax picklebuffer pickletools pkg pkgutil
    posix posixpath profile cprofile pulldom pyclbr pydoc pyexpat quopri
    rlcompleter robotparser runpy sax select selectors shelve shutil site
    sqlite3 stat strftime stringprep strptime symtable sys_setprofile
    sysconfig tabnanny tarfile tempfile thread threadedtempfile time timeit
    tomllib trace type_cache type_comments unicodedata univnewlines utf8_mode
    uu warnings wsgiref xdrlib xml_dom_minicompat zipapp zipfile zipimport
    zoneinfo
""".split()
"""The names of the modules, without `test_`: what the language's own modules
are, more of the language, and the library in Python and C."""

QUICK = """
    tuple slice unpack_ex bisect
""".split()
"""Modules that take a moment and pass whole: part of the regular tests."""

_COUNTS_REFERENCES = (
    "counts references to a number or an object, which a compiled piece "
    "holds, too, to compare with it"
)

REASONS: dict[str, str] = {
    **{
        f"test_array.{case}.test_bug_782369": _COUNTS_REFERENCES
        for case in (
            "ByteTest",
            "DoubleTest",
            "FloatTest",
            "IntTest",
            "LongLongTest",
            "LongTest",
            "ShortTest",
        )
    },
    **{
        f"test_memoryview.{case}.{test}": _COUNTS_REFERENCES
        for case in (
            "BytesMemorySliceSliceTest",
            "BytesMemorySliceTest",
            "BytesMemoryviewTest",
        )
        for test in (
            "test_getbuffer",
            "test_getitem",
            "test_setitem_readonly",
        )
    },
    "test_xml_etree.BugsTest.test_bug_xmltoolkit63": _COUNTS_REFERENCES,
    "test_logging.LoggerTest.test_caching": (
        "looks into a logger's cache of levels, which a compiled piece "
        "neither reads nor fills"
    ),
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
