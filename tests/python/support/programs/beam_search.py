# SPDX-License-Identifier: BSD-3-Clause
"""A beam search: ordered dataclasses, replace(), heapq."""

import dataclasses
import heapq

import torch


@dataclasses.dataclass(order=True)
class Beam:
    score: float
    ids: list = dataclasses.field(compare=False, default_factory=list)
    state: torch.Tensor = dataclasses.field(
        compare=False, default=None, repr=False
    )
    done: bool = dataclasses.field(compare=False, default=False)

    def extend(self, score, token, state):
        return dataclasses.replace(
            self,
            score=self.score + score,
            ids=[*self.ids, token],
            state=state,
            done=token == 0,
        )


def program(w, steps, width):
    beams = [Beam(0.0, [1], w[1])]
    for _ in range(steps):
        candidates = []
        for beam in beams:
            if beam.done:
                candidates.append(beam)
                continue
            scores = torch.log_softmax(beam.state, -1)
            for score, token in zip(*(t.tolist() for t in scores.topk(width))):
                candidates.append(
                    beam.extend(
                        round(score, 4),
                        token,
                        torch.tanh(w[token] + beam.state),
                    )
                )
        beams = heapq.nlargest(width, candidates)
    return [(b.score, b.ids, b.state, repr(b)) for b in beams]


CALLS = [
    (torch.eye(4) + torch.arange(4.0) / 7, 3, 2),
    (torch.rand(5, 5, generator=torch.Generator().manual_seed(1)), 4, 3),
]
