# SPDX-License-Identifier: Apache-2.0
"""Layer as an ONNX model of one node, and of one more for each fused step."""

import numpy
import onnx
from onnx import TensorProto, helper

from . import reference
from .outcome import Unsupported

TYPES = {"f64": TensorProto.DOUBLE, "f32": TensorProto.FLOAT, "bf16": TensorProto.BFLOAT16, "f16": TensorProto.FLOAT16, "s64": TensorProto.INT64,
         "s32": TensorProto.INT32, "bool": TensorProto.BOOL, "u8": TensorProto.UINT8, "s8": TensorProto.INT8}
_FUNCTIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softplus": "Softplus", "softsign": "Softsign", "hard_swish": "HardSwish",
              "mish": "Mish", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "reciprocal": "Reciprocal", "abs": "Abs", "neg": "Neg", "sign": "Sign",
              "floor": "Floor", "ceil": "Ceil", "erf": "Erf", "sin": "Sin", "cos": "Cos"}
_WITH_PARAMETERS = {"leaky_relu": ("LeakyRelu", ("alpha",)), "elu": ("Elu", ("alpha",)), "hard_sigmoid": ("HardSigmoid", ("alpha", "beta")),
                    "selu": ("Selu", ("alpha", "gamma"))}
_BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "max": "Max", "min": "Min", "pow": "Pow", "equal": "Equal", "greater": "Greater",
           "less": "Less"}
_REDUCE = {"mean": "ReduceMean", "sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin"}
OPSET = 20  # Gelu is in it, and onnx.reference knows all of it


def layer_model(spec):
    """Returns a ModelProto whose inputs 'x0', 'x1' … are the operands of a layer. Raises Unsupported for kinds that are not written here."""
    if spec.math != "strict":
        raise Unsupported(f"math={spec.math}: this worker has no such setting for a single layer")
    for operand in (*spec.inputs, *spec.outputs):
        if operand and operand.dtype not in TYPES:
            raise Unsupported(f"operands of type {operand.dtype} are not written for this worker")
    writer = _Writer(spec)
    opset = 12 if spec.op == "softmax" and spec.attributes["coerce"] else OPSET
    last = writer.layer()
    for step in spec.epilogue:
        last = [writer.step(step, last[0])] + last[1:]
    nodes = writer.nodes
    for index, name in enumerate(last):
        nodes.append(helper.make_node("Identity", [name], [f"y{index}"]))
    if nodes[-1].op_type == "Identity" and len(last) == 1:  # no node that the layer does not have
        nodes.pop()
        nodes[-1].output[0] = "y0"
    inputs = [helper.make_tensor_value_info(f"x{i}", TYPES[each.dtype], each.dims) for i, each in enumerate(spec.inputs) if each]
    outputs = [helper.make_tensor_value_info(f"y{i}", TYPES[each.dtype], each.dims) for i, each in enumerate(spec.outputs)]
    graph = helper.make_graph(nodes, "layer", inputs, outputs, initializer=writer.initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def layer_reference(spec, operands):
    """Computes a layer in float64."""
    model = layer_model(spec)
    arrays = {f"x{i}": _stored(operand, form.dtype) for i, (operand, form) in enumerate(zip(operands, spec.inputs)) if form}
    return reference.evaluate(model, {}, arrays | {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer})


def _stored(array, dtype):
    """Returns the numbers that an operand holds in its type, in float64 where they are real."""
    if dtype == "bool":
        return array.astype(bool)
    if dtype == "f32":
        return array.astype(numpy.float32).astype(numpy.float64)
    if dtype == "bf16":
        return to_bf16(array).astype(numpy.float64)
    return array


def to_bf16(array):
    """Rounds to bf16, ties to even, as float32 numbers."""
    bits = array.astype(numpy.float32).view(numpy.uint32)
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))) & numpy.uint32(0xFFFF0000)
    return rounded.view(numpy.float32).reshape(array.shape)


class _Writer:
    """Nodes of one layer."""

    def __init__(self, spec):
        self._spec = spec
        self.nodes = []
        self.initializers = []

    def layer(self):
        """Writes the layer's own node and returns the names of its results."""
        write = getattr(self, "_" + self._spec.op, None)
        if write is None:
            raise Unsupported(f"layers of the kind '{self._spec.op}' are not written for this worker")
        return write(self._spec.attributes)

    def step(self, step, x):
        """Writes a fused step and returns the name of its result."""
        if step.operand is not None:
            if step.fn not in _BINARY:
                raise Unsupported(f"the fused step '{step.fn}' is not written for this worker")
            return self._node(_BINARY[step.fn], [x, f"x{step.operand}"])
        return self._function(step.fn, step.parameters, x)

    def _node(self, op, inputs, outputs=1, **attributes):
        names = [f"n{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def _constant(self, values, dtype=numpy.int64):
        name = f"c{len(self.initializers)}"
        self.initializers.append(onnx.numpy_helper.from_array(numpy.asarray(values, dtype=dtype), name))
        return name

    def _operands(self, count=None):
        """Returns the names of the operator's own operands; '' is one left out."""
        fused = {step.operand for step in self._spec.epilogue}
        names = [f"x{i}" if each and i not in fused else "" for i, each in enumerate(self._spec.inputs)][:count]
        while names and not names[-1]:
            names.pop()
        return names

    def _function(self, fn, parameters, x):
        if fn in _FUNCTIONS:
            return self._node(_FUNCTIONS[fn], [x])
        if fn in _WITH_PARAMETERS:
            op, names = _WITH_PARAMETERS[fn]
            return self._node(op, [x], **dict(zip(names, map(float, parameters))))
        if fn == "clip":
            return self._node("Clip", [x, *(self._constant(number, numpy.float32) for number in parameters)])
        if fn in ("gelu_erf", "gelu_tanh"):
            return self._node("Gelu", [x], approximate="tanh" if fn == "gelu_tanh" else "none")
        if fn == "silu":
            return self._node("Mul", [x, self._node("Sigmoid", [x])])
        if fn == "linear":
            scaled = self._node("Mul", [x, self._constant(parameters[0], numpy.float32)])
            return self._node("Add", [scaled, self._constant(parameters[1], numpy.float32)]) if parameters[1] else scaled
        raise Unsupported(f"the function '{fn}' is not written for this worker")

    def _conv(self, a):
        return [self._node("Conv", self._operands(3), dilations=a["dilations"], group=a["group"], pads=a["pads"], strides=a["strides"],
                           kernel_shape=self._spec.inputs[1].dims[2:])]

    def _gemm(self, a):
        return [self._node("Gemm", self._operands(3), alpha=float(a["alpha"]), beta=float(a["beta"]), transA=a["trans_a"], transB=a["trans_b"])]

    def _matmul(self, _):
        return [self._node("MatMul", self._operands(2))]

    def _batch_norm(self, a):
        if a["mode"] != "spatial":
            raise Unsupported("batch_norm per activation is not written for this worker")
        return [self._node("BatchNormalization", self._operands(5), epsilon=float(a["epsilon"]))]

    def _layer_norm(self, a):
        return [self._node("LayerNormalization", self._operands(3), axis=a["axis"], epsilon=float(a["epsilon"]))]

    def _lrn(self, a):
        return [self._node("LRN", ["x0"], alpha=float(a["alpha"]), beta=float(a["beta"]), bias=float(a["bias"]), size=a["size"])]

    def _pool(self, op, a, **more):
        extents = self._spec.inputs[0].dims[2:]
        if list(a["kernel"]) == list(extents) and not any(a["pads"]):
            return [self._node("Global" + op, ["x0"])]
        return [self._node(op, ["x0"], kernel_shape=a["kernel"], pads=a["pads"], strides=a["strides"], dilations=a["dilations"],
                           ceil_mode=a["ceil_mode"], **more)]

    def _max_pool(self, a):
        return self._pool("MaxPool", a)

    def _average_pool(self, a):
        return self._pool("AveragePool", a, count_include_pad=a["count_include_pad"])

    def _eltwise(self, a):
        return [self._function(a["fn"], a["parameters"], "x0")]

    def _prelu(self, _):
        return [self._node("PRelu", self._operands(2))]

    def _binary(self, a):
        if a["fn"] not in _BINARY:
            raise Unsupported(f"the function '{a['fn']}' is not written for this worker")
        return [self._node(_BINARY[a["fn"]], self._operands(2))]

    def _sum(self, _):
        return [self._node("Sum", self._operands())]

    def _softmax(self, a):
        return [self._node("LogSoftmax" if a["log"] else "Softmax", ["x0"], axis=a["axis"])]

    def _concat(self, a):
        return [self._node("Concat", self._operands(), axis=a["axis"])]

    def _split(self, a):
        sizes = self._constant([output.dims[a["axis"]] for output in self._spec.outputs])
        names = self._node("Split", ["x0", sizes], outputs=len(self._spec.outputs), axis=a["axis"])
        return names if isinstance(names, list) else [names]

    def _transpose(self, a):
        return [self._node("Transpose", ["x0"], perm=a["perm"])]

    def _view(self, _):
        return [self._node("Reshape", ["x0", self._constant(self._spec.outputs[0].dims)])]

    def _gather(self, a):
        return [self._node("Gather", self._operands(2), axis=a["axis"])]

    def _cast(self, _):
        return [self._node("Cast", ["x0"], to=TYPES[self._spec.outputs[0].dtype])]

    def _where(self, _):
        return [self._node("Where", self._operands(3))]

    def _expand(self, _):
        return [self._node("Expand", ["x0", self._constant(self._spec.outputs[0].dims)])]

    def _reduce(self, a):
        if a["fn"] not in _REDUCE:
            raise Unsupported(f"the reduction '{a['fn']}' is not written for this worker")
        return [self._node(_REDUCE[a["fn"]], ["x0", self._constant(a["axes"])], keepdims=a["keepdims"])]

    def _slice(self, a):
        ends = []
        for axis, start, step in zip(a["axes"], a["starts"], a["steps"]):
            end = start + step * self._spec.outputs[0].dims[axis]
            ends.append(end if end >= 0 else -(1 << 31))
        return [self._node("Slice", ["x0", *map(self._constant, (a["starts"], ends, a["axes"], a["steps"]))])]
