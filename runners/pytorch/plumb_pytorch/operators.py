# SPDX-License-Identifier: Apache-2.0
"""The torch calls that ONNX operators become: one function an operator, by its name in OPERATORS."""

import math

import numpy
import onnx
import torch
import torch.nn.functional as F  # noqa: N812
from plumb_worker.outcome import Unsupported

_CONVOLUTIONS = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}
_MAX_POOLS = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVERAGE_POOLS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
_ADAPTIVE_AVERAGE = {1: F.adaptive_avg_pool1d, 2: F.adaptive_avg_pool2d, 3: F.adaptive_avg_pool3d}


def attribute(node, name, default=None):
    """Returns an attribute of a node."""
    for entry in node.attribute:
        if entry.name == name:
            value = onnx.helper.get_attribute_value(entry)
            return value.decode() if isinstance(value, bytes) else value
    return default


def _unary(function):
    return lambda c, node: c.call(function, c.tensor(node.input[0]))


def _binary(function):
    return lambda c, node: c.call(function, c.tensor(node.input[0]), c.tensor(node.input[1]))


def _chain(function):
    def convert(c, node):
        result = c.tensor(node.input[0])
        for name in node.input[1:]:
            result = c.call(function, result, c.tensor(name))
        return result
    return convert


def _passed(c, node):
    if len(node.output) > 1 and node.output[1]:
        mask = c.shape(node.input[0])
        c.constants[node.output[1]] = numpy.ones(mask, dtype=bool)  # a Dropout at inference drops nothing
        return [c.tensor(node.input[0])]
    return c.tensor(node.input[0])


def _padding(c, node, kernel, strides, dilations):
    """Returns the padding before and behind each spatial axis."""
    rank = len(kernel)
    auto = attribute(node, "auto_pad", "NOTSET")
    if auto == "NOTSET":
        pads = attribute(node, "pads") or [0] * (2 * rank)
        return list(pads[:rank]), list(pads[rank:])
    if auto == "VALID":
        return [0] * rank, [0] * rank
    begins, ends = [], []
    for extent, k, s, d in zip(c.shape(node.input[0])[2:], kernel, strides, dilations):
        total = max((-(-extent // s) - 1) * s + (k - 1) * d + 1 - extent, 0)
        less, more = total // 2, total - total // 2
        begins.append(less if auto == "SAME_UPPER" else more)
        ends.append(more if auto == "SAME_UPPER" else less)
    return begins, ends


def _padded(c, x, begins, ends, value=0.0):
    """Pads spatial axes by a call of its own, which unequal padding needs."""
    pads = [amount for pair in reversed(list(zip(begins, ends))) for amount in pair]
    return c.call(F.pad, x, pads, value=value)


def _conv(c, node):
    x, w, b = c.tensor(node.input[0]), c.tensor(node.input[1]), c.tensor(c.optional(node, 2))
    kernel = c.shape(node.input[1])[2:]
    rank = len(kernel)
    if rank not in _CONVOLUTIONS:
        raise Unsupported(f"convolutions over {rank} axes are not converted to PyTorch")
    strides, dilations = attribute(node, "strides") or [1] * rank, attribute(node, "dilations") or [1] * rank
    begins, ends = _padding(c, node, kernel, strides, dilations)
    if begins != ends:
        x, begins = _padded(c, x, begins, ends), [0] * rank
    return c.call(_CONVOLUTIONS[rank], x, w, b, list(strides), begins, list(dilations), attribute(node, "group", 1))


def _pool(c, node):
    kernel = list(attribute(node, "kernel_shape"))
    strides = list(attribute(node, "strides") or [1] * len(kernel))
    dilations = list(attribute(node, "dilations") or [1] * len(kernel))
    return kernel, strides, dilations, bool(attribute(node, "ceil_mode", 0)), *_padding(c, node, kernel, strides, dilations)


def _max_pool(c, node):
    kernel, strides, dilations, ceil, begins, ends = _pool(c, node)
    if len(node.output) > 1 and node.output[1]:
        raise Unsupported("the indices of MaxPool are not converted to PyTorch")
    x = c.tensor(node.input[0])
    if begins != ends or any(2 * pad > k for pad, k in zip(begins, kernel)):
        x, begins = _padded(c, x, begins, ends, -math.inf), [0] * len(kernel)
    return c.call(_MAX_POOLS[len(kernel)], x, kernel, strides, begins, dilations, ceil)


def _average_pool(c, node):
    kernel, strides, dilations, ceil, begins, ends = _pool(c, node)
    if any(d != 1 for d in dilations):
        raise Unsupported("dilated average pools are not converted to PyTorch")
    include = bool(attribute(node, "count_include_pad", 0))
    pool = _AVERAGE_POOLS[len(kernel)]
    x = c.tensor(node.input[0])
    if begins == ends and all(2 * pad <= k for pad, k in zip(begins, kernel)):
        return c.call(pool, x, kernel, strides, begins, ceil, include)
    x = _padded(c, x, begins, ends)
    if include:
        return c.call(pool, x, kernel, strides, [0] * len(kernel), ceil, True)
    # The mean over what is not padding: the mean over all, by the share of a window that is not padding.
    pads = [amount for pair in reversed(list(zip(begins, ends))) for amount in pair]
    inside = F.pad(torch.ones(1, 1, *c.shape(node.input[0])[2:]), pads)
    share = pool(inside, kernel, strides, [0] * len(kernel), ceil, True)
    return c.call(torch.div, c.call(pool, x, kernel, strides, [0] * len(kernel), ceil, True), c.constant(share.numpy()))


def _global_average_pool(c, node):
    rank = c.rank(node.input[0]) - 2
    return c.call(_ADAPTIVE_AVERAGE[rank], c.tensor(node.input[0]), [1] * rank)


def _global_max_pool(c, node):
    return c.call(torch.amax, c.tensor(node.input[0]), dim=list(range(2, c.rank(node.input[0]))), keepdim=True)


def _gemm(c, node):
    a, b, name = c.tensor(node.input[0]), c.tensor(node.input[1]), c.optional(node, 2)
    alpha, beta = attribute(node, "alpha", 1.0), attribute(node, "beta", 1.0)
    transposed = attribute(node, "transB", 0)
    if attribute(node, "transA", 0):
        a = c.call(torch.t, a)
    if transposed and alpha == 1.0 and (name is None or (beta == 1.0 and name in c.constants and c.shape(name)[:-1] in ((), (1,)))):
        return c.call(F.linear, a, b, None if name is None else c.constant(c.array(name).reshape(-1)))
    if transposed:
        b = c.call(torch.t, b)
    if name is not None:
        return c.call(torch.addmm, c.tensor(name), a, b, beta=beta, alpha=alpha)
    product = c.call(torch.mm, a, b)
    return product if alpha == 1.0 else c.call(torch.mul, product, alpha)


def _batch_norm(c, node):
    if attribute(node, "training_mode", 0) or attribute(node, "spatial", 1) != 1:
        raise Unsupported("BatchNormalization that is not per channel, or that trains, is not converted to PyTorch")
    x, scale, bias, mean, variance = map(c.tensor, node.input)
    return c.call(F.batch_norm, x, mean, variance, scale, bias, False, 0.0, attribute(node, "epsilon", 1e-5))


def _layer_norm(c, node):
    shape = c.shape(node.input[0])
    axis = attribute(node, "axis", -1) % len(shape)
    return c.call(F.layer_norm, c.tensor(node.input[0]), list(shape[axis:]), c.tensor(node.input[1]), c.tensor(c.optional(node, 2)),
                  attribute(node, "epsilon", 1e-5))


def _lrn(c, node):
    if attribute(node, "size") % 2 == 0:
        raise Unsupported("LRN over an even number of channels has another centre in PyTorch than in ONNX")
    return c.call(F.local_response_norm, c.tensor(node.input[0]), attribute(node, "size"), attribute(node, "alpha", 1e-4),
                  attribute(node, "beta", 0.75), attribute(node, "bias", 1.0))


def _softmax(function):
    def convert(c, node):
        shape = c.shape(node.input[0])
        x = c.tensor(node.input[0])
        if c.opset >= 13:
            return c.call(function, x, dim=attribute(node, "axis", -1))
        axis = attribute(node, "axis", 1) % len(shape)
        if math.prod(shape[axis + 1:]) == 1:
            return c.call(function, x, dim=axis)
        # Before opset 13, over all axes from `axis` on.
        flat = c.call(torch.reshape, x, [math.prod(shape[:axis]), math.prod(shape[axis:])])
        return c.call(torch.reshape, c.call(function, flat, dim=1), list(shape))
    return convert


def _prelu(c, node):
    slope, channels = c.shape(node.input[1]), c.shape(node.input[0])[1]
    x = c.tensor(node.input[0])
    if node.input[1] in c.constants and math.prod(slope) in (1, channels) and (math.prod(slope) == 1 or slope[0] == channels):
        return c.call(F.prelu, x, c.constant(c.array(node.input[1]).reshape(-1)))
    return c.call(torch.where, c.call(torch.ge, x, 0), x, c.call(torch.mul, x, c.tensor(node.input[1])))


def _reshaped(c, name, shape):
    given, extents = c.shape(name), [int(extent) for extent in shape]
    if -1 in extents and 0 not in extents:
        extents[extents.index(-1)] = math.prod(given) // -math.prod(extents)
    if given and extents and extents[0] == given[0] and math.prod(extents) > 0:
        extents[0] = -1  # so the call stands for other batches, too
    return c.call(torch.reshape, c.tensor(name), extents)


def _reshape(c, node):
    target = list(attribute(node, "shape") or c.integers(node.input[1]))
    if not attribute(node, "allowzero", 0):
        target = [c.shape(node.input[0])[axis] if extent == 0 else extent for axis, extent in enumerate(target)]
    return _reshaped(c, node.input[0], target)


def _flatten(c, node):
    shape = c.shape(node.input[0])
    axis = attribute(node, "axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return _reshaped(c, node.input[0], [math.prod(shape[:axis]), math.prod(shape[axis:])])


def _axes(c, node, rank):
    axes = attribute(node, "axes")
    if axes is None and c.optional(node, 1):
        axes = c.integers(node.input[1])
    return None if axes is None else sorted(axis % rank for axis in axes)


def _squeeze(c, node):
    shape = c.shape(node.input[0])
    axes = _axes(c, node, len(shape))
    return _reshaped(c, node.input[0], [e for i, e in enumerate(shape) if (i not in axes if axes is not None else e != 1)])


def _unsqueeze(c, node):
    shape = list(c.shape(node.input[0]))
    axes = attribute(node, "axes") or c.integers(node.input[1])
    for axis in sorted(axis % (len(shape) + len(axes)) for axis in axes):
        shape.insert(axis, 1)
    return _reshaped(c, node.input[0], shape)


def _transpose(c, node):
    perm = attribute(node, "perm") or list(reversed(range(c.rank(node.input[0]))))
    return c.call(torch.permute, c.tensor(node.input[0]), list(perm))


def _concat(c, node):
    return c.call(torch.cat, [c.tensor(name) for name in node.input], dim=attribute(node, "axis", 1))


def _split(c, node):
    axis = attribute(node, "axis", 0)
    extent = c.shape(node.input[0])[axis]
    sizes = attribute(node, "split") or (c.integers(node.input[1]) if c.optional(node, 1) else None)
    if sizes is None:
        part = -(-extent // len(node.output))
        sizes = [min(part, extent - part * i) for i in range(len(node.output))]
    return c.call(torch.split, c.tensor(node.input[0]), list(sizes), dim=axis)


def _gather(c, node):
    shape, axis = c.shape(node.input[0]), attribute(node, "axis", 0)
    axis %= len(shape)
    if node.input[1] in c.constants:
        indices = numpy.asarray(c.array(node.input[1])) % shape[axis]
        if indices.ndim == 0:
            return c.call(torch.select, c.tensor(node.input[0]), axis, int(indices))
        flat, form = c.constant(indices.reshape(-1).astype(numpy.int64)), indices.shape
    else:
        indices, form = c.tensor(node.input[1]), c.shape(node.input[1])
        if axis == 0 and len(shape) == 2:
            return c.call(F.embedding, indices, c.tensor(node.input[0]))
        flat = c.call(torch.reshape, indices, [-1])
    taken = c.call(torch.index_select, c.tensor(node.input[0]), axis, flat)
    return taken if len(form) == 1 else c.call(torch.reshape, taken, [*shape[:axis], *form, *shape[axis + 1:]])


def _slice(c, node):
    if attribute(node, "starts") is not None:
        starts, ends = attribute(node, "starts"), attribute(node, "ends")
        axes, steps = attribute(node, "axes") or range(len(starts)), [1] * len(starts)
    else:
        starts, ends = c.integers(node.input[1]), c.integers(node.input[2])
        axes = c.integers(node.input[3]) if c.optional(node, 3) else range(len(starts))
        steps = c.integers(node.input[4]) if c.optional(node, 4) else [1] * len(starts)
    result = c.tensor(node.input[0])
    shape = c.shape(node.input[0])
    for axis, start, end, step in zip(axes, starts, ends, steps):
        at = range(shape[axis])[slice(start, end, step)] if end > -(1 << 30) or step > 0 else range(shape[axis])[start::step]
        if step > 0:
            result = c.call(torch.ops.aten.slice.Tensor, result, axis, at.start, at.stop, step)
        else:
            result = c.call(torch.index_select, result, axis, c.constant(numpy.array(at, dtype=numpy.int64)))
    return result


def _pad(c, node):
    pads = list(attribute(node, "pads") or c.integers(node.input[1]))
    mode = attribute(node, "mode", "constant")
    value = float(c.array(node.input[2]).reshape(-1)[0]) if c.optional(node, 2) else attribute(node, "value", 0.0)
    if mode != "constant" or c.optional(node, 3):
        raise Unsupported(f"Pad in the mode {mode}, or of some axes, is not converted to PyTorch")
    rank = len(pads) // 2
    return _padded(c, c.tensor(node.input[0]), pads[:rank], pads[rank:], value)


def _reduce(function):
    def convert(c, node):
        rank = c.rank(node.input[0])
        axes = _axes(c, node, rank) or list(range(rank))
        if attribute(node, "noop_with_empty_axes", 0) and len(axes) == rank:
            raise Unsupported("a reduction of no axes is not converted to PyTorch")
        return c.call(function, c.tensor(node.input[0]), dim=axes, keepdim=bool(attribute(node, "keepdims", 1)))
    return convert


def _clip(c, node):
    low, high = attribute(node, "min"), attribute(node, "max")
    if c.opset >= 11:
        low, high = (float(c.array(name).reshape(-1)[0]) if name else None for name in (c.optional(node, 1), c.optional(node, 2)))
    if low is None and high is None:
        return c.tensor(node.input[0])
    return c.call(torch.clamp, c.tensor(node.input[0]), low, high)


def _cast(c, node):
    return c.call(torch.ops.aten.to.dtype, c.tensor(node.input[0]), c.type_of(attribute(node, "to")))


def _expand(c, node):
    target = numpy.broadcast_shapes(c.shape(node.input[0]), tuple(c.integers(node.input[1])))
    return c.call(torch.broadcast_to, c.tensor(node.input[0]), list(target))


def _image_scaler(c, node):
    scaled, scale = c.tensor(node.input[0]), attribute(node, "scale", 1.0)
    if scale != 1.0:
        scaled = c.call(torch.mul, scaled, scale)
    bias = numpy.asarray(attribute(node, "bias"), dtype=numpy.float32).reshape(1, -1, 1, 1)
    return c.call(torch.add, scaled, c.constant(bias))


def _with_alpha(function, default):
    return lambda c, node: c.call(function, c.tensor(node.input[0]), attribute(node, "alpha", default))


def _hard_sigmoid(c, node):
    linear = c.call(torch.add, c.call(torch.mul, c.tensor(node.input[0]), attribute(node, "alpha", 0.2)), attribute(node, "beta", 0.5))
    return c.call(torch.clamp, linear, 0.0, 1.0)


def _gelu(c, node):
    return c.call(F.gelu, c.tensor(node.input[0]), approximate=attribute(node, "approximate", "none"))


def _div(c, node):
    whole = not c.tensor(node.input[0]).meta["tensor"].is_floating_point()
    return c.call(torch.div, c.tensor(node.input[0]), c.tensor(node.input[1]), **({"rounding_mode": "trunc"} if whole else {}))


OPERATORS = {
    "Abs": _unary(torch.abs), "Add": _binary(torch.add), "AveragePool": _average_pool, "BatchNormalization": _batch_norm, "Cast": _cast,
    "Ceil": _unary(torch.ceil), "Clip": _clip, "Concat": _concat, "Conv": _conv, "Cos": _unary(torch.cos), "Div": _div, "Dropout": _passed,
    "Elu": _with_alpha(F.elu, 1.0), "Equal": _binary(torch.eq), "Erf": _unary(torch.erf), "Exp": _unary(torch.exp), "Expand": _expand,
    "Flatten": _flatten, "Floor": _unary(torch.floor), "Gather": _gather, "Gelu": _gelu, "Gemm": _gemm,
    "GlobalAveragePool": _global_average_pool, "GlobalMaxPool": _global_max_pool, "Greater": _binary(torch.gt), "HardSigmoid": _hard_sigmoid,
    "HardSwish": _unary(F.hardswish), "Identity": _passed, "ImageScaler": _image_scaler, "LRN": _lrn, "LayerNormalization": _layer_norm,
    "LeakyRelu": _with_alpha(F.leaky_relu, 0.01), "Less": _binary(torch.lt), "Log": _unary(torch.log),
    "LogSoftmax": _softmax(torch.log_softmax), "MatMul": _binary(torch.matmul), "Max": _chain(torch.maximum), "MaxPool": _max_pool,
    "Min": _chain(torch.minimum), "Mish": _unary(F.mish), "Mul": _binary(torch.mul), "Neg": _unary(torch.neg), "Not": _unary(torch.logical_not),
    "PRelu": _prelu, "Pad": _pad, "Pow": _binary(torch.pow), "Reciprocal": _unary(torch.reciprocal), "ReduceMax": _reduce(torch.amax),
    "ReduceMean": _reduce(torch.mean), "ReduceMin": _reduce(torch.amin), "ReduceSum": _reduce(torch.sum), "Relu": _unary(torch.relu),
    "Reshape": _reshape, "Sigmoid": _unary(torch.sigmoid), "Sign": _unary(torch.sign), "Sin": _unary(torch.sin), "Slice": _slice,
    "Softmax": _softmax(torch.softmax), "Softplus": _unary(F.softplus), "Softsign": _unary(F.softsign), "Split": _split,
    "Sqrt": _unary(torch.sqrt), "Squeeze": _squeeze, "Sub": _binary(torch.sub), "Sum": _chain(torch.add), "Tanh": _unary(torch.tanh),
    "Transpose": _transpose, "Unsqueeze": _unsqueeze,
    "Where": lambda c, node: c.call(torch.where, *map(c.tensor, node.input)),
}
