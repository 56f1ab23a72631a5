# SPDX-License-Identifier: BSD-3-Clause
"""Real models called with many batch sizes, lengths and image sizes: no more
compilations than sizes that vary, and results equal to eager's.
"""

import pytest
import torch

import magneto
from magneto.testing import RecordingBackend, compare
from support import zoo

# The twenty, without those that stand behind them in the zoo.
TWENTY = zoo.ARCHITECTURES[:20]

# (batch, length) or (batch, image size).
TEXTS = [
    (2, 7), (3, 9), (4, 5), (5, 11), (2, 13), (6, 6), (3, 4), (7, 8), (9, 10),
    (8, 12),
]  # fmt: skip
IMAGES = [
    (2, 64), (3, 96), (4, 128), (5, 64), (6, 160), (2, 192), (3, 224), (4, 96),
    (7, 64), (3, 128),
]  # fmt: skip
# A ViT has as many position embeddings as its images have patches.
BATCHES = [(batch, zoo.IMAGE) for batch in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11)]


def shapes_of(row):
    """Ten shapes of the row's inputs, and how many numbers vary in them."""
    if row.inputs is not zoo.image:
        return TEXTS, 2
    return (BATCHES, 1) if row.name == "vit" else (IMAGES, 2)


@torch.no_grad()
@pytest.mark.parametrize("row", TWENTY, ids=lambda row: row.name)
def test_sizes_may_vary(row):
    magneto.reset()
    model = row.build()
    backend = RecordingBackend()
    compiled = magneto.compile(model, backend=backend, fullgraph=True)
    shapes, varying = shapes_of(row)
    for shape in shapes:
        torch.manual_seed(0)
        arguments = row.inputs(*shape)
        compare(
            model(**arguments),
            compiled(**arguments),
            rtol=1e-5,
            atol=1e-5,
            where=f"{row.name}, {shape}",
        )
    assert len(backend.graphs) <= 1 + varying


@pytest.mark.slow
@torch.no_grad()
@pytest.mark.parametrize("row", TWENTY, ids=lambda row: row.name)
def test_no_more_compilations_than_under_torch_compile(row):
    shapes, _ = shapes_of(row)
    counts = []
    for compiler in (magneto, torch):
        magneto.reset()
        torch._dynamo.reset()
        backend = RecordingBackend()
        compiled = compiler.compile(row.build(), backend=backend)
        for shape in shapes:
            compiled(**row.inputs(*shape))
        counts.append(len(backend.graphs))
    torch._dynamo.reset()
    ours, theirs = counts
    assert ours <= theirs, f"{ours} compilations, torch.compile {theirs}"


@torch.no_grad()
@pytest.mark.parametrize(
    ("backend", "name"),
    [("aot_eager", row.name) for row in TWENTY]
    + [("inductor", name) for name in ("bert", "llama", "resnet")],
)
def test_sizes_may_vary_for_pytorchs_compilers(backend, name):
    magneto.reset()
    row = zoo.BY_NAME[name]
    model = row.build()
    compiled = magneto.compile(model, backend=backend, fullgraph=True)
    shapes, varying = shapes_of(row)
    before = magneto.stats()["recompiles"]
    for shape in shapes:
        torch.manual_seed(0)
        arguments = row.inputs(*shape)
        expected, got = model(**arguments), compiled(**arguments)
        if backend == "inductor":  # its strides are its own
            expected, got = (out.logits.contiguous() for out in (expected, got))
        compare(expected, got, rtol=1e-4, atol=1e-4, where=f"{name}, {shape}")
    assert magneto.stats()["recompiles"] - before <= varying


@pytest.mark.slow
@pytest.mark.parametrize("row", TWENTY, ids=lambda row: row.name)
def test_sizes_may_vary_in_training_behind_aot_eager(row):
    magneto.reset()
    ours, theirs = row.build(training=True), row.build(training=True)
    compiled = magneto.compile(ours, backend="aot_eager")
    shapes = shapes_of(row)[0][:4]
    steps = []
    for model, call in ((theirs, theirs), (ours, compiled)):
        steps.append([])
        for shape in shapes:
            torch.manual_seed(0)
            model.zero_grad()
            loss = call(**row.inputs(*shape))[0].square().mean()
            loss.backward()
            gradients = [p.grad for p in model.parameters()]
            steps[-1].append((loss.detach(), gradients, list(model.buffers())))
    compare(*steps, rtol=1e-3, atol=1e-4, where=row.name)


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_a_growing_cache_needs_no_compilation_after_the_third_token(name):
    magneto.reset()
    row = zoo.BY_NAME[name]
    model = row.build()
    arguments = row.arguments()
    decoded = arguments.pop("decoder_input_ids", None)
    start = arguments["input_ids"] if decoded is None else decoded
    fixed = {} if decoded is None else arguments
    which = "input_ids" if decoded is None else "decoder_input_ids"
    backend = RecordingBackend()

    def decode(call):
        ids, cache, tokens, graphs = start, None, [], []
        for _ in range(10):
            out = call(
                **fixed | {which: ids}, past_key_values=cache, use_cache=True
            )
            cache = out.past_key_values
            ids = out.logits[:, -1:].argmax(-1)
            tokens.append(ids)
            graphs.append(len(backend.graphs))
        return torch.cat(tokens, 1), graphs

    expected, _ = decode(model)
    tokens, graphs = decode(
        magneto.compile(model, backend=backend, fullgraph=True)
    )
    assert torch.equal(tokens, expected)
    assert graphs[3:] == [graphs[3]] * 7
