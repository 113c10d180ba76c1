# SPDX-License-Identifier: Apache-2.0
"""Converter from ONNX to a module of PyTorch: one torch call a node, as straight code (torch.fx)."""

from operator import getitem

import numpy
import onnx
import torch
import torch.fx
from onnx.reference import ReferenceEvaluator
from plumb_worker.outcome import Unsupported

from .operators import OPERATORS, attribute

MIN_OPSET = 7  # earlier operators broadcast in other ways
TORCH_TYPES = {
    onnx.TensorProto.FLOAT: torch.float32, onnx.TensorProto.DOUBLE: torch.float64, onnx.TensorProto.FLOAT16: torch.float16,
    onnx.TensorProto.BFLOAT16: torch.bfloat16, onnx.TensorProto.INT64: torch.int64, onnx.TensorProto.INT32: torch.int32,
    onnx.TensorProto.INT8: torch.int8, onnx.TensorProto.UINT8: torch.uint8, onnx.TensorProto.BOOL: torch.bool,
}


def convert(graph, opset, weights, inputs, real=torch.float32):
    """Returns a torch.fx.GraphModule that takes the graph's inputs in order and returns a tuple of its outputs.

    `weights` are arrays by name, `inputs` tensors by name (their extents count, and of the device 'meta' is enough). Reals are computed in
    `real`. Nodes that depend on weights and extents only are folded. Raises Unsupported for an operator that is not converted.
    """
    if opset < MIN_OPSET:
        raise Unsupported(f"models of opset {opset} are not converted: convert it to opset {MIN_OPSET} or later")
    conversion = Conversion(opset, real)
    for name, array in weights.items():
        conversion.constants[name] = array
    for name, tensor in inputs.items():
        node = conversion.graph.placeholder(f"input_{len(conversion.computed)}")
        conversion.computed[name] = _note(node, tensor.to("meta"))
    for node in graph.node:
        conversion.add(node)
    conversion.graph.output(tuple(conversion.tensor(output.name) for output in graph.output))
    module = torch.fx.GraphModule(conversion.module, conversion.graph)
    module.eval()
    return module


def _note(node, value):
    node.meta["tensor"] = value
    return node


def output_of(node):
    """Returns the first output of the ONNX node that an fx node of a converted module computes. None: of no node."""
    return node.meta.get("output")


class Conversion:
    """State of one conversion: values that are known, and values that the module computes."""

    def __init__(self, opset, real):
        self.opset = opset
        self.real = real
        self.graph = torch.fx.Graph()
        self.module = torch.nn.Module()
        self.constants = {}
        self.computed = {}
        self._registered = {}
        self._output = None  # of the node that is being converted

    def add(self, node):
        """Converts one node."""
        if node.domain not in ("", "ai.onnx"):
            raise Unsupported(f"operator {node.domain}.{node.op_type} is not converted to PyTorch")
        names = [name for name in node.input if name]
        if node.op_type == "Shape" and names[0] in self.computed:
            extents = numpy.array(self.shape(names[0]), dtype=numpy.int64)
            self.constants[node.output[0]] = extents[attribute(node, "start", 0):attribute(node, "end", len(extents))]
            return
        if all(name in self.constants for name in names):
            self._fold(node, names)
            return
        if node.op_type not in OPERATORS:
            raise Unsupported(f"operator {node.op_type} is not converted to PyTorch")
        self._output = node.output[0]
        results = OPERATORS[node.op_type](self, node)
        results = results if isinstance(results, list) else [results]
        for name, result in zip(node.output, results):
            if name:
                self.computed[name] = result

    def _fold(self, node, names):
        """Computes a node of constants with onnx.reference."""
        inputs = [onnx.helper.make_empty_tensor_value_info(name) for name in dict.fromkeys(names)]
        outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output]
        graph = onnx.helper.make_graph([node], "constants", inputs, outputs)
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self.opset)])
        results = ReferenceEvaluator(model).run(None, {name: self.constants[name] for name in names})
        self.constants.update(zip(node.output, map(numpy.asarray, results)))

    def shape(self, name):
        """Returns a value's extents."""
        if name in self.computed:
            return tuple(self.computed[name].meta["tensor"].shape)
        return self._known(name).shape

    def rank(self, name):
        return len(self.shape(name))

    def array(self, name):
        """Returns a value that is known before the module runs."""
        if name in self.computed:
            raise Unsupported(f"'{name}' configures an operator and is computed by the model")
        return self._known(name)

    def integers(self, name):
        """Returns a known value as a list of whole numbers."""
        return [int(number) for number in self.array(name).reshape(-1)]

    def optional(self, node, index):
        """Returns the name of an operand, or None if it is left out."""
        return node.input[index] if index < len(node.input) and node.input[index] else None

    def tensor(self, name):
        """Returns the fx node of a value. Constants become buffers of the module."""
        if name is None:
            return None
        if name in self.computed:
            return self.computed[name]
        if name not in self._registered:
            self._registered[name] = self.constant(self._known(name))
        return self._registered[name]

    def constant(self, array):
        """Adds a buffer to the module and returns its fx node."""
        array = numpy.ascontiguousarray(array)
        tensor = torch.from_numpy(array if array.flags.writeable else array.copy())
        if tensor.is_floating_point() and tensor.dtype != torch.float64:
            tensor = tensor.to(self.real)
        name = f"constant_{len(dict(self.module.named_buffers(remove_duplicate=False)))}"
        self.module.register_buffer(name, tensor)
        return _note(self.graph.get_attr(name), tensor.to("meta"))

    def call(self, function, *arguments, **named):
        """Adds a call and returns its fx node, or the list of them for a function with several results."""
        def meta(value):
            if isinstance(value, torch.fx.Node):
                return value.meta["tensor"]
            return type(value)(map(meta, value)) if isinstance(value, (list, tuple)) else value

        result = function(*map(meta, arguments), **{name: meta(value) for name, value in named.items()})
        node = _note(self.graph.call_function(function, arguments, named), result)
        node.meta["output"] = self._output
        if not isinstance(result, (list, tuple)):
            return node
        return [_note(self.graph.call_function(getitem, (node, i)), part) for i, part in enumerate(result)]

    def type_of(self, number):
        """Returns the torch type of an ONNX element type. 32-bit reals are of the module's type."""
        if number not in TORCH_TYPES:
            raise Unsupported(f"values of the ONNX element type {number} are not converted to PyTorch")
        return self.real if number == onnx.TensorProto.FLOAT else TORCH_TYPES[number]

    def _known(self, name):
        if name not in self.constants:
            raise Unsupported(f"'{name}' is neither computed nor held by the model")
        return self.constants[name]
