# SPDX-License-Identifier: BSD-3-Clause
"""Exception groups for tests, and all that one says."""

import traceback


def places(error):
    """Function and line of each entry of the traceback."""
    found = traceback.extract_tb(error.__traceback__)
    return [(each.name, each.line) for each in found]


def shown(error):
    """All that an exception says, of a group its parts', too."""
    if error is None:
        return None
    parts = getattr(error, "exceptions", ())
    return (
        type(error),
        str(error),
        repr(error),
        getattr(error, "__notes__", None),
        error.__suppress_context__,
        shown(error.__cause__),
        repr(error.__context__),
        [shown(part) for part in parts],
    )


class Own(ExceptionGroup):
    pass


class OwnBase(BaseExceptionGroup):
    pass


class Coded(ExceptionGroup):
    def __new__(cls, message, exceptions, code):
        made = super().__new__(cls, message, exceptions)
        made.code = code
        return made

    def derive(self, exceptions):
        return Coded(self.message, exceptions, self.code)


class Deriving(ExceptionGroup):
    def derive(self, exceptions):
        return Deriving(self.message + "'", exceptions)


class Initialised(ExceptionGroup):
    def __init__(self, message, exceptions):
        super().__init__(message, exceptions, "more")
        self.count = len(exceptions)


def nested():
    group = ExceptionGroup(
        "outer",
        [
            ValueError(1),
            ExceptionGroup(
                "inner", [TypeError(2), ValueError(3), BufferError(4)]
            ),
            Own("own", [KeyError(5)]),
            Coded("coded", [ValueError(6), KeyError(7)], 8),
            Deriving("deriving", [KeyError(9), TypeError(10)]),
        ],
    )
    group.add_note("a note")
    group.exceptions[1].add_note("of the inner")
    group.exceptions[3].__notes__ = 3
    group.exceptions[4].__notes__ = ("t",)
    group.__cause__ = KeyError("cause")
    group.__context__ = KeyError("context")
    return group


def raised():
    try:
        try:
            raise KeyError("before")
        except KeyError as error:
            raise nested() from error
    except ExceptionGroup as group:
        return group
