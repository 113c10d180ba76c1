# SPDX-License-Identifier: Apache-2.0
"""Seeded weights of a model that holds none: the rules of harness/model/onnx/weights.cpp."""

import math

import numpy
import onnx

from . import random_numbers
from .outcome import UserError

MAX_ELEMENTS = 500_000_000  # of all weights together
_MOVING = {"Reshape", "Unsqueeze", "Squeeze", "Identity", "Flatten", "Cast"}
_ALONG = {"Add", "Sum", "Mul", "BatchNormalization", "Dropout"}
_NORMALISING = {"BatchNormalization", "LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"}
_DATA = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "external_data")


def has_data(tensor):
    """Returns whether an initializer holds its elements."""
    return 0 in tensor.dims or bool(tensor.raw_data) or any(len(getattr(tensor, field)) for field in _DATA)


def fill_weights(graph, seed):
    """Gives every weight without data seeded values. They equal those that `plumb model export --weights` writes."""
    empty = [tensor for tensor in graph.initializer if not has_data(tensor)]
    if sum(math.prod(tensor.dims) for tensor in empty) > MAX_ELEMENTS:
        raise UserError(f"cannot fill the weights of '{graph.name}': they have more than {MAX_ELEMENTS} elements")
    roles = _Roles(graph)
    for tensor in empty:
        if tensor.data_type != onnx.TensorProto.FLOAT or min(tensor.dims, default=1) < 0:
            raise UserError(f"cannot fill weight '{tensor.name}' of ONNX element type {tensor.data_type}: only float weights can be random")
        values = roles.draw(tensor, random_numbers.stream_state(seed, tensor.name))
        tensor.raw_data = values.astype("<f4").tobytes()


class _Roles:
    """What each weight of a graph is for."""

    def __init__(self, graph):
        self._constants = {tensor.name for tensor in graph.initializer}
        self._initializers = {tensor.name: tensor for tensor in graph.initializer}
        self._uses = {}
        for node in graph.node:
            for index, name in enumerate(node.input):
                self._uses.setdefault(name, []).append((node, index))
            if all(not name or name in self._constants for name in node.input):
                self._constants.update(node.output)

    def draw(self, weight, state):
        count = math.prod(weight.dims)
        kind, deviation = self._role(weight)
        if kind == "matrix":
            return random_numbers.normal(state, count) * deviation
        if kind == "scale":
            return 0.875 + random_numbers.uniform(state, count) / 4
        if kind == "slope":
            return 0.125 + random_numbers.uniform(state, count) / 4
        return random_numbers.normal(state, count) / (32 if kind == "embedding" else 64)

    def _role(self, weight):
        node, operand, dims = self._reader(weight)
        if node is None:
            return "offset", 0.0
        op = node.op_type
        fan_in = None
        if op in ("Conv", "ConvTranspose") and operand == 1 and dims:
            fan_in = math.prod(max(extent, 1) for extent in dims) // max(dims[0], 1)
        elif op == "Gemm" and operand < 2 and len(dims) == 2:
            flag = "transA" if operand == 0 else "transB"
            transposed = any(attribute.name == flag and attribute.i for attribute in node.attribute)
            fan_in = dims[1 if (operand == 1) == transposed else 0]
        elif op == "MatMul" and len(dims) >= 2:
            fan_in = dims[-1] if operand == 0 else dims[-2]
        if fan_in is not None:
            # He et al. (arXiv 1502.01852, eq. 10), halved where a branch ends.
            deviation = math.sqrt(2.0 / max(fan_in, 1))
            return "matrix", deviation / 2 if self._ends_branch(node) else deviation
        if (op == "BatchNormalization" and operand == 4) or (op in _NORMALISING and operand == 1) or op in ("Mul", "Div"):
            return "scale", 0.0
        if op == "Gather" and operand == 0:
            return "embedding", 0.0
        return ("slope" if op == "PRelu" and operand == 1 else "offset"), 0.0

    def _reader(self, weight):
        """Follows a weight through nodes that only rearrange it to the first node that computes with it."""
        name, dims = weight.name, list(weight.dims)
        for _ in range(16):
            if name not in self._uses:
                break
            node, operand = self._uses[name][0]
            if operand != 0 or not node.output or node.op_type not in _MOVING:
                return node, operand, dims
            if node.op_type == "Reshape" and len(node.input) > 1 and node.input[1] in self._initializers:
                target = list(self._initializers[node.input[1]].int64_data)
                if target and all(extent > 0 for extent in target):
                    dims = target
            name = node.output[0]
        return None, 0, dims

    def _ends_branch(self, node):
        """Returns whether a node's result is added to another branch, perhaps after a bias or a BatchNorm."""
        for _ in range(8):
            uses = self._uses.get(node.output[0], []) if node.output else []
            if len(uses) != 1 or uses[0][0].op_type not in _ALONG:
                return False
            node = uses[0][0]
            if node.op_type in ("Add", "Sum") and sum(name not in self._constants for name in node.input) > 1:
                return True
        return False


def as_arrays(graph):
    """Returns the graph's initializers by name."""
    return {tensor.name: numpy.asarray(onnx.numpy_helper.to_array(tensor)) for tensor in graph.initializer}
