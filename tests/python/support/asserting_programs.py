# SPDX-License-Identifier: BSD-3-Clause
"""Programs with assert statements about data, in a module of their own: pytest
writes those of test modules anew.
"""

import torch


def with_a_message(x):
    n = x.item()
    assert n != 0, f"{n} is nothing"
    assert n < 5, ("too large", n)
    return x / n


def of_a_tensor(x):
    assert (x > 0).all()
    return x * 2


def behind_a_write(x, y):
    y.add_(1)
    assert x.item() > 3, "too small"
    return y * 2


def behind_random_numbers(x):
    y = torch.randn(2)
    assert x.item() > 3, "too small"
    return y + torch.nn.functional.dropout(torch.ones(2))


def behind_attention(x):
    y = torch.ones(1, 1, 2, 4)
    y = torch.nn.functional.scaled_dot_product_attention(y, y, y, dropout_p=0.5)
    assert x.item() > 3
    return y


def behind_running_statistics(x, mean, variance):
    rows = torch.arange(6.0).view(3, 2)
    y = torch.nn.functional.batch_norm(rows, mean, variance, training=True)
    assert x.item() > 3
    return y
