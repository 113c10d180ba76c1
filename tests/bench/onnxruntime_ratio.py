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
import time

import numpy
import onnxruntime

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = sys.argv[2]
THREADS = int(os.environ.get("PLUMB_THREADS", "1"))
MODES = ["plain", "fusion"]
BLOCKS = 9
BLOCK_SECONDS = 0.1
NOT_COMPARED = {"duc"}
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


class Ours:
    def __init__(self, file, folder):
        command = [BUILD / "tests/bench/model_latency", BUILD / "libexec/plumb/plumb-onednn-backend.so", LIBRARY, file, folder, *MODES]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": str(THREADS)})
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"{file}: did not become ready")

    def times(self, mode, count):
        self.process.stdin.write(f"{mode} {count}\n")
        self.process.stdin.flush()
        return [float(word) for word in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Theirs:
    def __init__(self, file, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        # Bound once: no copies to and from Python in the timed part.
        self.binding = self.session.io_binding()
        for i, value in enumerate(self.session.get_inputs()):
            array = numpy.fromfile(folder / f"input_{i}", TYPES[value.type]).reshape(value.shape)
            self.binding.bind_cpu_input(value.name, array)
        for value in self.session.get_outputs():
            self.binding.bind_output(value.name)

    def times(self, count):
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            seconds.append(time.perf_counter() - begin)
        return seconds


def models():
    listed = json.loads(subprocess.run([BUILD / "bin/plumb", "--json", "suite", "show", "suites/vision30.toml"], check=True, capture_output=True, text=True).stdout)["models"]
    return [model["name"] for model in listed if model["name"] not in NOT_COMPARED] + ["bert-base"]


def compare(model):
    with tempfile.TemporaryDirectory(prefix="plumb-") as name:
        folder = pathlib.Path(name)
        file = folder / "model.onnx"
        subprocess.run([BUILD / "bin/plumb", "model", "export", model, "--weights", "-o", file], check=True, capture_output=True)
        ours = Ours(file, folder)
        theirs = Theirs(file, folder)
        runs = {mode: (lambda count, number=number: ours.times(number, count)) for number, mode in enumerate(MODES)}
        runs["onnxruntime"] = theirs.times
        warm = {name: min(run(3)) for name, run in runs.items()}
        counts = {name: max(2, math.ceil(BLOCK_SECONDS / seconds)) for name, seconds in warm.items()}
        blocks = {name: [] for name in runs}
        for block in range(BLOCKS):
            for name in list(runs)[:: 1 if block % 2 == 0 else -1]:
                runs[name](1)  # brings its own data into the cache
                blocks[name].append(statistics.median(runs[name](counts[name])))
        ours.close()
    best = min(MODES, key=lambda mode: statistics.median(blocks[mode]))
    ratios = [theirs / ours for theirs, ours in zip(blocks["onnxruntime"], blocks[best])]
    entry = {"model": model, "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios), "mode": best}
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
