# SPDX-License-Identifier: BSD-3-Clause
"""Copies, pickles, bytes and numbers of bits."""

import copy
import io
import json
import pickle
import struct

import torch


class Packed:
    """Four numbers in one."""

    def __init__(self, *parts):
        self.word = int.from_bytes(bytes(parts), "little")

    def __getitem__(self, index):
        if not -4 <= index < 4:
            raise IndexError(index)
        return self.word >> 8 * (index % 4) & 0xFF

    def __eq__(self, other):
        return isinstance(other, Packed) and self.word == other.word

    def __hash__(self):
        return self.word.bit_count()

    def __deepcopy__(self, memo):
        memo["copies"] = memo.get("copies", 0) + 1
        made = type(self)()
        made.word = self.word ^ 1
        return made

    def __reduce__(self):
        return type(self), tuple(self)


def program(x, parts):
    packed = Packed(*parts)
    deep = copy.deepcopy({"p": packed, "q": [packed, packed]})
    shallow = copy.copy([packed])
    again = pickle.loads(pickle.dumps(packed))
    text = json.dumps(
        {"parts": list(packed), "mean": x.shape[0] / 3}, sort_keys=True
    )
    header = struct.pack("<HI", x.dim(), packed.word)
    stream = io.BytesIO(header)
    rank, word = struct.unpack("<HI", stream.read())
    view = memoryview(header)
    return (
        x * packed[0] + packed[-1],
        deep["p"].word,
        deep["q"][0] is deep["p"],
        shallow[0] is packed,
        again == packed,
        hash(again),
        text,
        json.loads(text)["parts"],
        header.hex(" "),
        (rank, word),
        bytes(view[2:4]),
        f"{packed.word:#034b}",
    )


CALLS = [(torch.ones(2), (1, 2, 3, 4)), (torch.ones(3), (255, 0, 0, 128))]
