#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times built-in models end to end beside ONNX Runtime, in turns in one run, and prints latency and ratio for each, and the geometric mean.

Usage: onnxruntime_ratio.py BUILD_FOLDER ONEDNN_LIBRARY [MODEL…] (default: the thirty vision models but DUC, and BERT-base). Needs onnxruntime (ci/setup test).
PLUMB_THREADS=N uses N threads on both sides (default 1). Same weights, same inputs; a block of executions each, in turns, blocks of both within a second.
"""

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

from onnxruntime_side import OnnxRuntime
from plumb_side import Plumb, export
from rounds import ratios, timed_in_turns

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = sys.argv[2]
THREADS = int(os.environ.get("PLUMB_THREADS", "1"))
MODES = ["plain", "fusion"]
BLOCKS = 9
BLOCK_SECONDS = 0.1
NOT_COMPARED = {"duc"}


def models():
    listed = json.loads(subprocess.run([BUILD / "bin/plumb", "--json", "suite", "show", "suites/vision30.toml"], check=True, capture_output=True, text=True).stdout)["models"]
    return [model["name"] for model in listed if model["name"] not in NOT_COMPARED] + ["bert-base"]


def compare(model):
    with tempfile.TemporaryDirectory(prefix="plumb-") as name:
        folder = pathlib.Path(name)
        file = folder / "model.onnx"
        export(BUILD / "bin/plumb", model, file)
        ours = Plumb(BUILD / "tests/bench/model_latency", BUILD / "libexec/plumb/plumb-onednn-backend.so", LIBRARY, file, folder, MODES, threads=THREADS)
        runs = {mode: (lambda count, number=number: ours.times(number, count)) for number, mode in enumerate(MODES)}
        runs["onnxruntime"] = OnnxRuntime(file, ours.inputs, threads=THREADS).times
        blocks = timed_in_turns(runs, BLOCKS, BLOCK_SECONDS)
        ours.close()
    best = min(MODES, key=lambda mode: statistics.median(blocks[mode]))
    pairs = ratios(blocks["onnxruntime"], blocks[best])
    entry = {"model": model, "ratio": statistics.median(pairs), "ratio_min": min(pairs), "ratio_max": max(pairs), "mode": best}
    return entry | {f"{name}_seconds": statistics.median(values) for name, values in blocks.items()}


def main():
    print(f"{'model':20} {'plain':>9} {'fusion':>9} {'ORT':>9}  ms   ORT ÷ ours [of {BLOCKS} pairs of blocks]   (onnxruntime {onnxruntime.__version__}, {THREADS} thread)")
    entries = []
    for model in sys.argv[3:] or models():
        entry = compare(model)
        entries.append(entry)
        times = " ".join(f"{entry[f'{name}_seconds'] * 1e3:9.3f}" for name in (*MODES, "onnxruntime"))
        print(f"{model:20} {times}       {entry['ratio']:.3f} [{entry['ratio_min']:.3f}, {entry['ratio_max']:.3f}]", flush=True)
    mean = math.exp(statistics.fmean(math.log(entry["ratio"]) for entry in entries))
    print(f"geometric mean of {len(entries)}: {mean:.3f}; lowest {min(entries, key=lambda entry: entry['ratio'])['model']}; below 1: {sum(entry['ratio'] < 1 for entry in entries)}")
    print(json.dumps({"geometric_mean": mean, "models": entries}), file=sys.stderr)


main()
