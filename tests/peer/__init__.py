# SPDX-License-Identifier: BSD-3-Clause
"""Tests that were written for torch.compile, run with it and with magneto."""
