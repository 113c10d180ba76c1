#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads models by MLPerf's scenarios with the real program: verdicts, exit statuses, reports, logs.

Usage: scenarios_test.py BUILD_FOLDER [unittest arguments]. Tests named `onednn` use the real worker, with limits that a busy machine keeps.
"""

import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
SCENARIOS = ("single_stream", "multi_stream", "server", "offline")
ALL = [word for name in SCENARIOS for word in ("--scenario", name)]


def loads_of(document):
    """Finds the loads of a bounds document by model and scenario."""
    return {(model["model"], row["scenario"]): row for model in document["models"] for row in model["executions"] if row["load"]}


class Scenarios(Command):
    def load(self, *arguments, stack="fake", model="lenet", expect=0):
        return loads_of(self.json("run", "--model", model, "--only", "models", "--stack", stack, *arguments, expect=expect))

    def rule(self, text):
        self.stack("fake", f'[[rule]]\nmatch = "model:*"\n{text}\n')

    def test_loads_by_every_scenario(self):
        loads = self.load(*ALL, "--latency-limit", "50ms", "--duration", "10s", "--max-batch", "2")
        self.assertEqual({scenario for _, scenario in loads}, set(SCENARIOS))
        for (_, scenario), row in loads.items():
            load = row["load"]
            self.assertEqual((load["verdict"], load["result"]["shortfalls"], row["outcome"]), ("valid", [], "ok"), scenario)
            self.assertTrue(row["low"] <= row["median_seconds"] <= row["high"] <= row["p99_seconds"], scenario)
            self.assertGreater(row["samples"], 0)
            self.assertIn("not reviewed by MLCommons", row["notice"])
            self.assertTrue(load["copies_counted"])
            self.assertEqual(load["requested"]["seeds"]["schedule"], "16159082839903944936")
        server = loads["lenet", "server"]["load"]
        self.assertEqual(server["score"]["value"], server["peak"]["rate"])
        self.assertEqual(server["peak"]["probes"][-1]["purpose"], "confirmation")
        single = loads["lenet", "single_stream"]["load"]
        self.assertEqual(single["score"]["value"], single["result"]["early_stopping"]["estimate_seconds"])
        multi = loads["lenet", "multi_stream"]["load"]
        self.assertEqual([bucket["bucket"] for bucket in multi["batcher"]["buckets"]], [1, 2])

    def test_a_scenario_replaces_the_single_execution_and_a_suite_has_both(self):
        self.rule("seconds = 0.001")
        only = self.json("run", "--model", "lenet", "--only", "models", "--stack", "fake", "--scenario", "offline", "--duration", "5s")
        self.assertEqual([row["load"] is None for row in only["models"][0]["executions"]], [False])
        suite = self.suite(
            '[[model]]\nname = "lenet"\nscenario = ["server", "offline"]\n'
            '[model.server]\nlatency = "20ms"\ntarget_rate = 100\nduration = "30s"\nmaximum_batch = 4\nbatch_timeout = "2ms"\n'
            '[model.offline]\nduration = "5s"\n'
        )
        both = self.json("run", suite, "--stack", "fake")
        rows = [(row["scenario"], row["load"] is None) for row in both["models"][0]["executions"] if row["mode"] == "plain"]
        self.assertEqual(rows, [("single_stream", True), ("server", False), ("offline", False)])
        effective = loads_of(both)["lenet", "server"]["load"]["result"]["effective"]
        self.assertEqual((effective["target_rate"], effective["latency_limit_seconds"]), (100.0, 0.02))
        self.assertEqual(both["models"][0]["findings"], [])
        shown = self.json("suite", "show", suite)["models"][0]["scenario"][0]
        self.assertEqual((shown["target_rate"], shown["maximum_batch"], shown["batch_timeout_seconds"]), (100.0, 4, 0.002))
        layers = self.json("run", suite, "--stack", "fake", "--only", "layers", "--reuse", "never")
        self.assertIn("scenarios of the suite that this run did not execute: server, offline", layers["models"][0]["findings"])

    def test_invalid_reaches_the_exit_status(self):
        self.rule("seconds = 0.01")
        late = self.load("--scenario", "server", "--latency-limit", "15ms", "--target-rate", "99", "--duration", "60s", expect=1)
        kinds = {shortfall["kind"] for shortfall in late["lenet", "server"]["load"]["result"]["shortfalls"]}
        self.assertIn("latency", kinds)
        few = self.load("--scenario", "single_stream", "--duration", "0.1s", expect=75)
        (shortfall,) = few["lenet", "single_stream"]["load"]["result"]["shortfalls"]
        self.assertEqual((shortfall["kind"], shortfall["required"]), ("confidence", 64))
        self.rule('outcome = "wrong_result"\nreason = "element 3 is nan"\nseconds = 0.01')
        wrong = self.load("--scenario", "offline", "--duration", "1s", expect=1)
        self.assertEqual(wrong["lenet", "offline"]["load"]["result"]["first_failure"], "element 3 is nan")
        self.rule('outcome = "timed_out"\nreason = "dropped"\nseconds = 0.01')
        dropped = self.load("--scenario", "multi_stream", "--duration", "1s", expect=1)
        self.assertIn("dropped", {each["kind"] for each in dropped["lenet", "multi_stream"]["load"]["result"]["shortfalls"]})
        self.rule('outcome = "unsupported"\nreason = "no plan"')
        refused = self.load("--scenario", "offline", "--duration", "1s", expect=3)
        self.assertEqual(refused["lenet", "offline"]["load"]["result"], None)
        self.rule('action = "crash"')
        crashed = self.load("--scenario", "offline", "--duration", "1s", expect=1)
        self.assertIn("SIGABRT", crashed["lenet", "offline"]["reason"])

    def test_a_budget_below_the_minimum_duration_says_by_how_much(self):
        self.rule("seconds = 0.01")
        done = self.plumb(
            "run", "--model", "lenet", "--only", "models", "--stack", "fake", *ALL, "--latency-limit", "50ms", "--budget", "40s", expect=75
        )
        self.assertEqual(done.stdout.count("INVALID  "), 4, done.stdout)
        self.assertRegex(done.stdout, r"scenario single_stream \(plain\) is INVALID: .* short of the minimum duration of 600 s")
        self.assertRegex(done.stderr, r"warning: lenet, batch 1, f32, offline, plain: INVALID: .*the budget of [0-9.]+ s allowed for")

    def test_refuses_what_makes_no_sense(self):
        run = ("run", "--model", "lenet", "--stack", "fake")
        for arguments, text in (
            (("--scenario", "server", "--duration", "1s"), "server needs a latency limit"),
            (("--scenario", "rush_hour"), "rush_hour"),
            (("--duration", "1s"), "'--duration' needs a scenario"),
            (("--scenario", "offline", "--target-rate", "5"), "'--target-rate' needs the scenario server"),
            (("--scenario", "offline", "--duration", "soon"), "soon"),
            (("--scenario", "offline", "--max-batch", "0"), "--max-batch"),
        ):
            self.assertIn(text, self.plumb(*run, *arguments, expect=2).stderr)
        suite = self.suite('[[model]]\nname = "lenet"\nscenario = ["offline"]\n[model.offline]\nduration = "1s"\nminimum_duration = "1s"\n')
        self.assertIn("mine.toml:4: 'duration' and 'minimum_duration' exclude each other", self.plumb("run", suite, "--stack", "fake", expect=2).stderr)

    def test_limits_on_tokens_are_not_judged(self):
        suite = self.suite('[[model]]\nname = "lenet"\nscenario = ["interactive"]\n[model.interactive]\nfirst_token = "1s"\n')
        done = self.json("run", suite, "--stack", "fake", "--only", "models", expect=3)
        self.assertIn("limits on tokens are not supported", loads_of(done)["lenet", "interactive"]["reason"])

    def test_reports_carry_verdicts_and_the_words_of_mlcommons(self):
        self.rule("seconds = 0.01")
        self.load("--scenario", "single_stream", "--scenario", "offline", "--duration", "0.2s", expect=75)
        words = "Unverified: not reviewed by MLCommons"
        texts = {}
        for extension in ("md", "xml", "html", "txt", "json"):
            path = self.folder / f"r.{extension}"
            self.plumb("report", "@latest", "-o", path)
            texts[extension] = path.read_text()
            self.assertIn(words, texts[extension], extension)
        self.assertIn("| single\\_stream | plain | INVALID |", texts["md"])
        self.assertRegex(texts["xml"], r'name="scenario single_stream \(plain\)"[^>]*>\n.*\n +<failure message="INVALID: 2[01] queries do not prove')
        self.assertRegex(texts["xml"], r'failures="1"')

    def test_onednn_loads_by_every_scenario_and_writes_mlperfs_logs(self):
        logs = self.folder / "logs"
        loads = self.load(
            *ALL, "--latency-limit", "30s", "--target-rate", "1000", "--duration", "2s", "--max-batch", "4", "--batch-timeout", "1ms",
            "--lanes", "1", "--mlperf-logs", logs, "--accuracy", stack="default",
        )
        for scenario in SCENARIOS:
            row = loads["lenet", scenario]
            self.assertEqual(row["load"]["verdict"], "valid", row["load"])
            self.assertGreater(row["memory_bytes"], 100_000)
            run = logs / "lenet_1_f32" / scenario / "performance/run_1"
            detail = {}
            for number, line in enumerate((run / "mlperf_log_detail.txt").read_text().splitlines()):
                self.assertTrue(line.startswith(":::MLLOG "), f"{number}: {line}")
                entry = json.loads(line.removeprefix(":::MLLOG "))
                detail.setdefault(entry["key"], entry["value"])
            self.assertEqual(detail["result_validity"], "VALID")
            self.assertEqual(detail["effective_schedule_rng_seed"], 16159082839903944936)
            self.assertEqual(detail["effective_scenario"].lower(), scenario.replace("_", ""))
            self.assertEqual(detail["result_query_count"], row["load"]["result"]["queries_completed"])
            summary = (run / "mlperf_log_summary.txt").read_text()
            self.assertRegex(summary, "(?m)^Result is : VALID$")
            self.assertIn("not reviewed by MLCommons", summary)
            self.assertEqual(json.loads((run / "mlperf_log_accuracy.json").read_text()), [])
            accuracy = logs / "lenet_1_f32" / scenario / "accuracy"
            answers = json.loads((accuracy / "mlperf_log_accuracy.json").read_text())
            samples = row["load"]["requested"]["total_samples"]
            self.assertEqual(sorted(answer["qsl_idx"] for answer in answers), list(range(samples)))
            self.assertEqual({len(bytes.fromhex(answer["data"])) for answer in answers}, {4 * 10})
            self.assertIn("Accuracy", (accuracy / "mlperf_log_detail.txt").read_text())
            self.assertEqual(row["load"]["agreement"]["samples"], samples)
            self.assertLess(row["load"]["agreement"]["maximum_difference"], 1e-4)
        server = loads["lenet", "server"]["load"]
        self.assertIsNone(server["peak"])
        self.assertGreater(server["score"]["value"], 100)
        self.assertEqual(server["result"]["samples_completed"], server["result"]["samples_issued"])

    def test_onednn_reshapes_a_file_to_each_batch(self):
        path = self.folder / "m.onnx"
        self.plumb("model", "export", "squeezenet1.1", "--weights", "-o", path)
        fixed = self.load("--scenario", "multi_stream", "--duration", "1s", stack="default", model=path, expect=3)
        self.assertIn("--rebatch", fixed["m", "multi_stream"]["reason"])
        many = ("--scenario", "multi_stream", "--duration", "1s", "--rebatch", "1")
        loads = self.load(*many, stack="default", model=path, expect=75)
        load = loads["m", "multi_stream"]["load"]
        self.assertEqual([shortfall["kind"] for shortfall in load["result"]["shortfalls"]], ["confidence"], load["reason"])
        self.assertEqual(load["batcher"]["buckets"][1]["samples"], 8 * load["result"]["queries_issued"])

    def interrupted(self, said, *arguments):
        """Interrupts a run a second after it said so, and returns what it stored beside its header."""
        process = subprocess.Popen([self.program(), "run", "--only", "models", *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stderr:
            if said in line:
                break
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.json("runs")["runs"][0]["state"], "interrupted")
        return [kind for kind, in self.store_rows("select kind from derived")]

    def test_onednn_stops_at_once_when_interrupted(self):
        self.interrupted("scenario 1/1", "--model", "lenet", "--scenario", "single_stream")

    def test_onednn_stops_in_the_middle_of_a_model(self):
        stored = self.interrupted("end to end 1/1", "--model", "resnet50-v1", "--mode", "plain", "--mode", "fusion", "--mode", "channels_last")
        self.assertNotIn("execution", stored)


if __name__ == "__main__":
    unittest.main(verbosity=2)
