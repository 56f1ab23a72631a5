# SPDX-License-Identifier: BSD-3-Clause
"""flex_attention and create_block_mask in the graph."""

import pytest
import torch
from torch import nn
from torch.nn.attention.flex_attention import (
    create_block_mask,
    create_mask,
    flex_attention,
)

import magneto
from magneto.testing.graphs import (
    RecordingBackend,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.whole_graphs import (
    check_whole,
    expect_break,
    name_of,
    with_gradients,
)

torch.manual_seed(0)
Q, K, V = (torch.randn(2, 2, 32, 8) for _ in range(3))
BIAS = torch.linspace(-1, 1, 63)
SLOPES = torch.tensor([0.5, 0.25])
DOCUMENTS = torch.tensor([0] * 10 + [1] * 12 + [2] * 10)


def causal(b, h, q, k):
    return q >= k


def same_document(b, h, q, k):
    return causal(b, h, q, k) & (DOCUMENTS[q] == DOCUMENTS[k])


def plain(q, k, v):
    return flex_attention(q, k, v)


def scores_by_position(q, k, v):
    def relative(score, b, h, i, j):
        return score + (i - j) * 0.1

    return flex_attention(q, k, v, score_mod=relative) * 2


def scores_by_a_table(q, k, v):
    def biased(score, b, h, i, j):
        return score + BIAS[i - j + 31] * SLOPES[h]

    return flex_attention(q, k, v, score_mod=biased)


def capped(q, k, v):
    cap = 5.0

    def cap_it(score, b, h, i, j):
        score = cap * torch.tanh(score / cap)
        return torch.where(i >= j, score, -float("inf"))

    return flex_attention(q, k, v, score_mod=cap_it, scale=0.5)


def masked(q, k, v):
    mask = create_block_mask(causal, None, None, 32, 32, "cpu", BLOCK_SIZE=16)
    return flex_attention(q, k, v, block_mask=mask)


def masked_by_documents(q, k, v):
    mask = create_block_mask(
        same_document, None, None, 32, 32, "cpu", BLOCK_SIZE=16
    )
    return flex_attention(q, k, v, block_mask=mask)


def grouped(q, k, v):
    return flex_attention(q, k[:, :1] + 0, v[:, :1] + 0, enable_gqa=True)


def the_operator_itself(q, k, v):
    """With gradients, which `flex_attention` refuses to give on a CPU."""

    def biased(score, b, h, i, j):
        return score * 2 + BIAS[i - j + 31]

    mask = create_block_mask(causal, None, None, 32, 32, "cpu", BLOCK_SIZE=16)
    out, sums, _ = torch.ops.higher_order.flex_attention(
        q, k, v, biased, mask.as_tuple(), 0.3, {"BACKEND": "AUTO"}
    )
    return out, sums


def masks_of_both_kinds(q, k, v):
    by_score = create_mask(
        lambda s, b, h, i, j: torch.where(DOCUMENTS[i] == 1, s, -float("inf")),
        1,
        1,
        32,
        32,
        "cpu",
    )
    return create_mask(same_document, 1, 1, 32, 32, "cpu") | by_score, q + k


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.projection = nn.Linear(8, 24)
        self.bias = nn.Parameter(torch.randn(2, 32))
        self.mask = create_block_mask(
            causal, None, None, 32, 32, "cpu", BLOCK_SIZE=16
        )

    def score(self, score, b, h, i, j):
        return score + self.bias[h, j]

    def forward(self, x, *_):
        q, k, v = self.projection(x).chunk(3, dim=-1)
        return flex_attention(
            q, k, v, score_mod=self.score, block_mask=self.mask
        )


WHOLE = [
    plain,
    scores_by_position,
    scores_by_a_table,
    capped,
    masked,
    masked_by_documents,
    grouped,
    the_operator_itself,
    masks_of_both_kinds,
    Attention(),
]
CALLS = [((Q, K, V), {}), ((Q + 1, K, V), {})]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", WHOLE, ids=name_of)
def test_in_one_graph(program, backend):
    with torch.no_grad():
        check_whole(program, CALLS, backend)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients(backend):
    calls = with_gradients(CALLS)
    check_whole(the_operator_itself, calls, backend, backward=True)


def test_gradients_on_a_cpu_are_refused_as_in_plain_python():
    compiled = magneto.compile(plain, backend="eager")
    q = Q.clone().requires_grad_()
    with pytest.raises(NotImplementedError, match="backward on CPU"):
        compiled(q, K, V)


@pytest.mark.parametrize("program", [scores_by_a_table, masked])
def test_behind_inductor(program):
    with torch.no_grad():
        check_whole(program, CALLS[:1], "inductor")


@pytest.mark.parametrize("program", [plain, scores_by_position, capped])
def test_the_graph_is_torch_compiles(program):
    """But for what loads PyTorch's decompositions for vmap."""

    def calls(graph_calls):
        with torch.no_grad():
            (graph,) = graph_calls(program, Q, K, V)
        return [
            call for call in graph if "lazy_load_decompositions" not in call[1]
        ]

    assert calls(magneto_graph_calls) == calls(torch_graph_calls)


def test_create_block_mask_itself():
    compiled = magneto.compile(
        create_block_mask, backend="eager", fullgraph=True
    )
    given = same_document, 1, 1, 32, 32, "cpu"
    mask = compiled(*given, BLOCK_SIZE=16)
    expected = create_block_mask(*given, BLOCK_SIZE=16)
    assert type(mask) is type(expected)
    for a, b in zip(mask.as_tuple(), expected.as_tuple(), strict=True):
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


def test_names_in_the_graph():
    backend = RecordingBackend()
    with torch.no_grad():
        magneto.compile(masked, backend=backend)(Q, K, V)
    text = backend.graphs[0].print_readable(print_output=False)
    for name in ("score_mod_0", "mask_fn_0"):
        assert f"{name} = self.{name}" in text


# What has no place in a graph: a program, and a part of what is said.
LOG = []


def scored(function):
    return lambda q, k, v: flex_attention(q, k, v, score_mod=function)


def logs(score, b, h, i, j):
    LOG.append(1)
    return score


def breaks(score, b, h, i, j):
    magneto.graph_break()
    return score


REFUSED = {
    "effect": (scored(logs), r"score_mod: it writes to list .*LOG"),
    "break": (scored(breaks), r"asked-for.*test_flex_attention.py:"),
    "number": (scored(lambda s, b, h, i, j: 1.5), "score_mod gives 1.5"),
    "shape": (
        scored(lambda s, b, h, i, j: s + BIAS),
        r"score_mod gives a float32\[63\] tensor",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_place_in_a_graph(name):
    program, said = REFUSED[name]
    with torch.no_grad():
        expect_break(program, (Q, K, V), said)
    LOG.clear()


def test_a_mode_of_the_programs_is_left_alone():
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            return function(*args, **(kwargs or {}))

    def program(x):
        with Mode():
            return x + 1

    compiled = magneto.compile(program, backend="eager")
    assert torch.equal(compiled(Q), Q + 1)
