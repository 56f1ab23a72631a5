# SPDX-License-Identifier: BSD-3-Clause
"""A program with inference modes inside of each other, and graph breaks."""

import torch

import magneto

W = torch.ones(4, requires_grad=True)


def inference_mode_with_others(x):
    with torch.no_grad(), torch.inference_mode():
        y = W + x
        magneto.graph_break()
        with torch.inference_mode(False):
            z = x * 2
            magneto.graph_break()
            z = z * W
        y = y * 2
    return y.is_inference(), z, W * x, torch.is_grad_enabled()
