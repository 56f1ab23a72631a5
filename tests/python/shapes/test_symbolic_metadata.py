# SPDX-License-Identifier: BSD-3-Clause
"""The metadata that magneto.polyfills.torch_sizes predicts for results, against
real results.

Shape, strides, dtype, device and requires_grad of real results are the oracle,
over PyTorch's own samples, and over ours where it has none.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import magneto
from magneto.polyfills.torch_sizes import FUNCTIONS, METHODS
from support.fake_tensor_checks import fake_mode, to_fake

NAMES = {
    "nn.functional.interpolate",
    "nn.functional.upsample_bilinear",
    "nn.functional.upsample_nearest",
    "take_along_dim",
    "kron",
    "vander",
    "cdist",
    "combinations",
    "cov",
    "corrcoef",
    "linspace",
    "logspace",
    "stft",
    "istft",
}

OPERATORS = [
    op
    for op in op_db
    if op.name in NAMES
    and (op.op in FUNCTIONS or op.name in METHODS)
    # That is pooling, whose operators keep symbols; and no form is for numbers
    # that are tensors.
    and op.variant_test_name not in ("area", "tensor_overload")
]


def name_of(op: Any) -> str:
    variant = op.variant_test_name
    return f"{op.name}-{variant}" if variant else op.name


def facts(tree: Any) -> list[Any]:
    return [
        (t.shape, t.stride(), t.dtype, t.device, t.requires_grad)
        for t in pytree.tree_leaves(tree)
    ]


def compare(
    function: Callable[..., Any], form: Callable[..., Any], *args: Any, **named
) -> bool:
    """Whether the form answers; if so, what it should."""
    fakes, fake_named = to_fake((args, named))
    try:
        with fake_mode():
            got = form(*fakes, **fake_named)
    except Exception:
        # PyTorch's own function runs instead.
        return False
    expected = function(*args, **named)
    assert facts(got) == facts(expected), (args, named)
    return True


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        pytest.param(op, dtype, id=f"{name_of(op)}-{dtype}")
        for op in OPERATORS
        for dtype in (torch.float32, torch.float64, torch.int64)
        if op.supports_dtype(dtype, "cpu")
    ],
)
def test_a_form_gives_what_its_function_gives(op: Any, dtype: Any) -> None:
    form = FUNCTIONS.get(op.op) or METHODS[op.name]
    grad = dtype.is_floating_point
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = op.sample_inputs("cpu", dtype, requires_grad=grad)
        answered = [
            compare(op.op, form, sample.input, *sample.args, **sample.kwargs)
            for sample in itertools.islice(samples, 60)
        ]
    assert any(answered)


def layers() -> Iterator[tuple[str, torch.nn.Module, Any]]:
    for (
        kind,
        count,
        both_ways,
        batch_first,
        bias,
        projected,
    ) in itertools.product(
        ("LSTM", "GRU", "RNN"),
        (1, 2),
        (False, True),
        (False, True),
        (False, True),
        (False, True),
    ):
        if projected and kind != "LSTM":
            continue
        more = {"proj_size": 2} if projected else {}
        layer = getattr(torch.nn, kind)(
            4,
            3,
            count,
            bias=bias,
            batch_first=batch_first,
            bidirectional=both_ways,
            **more,
        )
        name = (kind, count, both_ways, batch_first, bias, projected)
        yield "-".join(map(str, name)), layer, torch.rand(5, 6, 4)


@pytest.mark.parametrize(
    ("layer", "given"),
    [pytest.param(layer, given, id=name) for name, layer, given in layers()],
)
@pytest.mark.parametrize("grad", [False, True])
def test_recurrent_layers(
    layer: torch.nn.Module, given: Any, grad: bool, monkeypatch: Any
) -> None:
    called = []
    for name in ("lstm", "gru", "rnn_tanh"):
        function = getattr(torch._VF, name)

        def checked(*args: Any, function: Any = function) -> Any:
            called.append(compare(function, FUNCTIONS[function], *args))
            return function(*args)

        monkeypatch.setattr(torch._VF, name, checked)
    with torch.set_grad_enabled(grad):
        layer(given)
    assert called == [True]


def interrupts(*args: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("table", "name", "program"),
    [
        (FUNCTIONS, torch.kron, torch.kron),
        (METHODS, "kron", lambda a, b: a.kron(b)),
    ],
    ids=["function", "method"],
)
def test_an_interrupt_in_a_form_is_not_taken_for_its_answer(
    table: dict[Any, Any],
    name: Any,
    program: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call = magneto.compile(
        lambda a, b: program(a, b), backend="eager", dynamic=True
    )
    a, b = torch.rand(2, 3), torch.rand(4, 5)
    with monkeypatch.context() as patched:
        patched.setitem(table, name, interrupts)
        with pytest.raises(KeyboardInterrupt):
            call(a, b)
    assert torch.equal(call(a, b), torch.kron(a, b))
