#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times built-in models end to end beside ONNX Runtime, in turns in one run, and prints latency and ratio for each, and the geometric mean.

Usage: onnxruntime_ratio.py [--measured] BUILD_FOLDER ONEDNN_LIBRARY [MODEL…] (default: the thirty vision models but DUC, and BERT-base). Needs onnxruntime (ci/setup test).
--measured times every layer's variants first, by `plumb run`, and adds the modes that take the fastest of them.
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

MEASURED = "--measured" in sys.argv
BUILD, LIBRARY, *NAMED = [word for word in sys.argv[1:] if word != "--measured"]
BUILD = pathlib.Path(BUILD).resolve()
THREADS = int(os.environ.get("PLUMB_THREADS", "1"))
MODES = ["plain", "fusion", *(["best_variant", "best_variant+fusion"] if MEASURED else [])]
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
        if MEASURED:
            os.environ["PLUMB_STORE"] = f"sqlite:{folder}/layers.sqlite"
            subprocess.run([BUILD / "bin/plumb", "run", "--model", file, "--only", "layers", "--cache", "none", "--threads", str(THREADS)], check=True, capture_output=True, text=True)
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
    print(f"{'model':20} {' '.join(f'{name:>9}' for name in (*MODES, 'ORT'))}  ms   ORT ÷ ours [of {BLOCKS} pairs of blocks]   (onnxruntime {onnxruntime.__version__}, {THREADS} thread)")
    entries = []
    for model in NAMED or models():
        entry = compare(model)
        entries.append(entry)
        times = " ".join(f"{entry[f'{name}_seconds'] * 1e3:{max(9, len(name))}.3f}" for name in (*MODES, "onnxruntime"))
        print(f"{model:20} {times}       {entry['ratio']:.3f} [{entry['ratio_min']:.3f}, {entry['ratio_max']:.3f}]", flush=True)
    mean = math.exp(statistics.fmean(math.log(entry["ratio"]) for entry in entries))
    print(f"geometric mean of {len(entries)}: {mean:.3f}; lowest {min(entries, key=lambda entry: entry['ratio'])['model']}; below 1: {sum(entry['ratio'] < 1 for entry in entries)}")
    print(json.dumps({"geometric_mean": mean, "models": entries}), file=sys.stderr)


main()
