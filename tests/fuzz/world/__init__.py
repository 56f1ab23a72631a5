# SPDX-License-Identifier: BSD-3-Clause
"""The world between the calls: what a compiled piece relies on and somebody
changes, which of two alike objects it gets, and when objects die.
"""

GENERATORS = {
    "guards": "guards",
    "lifetimes": "lifetimes",
    "states": "states",
}
