# SPDX-License-Identifier: Apache-2.0
"""Summary of repeated timings: the rules of harness/measure/sample_summary.cpp."""

import dataclasses
import math

COMPANY = 1.02  # how close a second sample must be to the minimum


@dataclasses.dataclass
class Summary:
    """Summary of samples, in seconds. The interval is of the median, 95%."""

    n: int = 0
    median: float = 0.0
    low: float = 0.0
    high: float = 0.0
    min: float = 0.0
    p90: float = 0.0
    mean: float = 0.0
    min_has_company: bool = False

    def relative_half_width(self):
        """Returns half the interval's width relative to the median, or None without a positive median."""
        return (self.high - self.low) / self.median / 2 if self.median > 0 else None


def quantile(ordered, p):
    """Returns the p-quantile of sorted samples (type 7 of Hyndman and Fan)."""
    position = p * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def median_interval_rank(n):
    """Returns the rank, from 1, of the order statistics that enclose the median with 95%, or None below six samples."""
    if n < 6:
        return None
    k = max(0.0, math.floor(n / 2 - 5 * math.sqrt(n)))
    probability = math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))
    cumulative = probability
    while cumulative <= 0.025:
        k += 1
        probability *= (n - k + 1) / k
        cumulative += probability
    return int(k)


def summarize(samples):
    """Summarises samples in any order. No samples give n = 0."""
    if not samples:
        return Summary()
    ordered = sorted(samples)
    rank = median_interval_rank(len(ordered)) or 1
    result = Summary(
        n=len(ordered), median=quantile(ordered, 0.5), low=ordered[rank - 1], high=ordered[-rank], min=ordered[0],
        p90=quantile(ordered, 0.9), mean=sum(ordered) / len(ordered),
    )
    limit = result.min * COMPANY
    result.min_has_company = len(ordered) > 1 and (ordered[1] <= limit or result.median <= limit)
    return result


def section_interval(whole, sections):
    """Returns the 95% interval of a value by how its sections scatter around it (Student's t)."""
    if len(sections) < 2:
        return 0.0, 2 * whole
    n = len(sections)
    squares = sum((section - whole) ** 2 for section in sections)
    reach = t_quantile(0.975, n - 1) * math.sqrt(squares / (n - 1) / n)
    return max(whole - reach, 0.0), whole + reach


def t_quantile(p, degrees):
    """Returns a quantile above the median of Student's t for whole degrees of freedom."""
    low, high = 0.0, 1e3
    for _ in range(80):
        middle = (low + high) / 2
        if _t_cumulative(middle, degrees) < p:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_cumulative(t, degrees):
    """Abramowitz and Stegun, 26.7.3 and 26.7.4: exact sums for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(degrees))
    cosine = math.cos(angle)
    term, total = 1.0, 0.0
    if degrees % 2 == 0:
        for k in range(1, degrees // 2 + 1):
            total += term
            term *= (2 * k - 1) / (2 * k) * cosine**2
        return 0.5 + math.sin(angle) * total / 2
    term = cosine
    for k in range(1, (degrees - 1) // 2 + 1):
        total += term
        term *= 2 * k / (2 * k + 1) * cosine**2
    return 0.5 + (angle + math.sin(angle) * total) / math.pi
