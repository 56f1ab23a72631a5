# SPDX-License-Identifier: BSD-3-Clause
"""Modules and training: what a forward does with what its module has, and steps
with gradients, hooks and optimizers.
"""

GENERATORS = {"gradients": "gradients", "layers": "layers"}
