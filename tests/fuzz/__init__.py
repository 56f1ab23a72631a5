# SPDX-License-Identifier: BSD-3-Clause
"""Random programs, run eagerly and compiled; see `__main__.py`."""
