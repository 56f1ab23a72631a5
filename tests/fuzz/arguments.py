# SPDX-License-Identifier: BSD-3-Clause
"""Random calls of C functions and methods with up to three arguments: values
that vary from call to call, instances with one special method, which notes that
it was asked and may answer otherwise each time, and containers of these, made
anew or kept and changed between the calls.

    python -m tests.fuzz.arguments [--count N] [--seed S]

Exits with 1 if a call differed; it is printed with what it gave.
"""

from __future__ import annotations

import array
import bisect
import collections
import contextlib
import copy
import decimal
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import random
import re
import statistics
import string
import struct
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import magneto
from tests.fuzz import operands
from tests.fuzz.command import finding, is_python, run_many
from tests.fuzz.operands import Choice

# By what a hole takes: a number, numbers, a text, a dict, a function, a tensor.
CALLS = {
    "n": [
        "len({s})", "sum({s})", "sum({s}, {n})", "max({s})",
        "min({s}, default={n})", "max({n}, {n}, {n})", "min({n}, {n}, key={f})",
        "abs({n})", "round({n}, {n})", "pow({n}, {n}, {n})",
        "divmod({n}, {n})[0]", "int({t}, {n})", "float({n})",
        "complex({n}, {n})", "(hash({n}) and 1)", "ord({t}[0])",
        "next({s}, {n})", "math.gcd({n}, {n}, {n})", "math.lcm({n}, {n})",
        "math.hypot({n}, {n})", "math.isclose({n}, {n}, abs_tol={n})",
        "math.prod({s}, start={n})", "math.fsum({s})", "math.dist({s}, {s})",
        "math.copysign({n}, {n})", "math.ldexp({n}, {n})",
        "math.comb({n}, {n})", "math.perm({n}, {n})", "math.log({n}, {n})",
        "math.fmod({n}, {n})", "math.floor({n})", "math.isqrt({n})",
        "math.nextafter({n}, {n})", "math.factorial({n})",
        "operator.index({n})", "operator.length_hint({s}, {n})",
        "operator.countOf({s}, {n})", "operator.indexOf({s}, {n})",
        "operator.getitem({s}, {n})", "operator.add({n}, {n})",
        "{s}.index({n})", "{s}.index({n}, {n})", "{s}.index({n}, {n}, {n})",
        "{s}.count({n})", "{t}.find({t}, {n}, {n})", "{t}.rindex({t}, {n})",
        "{t}.count({t}, {n})", "{s}[{n}]", "{s}[{n}][{n}]", "{d}[{n}]",
        "{d}.get({n}, {n})", "{d}.setdefault({n}, {n})", "{d}.pop({n}, {n})",
        "{s}.pop({n})", "int.from_bytes({s}, 'big')", "({n}).bit_length()",
        "bisect.bisect({s}, {n})", "bisect.bisect_left({s}, {n}, {n}, {n})",
        "functools.reduce({f}, {s})", "functools.reduce({f}, {s}, {n})",
        "{f}({n})", "{f}({n}, {n})", "{x}.sum().item()", "{x}.size({n})",
        "{x}.shape[{n}]", "{x}.shape.index({n})", "{x}.dim()",
        "{x}.stride({n})", "torch.Size({s}).numel()", "statistics.mean({s})",
        "statistics.median({s})", "({n} if {n} else {n})",
        "({n} and {n} or {n})", "(not {n})", "({n} < {n} < {n})",
        "({n} in {s})", "({n} not in {d})", "({n} == {n})", "({s} == {s})",
        "({s} < {s})", "({s} is {s})", "({n} + {n} * {n})", "({n} - {n})",
        "({n} // {n})", "({n} % {n})", "({n} & {n})", "(-{n})", "({n} / {n})",
        "(~{n})", "({n} >> {n})", "({s} in {s})", "({t} in {t})", "any({s})",
        "all({s})", "isinstance({n}, ({a}, int))", "callable({a})",
        "any(v == {n} for v in {s})", "({n}).real", "({n}).imag",
        "({n}).numerator", "float.fromhex({t})", "heapq.heappop({s})",
        "heapq.heappushpop({s}, {n})",
    ],
    "s": [
        "[{n}, {n}]", "({n}, {n}, {n})", "{{{n}, {n}}}", "[*{s}, {n}]",
        "(*{s}, *{s})", "{s}[{n}:{n}]", "{s}[{n}:{n}:{n}]", "{s}[:{n}]",
        "({s} + {s})", "({s} * {n})", "list({s})", "tuple({s})", "set({s})",
        "frozenset({s})", "bytes({s})", "bytearray({s})", "range({n})",
        "range({n}, {n}, {n})", "sorted({s})", "sorted({s}, key={f})",
        "sorted({s}, reverse={n})", "reversed({s})", "[*reversed({s})]",
        "[*map({f}, {s})]", "[*map({f}, {s}, {s})]", "[*filter({f}, {s})]",
        "[*filter(None, {s})]", "[*zip({s}, {s})]",
        "[*zip({s}, {s}, strict={n})]", "[*enumerate({s}, {n})]", "iter({s})",
        "[*itertools.islice({s}, {n}, {n})]",
        "[*itertools.islice({s}, {n}, {n}, {n})]",
        "[*itertools.repeat({n}, {n})]", "[*itertools.chain({s}, {s})]",
        "[*itertools.accumulate({s}, {f}, initial={n})]",
        "[*itertools.accumulate({s})]", "[*itertools.product({s}, repeat={n})]",
        "[*itertools.permutations({s}, {n})]",
        "[*itertools.combinations({s}, {n})]",
        "[*itertools.starmap({f}, [{s}, {s}])]",
        "[*itertools.takewhile({f}, {s})]", "[*itertools.compress({s}, {s})]",
        "[*itertools.zip_longest({s}, {s}, fillvalue={n})]",
        "[*itertools.islice(itertools.count({n}, {n}), 3)]",
        "[(k, [*g]) for k, g in itertools.groupby({s}, {f})]",
        "[*itertools.pairwise({s})]", "[*itertools.filterfalse({f}, {s})]",
        "[v for v in {s} if {f}(v)]", "[{f}(v, {n}) for v in {s}]",
        "collections.deque({s}, {n})",
        "collections.Counter({s}).most_common({n})", "({s} | {s})",
        "({s} & {s})", "({s} - {s})", "{s}.union({s}, {s})",
        "{s}.intersection({s})", "{s}.issubset({s})", "{d}.keys()",
        "[*{d}.values()]", "[*{d}.items()]", "sorted({d})", "copy.copy({s})",
        "copy.deepcopy({s})", "({n}).to_bytes({n}, 'little')",
        "{t}.split({t}, {n})", "{t}.rsplit(None, {n})", "{t}.partition({t})",
        "struct.pack('<ih', {n}, {n})", "struct.pack('d', {n})",
        "array.array('i', {s})", "heapq.nlargest({n}, {s})",
        "heapq.nsmallest({n}, {s}, {f})", "[*heapq.merge({s}, {s})]",
        "torch.Size({s})", "{x}.shape", "{x}.tolist()", "divmod({n}, {n})",
        "math.frexp({n})", "math.modf({n})", "({n}).as_integer_ratio()",
        "slice({n}, {n}, {n}).indices({n})",
        "operator.itemgetter({n}, {n})({s})",
        "(lambda p, *q, k=3: [p, q, k])(*{s}, k={n})",
        "[[v] * {n} for v in {s}]", "operator.concat({s}, {s})",
        "random.Random({n}).sample({s}, {n})", "np.array({s})",
        "dict.fromkeys({s}, {n})", "(lambda q, *r: [r, q])(*{s})",
        "[x for x, *_ in [{s}, {s}]]", "(v := {s})",
        "[(p, q) for p, q in [{s}]]",
    ],
    "t": [
        "str({a})", "repr({a})", "format({n}, {t})", "f'{{{a}}}'",
        "f'{{{n}:>{{{n}}}}}'", "f'{{{n}:{{{t}}}}}'", "f'{{{a}!r:.{{{n}}}}}'",
        "'{{}} {{!r}}'.format({a}, {a})", "'{{0[0]}}'.format({s})",
        "'%s %r' % ({a}, {a})", "'%*d' % ({n}, {n})", "'%.*f' % ({n}, {n})",
        "'%d %x' % ({n}, {n})", "'%c' % {n}", "'%(k)s' % {d}",
        "'%5.1f|%e' % ({n}, {n})", "{t}.join({s})", "','.join(map(str, {s}))",
        "{t}.replace({t}, {t}, {n})", "{t}.center({n}, {t})", "{t}.zfill({n})",
        "{t}.ljust({n})", "{t}.strip({t})", "{t}.translate({d})", "({t} * {n})",
        "({t} + {t})", "{t}[{n}]", "{t}[{n}:{n}]", "chr({n})", "hex({n})",
        "bin({n})", "{t}.expandtabs({n})", "{t}.lower()",
        "{t}.removeprefix({t})", "ascii({a})", "json.dumps({a})",
        "json.dumps({d}, sort_keys={n})", "json.dumps({s}, indent={n})",
        "re.sub({t}, {t}, {t}, {n})", "re.sub('a', {f}, {t})", "str({s}, {t})",
        "string.Template('$k').safe_substitute({d})", "{t}.format({a}, {a})",
        "{t}.format_map({d})", "{t}.startswith({t}, {n})",
        "{t}.endswith(({t}, {t}))", "{t}.encode().hex({t}, {n})",
        "str({x}.dtype)", "'{{:{{}}}}'.format({n}, {n})",
    ],
    "d": [
        "{{{n}: {n}}}", "{{**{d}, {n}: {n}}}", "dict({s})",
        "dict([({n}, {n})], k={n})", "({d} | {d})", "collections.Counter({s})",
        "collections.OrderedDict({s})", "dict.fromkeys({s})",
        "dict(zip({s}, {s}))", "{{k: {n} for k in {s}}}",
        "collections.ChainMap({d}, {d})", "copy.copy({d})", "vars({a})",
        "collections.Counter({d}) + collections.Counter({s})", "{d}.copy()",
        "(lambda **k: k)(**{d})", "collections.defaultdict({f}, {d})",
        "{{v: v for v in {d}}}",
    ],
    "x": [
        "torch.tensor({n})", "torch.tensor({s})", "torch.tensor([{n}, {n}])",
        "torch.full(({n}, 2), {n})", "torch.zeros({n}, {n})", "torch.ones({s})",
        "torch.arange({n}, {n}, {n})", "torch.linspace({n}, {n}, {n})",
        "torch.as_tensor({s})", "({x} + {n})", "({n} - {x})", "({x} * {x})",
        "({x} ** {n})", "({x} // {n})", "({x} > {n})", "{x}[{n}]",
        "{x}[{n}:{n}]", "{x}[{s}]", "{x}[..., {n}]", "{x}[{n}, {n}]",
        "{x}[[{n}, {n}]]", "{x}.reshape({n}, {n})", "{x}.reshape({s})",
        "{x}.view(-1, {n})", "{x}.expand({n}, -1)", "{x}.repeat({n}, {n})",
        "{x}.permute({s})", "{x}.permute({n}, {n})", "{x}.transpose({n}, {n})",
        "{x}.sum({n})", "{x}.sum({s}, keepdim={n})", "{x}.mean(({n}, {n}))",
        "{x}.clamp({n}, {n})", "{x}.add({x}, alpha={n})", "{x}.roll({n}, {n})",
        "{x}.narrow({n}, {n}, {n})", "{x}.split({n})[{n}]", "{x}.split({s})[0]",
        "{x}.chunk({n}, {n})[0]", "{x}.unsqueeze({n})", "{x}.flatten({n}, {n})",
        "{x}.select({n}, {n})", "{x}.cumsum({n})", "{x}.softmax({n})",
        "{x}.tril({n})", "{x}.diagonal({n})", "{x}.topk({n})[0]",
        "{x}.masked_fill({x} > {n}, {n})", "{x}.new_full(({n}, 2), {n})",
        "{x}.new_zeros({s})", "{x}.fill_({n})", "{x}.flip({s})",
        "{x}.index_fill(0, torch.tensor([0]), {n})",
        "torch.where({x} > {n}, {x}, {n})", "torch.where({x} > 0, {n}, {n})",
        "torch.cat([{x}, {x}], {n})", "torch.cat({s})",
        "torch.stack([{x}, {x}], dim={n})",
        "torch.clamp({x}, min={n}, max={n})",
        "torch.nn.functional.pad({x}, ({n}, {n}))",
        "torch.nn.functional.pad({x}, {s}, value={n})",
        "torch.nn.functional.dropout({x}, {n}, {n})",
        "torch.nn.functional.leaky_relu({x}, {n})",
        "torch.nn.functional.layer_norm({x}, {s}, eps={n})",
        "torch.pow({n}, {x})", "{x}.to({n})",
        "torch.nn.functional.one_hot({x}.long(), {n})", "torch.eye({n}, {n})",
        "{x}.round(decimals={n})", "torch.lerp({x}, {x}, {n})",
        "{x}.quantile({n})", "{x}.float()", "{x}.norm({n}, {n})",
        "torch.addmm({x}, {x}, {x}, beta={n})", "torch.einsum({t}, {x}, {x})",
        "{x}.unfold({n}, {n}, {n})", "torch.scalar_tensor({n})",
        "torch.empty({s}).zero_()", "torch.ones(({n}, {n}))",
        "torch.broadcast_to({x}, {s})", "torch.tensordot({x}, {x}, {n})",
        "torch.hstack({s})", "{x}.mul_({x})", "{x}.t_()", "{x}.squeeze_({n})",
        "{x}.unsqueeze_({n})", "{x}.transpose_({n}, {n})",
        "torch.add({x}, {x}, out={x})", "{x}.index_put_(({x}.long(),), {x})",
        "{x}.scatter_({n}, {x}.long(), {n})", "{x}.gather({n}, {x}.long())",
        "{x}.masked_scatter({x} > 0, {x})", "{x}[{x} > {n}]", "{x}[{x}.long()]",
        "{x}[None, {n}]", "{x}[..., None]", "{x}[{n}::2]", "{x}.detach()",
        "{x}.data", "{x}.T", "{x}.mT", "{x}.real", "{x}.view(torch.int32)",
        "{x}.view_as({x})", "{x}.expand_as({x})", "{x}.reshape_as({x})",
        "{x}.type_as({x})", "{x}.to({x})", "{x}.to(torch.float64)",
        "{x}.contiguous()", "{x}.clone()", "{x}.requires_grad_({n})",
        "{x}.sum().backward()", "{x}.sigmoid_()", "{x}.clamp_(min={n})",
        "{x}.abs().sqrt()", "{x}.movedim({n}, {n})", "{x}.swapaxes({n}, {n})",
        "{x}.unflatten({n}, {s})", "{x}.diag_embed({n})", "{x}.argsort({n})",
        "{x}.sort({n}, {n})[1]", "{x}.max({n})[0]", "{x}.argmax({n})",
        "{x}.var({n}, correction={n})", "{x}.std({s})", "{x}.prod({n})",
        "{x}.cumprod({n})", "{x}.logsumexp({n})", "{x}.amax({s}, {n})",
        "{x}.any({n})", "{x}.all()", "{x}.nonzero()", "{x}.unique()",
        "{x}.bincount(minlength={n})", "{x}.bool()", "({x} @ {x})",
        "torch.mm({x}, {x})", "torch.bmm({x}, {x})", "torch.matmul({x}, {x})",
        "torch.dot({x}, {x})", "torch.outer({x}, {x})",
        "torch.cross({x}, {x}, {n})", "torch.isclose({x}, {x}, {n})",
        "torch.equal({x}, {x})", "torch.allclose({x}, {x})",
        "torch.maximum({x}, {x})", "torch.atan2({x}, {x})",
        "torch.nn.functional.linear({x}, {x})",
        "torch.nn.functional.softmax({x}, {n})",
        "torch.nn.functional.cross_entropy({x}, {x})",
        "torch.nn.functional.mse_loss({x}, {x})",
        "torch.nn.functional.normalize({x}, {n}, {n})",
        "torch.nn.functional.embedding({x}.long(), {x})",
        "torch.nn.functional.interpolate({x}, scale_factor={n})",
        "torch.nn.functional.max_pool2d({x}, {n}, {n})",
        "torch.nn.functional.unfold({x}, {n})",
        "torch.nn.functional.conv2d({x}, {x}, stride={n})",
        "torch.nn.functional.glu({x}, {n})",
        "torch.nn.functional.pixel_shuffle({x}, {n})",
        "torch.nn.functional.batch_norm({x}, None, None, training=True, eps={n})",
        "torch.func.vmap({f})({x})", "torch.autograd.grad({x}.sum(), {x})[0]",
        "torch.meshgrid({x}, {x}, indexing='ij')[0]",
        "torch.block_diag({x}, {x})", "torch.cartesian_prod({x}, {x})",
        "torch.kron({x}, {x})", "torch.trapz({x}, {x})",
        "torch.searchsorted({x}, {x})", "torch.bucketize({x}, {x})",
        "torch.histc({x}, {n})", "torch.vander({x}, {n})",
        "torch.take_along_dim({x}, {x}.long(), {n})",
        "torch.rot90({x}, {n}, {s})", "{x}.view({s})",
    ],
    "f": [
        "len", "abs", "str", "int", "bool", "operator.neg", "operator.add",
        "max", "math.sqrt", "(lambda *v: v[0])", "(lambda *v: [v])",
        "operator.itemgetter({n})", "None", "float", "type",
        "functools.partial(max, {n})", "functools.partial(pow, {n}, {n})",
        "{d}.get", "{s}.count", "{s}.__contains__",
        "operator.methodcaller('count', {n})",
        "functools.cmp_to_key(lambda p, q: {n})", "range", "list", "{t}.format",
        "(lambda v, w=0: {n} if v else w)", "{d}.__getitem__", "operator.mul",
        "repr", "set", "torch.tensor", "{a}",
    ],
    "a": ["{n}", "{s}", "{t}", "{d}", "{x}", "{n}"],
}  # fmt: skip
STATEMENTS = [
    "a[{n}] = {n}", "a[{n}:{n}] = {s}", "del a[{n}]", "del a[{n}:{n}]",
    "a += [*{s}]", "a *= {n}", "a -= {n}", "a |= {s}", "a.insert({n}, {n})",
    "a.extend([*{s}])", "a.remove({n})", "a.append({n})", "a.sort(key={f})",
    "a.update({d})", "a.update({s})", "a.add({n})", "a.discard({n})",
    "a.rotate({n})", "a.popitem()", "a.clear()", "a.reverse()",
    "heapq.heappush(a, {n})", "heapq.heapify(a)", "bisect.insort(a, {n})",
    "p, *q = {s}; a = q, p", "p, q = {s}; a = q", "for p in {s}:\n    a = p",
    "for p in [*{s}]: a.append({n})", "(a := {n})",
    "for p, q in {d}.items():\n    a = q, p", "for _ in {s}: a = a[1:]",
    "assert {n}, {a}",
    "match {a}:\n    case [p, *q]: a = q\n    case {{1: p}}: a = p\n    case int(): a = 'n'",
    "match {n}:\n    case 2: a = 'two'\n    case 2.5 | 3: a = 'more'",
    "if {n}:\n    a = {n}\nelse:\n    a = {s}", "b[{n}] = {n}", "b.append(a)",
    "b.setdefault({n}, []).append({n})", "b[{n}] += {n}", "b[{n}], a = a, {n}",
    "x = {x}; x[{n}] = {n}; a = x", "x = {x}; x[{n}:{n}] += {n}; a = x",
    "x = {x}; x.add_({n}); a = x", "x = {x}; x[{s}] = {n}; a = x",
    "x = {x}; x.copy_({x}); a = x", "print({a}, sep={t})", "raise {a}",
]  # fmt: skip

# What needs no operand.
WRITTEN = {
    "n": ["2", "0", "-1", "1.5", "True", "None", "3"],
    "s": ["[1, 2]", "(2, 2)", "(1, 0, 2)", "[]", "{1, 2}", "range(3)", "'ab'"],
    "t": ["'ab'", "''", "'a'", "'%d'", "'{}'"],
    "d": ["{1: 2}", "{}", "{'a': 1, 'b': 2}"],
    "x": ["torch.ones(2)", "torch.arange(6.0).view(2, 3)", "torch.tensor(2)"],
    "f": ["len", "max"],
    "a": ["None", "int"],
}

Makers = list[Callable[[int], Any]]
SIMPLE: Makers = [
    lambda i: i, lambda i: i, lambda i: i - 2, lambda i: 2, lambda i: 0,
    lambda i: 1, lambda i: i + 0.5, lambda i: float(i), lambda i: bool(i % 2),
    lambda i: -1,
]  # fmt: skip
NUMBERS: Makers = [
    lambda i: i, lambda i: i, lambda i: i - 2, lambda i: 2, lambda i: i + 0.5,
    lambda i: float(i), lambda i: bool(i % 2), lambda i: None if i == 3 else i,
    lambda i: np.int64(i), lambda i: np.float32(i), lambda i: np.bool_(i % 2),
    lambda i: 10**20 + i, lambda i: complex(i, 1), lambda i: math.nan,
    lambda i: [Choice.ONE, Choice.TWO][i % 2], lambda i: decimal.Decimal(i),
    lambda i: fractions.Fraction(i, 2), lambda i: [0, 0.0, False, -0.0][i % 4],
    lambda i: torch.tensor(i), lambda i: i if i % 2 else i + 0.5,
    lambda i: np.array(i), lambda i: "a" if i == 4 else i,
]  # fmt: skip
TEXTS: Makers = [
    lambda i: "a b,c", lambda i: "a" * i, lambda i: str(i), lambda i: "%d {}",
    lambda i: "ab"[i % 2], lambda i: b"ab" if i == 3 else "ab", lambda i: "",
    lambda i: f"{i}d", lambda i: ">5", lambda i: "[ab]+", lambda i: "ij,jk->ik",
    lambda i: ".2f", lambda i: "{0}{1!r:>4}",
]  # fmt: skip
TENSORS: Makers = [
    lambda i: torch.arange(4.0), lambda i: torch.ones(i, 2),
    lambda i: torch.eye(3), lambda i: torch.arange(6).reshape(2, 3),
    lambda i: torch.tensor(i), lambda i: torch.ones(2, 3, i),
    lambda i: torch.tensor([True, False]), lambda i: torch.zeros(i),
    lambda i: torch.ones(2, dtype=torch.float64),
    lambda i: torch.ones(2, requires_grad=True),
    lambda i: torch.ones(2).expand(3, 2),
    lambda i: torch.arange(6.0).view(2, 3).t(),
    lambda i: torch.nn.Parameter(torch.ones(2, 2)),
    lambda i: torch.ones(2, dtype=torch.complex64),
    lambda i: torch.ones(2, dtype=torch.int8),
    lambda i: torch.ones(2, requires_grad=i % 2 == 0) * 2,
    lambda i: torch.ones(2, dtype=[torch.float32, torch.float16, torch.int64][i % 3]),
    lambda i: torch.arange(4.0)[::2], lambda i: torch.empty(0, 3),
    lambda i: torch.ones(1, 1, 2, 2),
]  # fmt: skip
# How a sequence is made of items.
SEQUENCES: list[Callable[[list[Any]], Any]] = [
    list, list, tuple, tuple, iter, lambda v: (w for w in v), collections.deque,
    lambda v: dict.fromkeys(v).keys(), lambda v: dict(enumerate(v)).values(),
    set, lambda v: range(len(v) + 2), lambda v: np.array([int(w) for w in v]),
    lambda v: array.array("i", v), lambda v: bytes(v), lambda v: torch.Size(v),
    lambda v: [v, v], frozenset, lambda v: collections.OrderedDict.fromkeys(v),
    lambda v: map(abs, v), reversed, lambda v: [(w, w) for w in v],
    lambda v: zip(v, v), lambda v: v[0], lambda v: [],
    lambda v: [torch.ones(2), *v[:1]],
    lambda v: [torch.ones(2), torch.zeros(2)],
    lambda v: type("Mine", (list,), {})(v),
    lambda v: type("Mine", (tuple,), {})(v),
    lambda v: collections.namedtuple("Two", "p q")(v[0], v[-1]), enumerate,
]  # fmt: skip
DICTS: list[Callable[[list[Any]], Any]] = [
    dict.fromkeys, lambda v: dict(enumerate(v)), lambda v: {"k": v[0], "l": v},
    lambda v: {w: w for w in v}, collections.OrderedDict.fromkeys,
    lambda v: collections.defaultdict(int, {1: v[0]}), collections.Counter,
    lambda v: {str(w): w for w in v},
    lambda v: type("Mine", (dict,), {})({1: v}), lambda v: {97: v[0]},
    lambda v: collections.ChainMap({1: v[0]}, {2: 3}),
]  # fmt: skip
# One special method and what it answers in call number i.
SPECIALS: list[tuple[str, Callable[[int], Any]]] = [
    ("__index__", lambda i: i), ("__index__", lambda i: i / 2),
    ("__int__", lambda i: i), ("__float__", lambda i: i + 0.5),
    ("__complex__", lambda i: 1j * i), ("__len__", lambda i: i),
    ("__bool__", lambda i: bool(i % 2)), ("__bool__", lambda i: i),
    ("__hash__", lambda i: i % 3), ("__eq__", lambda i: bool(i % 2)),
    ("__eq__", lambda i: NotImplemented), ("__lt__", lambda i: i % 2),
    ("__gt__", lambda i: NotImplemented), ("__add__", lambda i: i),
    ("__radd__", lambda i: i), ("__mul__", lambda i: NotImplemented),
    ("__rmul__", lambda i: i), ("__iadd__", lambda i: i),
    ("__contains__", lambda i: i % 2), ("__iter__", lambda i: iter(range(i))),
    ("__iter__", lambda i: [i]), ("__getitem__", lambda i: i),
    ("__str__", lambda i: str(i)), ("__repr__", lambda i: f"r{i}"),
    ("__format__", lambda i: f"f{i}"), ("__call__", lambda i: i),
    ("__neg__", lambda i: i), ("__abs__", lambda i: i),
    ("__round__", lambda i: i), ("__next__", lambda i: i),
    ("__reversed__", lambda i: [i]), ("__length_hint__", lambda i: i),
    ("__trunc__", lambda i: i), ("__rmod__", lambda i: i),
    ("__rpow__", lambda i: i), ("__rsub__", lambda i: i),
    ("__missing__", lambda i: i), ("__copy__", lambda i: i),
    ("__deepcopy__", lambda i: i), ("__floor__", lambda i: i),
    ("__setitem__", lambda i: None), ("__delitem__", lambda i: None),
    ("__bytes__", lambda i: b"a" * i), ("keys", lambda i: [1, i]),
    ("__array__", lambda i: np.ones(2)), ("__getattr__", lambda i: i),
    ("__torch_function__", lambda i: i), ("__ror__", lambda i: i),
    ("__and__", lambda i: i), ("__divmod__", lambda i: (i, i)),
    ("__rfloordiv__", lambda i: i), ("__le__", lambda i: True),
]  # fmt: skip
BASES = [
    object, object, object, object, int, str, float, tuple, list, dict, set,
    frozenset, complex, Exception, collections.deque, collections.OrderedDict,
]  # fmt: skip
# torch takes the length of a list's own for that of its memory, and crashes.
UNSAFE = [("__len__", list), ("__len__", tuple)]
# What goes on forever, or nearly so, with a number that is huge.
ENDLESS = ("**", "pow", "range", "<<", "comb", "perm", "factorial", "prod")

ASKED = operands.ASKED


def one_method(
    name: str, answer: Callable[[int], Any], base: type, call: int
) -> Any:
    """An instance of a class with one special method, for one of the calls."""

    def method(self: Any, *others: Any) -> Any:
        ASKED.append((name, len(others)))
        if name == "__getitem__" and others[0] not in range(3):
            raise IndexError(name)
        return answer(self.call)

    made = type(
        "Odd", (base,), {"__repr__": lambda self: "odd", name: method}
    )()
    made.call = call
    return made


def has_order(item: Any) -> bool:
    """Whether its place in a set isn't that of its address."""
    return "__hash__" in vars(type(item)) and item == item


class Writer:
    """Writes one expression or statement, and says what its operands are."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.kinds: dict[str, str] = {}  # of the operands that it has named
        self.depth = 0

    def source(self) -> str:
        """The lines of a function of three operands."""
        if self.choose.random() < 0.2:
            self.kinds = {name: self.choose.choice("sssdxnt") for name in "ab"}
            body = self.filled(self.choose.choice(STATEMENTS))
        else:
            body = "return " + self.call_of(self.choose.choice("nnssttdxx"))
            # What fails behind a write has to leave it behind.
            if self.choose.random() < 0.3:
                body = f"{self.operand('x')}.add_(1)\n{body}"
        lines = ["def program(a, b, c):", "    try:"]
        lines += [f"        {line}" for line in body.split("\n")]
        lines += ["    except Exception as error:"]
        lines += [
            "        return type(error), str(error)",
            "    return a, b, c",
        ]
        return "\n".join(lines)

    def call_of(self, kind: str) -> str:
        """An expression that gives something of a kind."""
        self.depth += 1
        text = self.filled(self.choose.choice(CALLS[kind]))
        self.depth -= 1
        return text

    def filled(self, template: str) -> str:
        """With something in each hole."""
        return template.format(**{kind: Hole(self, kind) for kind in "nstdxfa"})

    def operand(self, kind: str) -> str:
        """One of the kind, mostly: by its name, or written out."""
        fitting = [name for name in self.kinds if self.kinds[name] == kind]
        free = [name for name in "abc" if name not in self.kinds]
        chance = self.choose.random()
        if self.kinds and chance < 0.08:
            return self.choose.choice(list(self.kinds))
        if fitting and (not free or chance < 0.5):
            return self.choose.choice(fitting)
        if not free or chance > 0.9:
            return self.choose.choice(WRITTEN[kind])
        self.kinds[free[0]] = kind
        return free[0]


class Hole:
    """Another choice each time that it is formatted."""

    def __init__(self, writer: Writer, kind: str) -> None:
        self.writer = writer
        self.kind = kind

    def __format__(self, spec: str) -> str:
        kind = self.kind
        depth = self.writer.depth
        nests = kind == "f" or self.writer.choose.random() < 0.35 - 0.1 * depth
        if nests and depth < 4:
            return self.writer.call_of(kind)
        return self.writer.operand(kind)


class Operand:
    """Makes one operand for each call, or keeps it and changes it between."""

    def __init__(
        self, choose: random.Random, kind: str, is_endless: bool
    ) -> None:
        self.kind = choose.choice("nstdx") if kind == "a" else kind
        self.is_kept = choose.random() < 0.3
        self.kept: dict[bool, Any] = {}
        self.make = self.maker(choose, is_endless)

    def maker(
        self, choose: random.Random, is_endless: bool
    ) -> Callable[[int], Any]:
        """What makes one from the number of the call."""
        numbers = NUMBERS
        if is_endless:
            numbers = [
                make for make in NUMBERS if not operands.is_huge(make(2))
            ]
        if choose.random() < 0.4:
            numbers = SIMPLE
        elif choose.random() < 0.3:
            special, base = choose.choice(SPECIALS), choose.choice(BASES)
            if (special[0], base) not in UNSAFE:
                odd = functools.partial(one_method, *special, base)
                if self.kind == "n" or choose.random() < 0.5:
                    return odd
                numbers = [*numbers, *[odd] * len(numbers)]
        if self.kind in "ntx":
            return choose.choice(
                {"n": numbers, "t": TEXTS, "x": TENSORS}[self.kind]
            )
        holds = [
            choose.choice(numbers) for _ in range(choose.choice([1, 2, 2, 3]))
        ]
        if choose.random() < 0.1:
            holds.append(choose.choice(TEXTS))
        build = choose.choice(SEQUENCES if self.kind == "s" else DICTS)

        def made(call: int) -> Any:
            items = [make(call) for make in holds]
            if build in (set, frozenset):
                items = [item for item in items if has_order(item)]
            try:
                return build(items)
            except Exception:
                return items

        return made

    def value(self, call: int, is_compiled: bool) -> Any:
        """That of a call."""
        if not self.is_kept:
            return self.make(call)
        if is_compiled not in self.kept:
            self.kept[is_compiled] = self.make(call)
            return self.kept[is_compiled]
        kept = self.kept[is_compiled]
        with contextlib.suppress(Exception):
            if hasattr(kept, "call"):
                kept.call = call
            elif isinstance(kept, list | collections.deque):
                kept[0] = call
                kept.append(call)
            elif isinstance(kept, dict):
                kept[call] = kept[next(iter(kept))] = call
            elif isinstance(kept, set):
                kept.add(call)
        return kept


NAMESPACE = {
    module.__name__: module
    for module in (
        array, bisect, collections, copy, functools, heapq, itertools, json,
        math, operator, random, re, statistics, string, struct, torch,
    )
} | {"np": np}  # fmt: skip


def try_seed(seed: int) -> str:
    """What differs for the calls of a seed; empty if nothing."""
    choose = random.Random(seed)
    writer = Writer(choose)
    source = writer.source()
    if not is_python(source):
        return ""
    is_endless = any(word in source for word in ENDLESS)
    kinds = [writer.kinds.get(name, "n") for name in "abc"]
    makers = [Operand(choose, kind, is_endless) for kind in kinds]
    steady = [choose.random() < 0.4 for _ in makers]
    dynamic = choose.choice([None, None, True, False])
    namespace = dict(NAMESPACE)
    calls = [2, 2, 3, 4, 3, 2]
    differs = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(source, namespace)
        program = namespace["program"]
        compiled = magneto.compile(program, backend="eager", dynamic=dynamic)
        for number, call in enumerate(calls):
            told = []
            for function in (program, compiled):
                values = [
                    maker.value(2 if same else call, function is compiled)
                    for maker, same in zip(makers, steady, strict=True)
                ]
                told.append(operands.told_of(function, *values))
            # Sets order their items by address, where these have no own hash.
            is_different = sorted(told[0]) != sorted(told[1])
            if is_different and "MemoryError" not in told[0]:
                differs = f"call {number}, {dynamic=}\n" + "\n".join(told)
                break
    if seed % 50 == 0:
        magneto.reset()
    about = source + "".join(
        f"\n{name}: {operands.shown(maker.make(2))}{', kept' * maker.is_kept}"
        for name, maker in zip("abc", makers, strict=True)
    )
    return finding(seed, about, differs)


if __name__ == "__main__":
    sys.exit(run_many(__doc__, try_seed))
