# SPDX-License-Identifier: BSD-3-Clause
"""Control flow: calls, generators, exceptions, `with` and `finally`, and torch's
state, which is entered and left on all these ways.
"""

GENERATORS = {"calls": "calls", "contexts": "contexts", "flow": "flow"}
