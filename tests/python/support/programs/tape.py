# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives by closures on a tape: operators, sets, recursion."""

import torch


class Value:
    """A scalar that knows how it came to be."""

    def __init__(self, data, parents=(), op=""):
        self.data = data
        self.grad = torch.zeros(())
        self._backward = lambda: None
        self._prev = set(parents)
        self._op = op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad = self.grad + other.data * out.grad
            other.grad = other.grad + self.data * out.grad

        out._backward = _backward
        return out

    __radd__ = __add__
    __rmul__ = __mul__

    def tanh(self):
        t = torch.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad = self.grad + (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        order, seen = [], set()

        def build(v):
            if v not in seen:
                seen.add(v)
                for child in sorted(v._prev, key=lambda c: c._op):
                    build(child)
                order.append(v)

        build(self)
        self.grad = torch.ones(())
        for v in reversed(order):
            v._backward()


class Neuron:
    def __init__(self, n):
        self.w = [Value(torch.tensor(0.1 * (i + 1))) for i in range(n)]
        self.b = Value(torch.tensor(0.5))

    def __call__(self, x):
        return sum((wi * xi for wi, xi in zip(self.w, x)), self.b).tanh()

    def parameters(self):
        return [*self.w, self.b]


def program(x):
    net = [Neuron(2) for _ in range(3)]
    hidden = [n([x, x * 2]) for n in net]
    loss = sum(h * h for h in hidden)
    loss.backward()
    return loss.data, [p.grad for n in net for p in n.parameters()]


CALLS = [(torch.tensor(0.3),), (torch.tensor(-1.0),)]
