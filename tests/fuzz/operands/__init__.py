# SPDX-License-Identifier: BSD-3-Clause
"""What C code makes of odd operands: operators, subscripts, builtin functions,
methods and PyTorch's operators, given instances with special methods that note
that they were asked, values that vary, and numbers that may be refused.
"""

GENERATORS = {
    "arguments": "arguments",
    "derived": "derived",
    "expressions": "expressions",
    "methods": "methods",
    "numbers": "numbers",
    "scalars": "scalars",
}
