#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles models with oneDNN and prints what profiles cost and how much of them has names.

Usage: profile_figures.py BUILD_FOLDER [--budget SECONDS] [MODEL…]

For each model, clock of this machine and rate: the cost of sampling with its interval, what a sample costs, the effective rate,
and the shares of the samples that have a step and a function. A quiet machine is needed for the cost.
"""

import json
import pathlib
import subprocess
import sys

DEFAULT = ["squeezenet1.1", "resnet50-v1"]
CLOCKS = ["cycles", "thread", "cpu-clock", "timer"]


def percent(value):
    return f"{100 * value:+.2f} %"


def profile(build, model, clock, rate, budget):
    """Returns a profile, or why the machine has no such clock."""
    command = [build / "bin/plumb", "--json", "profile", model, "--clock", clock, "--rate", rate, "--budget", f"{budget}s"]
    done = subprocess.run(command, capture_output=True, text=True)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip().splitlines()[-1])


def main():
    arguments = sys.argv[1:]
    build = pathlib.Path(arguments.pop(0)).resolve()
    budget = "20"
    if arguments[:1] == ["--budget"]:
        budget = arguments[1]
        del arguments[:2]
    for model in arguments or DEFAULT:
        for clock in CLOCKS:
            for rate in ("1kHz", "10kHz"):
                document, problem = profile(build, model, clock, rate, budget)
                if document is None:
                    print(f"{model} by {clock}: {problem}", flush=True)
                    break
                interval = document["cost_interval"]
                text = f"{percent(interval[0])} to {percent(interval[1])}" if interval else "too few pairs"
                each = 1e6 * document["cost"] / document["hertz"]
                print(
                    f"{model} at {rate} by {clock}: cost {percent(document['cost'])} ({text}, {document['cost_pairs']} pairs), "
                    f"{each:.1f} us a sample, {document['hertz']:.0f} Hz, {document['samples']} samples, "
                    f"{100 * document['share_in_steps']:.2f} % to a step, {100 * document['share_in_functions']:.2f} % to a function",
                    flush=True,
                )


if __name__ == "__main__":
    main()
