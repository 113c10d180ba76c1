#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our load generator with MLCommons' LoadGen (PyPI's mlcommons-loadgen) over the same program: the same model, plans, copies and checks.

Usage: loadgen_test.py BUILD_FOLDER ONEDNN_LIBRARY [--figures [MODEL SECONDS]]. Exits 77 without mlperf_loadgen. Rounds are interleaved, and the better
of each counts: another program on the machine makes either slower, and nothing makes it faster. --figures prints a longer comparison and judges nothing.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import mlperf_loadgen
except ImportError:
    print("mlperf_loadgen is not installed: ci/setup test installs it")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = sys.argv.pop(1)
#: Of MLPerf Inference v6.1, as `plumb` uses them.
SAMPLE_SEED, SCHEDULE_SEED = 2747215439041700203, 16159082839903944936


def drive_loadgen(samples, execute, scenario, seconds, folder, rate=None, limit=None):
    """Loads the program through LoadGen and returns its detail log."""

    def issue(queries):
        for query in queries:
            if execute(query.index):
                raise RuntimeError("the program failed")
            mlperf_loadgen.QuerySamplesComplete([mlperf_loadgen.QuerySampleResponse(query.id, 0, 0)])

    settings = mlperf_loadgen.TestSettings()
    settings.mode = mlperf_loadgen.TestMode.PerformanceOnly
    settings.scenario = getattr(mlperf_loadgen.TestScenario, scenario)
    settings.min_duration_ms = int(seconds * 1000)
    settings.max_duration_ms = int(seconds * 1000)
    settings.min_query_count = 1
    settings.qsl_rng_seed = 1
    settings.sample_index_rng_seed, settings.schedule_rng_seed = SAMPLE_SEED, SCHEDULE_SEED
    settings.single_stream_expected_latency_ns = 20_000
    if rate:
        settings.server_target_qps, settings.server_target_latency_ns = rate, int(limit * 1e9)
    log = mlperf_loadgen.LogSettings()
    log.log_output.outdir = str(folder)
    log.log_output.copy_summary_to_stdout = False
    log.enable_trace = False
    system = mlperf_loadgen.ConstructSUT(issue, lambda: None)
    library = mlperf_loadgen.ConstructQSL(samples, samples, lambda indices: None, lambda indices: None)
    mlperf_loadgen.StartTestWithLogSettings(system, library, settings, log, "")
    mlperf_loadgen.DestroyQSL(library)
    mlperf_loadgen.DestroySUT(system)
    entries = {}
    for line in (folder / "mlperf_log_detail.txt").read_text().splitlines():
        if line.startswith(":::MLLOG "):
            entry = json.loads(line.removeprefix(":::MLLOG "))
            entries.setdefault(entry["key"], entry["value"])
    return entries


def worker(module, path, scenario, seconds, rate, limit):
    """Drives the program over a pipe, which adds some tens of microseconds to each query, in a Python process of its own."""
    program = subprocess.Popen(
        [Command.build / "tests/integration/plumb_loaded_model", module, LIBRARY, path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env={**os.environ, "OMP_NUM_THREADS": "1"})
    line = b""
    while not line.endswith(b"\n"):
        line += program.stdout.read(1) or sys.exit("the program does not start")
    samples = int(line)

    def execute(index):
        program.stdin.write(index.to_bytes(8, sys.byteorder))
        return program.stdout.read(1) != b"\0"

    end = time.monotonic() + min(1.0, 0.1 * seconds)
    while time.monotonic() < end:
        execute(0)
    with tempfile.TemporaryDirectory() as folder:
        detail = drive_loadgen(samples, execute, scenario, seconds, pathlib.Path(folder), rate, limit)
    program.stdin.close()
    program.wait(timeout=30)
    percentiles = {name: detail[f"result_{name}.00_percentile_latency_ns"] * 1e-9 for name in ("50", "90", "99")}
    print(json.dumps({
        **{f"p{name}": value for name, value in percentiles.items()},
        "rate": detail.get("result_completed_samples_per_sec") or detail.get("result_qps_with_loadgen_overhead"),
        "early_stopping": detail.get("early_stopping_latency_ss", 0) * 1e-9,
    }))


class LoadGen(Command):
    def rounds(self, name, count, seconds, scenario="single_stream", rate=None, limit=None):
        """Interleaves both generators over one model; returns what each reported."""
        path = self.folder / f"{name}.onnx"
        self.plumb("model", "export", name, "--weights", "-o", path)
        module = Command.build / "libexec/plumb/plumb-onednn-backend.so"
        server = ["--latency-limit", f"{limit}s", "--target-rate", str(rate)] if rate else []
        ours, theirs = [], []
        for _ in range(count):
            document = json.loads(subprocess.run(
                [self.program(), "run", "--model", path, "--only", "models", "--scenario", scenario, "--duration", f"{seconds}s", *server, "--json"],
                env=self.environment, capture_output=True, text=True, timeout=600).stdout)
            row = document["models"][0]["executions"][0]
            result = row["load"]["result"]
            ours.append({
                "p50": row["median_seconds"], "p90": row["p90_seconds"], "p99": row["p99_seconds"],
                "rate": result["queries_per_second"], "early_stopping": (result["early_stopping"] or {}).get("estimate_seconds") or 0,
            })
            mlperf = {"single_stream": "SingleStream", "server": "Server"}[scenario]
            done = subprocess.run(
                [sys.executable, __file__, str(Command.build), LIBRARY, "--worker", str(module), str(path), mlperf, str(seconds), str(rate or 0), str(limit or 0)],
                env=self.environment, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            theirs.append(json.loads(done.stdout.splitlines()[-1]))
        return ours, theirs

    def test_single_stream_percentiles_agree(self):
        ours, theirs = [], []
        for _ in range(3):  # the best of more rounds, where others disturbed these: a real difference stays
            for side, more in zip((ours, theirs), self.rounds("squeezenet1.1", 3, 2)):
                side.extend(more)
            best = {percentile: [min(each[percentile] for each in side) for side in (ours, theirs)] for percentile in ("p50", "p90")}
            if all(abs(mine / other - 1) < 0.25 for mine, other in best.values()):
                return
        # Others disturbed all of them. Then the rounds of each side differ by more than both sides, which take turns.
        for percentile in best:
            mine, other = ([each[percentile] for each in side] for side in (ours, theirs))
            self.assertLess(min(mine), 1.25 * statistics.median(other), f"{percentile}: {ours} {theirs}")
            self.assertLess(min(other), 1.25 * statistics.median(mine), f"{percentile}: {ours} {theirs}")


if __name__ == "__main__":
    if "--worker" in sys.argv:
        module, path, scenario, seconds, rate, limit = sys.argv[sys.argv.index("--worker") + 1:]
        worker(module, path, scenario, float(seconds), float(rate) or None, float(limit) or None)
    elif "--figures" in sys.argv:
        LoadGen.setUpClass()
        case = LoadGen("rounds")
        case.setUp()
        name, seconds = (sys.argv[sys.argv.index("--figures") + 1:] + ["squeezenet1.1", "10"])[:2]
        for scenario, extra in (("single_stream", {}), ("server", {"rate": 40, "limit": 0.1})):
            ours, theirs = case.rounds(name, 5, float(seconds), scenario, **extra)
            for percentile in ("p50", "p90", "p99", "early_stopping", "rate"):
                print(scenario, percentile, "ours", *(f"{each[percentile]:.6g}" for each in ours), "LoadGen", *(f"{each[percentile]:.6g}" for each in theirs))
        case.doCleanups()
    else:
        unittest.main(verbosity=2)
