#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes logs and submissions for MLPerf with the real program, and compares the logs with those of MLCommons' LoadGen.

Usage: mlperf_logs_test.py BUILD_FOLDER. Comparisons with LoadGen (PyPI's mlcommons-loadgen) are skipped without mlperf_loadgen.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import mlperf_rules
from plumb_command import Command

try:
    import mlperf_loadgen
except ImportError:
    mlperf_loadgen = None

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
SCENARIOS = {"single_stream": "SingleStream", "multi_stream": "MultiStream", "server": "Server", "offline": "Offline"}
ALL = [word for name in SCENARIOS for word in ("--scenario", name)]
SAMPLES = 60
#: Keys of what happened, which a run without it lacks.
OF_EVENTS = {"error_runtime", "warning_generic_message", "result_invalid_reason"}
#: Keys whose values Plumbline's load generator does not have.
UNKNOWN = {
    "loadgen_build_date_local", "loadgen_build_date_utc", "loadgen_git_commit_date", "loadgen_git_status_message", "loadgen_file_sha1",
    "get_sut_name_duration_ns", "requested_single_stream_expected_latency_ns", "requested_multi_stream_expected_latency_ns",
    "requested_server_find_peak_qps_decimals_of_precision", "requested_server_find_peak_qps_boundary_step_size",
}


def drive_loadgen(scenario, mode, folder):
    """Loads a system that answers at once through LoadGen, with MLPerf's seeds. Called in a process of its own."""

    def issue(queries):
        mlperf_loadgen.QuerySamplesComplete([mlperf_loadgen.QuerySampleResponse(query.id, 0, 0) for query in queries])

    settings = mlperf_loadgen.TestSettings()
    settings.mode = getattr(mlperf_loadgen.TestMode, mode)
    settings.scenario = getattr(mlperf_loadgen.TestScenario, scenario)
    settings.min_duration_ms, settings.min_query_count = 50, 1
    settings.qsl_rng_seed = mlperf_rules.SEEDS["qsl"]
    settings.sample_index_rng_seed = mlperf_rules.SEEDS["sample_index"]
    settings.schedule_rng_seed = mlperf_rules.SEEDS["schedule"]
    settings.server_target_qps, settings.server_target_latency_ns = 2000, 10_000_000
    settings.offline_expected_qps = 1000
    log = mlperf_loadgen.LogSettings()
    log.log_output.outdir = folder
    log.log_output.copy_summary_to_stdout = False
    log.enable_trace = False
    system = mlperf_loadgen.ConstructSUT(issue, lambda: None)
    library = mlperf_loadgen.ConstructQSL(SAMPLES, SAMPLES, lambda indices: None, lambda indices: None)
    mlperf_loadgen.StartTestWithLogSettings(system, library, settings, log, "")
    mlperf_loadgen.DestroyQSL(library)
    mlperf_loadgen.DestroySUT(system)


def order_of(path):
    """Returns the data set's indices in the order in which an accuracy log's samples were asked."""
    return [answer["qsl_idx"] for answer in sorted(json.loads(path.read_text()), key=lambda answer: answer["seq_id"])]


class MlperfLogs(Command):
    def setUp(self):
        super().setUp()
        self.stack("fake", '[[rule]]\nmatch = "model:*"\nseconds = 0.001\n')

    def run_scenarios(self, *arguments, model="lenet", scenarios=ALL):
        return self.plumb("run", "--model", model, "--only", "models", "--stack", "fake", *scenarios, *arguments)

    @unittest.skipUnless(mlperf_loadgen, "mlperf_loadgen is not installed: ci/setup test installs it")
    def test_logs_have_loadgens_keys_and_samples(self):
        logs = self.folder / "logs"
        self.run_scenarios(
            "--latency-limit", "50ms", "--target-rate", "500", "--duration", "6s", "--performance-sample-count", SAMPLES,
            "--mlperf-logs", logs, "--accuracy")
        for scenario, name in SCENARIOS.items():
            for mode, place in (("PerformanceOnly", "performance/run_1"), ("AccuracyOnly", "accuracy")):
                theirs_at = self.folder / f"theirs/{name}{mode}"
                theirs_at.mkdir(parents=True)
                subprocess.run(
                    [sys.executable, __file__, str(self.build), "--loadgen", name, mode, str(theirs_at)], check=True, timeout=60)
                ours_at = logs / "lenet_1_f32" / scenario / place
                ours, _ = mlperf_rules.read_detail(ours_at / "mlperf_log_detail.txt")
                theirs, _ = mlperf_rules.read_detail(theirs_at / "mlperf_log_detail.txt")
                with self.subTest(scenario=scenario, mode=mode):
                    self.assertEqual(theirs.keys() - OF_EVENTS - ours.keys(), set(), "LoadGen's keys that ours lacks")
                    nulls = {key for key, value in ours.items() if value is None}
                    self.assertEqual(nulls, UNKNOWN & theirs.keys(), "unknown values")
                    for key in (theirs.keys() & ours.keys()) - UNKNOWN:
                        number = isinstance(theirs[key], (int, float)) and not isinstance(theirs[key], bool)
                        self.assertIsInstance(ours[key], (int, float) if number else type(theirs[key]), key)
                    self.assertEqual(ours["loaded_qsl_set"], theirs["loaded_qsl_set"][:SAMPLES], "less padding")
                    self.assertEqual(ours["effective_scenario"], name)
                    if mode == "AccuracyOnly":
                        answers = order_of(ours_at / "mlperf_log_accuracy.json")
                        self.assertEqual(answers, order_of(theirs_at / "mlperf_log_accuracy.json")[:SAMPLES] if name != "MultiStream" else answers)
                        self.assertEqual(sorted(answers), list(range(SAMPLES)))

    def test_lines_have_their_time(self):
        logs = self.folder / "logs"
        self.run_scenarios("--duration", "5s", "--mlperf-logs", logs, scenarios=["--scenario", "single_stream"])
        lines = (logs / "lenet_1_f32/single_stream/performance/run_1/mlperf_log_detail.txt").read_text().splitlines()
        times = [json.loads(line.removeprefix(":::MLLOG"))["time_ms"] for line in lines]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 0)
        self.assertAlmostEqual(times[-1] - times[0], 5000, delta=10)

    def test_each_mode_has_its_logs(self):
        logs = self.folder / "logs"
        self.run_scenarios("--duration", "5s", "--mode", "plain", "--mode", "fusion", "--mlperf-logs", logs, scenarios=["--scenario", "offline"])
        found = sorted(str(path.parent.relative_to(logs)) for path in logs.rglob("mlperf_log_detail.txt"))
        self.assertEqual(found, ["lenet_1_f32/fusion/offline/performance/run_1", "lenet_1_f32/offline/performance/run_1"])

    def test_sample_counts_are_mlperfs_unless_asked(self):
        counts = {}
        for model, arguments in (("squeezenet1.1", ()), ("lenet", ()), ("vgg16", ("--performance-sample-count", "100"))):
            done = self.json(
                "run", "--model", model, "--only", "models", "--stack", "fake", "--scenario", "offline", "--duration", "1s", *arguments)
            load = done["models"][0]["executions"][0]["load"]["result"]["effective"]
            counts[model] = (load["loaded_samples"], load["total_samples"])
        self.assertEqual(counts, {"squeezenet1.1": (1024, 1024), "lenet": (1024, 1024), "vgg16": (100, 100)})

    def test_too_small_a_data_set_names_the_checkers_minimum(self):
        done = self.run_scenarios("--duration", "1s", "--performance-sample-count", "100", model="squeezenet1.1", scenarios=["--scenario", "offline"])
        self.assertIn("the data set has 100 samples, but MLPerf's submission checker requires at least 1024 for resnet", done.stderr)

    def test_a_submission_passes_the_checkers_rules(self):
        folder = self.folder / "submission"
        done = self.run_scenarios(
            "--latency-limit", "15ms", "--target-rate", "500", "--mlperf-submission", folder, "--mlperf-submitter", "example.org",
            model="squeezenet1.1")
        self.assertEqual(mlperf_rules.faults_of(folder, "example.org"), ([], 4))
        self.assertNotIn("will refuse", done.stderr)
        root = folder / "open/example.org"
        self.assertEqual(sorted(path.name for path in root.glob("results/*/squeezenet1.1_1_f32/*")), sorted(SCENARIOS.values()))
        self.assertEqual(json.loads((root / "model_mapping.json").read_text()), {"squeezenet1.1_1_f32": "resnet"})
        (server,) = root.glob("results/*/squeezenet1.1_1_f32/Server")
        self.assertIn("squeezenet1.1_1_f32.Server.target_qps = 500\n", (server / "user.conf").read_text())

    def test_the_full_accuracy_log_has_the_hash_of_the_truncated_one(self):
        folder, logs = self.folder / "submission", self.folder / "logs"
        self.run_scenarios(
            "--duration", "5s", "--mlperf-submission", folder, "--mlperf-submitter", "me", "--mlperf-logs", logs,
            model="squeezenet1.1", scenarios=["--scenario", "offline"])
        full = (logs / "squeezenet1.1_1_f32/offline/accuracy/mlperf_log_accuracy.json").read_bytes()
        self.assertEqual(len(json.loads(full)), 1024)
        (accuracy,) = (folder / "open/me").glob("results/*/squeezenet1.1_1_f32/Offline/accuracy")
        self.assertIn(f"hash={hashlib.sha256(full).hexdigest()}\n", (accuracy / "accuracy.txt").read_text())
        self.assertEqual((accuracy / "mlperf_log_accuracy.json").read_bytes(), full[:4096] + b"\n\n...\n\n" + full[-4096:])

    def test_a_submission_that_will_be_refused_says_so(self):
        done = self.run_scenarios(
            "--duration", "5s", "--mlperf-submission", self.folder / "s", "--mlperf-submitter", "me", "--performance-sample-count", "9",
            model="squeezenet1.1", scenarios=["--scenario", "offline"])
        self.assertIn("will refuse it: the duration is 5 s, but 600 s are required", done.stderr)
        self.assertIn("will refuse it: the performance sample count is 9, but resnet requires at least 1024", done.stderr)
        unknown = self.run_scenarios(
            "--duration", "5s", "--mlperf-submission", self.folder / "s", "--mlperf-submitter", "me", scenarios=["--scenario", "offline"])
        self.assertIn("no benchmark of MLPerf is known for 'lenet'", unknown.stderr)

    def test_what_somebody_wrote_of_a_system_is_kept(self):
        arguments = ("--duration", "5s", "--mlperf-submission", self.folder / "s", "--mlperf-submitter", "me")
        self.run_scenarios(*arguments, scenarios=["--scenario", "offline"])
        (path,) = (self.folder / "s/open/me/systems").iterdir()
        system = json.loads(path.read_text())
        self.assertEqual(system["cooling"], "not recorded")
        path.write_text(json.dumps({**system, "cooling": "air", "operating_system": "of yesterday"}))
        self.run_scenarios(*arguments, scenarios=["--scenario", "offline"])
        again = json.loads(path.read_text())
        self.assertEqual((again["cooling"], again["operating_system"]), ("air", system["operating_system"]))

    def test_refuses_a_submission_without_a_name(self):
        for arguments, text in (
            (("--mlperf-submission", "s"), "give both --mlperf-submission and --mlperf-submitter"),
            (("--mlperf-submission", "s", "--mlperf-submitter", "../me"), "cannot name a submission's folder"),
        ):
            done = self.plumb("run", "--model", "lenet", "--stack", "fake", "--scenario", "offline", *arguments, expect=2)
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    if "--loadgen" in sys.argv:
        drive_loadgen(*sys.argv[sys.argv.index("--loadgen") + 1:])
    else:
        unittest.main(verbosity=2)
