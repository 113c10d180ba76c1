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
import time
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
                    "iterations": 100, "real_time": real * (1 + 0.001 * i), "time_unit": "ms"}
                   for key, real in times.items() for i in range(3)]
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
        once = self.json("import", "google-benchmark", self.measured("one.json"), "--name", "once")
        self.assertEqual(once["rows"], {"ok": 2, "failed": 1}, "one repetition is what the tool does by itself")
        self.plumb("store", "verify")
        for document in ("out.html", "out.md", "out.xml"):
            self.plumb("report", "@latest", "-o", self.folder / document)
        metrics = self.plumb("export", "--openmetrics").stdout
        lines = [line for line in metrics.splitlines() if line.startswith("plumb_benchmark_seconds{suite=\"sums\"")]
        self.assertEqual(len([line for line in lines if 'stat="median"' in line]), 2)
        self.assertTrue(any('benchmark="sum/1000",stat="low"' in line for line in lines), lines)
        self.assertRegex(metrics, r'(?m)^plumb_run_benchmarks\{suite="sums".*state="failed"\} 1 ')
        self.assertNotRegex(metrics, r'(?m)^plumb_benchmark_seconds\{suite="once".*stat="low"', "one sample has no interval")

    def test_the_latest_run_is_that_of_a_suite_unless_there_is_none(self):
        def latest():
            path = self.folder / "latest.json"
            self.plumb("report", "@latest", "-o", path)
            return json.loads(path.read_text())["header"]["run"]
        imported = self.json("import", "google-benchmark", self.written("a.json", {"x": 1}, "2099-01-01T00:00:00Z"), "--name", "f")["run"]
        self.assertEqual(latest(), imported)
        measured = self.run_tiny()["run"]
        self.assertEqual(latest(), measured, "an import is never in its way")
        paired = self.json("qualify", self.tiny(), "--baseline", "fake", "--candidate", "fake", "--pairs", 6, "--only", "layers", "--budget", "1ms")
        self.assertEqual(latest(), measured)
        kinds = {row["run"]: row["kind"] for row in self.json("runs")["runs"]}
        self.assertEqual((kinds[imported], kinds[measured], kinds[paired["candidate"]["run"]]), ("import", "run", "qualification"))
        self.assertIn("qualification  tiny", self.plumb("runs").stdout)

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

    def early(self, name, times):
        """A file as versions before 1.4.1 wrote it: no run_type, no context, one repetition."""
        path = self.folder / name
        path.write_text(json.dumps({"benchmarks": [{"name": key, "iterations": 100, "real_time": real, "cpu_time": real, "time_unit": "us"}
                                                   for key, real in times.items()]}))
        return path

    def test_published_results_of_an_early_version(self):
        names = [f"CONV/{i}" for i in range(30)]
        runs = [self.json("import", "google-benchmark", self.early(f"v{version}.json", {name: speed * (10 + i) for i, name in enumerate(names)}),
                          "--name", "conv", "--version", f"7.{version}", "--at", f"2019-05-0{version}T00:00:00Z")["run"]
                for version, speed in ((1, 1.0), (2, 0.9))]
        document = self.json("compare", *runs)
        self.assertEqual(document["verdict"], "inconclusive", "one sample says nothing of one benchmark")
        self.assertEqual({row["interval"] for row in document["metrics"]}, {None})
        self.assertIn("one sample", document["metrics"][0]["reason"])
        overall = document["overall"]
        self.assertAlmostEqual(overall["ratio"], 0.9, places=9)
        self.assertEqual((overall["verdict"], overall["metrics"], overall["faster"]), ("improved", 30, 30))
        self.assertIn("geometric mean of 30: -10.00 %", self.plumb("compare", *runs).stdout)

    def test_what_fails_alike_in_both_is_outside_the_gate(self):
        def failing(name, message, day):
            path = self.written(name, {"x": 1, "y": 2}, f"2026-11-{day:02}T01:00:00Z")
            document = json.loads(path.read_text())
            document["benchmarks"].append({"name": "bad", "run_type": "iteration", "error_occurred": True, "error_message": message,
                                           "real_time": 0, "iterations": 1, "time_unit": "ns"})
            path.write_text(json.dumps(document))
            return path
        def run(name, message, day):
            return self.json("import", "google-benchmark", *(failing(f"{name}{i}.json", message, day) for i in range(3)), "--name", "f")["run"]
        base, same, other = run("a", "no file /tmp/x1", 1), run("b", "no file /tmp/y2", 2), run("c", "illegal address", 3)
        document = self.json("compare", base, same, "--gate")
        self.assertEqual([row["series"] for row in document["not_compared"]], ["layers/external:f:bad"])
        text = self.plumb("compare", base, same).stdout
        self.assertIn("\nNot compared\n1 failed in the same way in both runs.\n", text)
        document = self.json("compare", base, other, "--gate", expect=75)
        self.assertIn("in different ways", " ".join(row.get("reason", "") for row in document["metrics"]))

    def test_a_file_in_which_all_was_skipped_is_refused(self):
        path = self.folder / "skipped.json"
        path.write_text(json.dumps({"context": {}, "benchmarks": [{"name": "x", "run_type": "iteration", "skipped": True,
                                                                   "skip_message": "no AVX", "time_unit": "ns"}]}))
        done = self.plumb("import", "google-benchmark", path, "--name", "mine", expect=2)
        self.assertIn("no benchmark of", done.stderr)
        self.assertEqual(self.json("runs")["runs"], [])

    def test_too_many_benchmarks_are_refused_at_once(self):
        path = self.folder / "many.json"
        entry = json.dumps({"name": "x", "run_type": "iteration", "iterations": 1, "real_time": 1, "time_unit": "ns", "threads": 1})
        path.write_text('{"benchmarks":[' + ",".join([entry] * 200_000) + "]}")
        started = time.monotonic()
        done = self.plumb("import", "google-benchmark", path, "--name", "mine", expect=2)
        self.assertIn("200000 elements: at most 100000", done.stderr)
        self.assertLess(time.monotonic() - started, 20, "it took 29 s when each element cost a walk through all")

    def test_a_history_goes_to_other_tools_and_back(self):
        for day, factor in ((1, 1.0), (2, 1.1), (3, 1.2)):
            self.plumb("import", "google-benchmark", self.written(f"{day}.json", {"a, b": factor, "c": 2 * factor}, f"2026-11-0{day}T01:00:00Z"),
                       "--name", "mine", "--version", f"c{day}")
        self.plumb("export", expect=2)
        self.plumb("export", "--otava", "--openmetrics", expect=2)
        csv, script, folder = self.folder / "h.csv", self.folder / "data.js", self.folder / "asv"
        self.plumb("export", "--otava", "-o", csv)
        lines = csv.read_text().splitlines()
        self.assertEqual((lines[0], len(lines)), ('time,run,version,"a, b",c', 4))
        self.assertIn("2026-11-03T01:00:00.000000Z,", lines[3])
        self.plumb("export", "--benchmark-action", "-o", script)
        data = json.loads(script.read_text().removeprefix("window.BENCHMARK_DATA = "))
        self.assertEqual([entry["commit"]["id"] for entry in data["entries"]["mine"]], ["c1", "c2", "c3"])
        self.assertEqual({bench["unit"] for bench in data["entries"]["mine"][0]["benches"]}, {"s"})
        self.plumb("export", "--asv", expect=2)
        self.plumb("export", "--asv", "-o", folder)
        results = sorted(folder.glob("*/c*-external.json"))
        self.assertEqual(len(results), 3)
        self.assertIn("time_a, b", json.loads((folder / "benchmarks.json").read_text()))
        self.plumb("import", "otava", csv, "--name", "back", expect=2)
        for name, *arguments in (("o", "otava", csv, "--unit", "s"), ("b", "benchmark-action", script), ("v", "asv", *results)):
            document = self.json("import", *arguments, "--name", name)
            self.assertEqual([run["started"][:10] for run in document["runs"]], ["2026-11-01", "2026-11-02", "2026-11-03"], name)
            self.assertEqual(document["runs"][0]["rows"], {"ok": 2, "failed": 0})
            self.assertIn("already", self.plumb("import", *arguments, "--name", name, expect=2).stderr)
        keys = {key for (key,) in self.store_rows("select text from layer_keys")}
        self.assertLessEqual({"external:o:a, b", "external:b:c", "external:v:time_c"}, keys)
        series = self.json("detect", "--suite", "b")["series"]
        self.assertEqual({each["id"] for each in series}, {"layers/external:b:a, b", "layers/external:b:c"})
        # A file that has grown gives its new runs only.
        with open(csv, "a", encoding="utf-8") as grown:
            grown.write("2026-11-04T01:00:00Z,x,c4,0.001,0.002\n")
        document = self.json("import", "otava", csv, "--name", "o", "--unit", "s")
        self.assertEqual([run["started"][:10] for run in document["runs"]], ["2026-11-04"])
        self.plumb("store", "verify")

    def test_names_become_layers_of_a_model(self):
        shown = self.json("model", "show", "lenet")
        keys = sorted({layer["key"] for layer in shown["layer_list"] if layer["key"]})
        names = {f"LAYER/{i}": key for i, key in enumerate(keys)}
        mapping = self.folder / "keys.json"
        mapping.write_text(json.dumps({"keys": names}))
        path = self.early("published.json", {name: 100 for name in names})
        run = self.json("import", "google-benchmark", path, "--name", "lenet-published", "--keys", mapping, "--model", "lenet",
                        "--at", "2019-05-01T00:00:00Z")
        self.assertEqual(run["rows"]["ok"], len(keys))
        model = self.json("bound", run["run"])["models"][0]
        self.assertEqual((model["model"], model["measured_layers"]), ("lenet", model["total_layers"]))
        library = [bound for bound in model["bounds"] if bound["kind"] == "library"][0]
        self.assertTrue(library["complete"])
        self.assertGreater(library["seconds"], 100e-6)
        mapping.write_text(json.dumps({"keys": {"nobody": keys[0]}}))
        self.assertIn("are not in any file", self.plumb("import", "google-benchmark", path, "--name", "x", "--keys", mapping, expect=2).stderr)
        mapping.write_text(json.dumps({"keys": {"LAYER/0": "conv"}}))
        self.assertIn("'LAYER/0'", self.plumb("import", "google-benchmark", path, "--name", "x", "--keys", mapping, expect=2).stderr)

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
