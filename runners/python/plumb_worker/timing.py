# SPDX-License-Identifier: Apache-2.0
"""Timing of blocks into rows: the rules of runners/engine/bench/layer_timing.cpp."""

import dataclasses
import gc
import time

from . import disturbance, sampler, summary
from . import protocol_pb2 as protocol
from .backend import Program
from .outcome import Kind

UNSTABLE_ABOVE = 0.10  # half width of the median's interval
PATIENCE = 3  # disturbed blocks after which none is repeated any more
TURNS = 6  # of a hot block, beside another worker's


@dataclasses.dataclass
class Overhead:
    """Cost of the harness itself, in seconds: for each sample, and for each execution."""

    sample: float
    execution: float

    def at(self, repetitions):
        """Returns the cost of one execution in samples of so many."""
        return self.execution + self.sample / max(repetitions, 1)


class Timing:
    """Clock, counters and overhead with which a worker times its blocks."""

    def __init__(self, clock=time.perf_counter, read=disturbance.read):
        self.clock = clock
        self._read = read
        self._overhead = None
        self._stayed_disturbed = 0

    def overhead(self):
        """Returns the overhead, measured once with an empty program on the path that every program takes."""
        if self._overhead is None:
            self._overhead = measure_overhead(self.clock)
        return self._overhead

    def time(self, region, plan, attempts, row):
        """Times a block into a row. A block on a disturbed host is repeated, at most `attempts` times in all."""
        allowed = 1 if self._stayed_disturbed >= PATIENCE else max(attempts, 1)
        row.started_microseconds = time.time_ns() // 1000
        for attempt in range(1, allowed + 1):
            collects = gc.isenabled()
            gc.disable()  # a collection is work of the interpreter, and no part of an execution
            try:
                begin = self._read()
                samples = sampler.sample(region, plan, self.clock)
                seen = disturbance.between(begin, self._read())
            finally:
                if collects:
                    gc.enable()
            row.attempt = attempt
            if not seen.disturbed:
                break
        self._stayed_disturbed = self._stayed_disturbed + 1 if seen.disturbed else 0
        row.repetitions = samples.repetitions
        del row.samples_seconds[:]
        row.samples_seconds.extend(samples.seconds)
        set_disturbance(row, seen)
        row.floor_seconds = self.overhead().at(samples.repetitions)
        sum_up(row)

    def add_turn(self, region, plan, row):
        """Adds the samples of one turn beside another worker, as they come."""
        block = protocol.Measurement()
        self.time(region, plan, 0, block)
        if not row.turns_seconds:
            row.started_microseconds = block.started_microseconds
        row.turns_seconds.append(block.summary.median_seconds)
        append_block(block, row)

    def time_in_turns(self, region, plan, await_turn, row):
        """Times a block in turns with another worker."""
        of_turn = dataclasses.replace(plan, budget=plan.budget / TURNS, samples_at_least=-(-plan.samples_at_least // TURNS))
        for _ in range(TURNS):
            await_turn()
            self.add_turn(region, of_turn, row)
            of_turn.warm_up_at_most = of_turn.warm_up_at_least  # only the caches, from now on
        sum_up(row)


def sum_up(row):
    """Writes the summary of a row's samples and judges whether they are stable."""
    judge(row, summary.summarize(row.samples_seconds))


def judge(row, result):
    """Writes a summary into a row, and as its outcome whether it is stable."""
    set_summary(row, result)
    width = result.relative_half_width()
    row.outcome.Clear()
    row.outcome.kind = Kind.OK
    if result.n < 2:
        row.outcome.kind, row.outcome.reason = Kind.UNSTABLE, b"only one sample within the budget"
    elif width is not None and width > UNSTABLE_ABOVE:
        row.outcome.kind = Kind.UNSTABLE
        row.outcome.reason = (f"the median's interval is ±{width * 100:.1f}% after {result.n} samples; "
                              f"up to ±{UNSTABLE_ABOVE * 100:.0f}% counts as stable").encode()


def set_summary(row, result):
    """Writes a summary into a row."""
    message = row.summary
    message.n, message.median_seconds, message.low_seconds, message.high_seconds = result.n, result.median, result.low, result.high
    message.min_seconds, message.p90_seconds, message.mean_seconds = result.min, result.p90, result.mean
    message.min_has_company = result.min_has_company


def set_disturbance(row, seen):
    """Writes a disturbance into a row."""
    row.disturbance.Clear()
    row.disturbance.involuntary_switches, row.disturbance.disturbed = seen.involuntary_switches, seen.disturbed
    for name in ("steal_ratio", "load", "pressure_ratio"):
        if getattr(seen, name) is not None:
            setattr(row.disturbance, name, getattr(seen, name))


def append_block(block, row):
    """Adds a block's samples to a row, with the worst of what disturbed the blocks."""
    row.samples_seconds.extend(block.samples_seconds)
    row.repetitions = max(row.repetitions, block.repetitions)
    row.floor_seconds = max(row.floor_seconds, block.floor_seconds)
    row.attempt = max(row.attempt, block.attempt)
    row.disturbance.involuntary_switches += block.disturbance.involuntary_switches
    row.disturbance.disturbed = row.disturbance.disturbed or block.disturbance.disturbed
    if block.disturbance.HasField("load"):
        row.disturbance.load = block.disturbance.load
    for name in ("steal_ratio", "pressure_ratio"):
        if block.disturbance.HasField(name):
            setattr(row.disturbance, name, max(getattr(row.disturbance, name), getattr(block.disturbance, name)))


def add_block(block, row):
    """Adds a block to a row of repeatable blocks: undisturbed ones replace disturbed ones."""
    if row.samples_seconds and block.disturbance.disturbed and not row.disturbance.disturbed:
        return
    if row.samples_seconds and not block.disturbance.disturbed and row.disturbance.disturbed:
        del row.samples_seconds[:]
        row.disturbance.Clear()
    append_block(block, row)


class ProgramRegion(sampler.Region):
    """A program, hot: the same buffers again and again."""

    def __init__(self, program):
        self._program = program
        self.run = program.run  # no call more than there must be


def measure_overhead(clock):
    """Measures the overhead with an empty program."""
    region = ProgramRegion(Program(lambda: None))
    many = 1024

    def median(repetitions, samples):
        whole = []
        for _ in range(samples):
            region.before_sample()
            begin = clock()
            region.run(repetitions)
            whole.append(clock() - begin)
        return summary.summarize(whole).median

    median(many, 10)
    one, all_of_them = median(1, 1001), median(many, 101)
    execution = max(0.0, (all_of_them - one) / (many - 1))
    return Overhead(sample=max(0.0, one - execution), execution=execution)

