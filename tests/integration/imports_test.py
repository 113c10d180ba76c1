#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports results of other harnesses as runs, and gates them, as a user would.

Usage: imports_test.py BUILD_FOLDER PROGRAM_OF_GOOGLE_BENCHMARK [unittest arguments].
"""

import json
import pathlib
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
PROGRAM = sys.argv.pop(1)


class Imports(Command):
    def measured(self, name, *options):
        """What the real library writes."""
        path = self.folder / name
        subprocess.run([PROGRAM, "--benchmark_min_time=0.01", f"--benchmark_out={path}", *options], check=True, capture_output=True)
        return path

    def written(self, name, times, date="2026-11-21T01:00:00Z"):
        """A file of one process: three repetitions of each benchmark around its time."""
        entries = [{"name": key, "run_name": key, "run_type": "iteration", "repetitions": 3, "repetition_index": i, "threads": 1,
                    "iterations": 100, "real_time": time * (1 + 0.001 * i), "time_unit": "ms"}
                   for key, time in times.items() for i in range(3)]
        path = self.folder / name
        path.write_text(json.dumps({"context": {"date": date, "host_name": "ci", "num_cpus": 4}, "benchmarks": entries}))
        return path

    def processes(self, name, times, day):
        """Five processes, each with an offset of its own."""
        return [self.written(f"{name}{i}.json", {key: time * (1 + 0.004 * ((i * 3) % 5 / 2 - 1)) for key, time in times.items()},
                             f"2026-11-{day:02}T01:00:00Z") for i in range(5)]

    def test_real_results_of_google_benchmark(self):
        path = self.measured("real.json", "--benchmark_repetitions=3")
        run = self.json("import", "google-benchmark", path, "--name", "sums", "--version", "abc123")
        self.assertEqual(run["rows"], {"ok": 2, "failed": 1})
        self.assertEqual(self.store_rows("select text from layer_keys order by text"),
                         [("external:sums:broken",), ("external:sums:sum/1000",), ("external:sums:sum/4000",)])
        done = self.plumb("import", "google-benchmark", path, "--name", "sums", expect=2)
        self.assertIn(run["run"], done.stderr)
        self.assertEqual(len(self.json("runs")["runs"]), 1)
        one = self.measured("one.json")
        self.assertIn("has one sample", self.plumb("import", "google-benchmark", one, "--name", "sums", expect=2).stderr)
        self.plumb("store", "verify")
        for document in ("out.html", "out.md", "out.xml"):
            self.plumb("report", "@latest", "-o", self.folder / document)
        self.assertIn("sums", self.plumb("export", "--openmetrics").stdout)

    def test_restarted_processes_are_gated(self):
        base = self.json("import", "google-benchmark", *self.processes("a", {"x": 1, "y": 2}, 1), "--name", "mine")["run"]
        same = self.json("import", "google-benchmark", *self.processes("b", {"x": 1.001, "y": 2.001}, 2), "--name", "mine")["run"]
        slow = self.json("import", "google-benchmark", *self.processes("c", {"x": 1.04, "y": 2}, 3), "--name", "mine")["run"]
        self.plumb("compare", base, same, "--gate")
        document = self.json("compare", base, slow, "--gate", expect=1)
        regressed = [row["series"] for row in document["metrics"] if row["verdict"] == "regressed"]
        self.assertEqual(regressed, ["layers/external:mine:x"])
        # One process a side says too little for so small a change: never a pass.
        alone = [self.json("import", "google-benchmark", self.written(f"{name}.json", {"x": time}), "--name", "alone")["run"]
                 for name, time in (("d", 1.0), ("e", 1.025))]
        self.plumb("compare", *alone, "--gate", expect=75)

    def test_unlike_machines_are_refused(self):
        base = self.json("import", "google-benchmark", self.written("a.json", {"x": 1}), "--name", "mine")["run"]
        other = self.json("import", "google-benchmark", self.written("b.json", {"x": 2}), "--name", "mine", "--system", "box")["run"]
        self.plumb("compare", base, other, expect=4)

    def test_nvbench_with_and_without_samples(self):
        def state(size, *more):
            named = lambda tag, **values: {"tag": tag, "data": [{"name": k, "type": "string", "value": str(v)} for k, v in values.items()]}
            return {"name": f"Device=0 Size={size}", "device": 0, "is_skipped": False,
                    "summaries": [named("nv/cold/sample_size", value=4), named("nv/cold/time/gpu/mean", value="2.5e-05"),
                                  named("nv/cold/time/gpu/stdev/relative", value="0.01"), *(named(*tag, **v) for tag, v in more)]}
        samples = ((["nv/json/bin:nv/cold/sample_times"], {"filename": "elsewhere/gpu.json-bin/0.bin", "size": 4}),)
        path = self.folder / "gpu.json"
        path.write_text(json.dumps({"devices": [{"id": 0, "name": "Some GPU"}],
                                    "benchmarks": [{"name": "copy", "states": [state(8), state(9, *samples)]}]}))
        self.assertIn("gpu.json-bin/0.bin", self.plumb("import", "nvbench", path, "--name", "gpu", expect=2).stderr)
        self.assertEqual(self.json("runs")["runs"], [], "nothing of a refused file is stored")
        (self.folder / "gpu.json-bin").mkdir()
        (self.folder / "gpu.json-bin/0.bin").write_bytes(struct.pack("<4f", 1e-5, 2e-5, 3e-5, 4e-5))
        run = self.json("import", "nvbench", path, "--name", "gpu", "--at", "2026-01-02T03:04:05Z")
        self.assertEqual((run["rows"]["ok"], run["started"][:10]), (2, "2026-01-02"))
        self.plumb("store", "verify")

    def test_hostile_files_store_nothing(self):
        good = self.written("good.json", {"x": 1}).read_text()
        for text in ("", "{", "[1]", good[:-40], good.replace("1.001", "NaN"), good.replace("1.001", "0"), good.replace("1.001", "-1"),
                     "[" * 100000):
            path = self.folder / "bad.json"
            path.write_text(text)
            done = self.plumb("import", "google-benchmark", path, "--name", "mine", expect=2)
            self.assertIn("nothing was imported", done.stderr)
        with open(self.folder / "huge.json", "wb") as huge:
            huge.truncate((64 << 20) + 1)
        self.assertIn("at most", self.plumb("import", "google-benchmark", self.folder / "huge.json", "--name", "mine", expect=2).stderr)
        for name in ("/dev/zero", self.folder, self.folder / "nowhere.json"):
            self.plumb("import", "google-benchmark", name, "--name", "mine", expect=2)
        self.plumb("import", "google-benchmark", self.folder / "good.json", "--name", "a:b", expect=2)
        self.assertEqual(self.json("runs")["runs"], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
