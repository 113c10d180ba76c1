#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what measuring each key once saves, what reuse saves, and how well two restarted workers agree.

Usage: suite_figures.py BUILD_FOLDER [SUITE [MODEL…]]. Wants a quiet machine; measures the suite twice into stores of its own.
"""

import collections
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

build = pathlib.Path(sys.argv[1]).resolve()
source = pathlib.Path(__file__).resolve().parents[2]
suite = sys.argv[2] if len(sys.argv) > 2 else str(source / "suites/quick.toml")
models = [argument for name in sys.argv[3:] for argument in ("--model", name)]
folder = tempfile.TemporaryDirectory(prefix="plumb-bench-")


def plumb(store, *arguments):
    environment = {**os.environ, "XDG_DATA_HOME": folder.name, "PLUMB_STORE": f"sqlite:{folder.name}/{store}.db"}
    begin = time.monotonic()
    done = subprocess.run([build / "bin/plumb", "--json", *arguments], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout), time.monotonic() - begin


def query(store, sql):
    with sqlite3.connect(f"{folder.name}/{store}.db") as connection:
        return connection.execute(sql).fetchall()


document, first = plumb("a", "run", suite, *models, "--reuse", "never", "--budget", "1h")
_, again = plumb("a", "run", suite, *models, "--reuse", "always", "--budget", "1h")
print(f"measuring all:            {first:8.1f} s")
print(f"the same run with reuse:  {again:8.2f} s   {first / again:.0f} times faster (asked: 50)")

seconds = dict(query("a", "select k.text, sum(m.wall_seconds) from measurements m join layer_keys k on k.id = m.layer_key group by 1"))
every = unique = 0.0
per_model = collections.Counter()
seen = set()
occurrences = 0
for model in document["models"]:
    if model["dtype"] != "f32":
        continue
    shown, _ = plumb("a", "model", "show", model["model"], "--batch", str(model["batch"]),
                     *(f"--dim={name}={extent}" for name, extent in model["dims"].items()))
    keys = [layer["key"] for layer in shown["layer_list"] if layer["role"] == "compute"]
    occurrences += len(keys)
    every += sum(seconds[key] for key in keys)
    per_model[model["model"]] = sum(seconds[key] for key in set(keys))
    seen.update(keys)
unique = sum(seconds[key] for key in seen)
print(f"dedupe (f32, plain keys): {occurrences} layers, {len(seen)} keys: {every:.1f} s measured one by one, {unique:.1f} s once: "
      f"{every / unique:.2f} times less (asked: 2.5); against unique layers of each model: {sum(per_model.values()) / unique:.2f}")

plumb("b", "run", suite, *models, "--reuse", "never", "--budget", "1h")
choice = ("select k.text, v.text, median_seconds from measurements m join layer_keys k on k.id = m.layer_key join variants v on v.id = m.variant "
          "where purpose = 'full' and cache = 'none' and outcome = 'ok' and disturbed = 0")
left, right = ({(key, variant): median for key, variant, median in query(store, choice)} for store in "ab")
ratios = [right[row] / left[row] - 1 for row in left.keys() & right.keys() if left[row] > 100e-6]
within = sum(abs(ratio) <= 0.01 for ratio in ratios)
if ratios:
    print(f"repeatability: {len(ratios)} undisturbed rows above 100 µs in two runs: {100 * within / len(ratios):.1f} % agree within 1 % (asked: 90), "
          f"median |difference| {100 * statistics.median(map(abs, ratios)):.2f} %")
else:
    print("repeatability: no undisturbed rows above 100 µs in both runs: the machine is not quiet")
