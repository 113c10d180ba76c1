# SPDX-License-Identifier: Apache-2.0
"""Float64 reference of ONNX models: onnx.reference, with operators of its own where that is slow or wrong."""

import itertools
import math

import numpy
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

_TO_DOUBLE = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def evaluate(proto, weights, inputs):
    """Computes a model's outputs with all real numbers in float64."""
    double = onnx.ModelProto()
    double.CopyFrom(proto)
    graph = double.graph
    del graph.initializer[:]
    del graph.value_info[:]
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i in _TO_DOUBLE:
                attribute.i = onnx.TensorProto.DOUBLE
            elif attribute.HasField("t") and attribute.t.data_type in _TO_DOUBLE:
                widened = onnx.numpy_helper.to_array(attribute.t).astype(numpy.float64)
                attribute.t.CopyFrom(onnx.numpy_helper.from_array(widened))
    feeds = {name: _widened(array) for name, array in {**weights, **inputs}.items()}
    declared = {value.name for value in graph.input}
    for name, array in weights.items():
        if name not in declared:
            graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, array.shape))
    return [numpy.asarray(output) for output in ReferenceEvaluator(double, new_ops=_OPERATORS).run(None, feeds)]


def _widened(array):
    array = numpy.asarray(array)
    return array.astype(numpy.float64) if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def _begins_and_ends(extents, kernel, strides, dilations, pads, auto_pad):
    """Returns the padding before and behind each spatial axis."""
    rank = len(kernel)
    if auto_pad in (None, "", "NOTSET"):
        pads = list(pads or [0] * 2 * rank)
        return pads[:rank], pads[rank:]
    if auto_pad == "VALID":
        return [0] * rank, [0] * rank
    totals = [max((math.ceil(extent / stride) - 1) * stride + (k - 1) * dilation + 1 - extent, 0)
              for extent, k, stride, dilation in zip(extents, kernel, strides, dilations)]
    small = [total // 2 for total in totals]
    large = [total - half for total, half in zip(totals, small)]
    return (small, large) if auto_pad == "SAME_UPPER" else (large, small)


def _windows(x, kernel, strides, dilations, counts):
    """Yields for each position in the kernel its index and the elements of padded x that it meets."""
    for at in itertools.product(*map(range, kernel)):
        cut = tuple(slice(i * d, i * d + (n - 1) * s + 1, s) for i, d, n, s in zip(at, dilations, counts, strides))
        yield at, x[(slice(None), slice(None), *cut)]


class Conv(OpRun):
    op_domain = ""

    def _run(self, X, W, B=None, auto_pad=None, dilations=None, group=None, kernel_shape=None, pads=None, strides=None):  # noqa: N803
        kernel, rank, groups = W.shape[2:], W.ndim - 2, group or 1
        strides, dilations = strides or [1] * rank, dilations or [1] * rank
        begins, ends = _begins_and_ends(X.shape[2:], kernel, strides, dilations, pads, auto_pad)
        x = numpy.pad(X, [(0, 0), (0, 0), *zip(begins, ends)])
        counts = [(extent - (k - 1) * d - 1) // s + 1 for extent, k, d, s in zip(x.shape[2:], kernel, dilations, strides)]
        result = numpy.zeros((X.shape[0], groups, W.shape[0] // groups, math.prod(counts)), dtype=X.dtype)
        filters = W.reshape(groups, W.shape[0] // groups, W.shape[1], *kernel)
        for at, part in _windows(x, kernel, strides, dilations, counts):
            columns = part.reshape(X.shape[0], groups, W.shape[1], -1)
            result += numpy.matmul(filters[(slice(None), slice(None), slice(None), *at)], columns)
        result = result.reshape(X.shape[0], W.shape[0], *counts)
        return (result if B is None else result + B.reshape(1, -1, *[1] * rank),)


def _pool_shape(x, kernel, strides, dilations, pads, auto_pad, ceil_mode):
    rank = len(kernel)
    strides, dilations = strides or [1] * rank, dilations or [1] * rank
    begins, ends = _begins_and_ends(x.shape[2:], kernel, strides, dilations, pads, auto_pad)
    counts, more = [], []
    for extent, k, s, d, begin, end in zip(x.shape[2:], kernel, strides, dilations, begins, ends):
        span = extent + begin + end - (k - 1) * d - 1
        count = (math.ceil(span / s) if ceil_mode else span // s) + 1
        if ceil_mode and (count - 1) * s >= extent + begin:
            count -= 1  # a window that would begin in the padding behind
        counts.append(count)
        more.append(max(0, (count - 1) * s + (k - 1) * d + 1 - (extent + begin + end)))
    return strides, dilations, begins, ends, counts, more


class MaxPool(OpRun):
    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, dilations=None, kernel_shape=None, pads=None, storage_order=None, strides=None):
        strides, dilations, begins, ends, counts, more = _pool_shape(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        padded = numpy.pad(x, [(0, 0), (0, 0), *((b, e + m) for b, e, m in zip(begins, ends, more))], constant_values=-numpy.inf)
        result = None
        for _, part in _windows(padded, kernel_shape, strides, dilations, counts):
            result = part.copy() if result is None else numpy.maximum(result, part)
        return (result,)


class AveragePool(OpRun):
    op_domain = ""

    def _run(self, x, auto_pad=None, ceil_mode=None, count_include_pad=None, dilations=None, kernel_shape=None, pads=None, strides=None):
        strides, dilations, begins, ends, counts, more = _pool_shape(x, kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
        beyond = list(zip([0] * len(more), more))
        inside = numpy.ones((1, 1, *x.shape[2:]))
        inside = numpy.pad(inside, [(0, 0), (0, 0), *zip(begins, ends)], constant_values=1.0 if count_include_pad else 0.0)
        inside = numpy.pad(inside, [(0, 0), (0, 0), *beyond])
        padded = numpy.pad(x, [(0, 0), (0, 0), *((b, e + m) for b, e, m in zip(begins, ends, more))])
        total = sum(part for _, part in _windows(padded, kernel_shape, strides, dilations, counts))
        return (total / sum(part for _, part in _windows(inside, kernel_shape, strides, dilations, counts)),)


class BatchNormalization(OpRun):
    """At inference. onnx.reference normalises by the batch where a file of opset 9 gives a momentum."""

    op_domain = ""

    def _run(self, x, scale, bias, mean, var, epsilon=None, momentum=None, spatial=None, training_mode=None):
        factor, offset, mean, var = (v.reshape(1, -1, *[1] * (x.ndim - 2)) for v in (scale, bias, mean, var))
        return (factor * (x - mean) / numpy.sqrt(var + (1e-5 if epsilon is None else epsilon)) + offset,)


class LRN(OpRun):
    """onnx.reference takes the batch's axis for that of channels."""

    op_domain = ""

    def _run(self, x, alpha=None, beta=None, bias=None, size=None):
        alpha, beta, bias = (d if v is None else v for v, d in ((alpha, 1e-4), (beta, 0.75), (bias, 1.0)))
        before = (size - 1) // 2
        squares = numpy.pad(x * x, [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)])
        total = sum(squares[:, i:i + x.shape[1]] for i in range(size))
        return (x / (bias + alpha / size * total) ** beta,)


class ImageScaler(OpRun):
    """An experimental operator of early models, without a schema: x · scale + bias[channel]."""

    op_domain = ""

    def _run(self, x, bias=None, scale=None):
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in self.onnx_node.attribute}
        return (x * attributes.get("scale", 1.0) + numpy.asarray(attributes["bias"]).reshape(1, -1, 1, 1),)


_OPERATORS = [AveragePool, BatchNormalization, Conv, ImageScaler, LRN, MaxPool]
