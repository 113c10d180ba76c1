#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a slower kernel in a model, and counts how often `plumb profile diff` names it first.

Usage: planted_profiles.py BUILD_FOLDER [--trials N] [--least SHARE] [--budget SECONDS] [--seed N]

A model has three 1x1 convolutions in a chain. Trials take turns with three kinds of fault, in a layer that is drawn:
  reorder   the layout of the layer's result is turned round: first must be a kernel of reorders, which takes longer: it also
            brings the result back into the next layer's layout
  operator  Softmax takes the place of Relu, which the library computes by its reference code: first must be a function of that step
  isa       the library executes nothing beyond SSE4.1: first must be generated code that only one side has
The first one is also required to have an interval without zero. Prints a line a trial. Exits with 1 if fewer than the least
share of the trials are right (default: 19 of 20). A quiet machine is needed.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

LAYERS = 3
CHANNELS = 64
SIZE = 64
KINDS = ("reorder", "operator", "isa")


def model_text(planted=None, kind=None):
    weight = f"float[{CHANNELS},{CHANNELS},1,1] w{{}} = {{{{{','.join(['0.01'] * CHANNELS * CHANNELS)}}}}}"
    weights = ", ".join(weight.format(layer) for layer in range(LAYERS))
    lines, value = [], "x"
    for layer in range(LAYERS):
        result = "y" if layer == LAYERS - 1 else f"r{layer}"
        fault = kind if layer == planted else None
        lines.append(f"c{layer} = Conv({value}, w{layer})")
        if fault == "reorder":
            lines += [f"planted = Relu(c{layer})", f"{result} = Transpose<perm = [0, 3, 2, 1]>(planted)"]
        elif fault == "operator":
            lines.append(f"{result} = Softmax<axis = 1>(c{layer})")
        else:
            lines.append(f"{result} = Relu(c{layer})")
        value = result
    shape = f"float[1,{CHANNELS},{SIZE},{SIZE}]"
    body = "\n  ".join(lines)
    return f'<ir_version: 8, opset_import: ["" : 17]>\ng ({shape} x) => ({shape} y) <{weights}> {{\n  {body}\n}}\n'


def is_right(first, kind, planted):
    if not first["certain"]:
        return False
    if kind == "isa":
        return first["image"] == "generated" and first["in_baseline"] != first["in_candidate"]
    if first["change_seconds"] <= 0:
        return False
    if kind == "reorder":
        return "reorder" in first["name"]
    return first["step"] == ("y" if planted == LAYERS - 1 else f"r{planted}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--least", type=float, default=0.95)
    parser.add_argument("--budget", default="3")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    plumb = arguments.build.resolve() / "bin/plumb"
    right = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        stack = folder / "plumb/stacks/slow"
        stack.mkdir(parents=True)
        (stack / "stack.toml").write_text('backend = "onednn"\nlibraries = ["libdnnl.so.3"]\n[variables]\nONEDNN_MAX_CPU_ISA = "SSE41"\n')
        environment = dict(os.environ, XDG_DATA_HOME=str(folder), PLUMB_WORKER_PATH=str(arguments.build.resolve() / "libexec/plumb"))

        def run(*command):
            result = subprocess.run([plumb, "--json", *command], capture_output=True, text=True, env=environment)
            if result.returncode != 0:
                sys.exit(result.stderr)
            return json.loads(result.stdout)

        def profile(side, text, *options):
            file = folder / side / "planted.onnxtxt"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            run("profile", file, "--rate", "10kHz", "--budget", f"{arguments.budget}s", "-o", folder / f"{side}.json", *options)
            return folder / f"{side}.json"

        for trial in range(arguments.trials):
            kind = KINDS[trial % len(KINDS)]
            planted = draw.randrange(LAYERS)
            base = profile("base", model_text())
            if kind == "isa":
                candidate = profile("candidate", model_text(), "--stack", "slow")
            else:
                candidate = profile("candidate", model_text(planted, kind))
            difference = run("profile", "diff", base, candidate)
            first = difference["functions"][0]
            found = is_right(first, kind, planted)
            right += found
            print(
                f"{trial + 1:2} {kind:8} in layer {planted}: {'first' if found else 'NOT first'}; first is {first['name'] or first['image']} "
                f"in {first['step']}, {1e6 * first['change_seconds']:+.1f} us of {1e6 * difference['change_seconds']:+.1f} us, "
                f"from {1e6 * difference['baseline_seconds']:.1f} us",
                flush=True,
            )
    print(f"named first in {right} of {arguments.trials} trials")
    return 0 if right >= arguments.least * arguments.trials else 1


if __name__ == "__main__":
    sys.exit(main())
