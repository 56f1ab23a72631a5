# SPDX-License-Identifier: BSD-3-Clause
"""Words: a Counter, translate, textwrap, formats."""

import collections
import io
import string
import textwrap

import torch
import torch.nn.functional as F


def program(x, text):
    words = (
        text.lower()
        .translate(str.maketrans("", "", string.punctuation))
        .split()
    )
    counts = collections.Counter(words)
    ranked = sorted(counts, key=lambda w: (-counts[w], w))
    index = {word: i for i, word in enumerate(ranked, 1)}
    ids = torch.tensor([index[w] for w in words], dtype=torch.long)
    table = io.StringIO()
    for word, n in counts.most_common(3):
        print(f"{word:<6}|{n:>3}|{n / max(len(words), 1):.1%}", file=table)
    wrapped = textwrap.fill(text, 12).splitlines()
    return (
        F.pad(ids, (0, 2)),
        table.getvalue(),
        wrapped,
        x.sum() + len(index),
        f"{ids.shape!r:>20}",
    )


CALLS = [
    (torch.ones(4), "the cat sat on the mat. The end!"),
    (torch.ones(2), "a b a"),
    (torch.ones(2), ""),
]
