# SPDX-License-Identifier: Apache-2.0
"""Seeded random numbers: the streams of runners/engine/random_stream.hpp and harness/model/onnx/weights.hpp."""

import numpy

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_PIECE = 1 << 15  # numbers that are drawn at once

#: Ranges of an operand's numbers: signed or not, lowest magnitude, span.
SIGNED = (True, 0.125, 0.875)
WIDE = (True, 1.0, 7.0)
POSITIVE = (False, 0.5, 1.0)
_OF_FUNCTION = {"log": POSITIVE, "sqrt": POSITIVE, "exp": SIGNED, "reciprocal": SIGNED, "sin": SIGNED, "cos": SIGNED}


def _mixed(bits):
    """Mixes a number as SplitMix64 does (Steele, Lea and Flood, 2014, Fig. 17)."""
    bits = (bits + _GOLDEN) & _MASK
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
    return bits ^ (bits >> 31)


def _sequence(state, count, first=0):
    """Returns `count` of SplitMix64's outputs from a state, from number `first` on."""
    bits = numpy.arange(first + 1, first + 1 + count, dtype=numpy.uint64)
    bits *= numpy.uint64(_GOLDEN)  # modulo 2^64
    bits += numpy.uint64(state)
    shifted = bits >> numpy.uint64(30)
    for factor, shift in ((0xBF58476D1CE4E5B9, 27), (0x94D049BB133111EB, 31)):
        bits ^= shifted
        bits *= numpy.uint64(factor)
        numpy.right_shift(bits, numpy.uint64(shift), out=shifted)
    bits ^= shifted
    return bits


def operand_of(spec, index, seed):
    """Makes an operand of a layer in float64, or in int64 for integers. The numbers are those of other backends."""
    operand = spec.inputs[index]
    state = _mixed((_mixed(seed) + index) & _MASK)
    bits = _sequence(state, operand.elements())
    fn = spec.attributes.get("fn")
    if spec.op == "gather" and index == 1:
        values = (bits % numpy.uint64(max(spec.inputs[0].dims[spec.attributes["axis"]], 1))).astype(numpy.int64)
    elif operand.dtype == "bool":
        values = (bits % numpy.uint64(2)).astype(numpy.int64)
    elif operand.dtype not in ("f64", "f32", "f16", "bf16"):
        values = 1 + ((bits >> numpy.uint64(8)) % numpy.uint64(4)).astype(numpy.int64)
        if operand.dtype.startswith("s"):
            values = numpy.where(bits >> numpy.uint64(8) & numpy.uint64(4), -values, values)
    else:
        either, low, span = SIGNED
        if spec.op == "eltwise" and index == 0:
            either, low, span = _OF_FUNCTION.get(fn, WIDE)
        elif (spec.op == "binary" and fn == "pow" and index == 0) or (spec.op == "batch_norm" and index == 4):
            either, low, span = POSITIVE
        elif spec.op == "cast":
            either, low, span = WIDE
        values = low + span * ((bits >> numpy.uint64(40)).astype(numpy.float64) * 2.0**-24)
        if either:
            values *= 1.0 - 2.0 * (bits & numpy.uint64(1)).astype(numpy.float64)
    return values.reshape(operand.dims)


def stream_state(seed, name):
    """Returns the state of the stream of a named tensor, by FNV-1a of the name."""
    hashed = 0xCBF29CE484222325
    for letter in name.encode():
        hashed = ((hashed ^ letter) * 0x100000001B3) & _MASK
    return hashed ^ (seed * _GOLDEN & _MASK)


def uniform(state, count):
    """Returns multiples of 2^-16 in [0, 1)."""
    return _in_pieces(state, count, 1, lambda words: (words >> numpy.uint64(48)).astype(numpy.float64) / 65536.0)


def normal(state, count):
    """Returns sums of twelve uniform numbers, of mean 0 and variance 1."""
    def summed(words):
        total = (words & numpy.uint64(0xFFFF)).astype(numpy.int64)
        for shift in (16, 32, 48):
            total += ((words >> numpy.uint64(shift)) & numpy.uint64(0xFFFF)).view(numpy.int64)
        return (total.reshape(-1, 3).sum(axis=1) - 6 * 65535) / 65536.0

    return _in_pieces(state, count, 3, summed)


def below(state, count, bound):
    """Returns whole numbers in [0, bound)."""
    return _in_pieces(state, count, 1, lambda words: (words % numpy.uint64(bound)).astype(numpy.float64)).astype(numpy.int64)


def _in_pieces(state, count, words_of_each, draw):
    """Draws in pieces that stay in the caches: weights of a hundred million numbers take seconds and no second copy."""
    values = numpy.empty(count)
    for first in range(0, count, _PIECE):
        last = min(first + _PIECE, count)
        values[first:last] = draw(_sequence(state, (last - first) * words_of_each, first * words_of_each))
    return values
