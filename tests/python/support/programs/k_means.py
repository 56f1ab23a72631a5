# SPDX-License-Identifier: BSD-3-Clause
"""Clusters: loops that data ends, a defaultdict of tensors."""

import collections
import itertools

import torch


def program(points, k):
    centers = points[:k].clone()
    seen = []
    for step in itertools.count():
        nearest = torch.cdist(points, centers).argmin(1)
        groups = collections.defaultdict(list)
        for point, group in zip(points, nearest.tolist()):
            groups[group].append(point)
        new = torch.stack(
            [
                torch.stack(groups[g]).mean(0) if g in groups else centers[g]
                for g in range(k)
            ]
        )
        seen.append({g: len(members) for g, members in sorted(groups.items())})
        if torch.equal(new, centers) or step > 5:
            break
        centers = new
    return centers, seen, step


CALLS = [
    (torch.tensor([[0.0, 0], [0, 1], [5, 5], [6, 5], [9, 0]]), 2),
    (torch.arange(8.0).reshape(4, 2), 3),
]
