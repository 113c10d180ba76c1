#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times a model by the PyTorch worker's way and by a bare loop, in turns in one process, and prints what the worker adds.

Usage: PYTHON pytorch_overhead.py BUILD_FOLDER [MODEL…] (default: squeezenet1.1 and resnet18-v1), with a Python that has PyTorch.
"""

import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
MODELS = sys.argv[2:] or ["squeezenet1.1", "resnet18-v1"]
sys.path.insert(0, str(BUILD / "libexec/plumb/python"))

from plumb_pytorch.__main__ import make_backend  # noqa: E402
from plumb_worker import sampler, summary  # noqa: E402
from plumb_worker.onnx_model import RequestedModel  # noqa: E402
from plumb_worker.row import new_row  # noqa: E402
from plumb_worker.timing import ProgramRegion, Timing  # noqa: E402

REPETITIONS = 21
SECONDS = 0.5  # of each turn


def prepare(backend, name):
    """Returns the worker's program of a model."""
    with tempfile.TemporaryDirectory(prefix="plumb-") as folder:
        file = pathlib.Path(folder, "model.onnx")
        subprocess.run([BUILD / "bin/plumb", "model", "export", name, "-o", file], check=True, capture_output=True)
        return backend.prepare_model(RequestedModel({"name": name, "path": str(file), "dtype": "f32", "seed": "1"}), "plain")


def bare_loop(call):
    """Returns the median of one execution in a loop that anybody would write."""
    times = []
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def by_worker(timing, program):
    """Returns the median of one execution as a row has it, less the overhead that it states."""
    row = new_row("model")
    plan = sampler.Plan(warm_up_at_most=0.0, budget=SECONDS, relative_half_width=0.0, samples_at_most=100_000)
    timing.time(ProgramRegion(program), plan, 1, row)
    return row["summary"]["median_seconds"] - row["floor_seconds"]


def main():
    backend = make_backend({"threads": 1, "libraries": []})
    timing = Timing()
    for name in MODELS:
        program = prepare(backend, name)
        call = program._call  # the same call: what differs is who times it
        program.run(20)
        pairs = []
        for repetition in range(REPETITIONS):
            sides = {}
            for side in ("bare", "worker") if repetition % 2 == 0 else ("worker", "bare"):
                sides[side] = bare_loop(call) if side == "bare" else by_worker(timing, program)
            pairs.append((sides["bare"], sides["worker"]))
        ratios = sorted(worker / bare for bare, worker in pairs)
        rank = summary.median_interval_rank(len(ratios))
        print(json.dumps({
            "model": name, "n": len(pairs), "bare_seconds": statistics.median(bare for bare, _ in pairs),
            "worker_seconds": statistics.median(worker for _, worker in pairs), "floor_seconds": timing.overhead().at(1),
            "ratio": statistics.median(ratios), "ratio_interval": [ratios[rank - 1], ratios[-rank]],
            "geometric_mean_ratio": math.exp(statistics.mean(map(math.log, ratios))),
        }))


if __name__ == "__main__":
    main()
