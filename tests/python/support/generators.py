# SPDX-License-Identifier: BSD-3-Clause
"""Generators that note when they end, and what may hold one."""

import sys


def numbers(notes, name="numbers", count=3):
    try:
        for i in range(count):
            yield i
    finally:
        notes.append((name, type(sys.exc_info()[1]).__name__))


class Holder:
    def __init__(self, generator):
        self.generator = generator

    def first(self):
        return next(self.generator)
