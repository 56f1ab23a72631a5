# SPDX-License-Identifier: BSD-3-Clause
"""Many programs beside torch.compile, each in a process of its own."""
