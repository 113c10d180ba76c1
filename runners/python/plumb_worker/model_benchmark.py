# SPDX-License-Identifier: Apache-2.0
"""Execution of one whole model in modes, in turns: the rules of runners/engine/bench/model_benchmark.cpp."""

import dataclasses
import sys

import numpy

from . import sampler, summary, timing
from .layer_measurement import largest_difference, note_program, output_hash
from .model_code import ModelCode
from .onnx_model import RequestedModel
from .channel import ChannelError
from .outcome import Unsupported, WrongResult, outcome_of
from .row import error_value, is_timed, new_execution, new_row

MAX_ROUNDS = 32.0
ROUNDS_OF_SLOW = 4.0  # of models for which more rounds do not fit
ROUNDS_UNPROFILED = 3.0
BUDGET_OF_ROUND = 0.008  # seconds at least, of each mode
SAMPLES_IN_ROUND, SAMPLES_BESIDE = 3, 1
LONGEST = 60.0  # seconds of all rounds, each mode; the first one ends anyway
SHARE_OF_READING, SHARE_OF_PREPARATION = 0.05, 0.3  # of the progress that is reported
MAX_REFERENCE_MACS = 20_000_000_000
#: Largest difference from the float64 reference, and between modes, that counts as rounding.
TOLERANCES = {"f32": (2e-4, 1e-3), "bf16": (0.1, 0.5)}


class _Mode:
    def __init__(self, name, backend, model_name):
        self.name = name
        self.program = None
        self.outputs = None
        self.of_rounds = []
        self.ended = 0
        self.row = new_row("model:" + model_name, variant=name, library_choice=backend.executes_now(name))
        self.execution = new_execution(name, self.row)

    def alive(self):
        return is_timed(self.row)

    def tolerances(self):
        return TOLERANCES["bf16" if "bf16" in self.name.split("+") else "f32"]


class ModelBenchmark:
    """One request to execute a model. Emits one execution for each mode, in order."""

    def __init__(self, backend, clock, request, content, report, await_turn, announce):
        self._backend = backend
        self._timing = clock
        self._request = request
        self._content = content
        self._report = report
        self._await_turn = await_turn
        self._announce = announce
        self._begin = clock.clock()
        self._reported = self._begin
        self._code = ModelCode(request["code"]) if request["code"] else None
        self._modes = [_Mode(mode["mode"], backend, request["name"]) for mode in request["modes"]]

    def run(self, emit):
        print(f"executing {self._request['name']} (seed {self._request['seed']})", file=sys.stderr, flush=True)
        model = None
        try:
            model = RequestedModel(self._request, self._content)
        except Exception as problem:  # pylint: disable=broad-except
            for mode in self._modes:
                mode.row.update(outcome_of(problem))
        if model is not None:
            self._tell(SHARE_OF_READING, always=True)
            for index, mode in enumerate(self._modes):
                self._guard(mode, lambda mode=mode: self._prepare(model, mode))
                self._tell(SHARE_OF_READING + (SHARE_OF_PREPARATION - SHARE_OF_READING) * (index + 1) / len(self._modes), always=True)
            self._compare(model)
            self._tell(SHARE_OF_PREPARATION * 1.1, always=True)
            model.forget()
            self._time()
        for mode in self._modes:
            emit(mode.execution)

    def _guard(self, mode, step):
        if not mode.alive():
            return
        begin = self._timing.clock()
        try:
            step()
        except ChannelError:
            raise
        except Exception as problem:  # pylint: disable=broad-except
            mode.row.update(outcome_of(problem))
            mode.program = None
        mode.row["wall_seconds"] += self._timing.clock() - begin

    def _prepare(self, model, mode):
        if self._request["training"]:
            raise Unsupported("this runtime executes no step of training here: it gets models for inference")
        self._announce(mode.name)
        if self._code:
            mode.program = self._backend.prepare_code(self._code, model, mode.name)
        else:
            mode.program = self._backend.prepare_model(model, mode.name)
        row = mode.row
        row["first_call_seconds"], mode.outputs = mode.program.execute(self._timing.clock)
        note_program(mode.program, row)
        mode.execution["memory_bytes"] = mode.program.memory_bytes
        row["output_hash"] = output_hash(mode.outputs)
        for index, output in enumerate(mode.outputs):
            if not numpy.all(numpy.isfinite(output)):
                raise WrongResult(f"output {index} has elements that are not finite")

    def _compare(self, model):
        """Compares each mode with the float64 reference, or a model that is too large for it with the first mode."""
        expected = None
        if self._request["verify"] and any(mode.alive() for mode in self._modes) and model.macs() <= MAX_REFERENCE_MACS:
            try:
                expected = model.reference_outputs()
            except Exception as problem:  # pylint: disable=broad-except
                print(f"no reference: {problem}", file=sys.stderr, flush=True)
        of_reference = expected is not None
        for mode in self._modes:
            if not mode.alive():
                continue
            if expected is None:
                expected = mode.outputs
                first = mode.name
                continue
            self._guard(mode, lambda mode=mode: self._check(
                mode, expected, "the float64 reference" if of_reference else f"that of the mode {first}", mode.tolerances()[not of_reference]))
            mode.outputs = None

    @staticmethod
    def _check(mode, expected, name, most):
        if [output.shape for output in mode.outputs] != [output.shape for output in expected]:
            raise WrongResult(f"the outputs have other extents than {name}")
        error = largest_difference(mode.outputs, expected)
        mode.row["maximum_error"] = error_value(error)
        if not error <= most:
            raise WrongResult(f"an output differs from {name} by {error:.3g} of its largest magnitude; up to {most:g} counts as rounding")

    def _time(self):
        request, clock = self._request, self._timing.clock
        modes = [mode for mode in self._modes if mode.alive()]
        if not modes:
            return
        budget = request["sampling"]["budget_seconds"]
        in_few = not request["profile"] and not request["in_turns"]
        most = _rounds_in(budget, BUDGET_OF_ROUND, ROUNDS_UNPROFILED if in_few else MAX_ROUNDS)
        rounds = planned = _rounds_in(budget, BUDGET_OF_ROUND, ROUNDS_UNPROFILED if in_few else ROUNDS_OF_SLOW)
        samples = SAMPLES_BESIDE if request["in_turns"] else SAMPLES_IN_ROUND
        end = clock() + LONGEST * max(len(modes), 1)
        done = 0
        while done < rounds and (done == 0 or clock() < end):
            if request["in_turns"]:
                self._await_turn()
            # The order alternates, so that a drift over time affects all modes alike.
            for mode in modes if done % 2 == 0 else reversed(modes):
                self._guard(mode, lambda mode=mode: self._take_turn(mode, rounds, samples))
            done += 1
            for mode in modes:
                _end_round(mode)
            if done == 1 and any(mode.alive() for mode in modes):
                slowest = samples * max(summary.summarize(mode.row["samples_seconds"]).median for mode in modes if mode.alive())
                if request["in_turns"]:
                    rounds = max(planned, _rounds_in(budget, max(slowest, 1e-9), most))
                elif slowest * most <= budget:
                    rounds = int(most)
            self._tell(1.1 * SHARE_OF_PREPARATION + (1 - 1.1 * SHARE_OF_PREPARATION) * done / max(rounds, done))
        for mode in modes:
            if mode.alive():
                _sum_up(mode)
            mode.program = None

    def _take_turn(self, mode, rounds, samples):
        request, row = self._request, mode.row
        plan = sampler.plan_of(request["sampling"])
        plan.budget /= rounds
        plan.samples_at_least = min(plan.samples_at_least, samples)
        if request["in_turns"] and mode.of_rounds:
            plan.warm_up_at_most = plan.warm_up_at_least  # only the caches: it was just executed
        region = timing.ProgramRegion(mode.program)
        if request["in_turns"]:
            self._timing.add_turn(region, plan, row)
            return
        block = new_row(row["key"])
        self._timing.time(region, plan, request["disturbed_attempts"], block)
        if row["disturbance"]["disturbed"] and not block["disturbance"]["disturbed"]:
            mode.of_rounds, mode.ended = [], 0
        timing.add_block(block, row)

    def _tell(self, share, always=False):
        now = self._timing.clock()
        if always or now - self._reported >= 1.0:
            self._reported = now
            self._report(min(share, 1.0), now - self._begin)


def _rounds_in(budget, of_round, most):
    return int(min(max(budget / of_round, 1.0), most))


def _end_round(mode):
    samples = mode.row["samples_seconds"]
    if len(samples) > mode.ended:
        mode.of_rounds.append(summary.summarize(samples[mode.ended:]).median)
        mode.ended = len(samples)


def _sum_up(mode):
    row = mode.row
    timing.sum_up(row)
    if len(mode.of_rounds) > 1:
        # Samples of one round share the machine's state, so the interval by ranks alone may be too narrow.
        low, high = summary.section_interval(row["summary"]["median_seconds"], mode.of_rounds)
        result = summary.summarize(row["samples_seconds"])
        result = dataclasses.replace(result, low=min(result.low, low), high=max(result.high, high))
        timing.judge(row, result)
