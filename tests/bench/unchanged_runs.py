#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often are two runs of unchanged code called changed? Runs a suite again and again, compares all pairs of runs, and
runs gates against the first. Half of the runs may share the machine with a busy process.

    unchanged_runs.py BUILD [--suite suites/smoke.toml] [--runs 8] [--gates 3] [--busy] [--limit 0.01]

Exit status 1 if more than the limit of the pairs are regressed, improved or broken, or a gate exits 1. The interval is
Clopper and Pearson's; pairs share runs, so it is a guide."""
import argparse
import collections
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile

CHANGED = ("regressed", "improved", "broken")


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
    parser.add_argument("--busy", action="store_true", help="keep one core busy meanwhile")
    options = parser.parse_args()
    plumb = os.path.join(options.build, "bin", "plumb")
    store = "sqlite:" + os.path.join(tempfile.mkdtemp(prefix="unchanged-"), "store.db")

    def call(*arguments):
        return subprocess.run([plumb, *arguments, "--store", store], capture_output=True, text=True)

    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if options.busy else None
    try:
        for number in range(options.runs):
            run = call("run", options.suite, "--reuse", "never")
            if run.returncode != 0:
                sys.exit(f"run {number + 1} exited {run.returncode}: {run.stderr[-500:]}")
        runs = sorted(entry["run"] for entry in json.loads(call("runs", "--json").stdout)["runs"])
        gates = [
            call("run", options.suite, "--reuse", "never", "--baseline", runs[0], "--gate").returncode
            for _ in range(options.gates)
        ]
    finally:
        if busy:
            busy.kill()
    verdicts = collections.Counter()
    kinds = collections.defaultdict(collections.Counter)
    for base, candidate in itertools.combinations(runs, 2):
        document = json.loads(call("compare", base, candidate, "--json").stdout)
        verdicts[document["verdict"]] += 1
        for metric in document["metrics"]:
            kinds[metric["kind"]][metric["verdict"]] += 1
    pairs = sum(verdicts.values())
    changed = sum(verdicts[verdict] for verdict in CHANGED)
    low, high = clopper_pearson(changed, pairs)
    print(f"{options.suite}, {len(runs)} runs{', one core busy' if options.busy else ''}: {dict(verdicts)}")
    print(f"called changed: {changed} of {pairs} pairs, {100 * changed / pairs:.1f} % ({100 * low:.1f} to {100 * high:.1f})")
    for kind, counts in sorted(kinds.items()):
        wrong = sum(counts[verdict] for verdict in CHANGED)
        print(f"  {kind}: {wrong} of {sum(counts.values())} changed, {dict(counts)}")
    print(f"gates exited {gates}")
    return 1 if changed > options.limit * pairs or 1 in gates else 0


if __name__ == "__main__":
    sys.exit(main())
