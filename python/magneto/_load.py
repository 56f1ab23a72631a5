# SPDX-License-Identifier: BSD-3-Clause
"""Loads the extension, or says in one line why that can't be."""

import torch

# The extension is linked against one release's libraries.
BUILT_FOR = "2.13"


def check_torch(version: str) -> None:
    """Raises ImportError if that PyTorch is not the one built for."""
    if not version.startswith(BUILT_FOR + "."):
        raise ImportError(
            f"this magneto was built for PyTorch {BUILT_FOR}, and PyTorch "
            f"{version} is installed; install torch=={BUILT_FOR}.* or build "
            "magneto again"
        )


check_torch(torch.__version__)
try:
    import magneto._C  # noqa: F401  (this is the one place that loads it)
except ImportError as error:
    raise ImportError(
        f"magneto's extension can't be loaded ({error}); build it with "
        "`make build`, or with `pip install --no-build-isolation .` in the "
        "environment that holds this PyTorch"
    ) from error
