# SPDX-License-Identifier: BSD-3-Clause
"""An expression parser: generators, regular expressions, matching."""

import re
import typing

import torch


class Token(typing.NamedTuple):
    kind: str
    text: str
    at: int


TOKENS = re.compile(
    r"(?P<number>\d+(\.\d*)?)|(?P<name>[a-z]\w*)|(?P<op>[-+*/()^])|(?P<space>\s+)"
)


def tokens(text):
    at = 0
    while at < len(text):
        match = TOKENS.match(text, at)
        if not match:
            raise SyntaxError(
                f"what is {text[at]!r}?", ("<it>", 1, at + 1, text)
            )
        if match.lastgroup != "space":
            yield Token(match.lastgroup, match.group(), at)
        at = match.end()
    yield Token("end", "", at)


class Parser:
    POWERS = {"+": 10, "-": 10, "*": 20, "/": 20, "^": 30}

    def __init__(self, text, names):
        self.stream = tokens(text)
        self.names = names
        self.next()

    def next(self):
        self.token = next(self.stream)

    def parse(self, power=0):
        left = self.prefix()
        while (
            self.token.kind == "op"
            and self.POWERS.get(self.token.text, -1) > power
        ):
            op = self.token.text
            self.next()
            right = self.parse(self.POWERS[op] - (op == "^"))
            match op:
                case "+":
                    left = left + right
                case "-":
                    left = left - right
                case "*":
                    left = left * right
                case "/":
                    left = left / right
                case "^":
                    left = left**right
        return left

    def prefix(self):
        match self.token:
            case Token("number", text):
                self.next()
                return float(text) if "." in text else int(text)
            case Token("name", name) if name in self.names:
                self.next()
                return self.names[name]
            case Token("name", name, at):
                raise NameError(f"no {name} at {at}", name=name)
            case Token(kind="op", text="-"):
                self.next()
                return -self.parse(25)
            case Token(kind="op", text="("):
                self.next()
                inner = self.parse()
                if self.token.text != ")":
                    raise SyntaxError(f"unclosed at {self.token.at}")
                self.next()
                return inner
            case other:
                raise SyntaxError(f"unexpected {other.kind}")


def program(x, text):
    try:
        return Parser(text, {"x": x, "y": x + 1}).parse() + x
    except (SyntaxError, NameError) as error:
        return (
            type(error).__name__,
            str(error),
            getattr(error, "name", None),
            x * 2,
        )


CALLS = [
    (torch.arange(4.0), "x * (2 + y) ^ 2 - -x / 4"),
    (torch.arange(4.0), "1 + 2 * 3"),
    (torch.arange(3.0), "2 ^ 3 ^ 2 - x"),
    (torch.arange(4.0), "x + z"),
    (torch.arange(4.0), "x + $"),
    (torch.arange(4.0), "(x + y"),
    (torch.arange(4.0), "x +"),
]
