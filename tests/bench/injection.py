#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often a slow-down of one layer by 3% is found, and blamed on that layer.

Usage: injection.py BUILD_FOLDER [--pairs N] [--injections N] [--percent P]. Wants a quiet machine; about five minutes.

Five layers of a millisecond or more are timed in 40 restarted processes as they are and in 20 with all of them slowed
(PLUMB_TEST_SLOW_LAYERS), in alternating blocks. An injection is drawn from these: ten processes against ten others, of which one
layer's times come from slowed processes. Exit status 1 if fewer than 90% are found and blamed on that layer alone.
"""

import argparse
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

SUFFIX = "acc=f32;math=strict"
CONV = "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"
KEYS = [
    f"v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c;out=f32[1,64,56,56];{SUFFIX};{CONV}",
    f"v1:conv;in=f32[1,128,28,28],f32[128,128,3,3]c;out=f32[1,128,28,28];{SUFFIX};{CONV}",
    f"v1:conv;in=f32[1,256,14,14],f32[256,256,3,3]c;out=f32[1,256,14,14];{SUFFIX};{CONV}",
    f"v1:matmul;in=f32[128,768],f32[768,768]c;out=f32[128,768];{SUFFIX}",
    f"v1:matmul;in=f32[128,768],f32[768,3072]c;out=f32[128,3072];{SUFFIX}",
]
PAIRS_A_BLOCK = 5
DRAWN = 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--pairs", type=int, default=20, help="of unchanged processes; half as many are slowed")
    parser.add_argument("--injections", type=int, default=300)
    parser.add_argument("--percent", type=float, default=3.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumb-injection-") as folder:
        return judge(measure(options, pathlib.Path(folder)), options, pathlib.Path(folder))


def environment(options, folder):
    return {**os.environ, "XDG_DATA_HOME": str(folder), "PLUMB_STORE": f"sqlite:{folder}/store.db",
            "PLUMB_WORKER_PATH": str(options.build.resolve() / "libexec/plumb")}


def plumb(options, folder, *arguments):
    command = [options.build / "bin/plumb", "--json", *map(str, arguments)]
    return json.loads(subprocess.run(command, env=environment(options, folder), check=True, stdout=subprocess.PIPE).stdout)


def measure(options, folder):
    """Returns for each stack and layer the time in each process."""
    library = plumb(options, folder, "stacks", "probe", "default")["stacks"][0]["libraries"][0]["path"]
    slowing = f"v1:={options.percent}"
    for name, variables in (("base", ""), ("slow", f'variables = {{ PLUMB_TEST_SLOW_LAYERS = "{slowing}" }}\n')):
        (folder / "plumb/stacks" / name).mkdir(parents=True)
        (folder / "plumb/stacks" / name / "stack.toml").write_text(f'backend = "onednn"\nlibraries = ["{library}"]\n{variables}')
    (folder / "five.layers.toml").write_text("".join(f'[[layers]]\nkey = "{key}"\n' for key in KEYS))
    suite = folder / "five.toml"
    suite.write_text('[suite]\nname = "five"\nversion = 1\n[[layers]]\nfile = "five.layers.toml"\n')
    blocks = options.pairs // PAIRS_A_BLOCK
    for block in range(blocks):
        # Slowed blocks lie between the others, so that a machine that wanders does not look like a change.
        for stack in ("base", "slow") if block % 2 == 1 else ("base",):
            plumb(options, folder, "calibrate", suite, "--stack", stack, "--pairs", PAIRS_A_BLOCK, "--only", "layers", "--comparisons", 100)
    times = {}
    with sqlite3.connect(folder / "store.db") as store:
        for stack, key, median in store.execute(
                "select r.stack, k.text, m.median_seconds - m.floor_seconds from measurements m join runs r on r.number = m.run "
                "join layer_keys k on k.id = m.layer_key where m.outcome in ('ok', 'unstable') and m.purpose = 'full' order by m.id"):
            times.setdefault(stack, {}).setdefault(key, []).append(median)
    for stack, layers in times.items():
        for key in KEYS:
            values = sorted(layers[key])
            print(f"{stack}: {len(values)} processes, median {1e3 * values[len(values) // 2]:.3f} ms: {key}")
    return times


def judge(times, options, folder):
    draw = random.Random(1)
    questions = []
    for number in range(options.injections):
        slowed = draw.choice(KEYS)
        chosen = draw.sample(range(len(times["base"][KEYS[0]])), 2 * DRAWN)
        layers = {key: {"baseline": [times["base"][key][i] for i in chosen[:DRAWN]],
                        "candidate": draw.sample(times["slow"][key], DRAWN) if key == slowed
                        else [times["base"][key][i] for i in chosen[DRAWN:]]} for key in KEYS}
        questions.append({"id": f"{number} {slowed}", "layers": layers})
    samples = folder / "samples.json"
    samples.write_text(json.dumps({"comparisons": questions}))
    found = blamed = 0
    for answer in plumb(options, folder, "compare", "--samples", samples)["comparisons"]:
        layer = "layers/" + answer["id"].split(" ", 1)[1]
        changed = {row["series"] for row in answer["metrics"] if row["verdict"] in ("regressed", "improved")}
        found += layer in changed
        blamed += changed == {layer}
    share = blamed / options.injections
    print(f"{options.injections} injections of {options.percent} %: {found / options.injections:.1%} found, {share:.1%} blamed on that layer alone "
          "(limit 90 %)")
    return 0 if share >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
