# SPDX-License-Identifier: BSD-3-Clause
"""What a graph records as one call does nothing but compute on tensors
(tools/torch_audit.py), and warns as in plain Python.
"""

import importlib.util
import warnings

import pytest
import torch
import torch.nn.functional as F

from support.compiled_calls import compiled
from support.paths import TOOLS

CACHE = {}
TOTAL = 0


def load_audit():
    path = TOOLS / "torch_audit.py"
    spec = importlib.util.spec_from_file_location("torch_audit", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


audit = load_audit()


def stores_to_a_global(x):
    global TOTAL
    TOTAL = x
    return x


def stores_to_an_attribute(x):
    x.seen = True
    return x


def stores_to_a_global_container(x):
    CACHE["x"] = x
    return x


def calls_a_method_of_a_global_container(x):
    CACHE.update(x=x)
    return x


def calls_its_argument(x, function):
    return function(x)


def prints(x):
    print(x)
    return x


def changes_state_in_c(x):
    torch.set_grad_enabled(False)
    torch._C._set_grad_enabled(False)
    return x


def in_a_callee(x):
    return [stores_to_a_global(item) for item in x]


def in_a_closure():
    inner = stores_to_a_global

    def outer(x):
        return inner(x)

    return outer


@pytest.mark.parametrize(
    ("function", "objection"),
    [
        (stores_to_a_global, "stores to TOTAL"),
        (stores_to_an_attribute, "stores to seen"),
        (stores_to_a_global_container, "stores to a global's items"),
        (calls_a_method_of_a_global_container, "changes the global CACHE"),
        (calls_its_argument, "calls its argument function"),
        (prints, "calls builtins.print"),
        (changes_state_in_c, "_set_grad_enabled"),
        (in_a_callee, "stores to TOTAL"),
        (in_a_closure(), "stores to TOTAL"),
    ],
)
def test_audit_objects_to_functions_that_do_more_than_compute(
    function, objection
):
    assert objection in " ".join(audit.objections(function))


def computes(x, items=()):
    names = {}
    names["x"] = x
    names.update(y=torch.relu(x))
    warnings.warn("slow", stacklevel=2)
    return sorted(names), math_of(x), [torch.sin(i) for i in items]


def math_of(x):
    return isinstance(x, torch.Tensor) and F.linear(x, x)


def test_audit_accepts_functions_that_compute():
    assert audit.objections(computes) == []


@pytest.mark.parametrize("name", ["_print", "_cufft_clear_plan_cache"])
def test_operators_without_tensors_are_not_recorded(name):
    assert audit.schemas(name)
    assert not audit.touches_tensors(name)


# -- warnings -----------------------------------------------------------------

X = torch.arange(4.0).reshape(1, 1, 2, 2)

WARN = [
    lambda x: F.upsample(x, scale_factor=2),
    lambda x: F.mse_loss(x[0, 0], x[:, 0, 0]),
    lambda x: F.l1_loss(x, x[0]) + F.smooth_l1_loss(x, x[0]),
]


def texts_of_warnings(fn, action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        fn(X)
    return sorted(str(warning.message) for warning in caught)


@pytest.mark.parametrize("fn", WARN)
@pytest.mark.parametrize("action", ["always", "default", "ignore"])
def test_torch_functions_warn_each_time_that_they_run(fn, action):
    expected = texts_of_warnings(fn, action)
    assert (expected == []) == (action == "ignore")
    call = compiled(fn)
    for _ in range(3):
        assert texts_of_warnings(call, action) == expected


def test_filters_are_left_as_they_were():
    before = list(warnings.filters)
    compiled(WARN[0])(X.clone())
    assert warnings.filters == before


def test_warnings_that_are_errors_are_raised():
    call = compiled(WARN[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="upsample"):
                call(X)
