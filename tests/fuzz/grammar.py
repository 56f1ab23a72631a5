# SPDX-License-Identifier: BSD-3-Clause
"""What random programs consist of, as tables.

A template has holes: `{t}` is an expression of kind t, `{T}` a variable of that
kind to assign to (a new one or one that is there), `{nt}` the name of one that is
there, and `{body}` a block of statements. `{key}` is what dicts are asked for by
identity. Kinds: t tensor of shape (4,), i int, b bool, s str, l list of
anything, d dict with str keys, o an object, f a function of a tensor and an
int, g a generator function of the same. `{v}` is any variable, `{k}` a small
number, `{c}` a plain string, `{E}` an exception class.

The number in front says how often a row is taken. Rows that recur into
themselves are followed by constants that end the recursion.
"""

EXPRESSIONS: dict[str, list[tuple[int, str]]] = {
    "t": [
        (3, "({t} + {t})"),
        (2, "({t} * {i})"),
        (2, "({t} - {t})"),
        (1, "torch.sin({t})"),
        (1, "{t}.relu()"),
        (1, "({t}.sum() + {t})"),
        (1, "torch.where({t} > {i}, {t}, {t})"),
        (1, "({t}[{i} % 4] * {t})"),
        (1, "{t}.flip(0)"),
        (1, "torch.stack([{t}, {t}]).sum(0)"),
        (1, "torch.cat([{t}, {t}]).reshape(2, 4)[{i} % 2]"),
        (1, "torch.full((4,), float({i} % 7))"),
        (1, "(torch.rand(4) + {t})"),
        (1, "({t} if {b} else {t})"),
        (1, "helper({t}, {i})"),
        (1, "broken({t}, {i})"),
        (1, "opaque({t})"),
        (1, "{o}.apply({t})"),
        (1, "({o}.weight * {t})"),
        (1, "{o}({t})"),
        (2, "{f}({t}, {i})"),
        (1, "sum([{t}, {t}], {t})"),
        (1, "next({g}({t}, {i}), {t})"),
        (1, "(lambda a, *r, k=1: a * k)({t}, {v}, k={i})"),
        (1, "functools.reduce(lambda a, b: a + b, [{t}, {t}])"),
    ],
    "i": [
        (2, "({i} + {i})"),
        (1, "({i} * {k})"),
        (1, "({i} - {i})"),
        (1, "({i} // 3)"),
        (1, "({i} % 5)"),
        (1, "len({l})"),
        (1, "len({d})"),
        (1, "{d}.get({s}, {i})"),
        (1, "{o}.count"),
        (1, "{o}.double"),
        (1, "{t}.shape[0]"),
        (1, "abs({i})"),
        (1, "min({i}, {i})"),
        (1, "sum(n * 2 for n in range({i} % 4))"),
        (1, "int({b})"),
        (1, "len({s})"),
        (1, "opaque({i})"),
        (1, "random.randrange(5)"),
        (1, "sorted([{i}, {i}, {i}])[1]"),
        (1, "{l}.count({i})"),
        (1, "hash(str({i}))"),
        (1, "known.get({key}, {i})"),
        (1, "len({{{key}, {key}}})"),
        (1, "[{v}, {v}, {o}].index({o})"),
    ],
    "b": [
        (3, "({i} > {i})"),
        (1, "({i} == {i})"),
        (1, "(not {b})"),
        (1, "({b} and {b})"),
        (1, "({b} or {b})"),
        (1, "bool({l})"),
        (1, "({s} in {d})"),
        (1, "({i} in {l})"),
        (1, "isinstance({v}, (int, list))"),
        (1, "({v} is {v})"),
        (1, "({v} is not None)"),
        (1, "any(n > 1 for n in range({i} % 3))"),
        (1, "bool({t}.sum() > {i})"),
        (1, "hasattr({o}, {s})"),
        (1, "({s} < {s})"),
        (1, "({key} in known)"),
        (1, "({o} is {o})"),
    ],
    "s": [
        (3, "{c}"),
        (1, "str({i} % 9)"),
        (1, "f'{{{v}!s:.3}}'"),
        (1, "'{{}}-{{}}'.format({i}, {s})[:3]"),
        (1, "({s} + {s})[:4]"),
        (1, "{s}.upper()"),
        (1, "'%s:%d' % ({s}, {i} % 9)"),
        (1, "type({v}).__name__"),
        (1, "''.join(sorted({s}))"),
    ],
    "l": [
        (2, "[{i}, {t}]"),
        (1, "[n + {i} for n in range({i} % 4)]"),
        (1, "list({d}.values())"),
        (1, "sorted({d})"),
        (1, "[*{l}, {s}]"),
        (1, "{l}[{i} % 3:]"),
        (1, "{l}[::-1]"),
        (1, "list(zip({l}, range(3)))"),
        (1, "[a for a in {l} if isinstance(a, int)]"),
        (1, "list(map(lambda n: n + 1, range({i} % 3)))"),
        (1, "list(itertools.islice({g}({t}, {i}), 2))"),
        (1, "list({l})"),
    ],
    "d": [
        (2, "{{'a': {i}, {s}: {t}}}"),
        (1, "dict({d})"),
        (1, "{{**{d}, 'b': {v}}}"),
        (1, "{{str(n): n * {i} for n in range({i} % 3)}}"),
        (1, "dict(a={i}, c={t})"),
        (1, "({d} | {d})"),
    ],
}

# Where nothing fits, or the recursion is deep enough.
LEAVES = {
    "t": ["x", "y", "torch.ones(4)"],
    "i": ["0", "1", "2", "3", "n"],
    "b": ["True", "False", "n > 1"],
    "s": ["'a'", "'b'", "'count'"],
    "l": ["items"],
    "d": ["table"],
    "o": ["thing", "other"],
    "f": ["helper", "broken"],
    "g": ["counting"],
}

# Statements without blocks.
SIMPLE: list[tuple[int, str]] = [
    (8, "{T} = {t}"),
    (2, "{nt} += {t}"),
    (1, "{nt} *= {i}"),
    (1, "{nt}.add_({i})"),
    (1, "{nt}[{i} % 4] = {i}"),
    (4, "{I} = {i}"),
    (2, "{ni} += {i}"),
    (1, "{S} = {s}"),
    (2, "{L} = {l}"),
    (2, "{l}.append({v})"),
    (1, "{l}.extend([{i}, {s}])"),
    (1, "{l}.insert({i} % 3, {t})"),
    (1, "{l}.pop()"),
    (1, "{l}[{i} % 3] = {t}"),
    (1, "{l}[1:2] = [{i}, {v}]"),
    (1, "del {l}[:1]"),
    (1, "{l}.reverse()"),
    (2, "{D} = {d}"),
    (2, "{d}[{s}] = {v}"),
    (1, "{d}.setdefault({s}, {t})"),
    (1, "{d}.pop({s}, None)"),
    (1, "{d}.update(z={i})"),
    (1, "del {d}[{s}]"),
    (1, "{o}.count = {i}"),
    (1, "{o}.count += 1"),
    (1, "{o}.weight = {t}"),
    (1, "{o}.extra = {v}"),
    (1, "{o}.items.append({v})"),
    (1, "{O} = Thing({i}, {t})"),
    (1, "{T}, {I} = {t}, {i}"),
    (1, "{I}, *{L} = [{i}, {t}, {s}]"),
    (1, "{T}, {T} = {t}, {t}"),
    (2, "notes.append({v})"),
    (1, "print({s}, {i} % 100)"),
    (3, "magneto.graph_break()"),
    (1, "assert {b}, {s}"),
    (1, "raise {E}({s})"),
    (1, "{L} = sorted([{i}, {i}, {i}], reverse={b})"),
    (1, "add_to_total({i})"),
    (2, "known[{key}] = {i}"),
    (1, "known.pop({key}, None)"),
    (1, "match {l}:\n    case []:\n        {I} = 0\n    case [{I}, *_]:\n"
        "        pass\n    case _:\n        {I} = 2"),
]  # fmt: skip

# Statements with blocks. `{body}` stands on a line of its own.
COMPOUND: list[tuple[int, str]] = [
    (3, "if {b}:\n{body}"),
    (3, "if {b}:\n{body}\nelse:\n{body}"),
    (1, "if {b}:\n{body}\nelif {b}:\n{body}\nelse:\n{body}"),
    (3, "for {I} in range({i} % 4):\n{loop}"),
    (1, "for {I}, {L} in enumerate([[{i}], {l}]):\n{loop}\nelse:\n{body}"),
    (1, "for {S} in sorted({d}):\n{loop}"),
    (1, "for {T} in {g}({t}, {i}):\n{loop}"),
    (1, "for {T} in [{t}, {t}]:\n{loop}"),
    (1, "{I} = 0\nwhile {I} < 3:\n    {I} += 1\n{body}"),
    (2, "try:\n{body}\nexcept {E}:\n{body}"),
    (1, "try:\n{body}\nexcept ({E}, {E}) as error:\n"
        "    notes.append(str(error))\n{body}"),
    (1, "try:\n{body}\nfinally:\n{body}"),
    (1, "try:\n{body}\nexcept {E}:\n{body}\nelse:\n{body}\nfinally:\n{body}"),
    (1, "try:\n{body}\nexcept {E} as error:\n{body}\n    raise {E}({s}) from "
        "error"),
    (1, "try:\n{body}\nexcept Exception:\n{body}\n    raise"),
    (2, "with torch.no_grad():\n{body}"),
    (2, "with Noted({s}, notes):\n{body}"),
    (1, "with Noted({s}, notes, {E}) as {S}:\n{body}"),
    (1, "with noted({s}, notes) as {S}, Noted({s}, notes):\n{body}"),
    (1, "with contextlib.suppress({E}):\n{body}"),
]  # fmt: skip

# Functions made in the program: parameters a (tensor) and m (int).
FUNCTIONS: list[tuple[int, str]] = [
    (3, "def {F}(a, m=1):\n{function}\n    return {t}"),
    (1, "def {F}(a, m=1, *, k={i}):\n    nonlocal {nonlocal}\n{function}\n"
        "    return {t}"),
    (2, "def {G}(a, m=1):\n{function}\n    yield {t}\n{function}\n"
        "    yield {t}"),
    (1, "def {G}(a, m=1):\n    for j in range(m % 3):\n        yield a * j\n"
        "    try:\n        yield {t}\n    finally:\n        notes.append('end')"),
]  # fmt: skip

EXCEPTIONS = ["ValueError", "KeyError", "IndexError", "Oops", "LookupError"]
