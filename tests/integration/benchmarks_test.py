#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks layers through Google Benchmark in the oneDNN worker, as somebody does by hand.

Usage: benchmarks_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

MATMUL = "v1:matmul;in=f32[16,64],f32[64,32]c;out=f32[16,32];acc=f32;math=strict"
FACTOR = 20.0  # between two times on a host where anything else may run


class Benchmarks(Command):
    def worker(self, *arguments, expect=0, keys=None):
        done = subprocess.run([self.build / "libexec/plumb/plumb-worker-onednn", *arguments], input=keys, capture_output=True,
                              text=True, env=self.environment, timeout=300)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def report(self, *arguments, keys=None):
        done = self.worker("--benchmark_min_time=0.02", "--benchmark_format=json", *arguments, keys=keys)
        return json.loads(done.stdout)

    def test_repeats_and_counts_what_the_filter_leaves(self):
        report = self.report("--benchmark_filter=^v1:matmul", "--benchmark_repetitions=3", "--layers", CONV, MATMUL)
        runs = [entry for entry in report["benchmarks"] if entry["run_type"] == "iteration"]
        self.assertGreaterEqual(len(runs), 3)
        self.assertTrue(all(entry["name"].startswith(MATMUL + "/impl=") for entry in runs), runs)
        self.assertEqual({entry["repetition_index"] for entry in runs}, {0, 1, 2})
        self.assertIn("median", {entry.get("aggregate_name") for entry in report["benchmarks"]})
        self.assertIn("library's choice", {entry.get("label") for entry in runs})
        seconds = {"us": 1e-6, "ns": 1e-9, "ms": 1e-3}
        for entry in runs:
            time = entry["real_time"] * seconds[entry["time_unit"]]
            self.assertAlmostEqual(entry["macs_per_second"] * time / (16 * 64 * 32), 1, delta=1e-3)
            self.assertAlmostEqual(entry["bytes_per_second"] * time / (4 * (16 * 64 + 64 * 32 + 16 * 32)), 1, delta=1e-3)
        self.assertTrue(report["context"]["library"].startswith("onednn-"), report["context"])
        self.assertEqual(report["context"]["threads"], "1")

    def test_times_are_those_of_the_harness(self):
        runs = [entry for entry in self.report("--benchmark_repetitions=3", "--layers", CONV)["benchmarks"] if entry["run_type"] == "iteration"]
        rows = [row for row in self.json("layer", CONV)["rows"] if row["outcome"] in ("ok", "unstable") and row["purpose"] == "full"]
        rows = {row["variant"]: row for row in rows}
        names = {entry["name"] for entry in runs}
        self.assertTrue(names)
        for name in names:  # a repetition is a mean, so the best one counts
            variant = name.removeprefix(CONV + "/").removesuffix("/manual_time")
            ratio = min(entry["real_time"] for entry in runs if entry["name"] == name) * 1e-6 / rows[variant]["median_seconds"]
            self.assertTrue(1 / FACTOR < ratio < FACTOR, (variant, ratio))

    def test_keys_of_a_model_come_in_by_a_pipe_and_results_go_into_the_store(self):
        layers = self.json("model", "show", "lenet")["layer_list"]
        keys = "\n".join(sorted({layer["key"] for layer in layers if layer["op"] in ("Conv", "Gemm", "MatMul")}))
        path = self.folder / "report.json"
        self.worker("--benchmark_min_time=0.002", f"--benchmark_out={path}", "--benchmark_repetitions=2", "--layers", "-", keys=keys)
        run = self.json("import", "google-benchmark", path, "--name", "layers")
        self.assertGreaterEqual(run["rows"]["ok"], len(keys.splitlines()))
        self.assertEqual(run["rows"]["failed"], 0)

    def test_says_what_is_wrong(self):
        self.assertIn("needs layer keys", self.worker("--layers", expect=2).stderr)
        self.assertIn("nor a file", self.worker("--layers", "nonsense", expect=2).stderr)
        self.assertIn("leaves no benchmark", self.worker("--benchmark_filter=nothing", "--layers", MATMUL, expect=2).stderr)
        self.assertIn("does not exist", self.worker("--library", "/no/libdnnl.so.3", "--layers", MATMUL, expect=3).stderr)
        unsupported = MATMUL.replace("f32", "f64")
        entries = self.report("--layers", unsupported, MATMUL)["benchmarks"]
        self.assertTrue(entries[0]["error_occurred"])
        self.assertEqual(entries[0]["name"], unsupported)
        self.assertNotIn("error_occurred", entries[1])
        self.assertIn("--layers FILE|KEY", self.worker("--help").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
