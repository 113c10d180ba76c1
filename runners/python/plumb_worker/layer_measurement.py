# SPDX-License-Identifier: Apache-2.0
"""Measurement of one layer key: prepare, compare with the reference, time."""

import copy
import hashlib
import sys

import numpy

from . import random_numbers, sampler
from .channel import ChannelError
from .layer_key import parse_key
from .outcome import Unsupported, WrongResult, outcome_of
from .row import error_value, is_timed, new_row
from .timing import ProgramRegion

COLD_HALF_WIDTH = 0.01  # cold samples scatter more: no tighter than this
COLD_WALL = 4.0  # sampling budgets that a cold block may take, sweeps included
MAX_REFERENCE_ELEMENTS = 50_000_000  # of an operand or result; larger layers are not compared


def measure_layer(backend, timing, request, emit, await_turn, reference, cache_bytes):
    """Emits a row for each variant and cache mode. `reference` computes a layer in float64, or raises Unsupported."""
    caches = list(dict.fromkeys(request["caches"])) or ["none"]
    spec, seed = parse_key(request["key"]), int(request["seed"])
    # For the worker's log, in case the framework takes the process down.
    print(f"measuring {request['key']} (seed {seed})", file=sys.stderr, flush=True)
    missing = set(caches)
    failure = None
    try:
        offered = backend.variants(spec)
        wanted = request["variants"] or [variant.text for variant in offered]
        operands = [None if each is None else random_numbers.operand_of(spec, i, seed) for i, each in enumerate(spec.inputs)]
        expected = _expected(reference, spec, operands) if request["verify"] else None
    except Exception as problem:  # pylint: disable=broad-except
        failure = outcome_of(problem)
        wanted = []
    known = {variant.text: variant for variant in offered} if wanted else {}
    for text in wanted:
        row = new_row(request["key"], variant=text, purpose=request["purpose"])
        begin = timing.clock()
        try:
            if text not in known:
                raise Unsupported(f"the backend has no variant '{text}' of this key here")
            row["library_choice"] = known[text].library_choice
            program = backend.prepare(spec, text, operands)
            row["first_call_seconds"], outputs = program.execute(timing.clock)
            note_program(program, row)
            check(outputs, expected, row)
        except Exception as problem:  # pylint: disable=broad-except
            failure = outcome_of(problem)
            row.update(failure, cache=caches[0], wall_seconds=timing.clock() - begin)
            missing.discard(caches[0])
            emit(row)
            continue
        for cache in caches:
            of_cache = {**copy.deepcopy(row), "cache": cache}
            try:
                _time(program, timing, request, cache, of_cache, await_turn, cache_bytes)
            except ChannelError:
                raise
            except Exception as problem:  # pylint: disable=broad-except
                of_cache.update(outcome_of(problem), samples_seconds=[], turns_seconds=[])
            of_cache["wall_seconds"] = timing.clock() - begin
            begin = timing.clock()
            missing.discard(cache)
            emit(of_cache)
        del program
    for cache in sorted(missing, key=caches.index):
        failure = failure or {"outcome": "skipped", "reason": "no variant was measured"}
        emit(new_row(request["key"], cache=cache, purpose=request["purpose"], **failure))


def note_program(program, row):
    """Writes what is known from preparing a program into its row."""
    if program.creation_seconds is not None:
        row["creation_seconds"] = program.creation_seconds
    for name, text in program.attributes.items():
        row["attributes"][name] = str(text).encode("utf-8", "replace")[:4096].decode("utf-8", "ignore")


def check(outputs, expected, row):
    """Compares outputs with those expected. Raises WrongResult, so that a wrong program is never timed."""
    row["output_hash"] = output_hash(outputs)
    if expected is None:
        return
    if len(outputs) != len(expected):
        raise WrongResult(f"expected {len(expected)} outputs, got {len(outputs)}")
    worst = 0.0
    for index, (got, (wanted, tolerance)) in enumerate(zip(outputs, expected)):
        if got.shape != wanted.shape:
            raise WrongResult(f"output {index} should have the extents {list(wanted.shape)}, and has {list(got.shape)}")
        error = largest_difference([got], [wanted])
        worst = max(worst, error)
        row["maximum_error"] = error_value(worst)
        if not error <= tolerance:
            raise WrongResult(f"output {index} differs from the float64 reference by {error:.3g} of its largest magnitude; "
                              f"up to {tolerance:.3g} counts as rounding")


def largest_difference(outputs, expected):
    """Returns the largest difference relative to the largest magnitude of each expected output. NaN counts as infinite."""
    worst = 0.0
    for got, wanted in zip(outputs, expected):
        if wanted.size == 0:
            continue
        wanted = wanted.astype(numpy.float64)
        magnitude = float(numpy.max(numpy.abs(wanted), initial=0.0)) or 1.0
        error = float(numpy.max(numpy.abs(got.astype(numpy.float64) - wanted), initial=0.0)) / magnitude
        worst = max(worst, error if error == error else float("inf"))
    return worst


def output_hash(outputs):
    """Returns 16 hex digits of the outputs' bytes."""
    digest = hashlib.blake2b(digest_size=8)
    for output in outputs:
        digest.update(numpy.ascontiguousarray(output).tobytes())
    return digest.hexdigest()


def layer_tolerance(spec, output):
    """Returns the tolerance of a layer's output: it grows with the root of the products that are added up."""
    dtypes = {operand.dtype for operand in spec.inputs if operand} | {output.dtype}
    if not dtypes & {"f32", "f16", "bf16", "f64"}:
        return 0.0
    if dtypes & {"f16", "bf16"}:
        return 2e-2
    terms = 1
    if spec.op == "conv":
        terms = spec.inputs[1].elements() // max(spec.inputs[1].dims[0], 1)
    elif spec.op in ("matmul", "gemm"):
        terms = spec.inputs[0].elements() // max(output.elements() // max(spec.inputs[1].dims[-1], 1), 1)
    elif spec.op in ("softmax", "layer_norm", "lrn", "reduce", "average_pool"):
        terms = spec.inputs[0].elements() // max(spec.inputs[0].dims[0], 1)
    grown = 1e-5 * max(terms, 1) ** 0.5
    return min(grown, 5e-5) if spec.op in ("conv", "matmul", "gemm") else grown


def _expected(reference, spec, operands):
    largest = max(operand.elements() for operand in (*spec.inputs, *spec.outputs) if operand)
    if largest > MAX_REFERENCE_ELEMENTS:
        return None
    return [(output, layer_tolerance(spec, form)) for output, form in zip(reference(spec, operands), spec.outputs)]


def _time(program, timing, request, cache, row, await_turn, cache_bytes):
    plan = sampler.plan_of(request["sampling"])
    if cache == "none":
        region = ProgramRegion(program)
        if request["in_turns"]:
            timing.time_in_turns(region, plan, await_turn, row)
        else:
            timing.time(region, plan, request["disturbed_attempts"], row)
        return
    region = _ColdRegion(program, cache_bytes, cache == "weights")
    begin = timing.clock()
    region.before_sample()
    sweep = max(timing.clock() - begin, 1e-6)
    plan.warm_up_at_most = 0.0
    plan.relative_half_width = max(plan.relative_half_width, COLD_HALF_WIDTH)
    plan.samples_at_most = max(3, min(plan.samples_at_most, int(plan.budget * COLD_WALL / sweep)))
    plan.samples_at_least = min(plan.samples_at_least, plan.samples_at_most)
    timing.time(region, plan, request["disturbed_attempts"], row)
    if is_timed(row):
        row["attributes"]["cold"] = "sweep"


class _ColdRegion(sampler.Region):
    """A program whose buffers are swept out of the caches before each sample of one execution."""

    def __init__(self, program, cache_bytes, weights_only):
        self.run = program.run
        self._program = program
        self._weights_only = weights_only
        self._swept = numpy.ones(2 * cache_bytes // 8)

    def before_sample(self):
        self._swept += 1.0
        if self._weights_only:
            self._program.refresh_activations()
