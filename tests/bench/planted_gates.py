#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often does a gate find a model that became slower, and how often does it fail without reason?

    planted_gates.py BUILD [--model squeezenet1.1] [--percent 5] [--gates 10]

A baseline is measured once. Then gates take turns: one with every execution of the model slowed by so many per cent
(PLUMB_TEST_SLOW_LAYERS), one with a variable that nothing reads. Both are compared with the baseline as `plumb run
--baseline --gate` does: suspects are measured in pairs beside the baseline's stack. Intervals are Wilson's.

Exit status 1 if fewer than 95 % of the slowed gates exit 1, or any other does."""
import argparse
import collections
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from restarted_pairs import Workplace, share_text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", default="squeezenet1.1")
    parser.add_argument("--percent", type=float, default=5.0)
    parser.add_argument("--gates", type=int, default=10, help="of each kind")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumb-planted-") as folder:
        workplace = Workplace(options.build, folder)
        workplace.stack("slowed", f'variables = {{ PLUMB_TEST_SLOW_LAYERS = "model:={options.percent}" }}\n')
        workplace.stack("innocent", 'variables = { INNOCENT = "1" }\n')
        run = ["run", "--model", options.model, "--only", "models", "--reuse", "never"]
        baseline = workplace.plumb(*run)["run"]
        statuses, seconds = collections.defaultdict(collections.Counter), []
        for _ in range(options.gates):
            for stack in ("slowed", "innocent"):
                start = time.monotonic()
                gate = [*run, "--stack", stack, "--baseline", baseline, "--vary", "stack", "--gate"]
                done = subprocess.run(
                    [workplace.build / "bin/plumb", *gate], env=workplace.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
                statuses[stack][done.returncode] += 1
                seconds.append(time.monotonic() - start)
                print(f"{stack}: exit status {done.returncode} after {seconds[-1]:.0f} s", file=sys.stderr, flush=True)
    for stack, counts in statuses.items():
        print(f"{options.model}, {stack}: exit statuses {dict(counts)}; failed {share_text(counts[1], options.gates)}")
    print(f"a gate took {statistics.median(seconds):.1f} s in the median")
    return 0 if statuses["slowed"][1] >= 0.95 * options.gates and statuses["innocent"][1] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
