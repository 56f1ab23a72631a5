# SPDX-License-Identifier: BSD-3-Clause
"""Real models: one graph, results and gradients equal to eager's, and the calls
that torch.compile records.

A model's tests run by default once its row in support/zoo.py names them as
captured; `pytest --all-models -k <model>` runs them all.
"""

import difflib
import itertools

import pytest
import torch
import transformers

from magneto.testing import (
    RecordingBackend,
    compare,
    magneto_graph_calls,
    torch_graph_calls,
)
from support.zoo import ARCHITECTURES, BY_NAME, run_step

# Tests that only some rows take.
ONLY = {
    "generation": ("gpt2", "llama", "qwen2"),
    "static": ("gpt2", "llama", "qwen2"),
    "generate": ("gpt2", "llama", "t5"),
}


def pytest_generate_tests(metafunc):
    """Each test takes the rows that name it, or all rows with --all-models."""
    kind = metafunc.function.__name__.split("_")[1]
    rows = [
        row
        for row in ARCHITECTURES
        if row.name in ONLY.get(kind, BY_NAME)
        and (metafunc.config.getoption("all_models") or kind in row.captured)
    ]
    metafunc.parametrize("row", rows, ids=lambda row: row.name)


def check_step(row, training, fullgraph):
    """Eager and compiled side by side, three times; the number of graphs that
    each call made. PyTorch's operators that it meets have shape rules."""
    import magneto
    from magneto._C import _tensor

    arguments = row.arguments(training=training)
    eager = row.build(training=training)
    model = row.build(training=training)
    backend = RecordingBackend()
    compiled = magneto.compile(model, backend=backend, fullgraph=fullgraph)
    made = [0]
    _tensor.reset_fallback_counts()
    for number in range(3):
        expected = run_step(eager, eager, arguments, training)
        actual = run_step(compiled, model, arguments, training)
        compare(expected, actual, where=f"{row.name}, call {number}")
        made.append(len(backend.graphs))
    # Libraries' operators, such as transformers::grouped_mm_fallback, have none.
    counted = _tensor.fallback_counts()
    assert not [name for name in counted if name.startswith("aten::")]
    return [after - before for before, after in itertools.pairwise(made)]


def test_inference_is_one_graph_and_equals_eager(row):
    made = check_step(row, training=False, fullgraph=True)
    assert made == [1, 0, 0]


def test_training_gives_the_gradients_of_eager(row):
    # The second call may find the config changed by the first: some models
    # note there which kind of loss they saw.
    first, _, last = check_step(
        row, training=True, fullgraph=row.training_graphs == 1
    )
    assert first <= row.training_graphs
    assert last == 0


@pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])
def test_calls_are_those_of_torch_compile(row, training):
    fullgraph = not training or row.training_graphs == 1
    listings = []
    for graph_calls in (torch_graph_calls, magneto_graph_calls):
        model = row.build(training=training)
        arguments = row.arguments(training=training)
        with torch.set_grad_enabled(training):
            listings.append(
                graph_calls(model, fullgraph=fullgraph, **arguments)
            )
    difference = "\n".join(
        difflib.unified_diff(
            *([f"{op} {name}" for graph in listing for op, name in graph]
              for listing in listings),
            "torch.compile", "magneto", lineterm="", n=2,
        )
    )  # fmt: skip
    if difference:
        pytest.fail(difference, pytrace=False)
    assert len(listings[0]) == len(listings[1])


def decode(call, ids, cache, steps=5):
    """Greedy decoding, one token a call, with the cache handed from call to
    call."""
    tokens = [ids]
    for _ in range(steps):
        result = call(
            input_ids=tokens[-1], past_key_values=cache, use_cache=True
        )
        cache = result.past_key_values
        tokens.append(result.logits[:, -1:].argmax(-1))
    return torch.cat(tokens[1:], 1)


@torch.no_grad()
def test_generation_with_a_growing_cache_gives_the_tokens_of_eager(row):
    import magneto

    model = row.build()
    ids = row.arguments()["input_ids"]
    compiled = magneto.compile(
        model, backend=RecordingBackend(), fullgraph=True
    )
    assert torch.equal(decode(compiled, ids, None), decode(model, ids, None))


@torch.no_grad()
def test_static_cache_needs_one_graph_for_all_decoding_steps(row):
    import magneto

    model = row.build()
    ids = row.arguments()["input_ids"]
    backend = RecordingBackend()
    compiled = magneto.compile(model, backend=backend, fullgraph=True)
    tokens = [
        decode(
            call, ids, transformers.StaticCache(model.config, max_cache_len=16)
        )
        for call in (model, compiled)
    ]
    assert torch.equal(*tokens)
    assert len(backend.graphs) == 2  # the prompt, and one token


@torch.no_grad()
def test_generate_of_transformers_gives_the_tokens_of_eager(row):
    import magneto

    model = row.build()
    arguments = row.arguments()
    arguments.pop("decoder_input_ids", None)
    options = dict(max_new_tokens=5, do_sample=False)
    expected = model.generate(**arguments, **options)
    backend = RecordingBackend()
    model.forward = magneto.compile(
        model.forward, backend=backend, fullgraph=True
    )
    assert torch.equal(model.generate(**arguments, **options), expected)
    assert backend.calls == 5
