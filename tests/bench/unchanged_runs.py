#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often are two runs of unchanged code called changed? Runs a suite again and again, compares all pairs of runs, and
runs gates against the first.

    unchanged_runs.py BUILD [--suite suites/smoke.toml] [--runs 8] [--gates 3] [--only models] [--busy] [--limit 0.01] [--store PATH]

Every second run is of a stack that differs in a variable that nothing reads. So half of the pairs are of the same
software, which `compare` knows, and half are of software that changed without an effect, which it cannot know. --busy
keeps one core busy meanwhile. With --store an examination is added to: pairs are those of all runs in that store.

Exit status 1 if more than the limit of the pairs are regressed, improved or broken, or a gate exits 1. The interval is
Clopper and Pearson's; pairs share runs, so it is a guide."""
import argparse
import collections
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from restarted_pairs import Workplace

CHANGED = ("regressed", "improved", "broken")

#: Half of the pairs differ in a variable of their stack.
VARIED = ("--vary", "stack")


def binomial_tail(successes, trials, probability):
    """P(X <= successes)."""
    return sum(
        math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k) for k in range(successes + 1)
    )


def clopper_pearson(successes, trials, level=0.95):
    def solve(holds):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    tail = (1 - level) / 2
    upper = 1.0 if successes == trials else solve(lambda p: binomial_tail(successes, trials, p) > tail)
    lower = 0.0 if successes == 0 else solve(lambda p: 1 - binomial_tail(successes - 1, trials, p) < tail)
    return lower, upper


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--suite", default="suites/smoke.toml")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--gates", type=int, default=3)
    parser.add_argument("--limit", type=float, default=0.01)
    parser.add_argument("--only", choices=("layers", "models"), help="what a run measures (default: both)")
    parser.add_argument("--busy", action="store_true", help="keep one core busy meanwhile")
    parser.add_argument("--store", help="a store to add to; default: a new one")
    options = parser.parse_args()
    workplace = Workplace(pathlib.Path(options.build), tempfile.mkdtemp(prefix="unchanged-"))
    workplace.stack("innocent", 'variables = { INNOCENT = "1" }\n')
    if options.store:
        workplace.environment["PLUMB_STORE"] = f"sqlite:{options.store}"

    def call(*arguments):
        return subprocess.run(
            [workplace.build / "bin/plumb", *arguments], capture_output=True, text=True, env=workplace.environment
        )

    def measure(number, *arguments):
        stack = "innocent" if number % 2 else "default"
        start = time.monotonic()
        only = ["--only", options.only] if options.only else []
        run = call("run", options.suite, "--reuse", "never", "--stack", stack, *only, *arguments)
        seconds.append(time.monotonic() - start)
        return run

    seconds = []
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if options.busy else None
    try:
        for number in range(options.runs):
            run = measure(number)
            if run.returncode != 0:
                sys.exit(f"run {number + 1} exited {run.returncode}: {run.stderr[-500:]}")
        first = sorted(entry["run"] for entry in json.loads(call("runs", "--json").stdout)["runs"])[0]
        alone = statistics.median(seconds or [math.nan])
        del seconds[:]
        gates = [measure(number, "--baseline", first, *VARIED, "--gate").returncode for number in range(options.gates)]
        gate = statistics.median(seconds or [math.nan])
    finally:
        if busy:
            busy.kill()
    runs = sorted(entry["run"] for entry in json.loads(call("runs", "--json").stdout)["runs"])
    counts = {True: collections.Counter(), False: collections.Counter()}
    kinds = collections.defaultdict(collections.Counter)
    for base, candidate in itertools.combinations(runs, 2):
        document = json.loads(call("compare", base, candidate, *VARIED, "--json").stdout)
        counts[document["same_software"]][document["verdict"]] += 1
        for metric in document["metrics"]:
            kinds[metric["kind"]][metric["verdict"]] += 1
    verdicts = counts[True] + counts[False]
    pairs = sum(verdicts.values())
    changed = sum(verdicts[verdict] for verdict in CHANGED)
    low, high = clopper_pearson(changed, pairs)
    print(f"{options.suite}, {len(runs)} runs{', one core busy' if options.busy else ''}: {dict(verdicts)}")
    print(f"called changed: {changed} of {pairs} pairs, {100 * changed / pairs:.1f} % ({100 * low:.1f} to {100 * high:.1f})")
    for same, of_kind in counts.items():
        print(f"  {'the same software' if same else 'an innocent variable'}: {dict(of_kind)}")
    for kind, counts in sorted(kinds.items()):
        wrong = sum(counts[verdict] for verdict in CHANGED)
        print(f"  {kind}: {wrong} of {sum(counts.values())} changed, {dict(counts)}")
    print(f"gates exited {gates}; a run takes {alone:.1f} s, a gate {gate:.1f} s in the median")
    return 1 if changed > options.limit * pairs or 1 in gates else 0


if __name__ == "__main__":
    sys.exit(main())
