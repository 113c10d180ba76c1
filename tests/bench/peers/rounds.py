# SPDX-License-Identifier: Apache-2.0
"""Times several executors of one model in turns, and sums up what came of it."""

import math
import statistics


def median_ranks(n):
    """Ranks (0-based) of the values between which the median lies with at least 95 %; the lowest and highest where there are too few (Conover)."""
    below = 0.0
    rank = 0
    while rank < n // 2 and 2.0 * (below + math.comb(n, rank) / 2**n) <= 0.05:
        below += math.comb(n, rank) / 2**n
        rank += 1
    low = max(rank - 1, 0)
    return low, n - 1 - low


def summary(values):
    """Median, its interval and how many values; of fewer than six the interval is their range."""
    low, high = median_ranks(len(values))
    values = sorted(values)
    return {"median": statistics.median(values), "low": values[low], "high": values[high], "n": len(values)}


def timed_in_turns(runs, blocks, block_seconds):
    """Executes each in blocks, in turns and there and back, so that drift meets all alike. `runs` maps names to times(count); returns medians of blocks by name."""
    warm = {name: min(times(3)) for name, times in runs.items()}
    counts = {name: max(2, math.ceil(block_seconds / seconds)) for name, seconds in warm.items()}
    medians = {name: [] for name in runs}
    for block in range(blocks):
        for name in list(runs)[:: 1 if block % 2 == 0 else -1]:
            runs[name](1)  # brings its own data into the caches
            medians[name].append(statistics.median(runs[name](counts[name])))
    return medians


def ratios(theirs, ours):
    """Their times by ours, block by block: above one, ours is faster."""
    return [one / other for one, other in zip(theirs, ours)]
