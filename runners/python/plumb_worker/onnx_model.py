# SPDX-License-Identifier: Apache-2.0
"""Model that a request names: an ONNX model with fixed extents, seeded weights and seeded inputs."""

import math
import os

import numpy
import onnx

from . import random_numbers, reference, weights
from .message import path_of
from .outcome import Unsupported, UserError

MAX_FILE = 2 << 30  # bytes, as a protobuf message


class RequestedModel:
    """Model of one ExecuteRequest, complete with weights and inputs. `content` has the bytes of a model that is no file."""

    def __init__(self, request, content=b""):
        self.name = request["name"]
        self.dtype = request["dtype"]
        self.seed = int(request["seed"])
        self.folder = ""
        if content:
            self.proto = onnx.ModelProto()
            try:
                self.proto.ParseFromString(content)
            except Exception as problem:
                raise UserError(f"the {len(content)} bytes of model '{self.name}' are not an ONNX model: {problem}") from None
        else:
            self.proto = _load(path_of(request["path"]))
        graph = self.proto.graph
        given = {tensor.name for tensor in graph.initializer}
        self._inputs = [value for value in graph.input if value.name not in given]
        for value in self._inputs:
            _fix_extents(value, request)
        weights.fill_weights(graph, self.seed)
        self.weights = weights.as_arrays(graph)
        self.inputs = {value.name: _input(graph, value, self.seed) for value in self._inputs}
        self._macs = None

    @property
    def graph(self):
        return self.proto.graph

    def take_inputs(self, arrays):
        """Takes example inputs in place of seeded ones. Raises UserError if they are not those of the exported graph."""
        for value, array in zip(self._inputs, arrays):
            seeded = self.inputs[value.name]
            if (array.shape, array.dtype) != (seeded.shape, seeded.dtype):
                raise UserError(f"the example input '{value.name}' is {array.dtype}{list(array.shape)}, and {seeded.dtype}{list(seeded.shape)} "
                                "in the exported graph")
        if len(arrays) != len(self._inputs):
            raise UserError(f"there are {len(arrays)} example inputs, and the exported graph has {len(self._inputs)}")
        self.inputs = {value.name: array for value, array in zip(self._inputs, arrays)}

    def opset(self):
        """Returns the opset of ONNX's own operators."""
        return max((entry.version for entry in self.proto.opset_import if entry.domain in ("", "ai.onnx")), default=1)

    def macs(self):
        """Returns the multiply-accumulates of convolutions and matrix products, as far as extents are inferred."""
        if self._macs is None:
            self._macs = _count_macs(self.proto, self.weights)
        return self._macs

    def reference_outputs(self):
        """Computes the outputs in float64 with onnx.reference. Takes seconds."""
        return reference.evaluate(self.proto, self.weights, self.inputs)

    def forget(self):
        """Frees the weights. Programs have their own."""
        self.proto.Clear()
        self.weights = {}


def _load(path):
    try:
        if os.path.getsize(path) > MAX_FILE:
            raise UserError(f"'{path}' is larger than {MAX_FILE} bytes")
        return onnx.load(path)
    except UserError:
        raise
    except Exception as problem:
        raise UserError(f"cannot read '{path}' as an ONNX model: {problem}") from None


def _fix_extents(value, request):
    for axis, extent in enumerate(value.type.tensor_type.shape.dim):
        named = extent.dim_param
        if named and named in request.get("dims", {}):
            extent.dim_value = request["dims"][named]
        elif axis == 0 and request.get("batch") is not None and (request["rebatch"] or not extent.HasField("dim_value")):
            extent.dim_value = request["batch"]
        if not extent.HasField("dim_value") or extent.dim_value < 0:
            raise UserError(f"extent {axis} of input '{value.name}' is not known: give it with --dim {named or 'NAME'}=EXTENT")


def _input(graph, value, seed):
    """Makes an input as runners/engine/exec/requested_model.cpp does: reals in [-1, 1), integers that are valid indices."""
    kind = value.type.tensor_type.elem_type
    dims = [extent.dim_value for extent in value.type.tensor_type.shape.dim]
    state = random_numbers.stream_state(seed, "input:" + value.name)
    count = math.prod(dims)
    if kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16):
        numbers = random_numbers.uniform(state, count) * 2 - 1
    else:
        bound = 2
        extents = {tensor.name: tensor.dims for tensor in graph.initializer}
        indexed = [extents[node.input[0]][next((a.i for a in node.attribute if a.name == "axis"), 0)]
                   for node in graph.node if node.op_type == "Gather" and node.input[1] == value.name and node.input[0] in extents]
        numbers = random_numbers.below(state, count, max(min(indexed, default=bound), 1))
    try:
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
        return numpy.asarray(numbers).astype(dtype).reshape(dims)
    except (KeyError, TypeError):
        raise Unsupported(f"input '{value.name}' has the ONNX element type {kind}, which has no numpy type") from None


def _count_macs(proto, arrays):
    try:
        bare = onnx.ModelProto()
        bare.CopyFrom(proto)
        for tensor in bare.graph.initializer:
            if math.prod(tensor.dims) > 4096:  # only extents matter
                tensor.ClearField("raw_data")
                tensor.ClearField("float_data")
        graph = onnx.shape_inference.infer_shapes(bare).graph
    except Exception:  # pylint: disable=broad-except
        return 0
    shapes = {name: array.shape for name, array in arrays.items()}
    for value in (*graph.value_info, *graph.output, *graph.input):
        shapes[value.name] = tuple(extent.dim_value for extent in value.type.tensor_type.shape.dim)
    total = 0
    for node in graph.node:
        operands, result = [shapes.get(name, ()) for name in node.input], shapes.get(node.output[0], ())
        if node.op_type == "Conv" and len(operands[1]) > 1:
            total += math.prod(result) * math.prod(operands[1][1:])
        elif node.op_type in ("Gemm", "MatMul") and operands[0]:
            transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
            total += math.prod(result) * operands[0][-2 if transposed else -1]
    return total
