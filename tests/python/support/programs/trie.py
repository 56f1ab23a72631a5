# SPDX-License-Identifier: BSD-3-Clause
"""A tree of letters: recursion, sets, slices, walrus, star expressions."""

import torch


class Trie:
    __slots__ = ("children", "count", "__dict__")

    def __init__(self):
        self.children = {}
        self.count = 0

    def __contains__(self, word):
        return bool(node := self.find(word)) and node.count > 0

    def __len__(self):
        return self.count + sum(len(child) for child in self.children.values())

    def __bool__(self):
        return True

    def __getitem__(self, prefix):
        if isinstance(prefix, slice):
            return [
                w
                for w in self
                if (prefix.start or "") <= w < (prefix.stop or "~")
            ]
        if (node := self.find(prefix)) is None:
            raise KeyError(prefix)
        return node

    def __iter__(self, before=""):
        if self.count:
            yield before
        for letter in sorted(self.children):
            yield from self.children[letter].__iter__(before + letter)

    def __delitem__(self, word):
        first, *rest = word or [""]
        if not first:
            self.count = 0
            return
        child = self.children[first]
        del child["".join(rest)]
        if not child.children and not child.count:
            del self.children[first]

    def find(self, word):
        node = self
        for letter in word:
            if (node := node.children.get(letter)) is None:
                return None
        return node

    def add(self, *words):
        for word in words:
            node = self
            for letter in word:
                node = node.children.setdefault(letter, Trie())
            node.count += 1
            node.last = word[-1:]
        return self


def program(x, words):
    trie = Trie().add(*words)
    found = {word: word in trie for word in (*words[:2], "zz", "")}
    try:
        below = [*trie["ca"]]
    except KeyError as error:
        below = error.args
    middle = trie["b":"d"]
    if words:
        del trie[words[0]]
    return (
        x * len(trie),
        found,
        below,
        middle,
        [*trie],
        [vars(n) for n in trie.children.values()],
    )


CALLS = [
    (torch.ones(2), ("cat", "car", "dog", "cat", "bat")),
    (torch.ones(2), ("a",)),
    (torch.ones(2), ()),
]
