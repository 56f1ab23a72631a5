# SPDX-License-Identifier: BSD-3-Clause
"""Python that is traced in the place of functions written in C.

One module for each module it stands for. What is here is ordinary Python that
behaves as the original does, errors included; it is never run outside of a
trace except by the tests that compare it with the original.
"""
