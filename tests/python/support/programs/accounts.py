# SPDX-License-Identifier: BSD-3-Clause
"""Properties, class methods, exceptions of one's own, and a log."""

import contextlib
import logging

import torch

log = logging.getLogger("accounts")


class Refused(Exception):
    def __init__(self, account, amount):
        super().__init__(account, amount)
        self.account = account

    def __str__(self):
        return (
            f"{self.account.owner} lacks {self.args[1] - self.account.balance}"
        )


class Account:
    interest = 0.5
    opened = 0

    def __init__(self, owner, balance=0):
        self.owner = owner
        self._balance = balance
        self.history = [("open", balance)]

    @property
    def balance(self):
        return self._balance

    @balance.setter
    def balance(self, value):
        if value < 0:
            raise Refused(self, self._balance - value)
        self.history.append(("set", value))
        self._balance = value

    @balance.deleter
    def balance(self):
        self.history.clear()
        self._balance = 0

    @classmethod
    def joint(cls, *accounts):
        return cls(
            "&".join(a.owner for a in accounts),
            sum(a.balance for a in accounts),
        )

    @staticmethod
    def fee(amount):
        return max(1, amount // 10)

    def __iadd__(self, amount):
        self.balance += amount
        return self

    def __lt__(self, other):
        return self.balance < other.balance

    @contextlib.contextmanager
    def transaction(self):
        before, count = self._balance, len(self.history)
        try:
            yield self
        except Refused as error:
            self._balance = before
            del self.history[count:]
            log.debug("refused %s", error)
            raise


def program(x, amounts):
    one, two = Account("ann", 20), Account("bob")
    notes = []
    for amount in amounts:
        try:
            with one.transaction(), two.transaction() as target:
                target += amount
                one.balance -= amount + Account.fee(amount)
        except Refused as error:
            notes.append(str(error))
            notes.append(error.account is one)
        else:
            x = x * amount
    both = Account.joint(one, two)
    rich = max(one, two)
    del two.balance
    return (
        x + both.balance * Account.interest,
        both.owner,
        rich.owner,
        notes,
        one.history,
        two.history,
    )


CALLS = [
    (torch.ones(2), [5, 3]),
    (torch.ones(2), [5, 30, 1]),
    (torch.ones(2), []),
]
