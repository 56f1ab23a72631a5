# SPDX-License-Identifier: BSD-3-Clause
"""Programs of everything at once: tensors, numbers, containers, objects,
functions, exceptions and contexts, called with other arguments each time.

`grammar.py` has tables of what they consist of, `world.py` what they find around
them.
"""

GENERATORS = {"programs": "programs"}
