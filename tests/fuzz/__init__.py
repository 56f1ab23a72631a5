# SPDX-License-Identifier: BSD-3-Clause
"""Random programs, each run in plain Python and compiled; see `__main__.py`.

`general` writes programs of everything. The other packages go where those seldom
come, one idea each; `generators.py` finds them by name, `support` has what they
share.
"""
