#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes training_references.json: ten f32 steps of PyTorch's optimisers on graphs of tests/unit/rewrite/training_example.cpp.

    training_references.py > training_references.json      needs PyTorch; the tests do not

A graph's numbers are those of gradient_references.py, rounded to f32. The loss is that before each step.
"""

import contextlib
import io
import json

import torch

with contextlib.redirect_stdout(io.StringIO()):  # it prints its references
    import gradient_references as graphs

STEPS = 10
OPTIMIZERS = {
    "sgd": lambda weights: torch.optim.SGD(weights, lr=0.01),
    "sgd_momentum": lambda weights: torch.optim.SGD(weights, lr=0.01, momentum=0.9, weight_decay=1e-3),
    "adam": lambda weights: torch.optim.Adam(weights, lr=0.01, weight_decay=1e-3),
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=0.01, weight_decay=0.1),
}

numbers_in_double = graphs.numbers
graphs.numbers = lambda value, *dims: numbers_in_double(value, *dims).to(torch.float32)
references = {}
for graph, names in (
    (graphs.convolutions, OPTIMIZERS),
    (graphs.attention_block, OPTIMIZERS),
    (graphs.causal_attention, ("sgd", "sgd_momentum")),
):
    for name in names:
        weights = graphs.Weights()
        graph(weights)  # makes them
        optimizer = OPTIMIZERS[name](list(weights.values()))
        graphs.RUNNING = [graphs.numbers(5, 6), graphs.numbers(6, 6)]
        losses = []
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = graph(weights)
            loss.backward()
            losses.append(loss.item())
            optimizer.step()
        references[f"{graph.__name__}/{name}"] = {
            "losses": losses,
            "weights": {key: weight.detach().flatten().tolist() for key, weight in sorted(weights.items())},
        }
        if graph is graphs.convolutions:
            references[f"{graph.__name__}/{name}"]["running"] = [statistic.tolist() for statistic in graphs.RUNNING]
print(json.dumps(references, separators=(",", ":")))
