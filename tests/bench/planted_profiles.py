#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a slower kernel in a real model, and counts how often `plumb profile diff` names it first.

Usage: planted_profiles.py BUILD_FOLDER [--model MODEL] [--implementation N] [--reorder N] [--isa N] [--least SHARE]
[--budget SECONDS] [--seed N]

The model is executed by oneDNN, unfused. Each trial profiles it twice, in fresh processes: as it is, and with one change:
  implementation  a convolution that is drawn is executed by another of the library's implementations, which is drawn
  reorder         another layer that is drawn, such as a pool, takes and leaves another layout than its neighbours, so the planner
                  adds reorders
  isa             the library executes nothing beyond SSE4.1
The first function of the difference must have an interval without zero, and
  implementation  take more time, most of it in a step of the layer that was changed
  reorder         take more time, in a step that only changes layouts
  isa             be generated code that only one side executes
A layer stands for all of its key. Those are drawn whose change should take at least 3 % of an execution: by the times of their
variants alone, or by the bytes that reorders move. Prints a line a trial. Exits with 1 if fewer than the least share of all trials
are right (default: 19 of 20). A quiet machine is needed. The 20 trials by default take about four minutes with SqueezeNet 1.1.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TRIALS = {"implementation": 7, "reorder": 7, "isa": 6}
#: Of an execution, that a change is to take.
LEAST_CHANGE = 0.03
#: Bytes a second that reorders move at most, so that a change is not overestimated.
REORDERED_RATE = 20e9


class Plumb:
    """Runs plumb with a store and a slow stack of its own."""

    def __init__(self, build, folder):
        self.program = build / "bin/plumb"
        self.environment = dict(os.environ, XDG_DATA_HOME=str(folder), PLUMB_WORKER_PATH=str(build / "libexec/plumb"))
        stack = folder / "plumb/stacks/slow"
        stack.mkdir(parents=True)
        (stack / "stack.toml").write_text('backend = "onednn"\nlibraries = ["libdnnl.so.3"]\n[variables]\nONEDNN_MAX_CPU_ISA = "SSE41"\n')

    def json(self, *command):
        result = subprocess.run([self.program, "--json", *command], capture_output=True, text=True, env=self.environment)
        if result.returncode != 0:
            sys.exit(result.stderr)
        return json.loads(result.stdout)


def parts_of(variant):
    """Returns the implementation and the layout of a variant, such as impl=jit:avx2;layout=plain."""
    parts = dict(part.split("=", 1) for part in variant.split(";") if "=" in part)
    return parts.get("impl"), parts.get("layout")


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


class Planter:
    """Knows the layers of a model by key, and draws what is planted in them."""

    def __init__(self, plumb, model, draw):
        self.plumb, self.draw = plumb, draw
        self.layers, self.rows = {}, {}
        for layer in plumb.json("model", "show", model)["layer_list"]:
            self.layers.setdefault(layer["key"], []).append(layer)

    def variants(self, key):
        """Measures all variants of a key, once, and returns their times."""
        if key not in self.rows:
            rows = self.plumb.json("layer", key)["rows"]
            self.rows[key] = {row["variant"]: row["median_seconds"] for row in rows if row["outcome"] == "ok"}
        return self.rows[key]

    def implementations(self, key, executed, execution):
        """Lists the variants by which the layers of a key take certainly longer, but not so long that nothing else is seen."""
        times = self.variants(key)
        most = execution / len(self.layers[key])
        return [
            variant
            for variant, seconds in times.items()
            if executed in times
            and parts_of(variant)[0] != parts_of(executed)[0]
            and LEAST_CHANGE * most <= seconds - times[executed] <= most
        ]

    def layouts(self, key, executed, execution):
        """Lists the variants that take another layout, if bringing the data there and back takes long enough."""
        moved = sum(4 * 4 * elements(layer["output_shapes"][0]) for layer in self.layers[key])  # read and written, twice
        if moved / REORDERED_RATE < LEAST_CHANGE * execution:
            return []
        implementation, layout = parts_of(executed)
        return [each for each in self.variants(key) if parts_of(each)[0] == implementation and parts_of(each)[1] not in (layout, "any")]

    def plant(self, kind, base):
        """Draws a key and a variant to force. Returns the names of the key's layers, and the option."""
        of_conv = kind == "implementation"
        find = self.implementations if of_conv else self.layouts
        executed = {step["key"]: step["variant"] for step in base["steps"] if step["key"] and not step["reorder"]}
        keys = [key for key, layers in self.layers.items() if (layers[0]["op"] == "Conv") == of_conv and key in executed]
        self.draw.shuffle(keys)
        for key in keys:
            variants = find(key, executed[key], base["execution_seconds"])
            if variants:
                names = [layer["name"] for layer in self.layers[key]]
                return names, f"{names[0]}={self.draw.choice(variants)}"
        sys.exit(f"there is no layer in which the kind '{kind}' can be planted so that it takes {100 * LEAST_CHANGE:.0f} % of an execution")


def is_right(first, kind, names):
    if not first["certain"]:
        return False
    if kind == "isa":
        return first["image"] == "generated" and first["in_baseline"] != first["in_candidate"]
    if first["change_seconds"] <= 0:
        return False
    return first["step"].endswith("(reorder)") if kind == "reorder" else first["step"] in names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", default="squeezenet1.1")
    for kind, count in TRIALS.items():
        parser.add_argument(f"--{kind}", type=int, default=count, help=f"number of trials of this kind; default {count}")
    parser.add_argument("--least", type=float, default=0.95)
    parser.add_argument("--budget", default="3")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    kinds = [kind for kind in TRIALS for _ in range(getattr(arguments, kind))]
    draw.shuffle(kinds)
    right = dict.fromkeys(TRIALS, 0)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        plumb = Plumb(arguments.build.resolve(), folder)
        planter = Planter(plumb, arguments.model, draw)

        def profile(side, *options):
            file = folder / f"{side}.json"
            return file, plumb.json("profile", arguments.model, "--rate", "10kHz", "--budget", f"{arguments.budget}s", "-o", file, *options)

        for trial, kind in enumerate(kinds, 1):
            base, document = profile("base", "--mode", "plain")
            if kind == "isa":
                names, planted = [], "nothing beyond SSE4.1"
                candidate, _ = profile("candidate", "--mode", "plain", "--stack", "slow")
            else:
                names, planted = planter.plant(kind, document)
                candidate, _ = profile("candidate", "--force", planted)
            difference = plumb.json("profile", "diff", base, candidate)
            first = difference["functions"][0]
            found = is_right(first, kind, names)
            right[kind] += found
            print(
                f"{trial:2} {kind:14} {planted}: {'first' if found else 'NOT first'}; first is {first['name'] or first['image']} "
                f"in {first['step']}, {1e6 * first['change_seconds']:+.1f} us of {1e6 * difference['change_seconds']:+.1f} us, "
                f"from {1e6 * difference['baseline_seconds']:.1f} us",
                flush=True,
            )
    for kind in TRIALS:
        print(f"{kind}: named first in {right[kind]} of {kinds.count(kind)} trials")
    print(f"named first in {sum(right.values())} of {len(kinds)} trials")
    return 0 if sum(right.values()) >= arguments.least * len(kinds) else 1


if __name__ == "__main__":
    sys.exit(main())
