#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long does `plumb detect --input` take for 1,000 series of 500 points, compared with another build of plumb?

Usage: detect_ratio.py OTHER_PLUMB PLUMB [--rounds 16] [--series 1000] [--points 500] [--limit 1.3]

Both programs read the same file in turns (ABBA), with --json. A quarter of the series each has Gaussian noise, AR(1), outliers and two states, 2% each, and
a step of none, one or two deviations in the middle. The ratio is the median over the rounds, with the interval of its order statistics (95% or a little more).
Processor time is compared, since other work may run beside; the time that passed is printed, too. Exit status 1 if the interval's low end is above the limit.
"""

import argparse
import json
import math
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time


def series(chance, family, points, deviations):
    """Returns a history around 100 with noise of 2% and a step in the middle."""
    values, last, high = [], chance.gauss(0, 1), chance.random() < 0.5
    for point in range(points):
        off = chance.gauss(0, 1)
        if family == 1:
            off = last = 0.5 * last + math.sqrt(0.75) * off
        elif family == 3:
            high = high != (chance.random() < 0.2)
            off = off / 4 + (2 if high else 0)
        value = 100 * (1 + 0.02 * (off + (deviations if point >= points // 2 else 0)))
        values.append(value * (1.1 + 0.4 * chance.random() if family == 2 and chance.random() < 0.02 else 1))
    return values


def timed(program, file):
    """Returns the processor time and the time that passed, in seconds."""
    start = time.monotonic()
    with open(os.devnull, "w") as nothing:
        process = subprocess.Popen([program, "--json", "detect", "--input", file], stdout=nothing)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{program} ended with status {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def median_interval(values):
    """Returns the median and the narrowest pair of order statistics that holds it with 95%."""
    ordered, n, below, k = sorted(values), len(values), 0.0, 0
    while below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    k = max(k, 1)
    return statistics.median(ordered), ordered[k - 1], ordered[n - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("plumb", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--series", type=int, default=1000)
    parser.add_argument("--points", type=int, default=500)
    parser.add_argument("--limit", type=float, default=1.3)
    options = parser.parse_args()
    chance = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="plumb-detect-") as folder:
        file = pathlib.Path(folder) / "series.json"
        file.write_text(json.dumps({"series": [{"id": str(i), "values": series(chance, i % 4, options.points, i % 3)} for i in range(options.series)]}))
        timed(options.other, file), timed(options.plumb, file)  # the files are in memory from here on
        times = []
        for number in range(options.rounds):
            order = (options.other, options.plumb) if number % 2 == 0 else (options.plumb, options.other)
            both = {program: timed(program, file) for program in order}
            times.append((both[options.other], both[options.plumb]))
    print(f"{options.series} series of {options.points} points, {options.rounds} rounds in turns")
    for what, name in ((0, "processor time"), (1, "time that passed")):
        other, mine = (statistics.median(pair[side][what] for pair in times) for side in (0, 1))
        ratio, low, high = median_interval([pair[1][what] / pair[0][what] for pair in times])
        print(f"{name}: {other:.3f} s → {mine:.3f} s, ratio {ratio:.3f} ({low:.3f} to {high:.3f})")
        if what == 0:
            too_slow = low > options.limit
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
