# SPDX-License-Identifier: BSD-3-Clause
"""Classes: what they define, what is written to them, and those that the
standard library makes.
"""

GENERATORS = {
    "attributes": "attributes",
    "definitions": "definitions",
    "library": "library",
}
