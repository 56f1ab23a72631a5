# SPDX-License-Identifier: BSD-3-Clause
"""Which operations give an object that exists already, and which a new one."""

import pytest
import torch

import magneto

EXPRESSIONS = """
    (n+1000) is (n+1000)
    (n+1) is (n+1)
    n is n
    (n*1.5) is (n*1.5)
    f is f
    (f+0.0) is f
    ('a'*n) is ('a'*n)
    'abc'[0] is 'abc'[0]
    'abc'[0:1] is 'abc'[0:1]
    s[0] is s[0]
    s[:] is s
    s[0:2] is s[0:2]
    str(s) is s
    (s+'') is s
    (''+s) is s
    (s*1) is s
    s.strip() is s
    s.replace('q','z') is s
    t[:] is t
    t[0:2] is t
    tuple(t) is t
    (t+()) is t
    (()+t) is t
    (t*1) is t
    t[0:0] is ()
    tuple([]) is ()
    frozenset(fs) is fs
    fs.copy() is fs
    (fs|frozenset()) is fs
    frozenset() is frozenset()
    int(n) is n
    float(f) is f
    (n+0) is n
    (+n) is n
    big+0 is big
    int(big) is big
    abs(big) is big
    (-(-big)) is big
    big.__index__() is big
    round(big) is big
    complex(c) is c
    (+f) is f
    bytes(b) is b
    b[:] is b
    b[0:1] is b[0:1]
    (b+b'') is b
    l[:] is l
    list(l) is l
    l.copy() is l
    (l*1) is l
    slice(1,2) is slice(1,2)
    range(3) is range(3)
    type(n) is int
    n.__class__ is int
    [big][0] is big
    (big,)[0] is big
    {'a':big}['a'] is big
    max(big, 1) is big
    sum([big]) is big
    sum([],l) is l
    min([l]) is l
    (l or 1) is l
    (0 or l) is l
    print is print
    l.append is l.append
    l.append == l.append
    g.__get__ is g.__get__
    g is g
    (lambda: 1) is (lambda: 1)
    str(n) is str(n)
    chr(n) is chr(n)
    chr(1000) is chr(1000)
    ''.join([s]) is s
    ''.join((s,)) is s
    f'{s}' is s
    '%s' % s is s
    '{}'.format(s) is s
    format(s) is s
    s.lower() is s.lower()
    s.upper() is s
    s.encode() is s.encode()
    s.split('!')[0] is s
    s.partition('!')[0] is s
    s.ljust(1) is s
    s.zfill(1) is s
    s.center(1) is s
    s.translate({}) is s
    s.removeprefix('q') is s
    s.expandtabs() is s
    s.casefold() is s.casefold()
    divmod(big,1)[0] is big
    (big|0) is big
    (big//1) is big
    (big*1) is big
    big**1 is big
    (big-0) is big
    (f*1.0) is f
    sorted(t) is sorted(t)
    reversed(l) is reversed(l)
    iter(it) is it
    enumerate(l) is enumerate(l)
    d.keys() is d.keys()
    dict(d) is d
    d.copy() is d
    d.get('a') is d['a']
    True is (n==n)
    (not n) is False
    None is d.get('zz')
    torch.float32 is X.dtype
    X.shape is X.shape
    X.size() is X.size()
    X.T is X
    X.detach() is X
    X.contiguous() is X
    X.float() is X
    X.to(torch.float32) is X
    X.requires_grad_(False) is X
    X.cpu() is X
    X[:] is X
    X.view(3) is X
    X.data is X.data
    X.device is X.device
    X.dtype is X.dtype
    X.grad is X.grad
    torch.device('cpu') is torch.device('cpu')
    Y.expand(3) is Y
    Y.type_as(X) is Y
    X.clone() is X
""".strip().splitlines()


def arguments():
    return {
        "X": torch.arange(3.0),
        "Y": torch.ones(3),
        "n": 5,
        "f": 2.5,
        "s": "abc",
        "t": (1, 2),
        "fs": frozenset([1]),
        "big": 10**20,
        "c": 1j,
        "b": b"ab",
        "l": [1, 2],
        "d": {"a": [1]},
        "g": arguments,
        "it": iter([1]),
    }


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("expression", [each.strip() for each in EXPRESSIONS])
def test_result_is(expression):
    names = ", ".join(arguments())
    namespace = {"torch": torch}
    exec(f"def program({names}):\n return {expression}, X + 1", namespace)
    program = namespace["program"]
    expected = program(**arguments())[0]
    compiled = magneto.compile(program, backend="eager")
    assert [compiled(**arguments())[0] for _ in range(2)] == [expected] * 2
