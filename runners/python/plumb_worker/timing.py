# SPDX-License-Identifier: Apache-2.0
"""Timing of blocks into rows: the rules of runners/engine/bench/layer_timing.cpp."""

import dataclasses
import gc
import time

from . import disturbance, sampler, summary
from .backend import Program
from .row import new_row, now, summary_fields

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
        row["started"] = now()
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
            row["attempt"] = attempt
            if not seen.disturbed:
                break
        self._stayed_disturbed = self._stayed_disturbed + 1 if seen.disturbed else 0
        row["repetitions"] = samples.repetitions
        row["samples_seconds"] = samples.seconds
        row["disturbance"] = dataclasses.asdict(seen)
        row["floor_seconds"] = self.overhead().at(samples.repetitions)
        sum_up(row)

    def add_turn(self, region, plan, row):
        """Adds the samples of one turn beside another worker, as they come."""
        block = new_row(row["key"])
        self.time(region, plan, 0, block)
        if not row["turns_seconds"]:
            row["started"] = block["started"]
        row["turns_seconds"].append(block["summary"]["median_seconds"])
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
    judge(row, summary.summarize(row["samples_seconds"]))


def judge(row, result):
    """Writes a summary into a row, and as its outcome whether it is stable."""
    row["summary"] = summary_fields(result)
    width = result.relative_half_width()
    row["outcome"], row["reason"] = "ok", ""
    if result.n < 2:
        row["outcome"], row["reason"] = "unstable", "only one sample within the budget"
    elif width is not None and width > UNSTABLE_ABOVE:
        row["outcome"] = "unstable"
        row["reason"] = (f"the median's interval is ±{width * 100:.1f}% after {result.n} samples; "
                         f"up to ±{UNSTABLE_ABOVE * 100:.0f}% counts as stable")


def append_block(block, row):
    """Adds a block's samples to a row, with the worst of what disturbed the blocks."""
    row["samples_seconds"] = row["samples_seconds"] + block["samples_seconds"]
    for name in ("repetitions", "floor_seconds", "attempt"):
        row[name] = max(row[name], block[name])
    whole, part = row["disturbance"], block["disturbance"]
    whole["involuntary_switches"] += part["involuntary_switches"]
    whole["disturbed"] = whole["disturbed"] or part["disturbed"]
    if part["load"] is not None:
        whole["load"] = part["load"]
    for name in ("steal_ratio", "pressure_ratio"):
        if part[name] is not None:
            whole[name] = max(whole[name] or 0.0, part[name])


def add_block(block, row):
    """Adds a block to a row of repeatable blocks: undisturbed ones replace disturbed ones."""
    if row["samples_seconds"] and block["disturbance"]["disturbed"] and not row["disturbance"]["disturbed"]:
        return
    if row["samples_seconds"] and not block["disturbance"]["disturbed"] and row["disturbance"]["disturbed"]:
        row["samples_seconds"] = []
        row["disturbance"] = dataclasses.asdict(disturbance.Disturbance())
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

