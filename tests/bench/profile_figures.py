#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles models with oneDNN and prints what profiles cost and how much of them has names.

Usage: profile_figures.py BUILD_FOLDER [--budget SECONDS] [MODEL…]

For each model and rate: the cost of sampling with its interval, the effective rate, and the shares of the samples that have a
step and a function. A quiet machine is needed for the cost.
"""

import json
import pathlib
import subprocess
import sys

DEFAULT = ["squeezenet1.1", "resnet18-v1"]


def percent(value):
    return f"{100 * value:+.2f} %"


def main():
    arguments = sys.argv[1:]
    build = pathlib.Path(arguments.pop(0)).resolve()
    budget = "20"
    if arguments[:1] == ["--budget"]:
        budget = arguments[1]
        del arguments[:2]
    for model in arguments or DEFAULT:
        for rate in ("1kHz", "10kHz"):
            command = [build / "bin/plumb", "--json", "profile", model, "--rate", rate, "--budget", f"{budget}s"]
            document = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            interval = document["cost_interval"]
            text = f"{percent(interval[0])} to {percent(interval[1])}" if interval else "too few pairs"
            print(
                f"{model} at {rate} by {document['clock']}: cost {percent(document['cost'])} ({text}, {document['cost_pairs']} pairs), "
                f"{document['hertz']:.0f} Hz, {document['samples']} samples, {100 * document['share_in_steps']:.2f} % to a step, "
                f"{100 * document['share_in_functions']:.2f} % to a function"
            )


if __name__ == "__main__":
    main()
