#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes gradient_references.json: gradients by PyTorch's autograd in float64, of the graphs in tests/unit/engine/training_gradient_test.cpp.

    gradient_references.py > gradient_references.json      needs PyTorch; the tests do not

Weights have the names and numbers that the test gives them: w7 is the value 7 of its graph.
"""

import json
import math

import torch
from torch.nn import functional

TARGET = 1000


def numbers(value, *dims):
    count = math.prod(dims)
    return torch.tensor([math.sin(1.7 * i + 0.9 * value + 0.3) for i in range(count)], dtype=torch.float64).reshape(dims)


#: Running mean and variance of the graph `convolutions`, where somebody asks for them.
RUNNING = [None, None]


class Weights(dict):
    def __call__(self, value, *dims):
        return self.setdefault(f"w{value}", numbers(value, *dims).requires_grad_())


def cross_entropy(result, axis):
    target = 0.5 + 0.4 * numbers(TARGET, *result.shape)
    return -(target * functional.log_softmax(result, axis)).sum() / (result.numel() / result.shape[axis])


def convolutions(w):
    x = numbers(0, 4, 3, 6, 6)
    first = functional.conv2d(x, w(1, 6, 3, 3, 3), padding=1)
    first = torch.relu(functional.batch_norm(first, *RUNNING, w(3, 6), w(4, 6), training=True, eps=1e-5))
    second = functional.conv2d(first, w(9, 6, 6, 3, 3), w(10, 6), padding=1)
    pooled = functional.max_pool2d(torch.relu(first + second), 2)
    return cross_entropy(functional.avg_pool2d(pooled, 3).reshape(4, 6) @ w(17, 6, 5) + w(18, 5), 1)


def depthwise_and_lrn(w):
    x = numbers(0, 4, 4, 5, 5)
    grouped = functional.conv2d(x, w(1, 4, 1, 3, 3), w(2, 4), stride=2, padding=1, groups=4)
    normalized = functional.local_response_norm(functional.conv2d(grouped, w(4, 7, 4, 1, 1)), 5, alpha=0.3, beta=0.75, k=1.0)
    sloped = functional.prelu(normalized, w(7, 7, 1, 1).reshape(7))
    result = functional.conv_transpose2d(sloped, w(9, 7, 2, 3, 3), w(10, 2), stride=2, padding=1)
    return ((result - (0.5 + 0.4 * numbers(TARGET, *result.shape))) ** 2).mean()


def attention_block(w):
    normalized = functional.layer_norm(numbers(0, 4, 3, 8) @ w(1, 8, 8), (8,), w(3, 8), w(4, 8), 1e-5)
    q, k, v = ((normalized @ w(value, 8, 8)).reshape(4, 3, 2, 4).transpose(1, 2) for value in (6, 10, 14))
    mixed = torch.softmax(q @ k.transpose(2, 3) * 0.5, 3) @ v
    return cross_entropy(functional.gelu(mixed.transpose(1, 2).reshape(4, 3, 8) + w(25, 8)) + normalized, 2)


def fused_attention(w):
    x = numbers(0, 4, 3, 8)
    q, k, v = ((x @ w(value, 8, 8)).reshape(4, 3, 4, 2).transpose(1, 2) for value in (1, 5, 9))
    mixed = torch.softmax(0.7 * q @ k.transpose(2, 3) + w(13, 4, 1, 3), 3) @ v
    y = mixed.transpose(1, 2).reshape(4, 3, 8)
    q = (y @ w(17, 8, 8)).reshape(4, 3, 4, 2).transpose(1, 2)
    k = (y @ w(19, 8, 4)).reshape(4, 3, 2, 2).transpose(1, 2).repeat_interleave(2, 1)
    v = (y @ w(21, 8, 6)).reshape(4, 3, 2, 3).transpose(1, 2).repeat_interleave(2, 1)
    mixed = torch.softmax(0.5 * q @ k.transpose(2, 3), 3) @ v
    return cross_entropy(mixed.transpose(1, 2).reshape(4, 3, 12), 2)


def causal_attention(w):
    x, z = numbers(0, 4, 3, 8), numbers(1, 4, 5, 6)
    q = (x @ w(2, 8, 8)).reshape(4, 3, 4, 2).transpose(1, 2)
    k = (z @ w(4, 6, 4)).reshape(4, 5, 2, 2).transpose(1, 2).repeat_interleave(2, 1)
    v = (z @ w(6, 6, 6)).reshape(4, 5, 2, 3).transpose(1, 2).repeat_interleave(2, 1)
    behind = torch.ones(3, 5, dtype=torch.bool).triu(1)
    scores = (1.5 * torch.tanh(0.6 * q @ k.transpose(2, 3) / 1.5)).masked_fill(behind, -math.inf)
    y = (torch.softmax(scores, 3) @ v).transpose(1, 2).reshape(4, 3, 12)
    q, k, v = ((y @ w(value, 12, 8)).reshape(4, 3, 4, 2).transpose(1, 2) for value in (10, 12, 14))
    counts = torch.tensor([3 * i % 5 != 0 for i in range(9)]).reshape(3, 3)
    mixed = torch.softmax((0.6 * q @ k.transpose(2, 3)).masked_fill(~counts, -math.inf), 3) @ v
    return cross_entropy(mixed.transpose(1, 2).reshape(4, 3, 8), 2)


def extremes_and_sums(w):
    x = numbers(0, 4, 5) @ w(1, 5, 6) + w(2, 6)
    rows = (x.amax(1), x.amin(1), x.abs().sum(1), x.logsumexp(1), torch.sigmoid(x).sum(1).log())
    rows = torch.stack(rows, 1)
    largest = torch.maximum(torch.maximum(rows, w(12, 4, 5)), w(13, 4, 5))
    smallest = torch.minimum(torch.minimum(w(15, 4, 5), rows), w(16, 4, 5))
    result = largest + smallest + rows
    return ((result - (0.5 + 0.4 * numbers(TARGET, *result.shape))) ** 2).mean()


def steps_and_blocks(w):
    x = functional.conv2d(numbers(0, 4, 2, 5, 7), w(1, 8, 2, 1, 1), w(2, 8))
    wide = functional.pixel_shuffle(x[:, :, 1:5:2, ::3], 2)
    result = functional.conv2d(wide, w(6, 2, 2, 3, 3), padding=1)
    return ((result - (0.5 + 0.4 * numbers(TARGET, *result.shape))) ** 2).mean()


def groups_and_rows(w):
    def normalized(x, scale, shift):
        return functional.group_norm(x, 2, scale.repeat_interleave(4 // len(scale)), shift.repeat_interleave(4 // len(shift)), 1e-5)

    x = normalized(functional.conv2d(numbers(0, 4, 2, 3, 3), w(1, 4, 2, 3, 3), padding=1), w(3, 4), w(4, 4))
    rows = normalized(functional.conv2d(x, w(6, 4, 4, 1, 1)), w(8, 2), w(9, 2)).reshape(4, 4, 9)
    rows = rows * torch.rsqrt(rows.square().mean(2, keepdim=True) + 1e-5) * w(12, 9)
    return cross_entropy(rows.reshape(4, 36) @ w(15, 36, 3) + w(16, 3), 1)


def shared_weights(w):
    first = 0.5 * numbers(0, 4, 6) @ w(1, 6, 6).T + 2.0 * w(2, 6)
    return cross_entropy(w(1, 6, 6).T @ (torch.tanh(first) @ w(1, 6, 6)).T, 1)


def embeddings(w):
    words = torch.tensor([3 * i % 5 for i in range(12)]).reshape(4, 3)
    result = w(3, 4, 7, 5)[:, words] * w(1, 6, 5)[words]
    return ((result - (0.5 + 0.4 * numbers(TARGET, *result.shape))) ** 2).mean()


def instances(w):
    x = functional.conv2d(numbers(0, 4, 2, 3, 3), w(1, 3, 2, 3, 3), padding=1)
    normalized = functional.instance_norm(x, weight=w(3, 3), bias=w(4, 3), eps=1e-5)
    wide = functional.interpolate(normalized, scale_factor=(2, 3), mode="nearest")
    result = functional.conv2d(wide, w(7, 2, 3, 3, 3), w(8, 2), padding=1)
    return ((result - (0.5 + 0.4 * numbers(TARGET, *result.shape))) ** 2).mean()


def clicks(w):
    rows = w(6, 6, 5)[torch.tensor([3 * i % 5 for i in range(4)])]
    logits = (torch.relu(numbers(1, 4, 3) @ w(2, 3, 5) + w(3, 5)) * rows) @ w(9, 5, 1) + numbers(10, 1)
    target = 0.5 + 0.4 * numbers(TARGET, 4, 2)  # of both classes, which together weigh a sample
    share = target[:, 1] / target.sum(1)
    return (target.sum(1) * functional.binary_cross_entropy_with_logits(logits.flatten(), share, reduction="none")).mean()


def detections(w):
    features = torch.tanh(functional.conv2d(numbers(0, 4, 3, 3, 3), w(1, 6, 3, 3, 3), w(2, 6), padding=1))
    scores = functional.conv2d(features, w(5, 6, 6, 1, 1), w(6, 6)).reshape(4, 2, 3, 3, 3)
    logits = scores.permute(0, 3, 4, 1, 2).reshape(4, 18, 3)
    target = (0.5 + 0.4 * numbers(TARGET, 4, 18, 3) > 0.8).double()
    right = torch.sigmoid(logits) * target + (1 - torch.sigmoid(logits)) * (1 - target)
    entropy = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    losses = (0.25 * target + 0.75 * (1 - target)) * (1 - right) ** 2 * entropy
    return (losses.sum((1, 2)) / target.sum((1, 2)).clamp(min=1)).mean()


def segments(w):
    features = torch.tanh(functional.conv2d(numbers(0, 4, 3, 4, 4), w(1, 5, 3, 3, 3), w(2, 5), padding=1))
    logits = functional.conv2d(features, w(5, 3, 5, 1, 1), w(6, 3))
    target = 0.5 + 0.4 * numbers(TARGET, 4, 3, 4, 4)
    found = torch.softmax(logits, 1)[:, 1:]
    wanted = target[:, 1:]
    overlap = (2 * (wanted * found).sum((2, 3)) + 1e-6) / (wanted.sum((2, 3)) + found.sum((2, 3)) + 1e-6)
    return ((1 - overlap).mean() + cross_entropy(logits, 1)) / 2


def dropout(w):
    hidden = torch.tanh(numbers(0, 4, 5) @ w(1, 5, 6) + w(2, 6))
    kept = torch.where(numbers(9, 4, 6) > -0.5, 1.25, 0.0)
    return cross_entropy((hidden * kept) @ w(6, 6, 3) + w(7, 3), 1)


def stored_statistics(w):
    def constant(value, *dims):
        return 1.0 + 0.5 * numbers(value, *dims)

    def weight(value, *dims):
        return w.setdefault(f"w{value}", constant(value, *dims).requires_grad_())

    x = functional.conv2d(numbers(0, 4, 3, 5, 5), weight(1, 4, 3, 3, 3), padding=1)
    x = torch.tanh(functional.batch_norm(x, constant(5, 4), constant(6, 4), weight(3, 4), weight(4, 4), eps=1e-5))
    x = functional.conv2d(x, weight(9, 5, 4, 1, 1), weight(10, 5))
    x = torch.tanh(functional.batch_norm(x, constant(14, 5), constant(15, 5), constant(12, 5), constant(13, 5), eps=1e-5))
    x = functional.conv2d(x, weight(18, 2, 5, 3, 3), padding=1)
    result = functional.batch_norm(x, constant(22, 2), constant(23, 2), constant(20, 2), constant(21, 2), eps=1e-5)
    return ((result - (0.5 + 0.4 * numbers(TARGET, *result.shape))) ** 2).mean()


references = {}
for graph in (
    convolutions,
    depthwise_and_lrn,
    attention_block,
    fused_attention,
    causal_attention,
    extremes_and_sums,
    steps_and_blocks,
    shared_weights,
    embeddings,
    instances,
    groups_and_rows,
    clicks,
    detections,
    segments,
    dropout,
    stored_statistics,
):
    weights = Weights()
    loss = graph(weights)
    loss.backward()
    references[graph.__name__] = {
        "loss": loss.item(),
        "gradients": {name: weight.grad.flatten().tolist() for name, weight in sorted(weights.items())},
    }
print(json.dumps(references, separators=(",", ":")))
