# SPDX-License-Identifier: Apache-2.0
"""Adaptive sampling of one block: the rules of harness/measure/sampler.cpp (docs/reference/measurement.md)."""

import dataclasses
import math
import time

from . import summary

STILL_FASTER = 0.98  # a batch this much below the fastest so far is still warming up
QUIET_BATCHES = 3  # so many batches without getting faster end the warm-up
OVERRUN = 4.0  # budgets after which even too few samples must do
MIN_SHARE = 0.1  # of the budget, before which no interval is believed
CHECK_GROWTH = 1.25  # the interval is looked at again when n has grown so much


@dataclasses.dataclass
class Plan:
    """Stopping rule, in seconds. measure::SamplingPlan has the same fields."""

    warm_up_at_least: float = 0.001
    warm_up_at_most: float = 0.2
    budget: float = 0.02
    relative_half_width: float = 0.005
    samples_at_least: int = 7
    samples_at_most: int = 2000
    sample_at_least: float = 20e-6
    repetitions_at_most: int = 1 << 20


def plan_of(fields):
    """Returns the plan of a request."""
    return Plan(
        fields["warm_up_at_least_seconds"], fields["warm_up_at_most_seconds"], fields["budget_seconds"], fields["relative_half_width"],
        fields["samples_at_least"], fields["samples_at_most"], fields["sample_at_least_seconds"], fields["repetitions_at_most"],
    )


@dataclasses.dataclass
class Samples:
    """Raw samples in time order, in seconds an execution."""

    seconds: list
    repetitions: int
    converged: bool


class Region:
    """Code that the sampler times."""

    def run(self, repetitions):
        """Makes `repetitions` executions and returns only when all are complete."""
        raise NotImplementedError

    def before_sample(self):
        """Prepares a sample outside the timed part."""


def sample(region, plan, clock=time.perf_counter):
    """Samples a region after a warm-up, until the median's interval is tight or the plan is used up."""
    repetitions = _warm_up(region, plan, clock)
    least = max(plan.samples_at_least, 1)
    most = max(plan.samples_at_most, least)
    seconds = []
    timed = 0.0
    next_check = max(least, 6)
    while True:
        whole = _run_batch(region, repetitions, clock)
        seconds.append(whole / repetitions)
        timed += whole
        n = len(seconds)
        last = n >= most or (n >= least and timed >= plan.budget) or timed >= plan.budget * OVERRUN
        converged = False
        if last or n >= next_check:
            converged = timed >= plan.budget * MIN_SHARE and _is_tight(summary.summarize(seconds), plan.relative_half_width)
            next_check = math.ceil(n * CHECK_GROWTH)
        if last or converged:
            return Samples(seconds, repetitions, converged)


def _run_batch(region, repetitions, clock):
    region.before_sample()
    begin = clock()
    region.run(repetitions)
    return clock() - begin


def _warm_up(region, plan, clock):
    """Returns the repetitions that a sample needs, once executions have stopped getting faster."""
    repetitions = 1
    if plan.warm_up_at_most <= 0:
        return repetitions
    begin = clock()
    fastest = math.inf
    quiet = 0
    while True:
        whole = _run_batch(region, repetitions, clock)
        each = whole / repetitions
        quiet = 0 if each < fastest * STILL_FASTER else quiet + 1
        fastest = min(fastest, each)
        grown = _more_repetitions(plan, repetitions, each) if whole < plan.sample_at_least else repetitions
        grew = grown > repetitions
        repetitions = grown
        spent = clock() - begin
        settled = not grew and quiet >= QUIET_BATCHES and spent >= plan.warm_up_at_least
        if settled or spent >= plan.warm_up_at_most:
            return repetitions


def _more_repetitions(plan, now, each):
    # At most tenfold a step, because the first executions are slow and would mislead a larger one.
    wanted = now * 10.0
    if each > 0:
        wanted = min(wanted, math.ceil(1.1 * (plan.sample_at_least / each)))
    return max(now, int(min(wanted, max(plan.repetitions_at_most, 1))))


def _is_tight(result, limit):
    width = result.relative_half_width()
    return (summary.median_interval_rank(result.n) is not None and result.min_has_company
            and (result.low == result.high or (width is not None and width <= limit)))
