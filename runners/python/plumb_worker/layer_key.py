# SPDX-License-Identifier: Apache-2.0
"""Reader of layer keys (docs/reference/layer-keys.md)."""

import dataclasses
import math
import re

from .outcome import UserError

MAX_KEY = 64 << 10  # bytes
MAX_OPERANDS = 1024
MAX_RANK = 16
MAX_ELEMENTS = 1 << 40

TYPES = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "s64", "s32", "s16", "s8", "u64", "u32", "u16", "u8", "bool", "string")
_OPERAND = re.compile(r"([a-z0-9]+)\[([0-9,]*)\](%\[[0-9,]*\])?(c?)")
_STEP = re.compile(r"([a-z_]+)(?:\(([^()]*)\))?(?:@([0-9]{1,4}))?")
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_REAL = re.compile(r"-?([0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?|inf)|nan")


@dataclasses.dataclass
class Operand:
    """Type and extents of an operand."""

    dtype: str
    dims: tuple
    constant: bool = False

    def elements(self):
        return math.prod(self.dims)


@dataclasses.dataclass
class Step:
    """Operation fused behind the layer's own."""

    fn: str
    parameters: list
    operand: int = None


@dataclasses.dataclass
class LayerSpec:
    """What a key says. An operand that is left out is None."""

    op: str
    inputs: list
    outputs: list
    math: str
    attributes: dict
    epilogue: list


def parse_key(text):
    """Parses a key. Raises UserError for anything else."""
    if len(text.encode()) > MAX_KEY or "\n" in text:
        raise UserError(f"a layer key is one line of at most {MAX_KEY} bytes")
    fields = text.split(";")
    head, rest = fields[0], {}
    for field in fields[1:]:
        name, equals, value = field.partition("=")
        if not equals or name in rest:
            raise _wrong(text, f"field '{field[:80]}'")
        rest[name] = value
    try:
        version, op = head.split(":")
        inputs, outputs, kind, _ = rest.pop("in"), rest.pop("out"), rest.pop("math"), rest.pop("acc")
    except (KeyError, ValueError):
        raise _wrong(text, "its fields in, out, acc and math") from None
    if version != "v1":
        raise _wrong(text, f"version '{version[:20]}'")
    epilogue = [_step(text, step) for step in _split(rest.pop("epilogue", ""))]
    attributes = {name: _value(text, value) for name, value in rest.items()}
    spec = LayerSpec(op, _operands(text, inputs), _operands(text, outputs), kind, attributes, epilogue)
    if None in spec.outputs or not spec.outputs:
        raise _wrong(text, "its outputs")
    for step in epilogue:
        if step.operand is not None and (step.operand >= len(spec.inputs) or spec.inputs[step.operand] is None):
            raise _wrong(text, f"operand {step.operand} of a fused step")
    return spec


def _wrong(text, what):
    return UserError(f"cannot read the layer key '{text[:200]}': {what} is not as docs/reference/layer-keys.md says")


def _split(text):
    """Splits at commas outside brackets."""
    return re.split(r",(?![^\[(]*[\])])", text) if text else []


def _operands(text, field):
    operands = []
    for part in _split(field):
        if part == "-":
            operands.append(None)
            continue
        match = _OPERAND.fullmatch(part)
        if not match or match[1] not in TYPES:
            raise _wrong(text, f"operand '{part[:80]}'")
        dims = tuple(int(extent) for extent in match[2].split(",")) if match[2] else ()
        operand = Operand(match[1], dims, bool(match[4]))
        if len(dims) > MAX_RANK or operand.elements() > MAX_ELEMENTS:
            raise _wrong(text, f"the size of operand '{part[:80]}'")
        if match[3]:
            raise UserError(f"the operand '{part[:80]}' has strides, which Python workers do not read")
        operands.append(operand)
    if len(operands) > MAX_OPERANDS:
        raise _wrong(text, f"a list of {len(operands)} operands")
    return operands


def _step(text, field):
    match = _STEP.fullmatch(field)
    if not match:
        raise _wrong(text, f"fused step '{field[:80]}'")
    parameters = [_number(text, number) for number in match[2].split(",")] if match[2] else []
    return Step(match[1], parameters, int(match[3]) if match[3] else None)


def _value(text, field):
    if field.startswith("["):
        if not field.endswith("]"):
            raise _wrong(text, f"list '{field[:80]}'")
        return [_number(text, number) for number in field[1:-1].split(",")] if field != "[]" else []
    return _number(text, field) if _INTEGER.fullmatch(field) or _REAL.fullmatch(field) else field


def _number(text, field):
    if _INTEGER.fullmatch(field):
        return int(field)
    if _REAL.fullmatch(field):
        return float(field)
    raise _wrong(text, f"number '{field[:80]}'")
