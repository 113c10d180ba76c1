#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the real program as a user would: whole commands, real processes, a real store.

Usage: commands_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker; tests named `onednn` use the real one.
"""

import json
import os
import pathlib
import re
import resource
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Run(Command):
    def test_measures_bounds_and_stores(self):
        document = self.run_tiny()
        model = document["models"][0]
        self.assertEqual((model["model"], model["batch"], model["dtype"]), ("lenet", 1, "f32"))
        self.assertEqual((model["measured_layers"], model["total_layers"]), (12, 12))
        kinds = {bound["kind"]: bound for bound in model["bounds"] if bound["mode"] in ("plain", "any")}
        for kind in ("hardware", "library", "library_parallel", "layer_sum", "benanza_sequential", "benanza_parallel"):
            self.assertGreater(kinds[kind]["seconds"], 0, kind)
            self.assertTrue(kinds[kind]["complete"], kind)
            self.assertLessEqual(kinds[kind]["low"], kinds[kind]["seconds"])
            self.assertGreaterEqual(kinds[kind]["high"], kinds[kind]["seconds"])
        self.assertLessEqual(kinds["library_parallel"]["seconds"], kinds["library"]["seconds"])
        runs = self.json("runs")["runs"]
        self.assertEqual(len(runs), 1)
        self.assertEqual(runs[0]["state"], "finished")
        self.assertEqual(runs[0]["rows"]["failed"], 0)
        self.assertIn(runs[0]["environment"], self.json("runs")["environments"])

    def test_keeps_the_axes_of_one_model_apart(self):
        suite = self.suite('[[model]]\nname = "squeezenet1.1"\n[[model]]\nname = "mobilenet-v2"\ndim.image = [96, {from = 128, to = 256}]\n')
        document = self.json("run", suite, "--stack", "fake", "--cache", "none")
        shown = [(model["model"], model["dims"]) for model in document["models"]]
        again = [(model["model"], model["dims"]) for model in self.json("bound")["models"]]
        self.assertEqual(shown, again)
        self.assertEqual(shown, [("squeezenet1.1", {}), *(("mobilenet-v2", {"image": side}) for side in (96, 128, 256))])
        subjects = {row[0] for row in self.store_rows("select subject from derived where kind = 'bound'")}
        self.assertEqual(subjects, {"squeezenet1.1|1|f32", *(f"mobilenet-v2|1|f32|image={side}" for side in (96, 128, 256))})
        self.assertIn("mobilenet-v2, batch 1, f32, image 96 ", self.plumb("bound").stdout)

    def test_names_the_nearest_axis_and_its_line(self):
        suite = self.suite('[[model]]\nname = "lenet"\n[[model]]\nname = "bert-base"\ndim.sequnce = 64\n')
        for command in (("run", suite, "--stack", "fake"), ("suite", "show", suite)):
            error = self.plumb(*command, expect=2).stderr
            self.assertIn("mine.toml:3: model 'bert-base' has no axis 'sequnce'; did you mean 'sequence'?", error)
        self.assertIn("did you mean 'sequence'?", self.plumb("model", "show", "bert-base", "--dim", "sequenc=4", expect=2).stderr)

    def test_a_missing_file_is_no_misspelt_name(self):
        for command in (("model", "show", "nope.onnx"), ("run", "--model", "nope.onnx", "--stack", "fake")):
            error = self.plumb(*command, expect=2).stderr
            self.assertIn("nope.onnx", error)
            self.assertNotIn("did you mean", error)
        self.assertIn("did you mean 'lenet'?", self.plumb("model", "show", "lenett", expect=2).stderr)
        self.assertIn("int8", self.plumb("run", "--help").stdout)

    def test_shows_every_axis_of_a_suite_and_a_model(self):
        suite = self.suite('[[model]]\nname = "bert-base"\n')
        self.assertEqual(self.json("suite", "show", suite)["models"][0]["dims"], {"sequence": 128})
        shown = self.json("model", "show", "bert-base", "--dim", "sequence=384", "--batch", "2")
        self.assertEqual(shown["inputs"][0]["shape"], [2, 384])
        listed = {model["name"]: model["dims"] for model in self.json("model", "list")["models"]}
        self.assertEqual((listed["bert-base"], listed["vgg16"]), ({"sequence": 128}, {}))
        self.plumb("model", "export", "bert-base", "--dim", "sequence=32", "-o", self.folder / "b.onnx")
        shown = self.json("model", "show", self.folder / "b.onnx")
        self.assertEqual(shown["inputs"][0]["shape"], [1, 32])

    def test_executes_models_end_to_end(self):
        self.stack("fake", '[[rule]]\nmatch = "model:lenet"\nseconds = 0.25\n')
        self.plumb("run", self.tiny(), "--stack", "fake")
        executions = self.json("bound")["models"][0]["executions"]
        modes = ["plain", "best_variant", "fusion", "best_variant+fusion", "channels_last"]
        self.assertEqual([execution["mode"] for execution in executions], modes)
        execution = executions[0]
        self.assertEqual((execution["mode"], execution["scenario"], execution["samples"]), ("plain", "single_stream", 5 * 9), "nine samples in each of five processes")
        self.assertAlmostEqual(execution["median_seconds"], 0.25, places=6)
        self.assertLessEqual(execution["low"], execution["median_seconds"])
        self.assertLessEqual(execution["p90_seconds"], execution["p99_seconds"])
        self.plumb("run", self.tiny(), "--stack", "fake", "--only", "layers")
        self.assertEqual(self.json("bound")["models"][0]["executions"], [])
        self.plumb("run", self.tiny(), "--stack", "fake", "--only", "models")
        model = self.json("bound")["models"][0]
        self.assertLess(model["measured_layers"], model["total_layers"])
        self.assertEqual([execution["mode"] for execution in model["executions"]], ["plain", "fusion", "channels_last"])
        self.plumb("run", self.tiny(), "--stack", "fake", "--mode", "bf16", "--mode", "fusion+best_variant")
        model = self.json("bound")["models"][0]
        self.assertEqual([execution["mode"] for execution in model["executions"]], ["bf16", "best_variant+fusion"])
        self.assertIn("best_variant, bf16, captured, channels_last, checkpointing, conv_relu_backward, eager, f16, folded_norms, fused_optimizer, fusion, "
                      "gemm_bias, gemm_gelu, gemm_relu, int8, micro_batch, parallel_branches, streams and tf32", self.plumb("run", self.tiny(), "--mode", "fast", expect=2).stderr)
        self.assertIn("models", self.plumb("run", self.tiny(), "--only", "nonsense", expect=2).stderr)

    def test_says_what_kept_a_model_from_being_executed(self):
        for rule, reason in {'outcome = "wrong_result"\nreason = "nan"': "wrong_result: nan", 'action = "crash"': "crashed: signal 6"}.items():
            self.stack("fake", f'[[rule]]\nmatch = "model:lenet"\n{rule}\n')
            self.plumb("run", self.tiny(), "--stack", "fake")
            model = self.json("bound")["models"][0]
            self.assertIsNone(model["executions"][0]["median_seconds"])
            self.assertTrue([f for f in model["findings"] if f.startswith(f"not executed end to end (plain): {reason}")], model["findings"])

    def test_a_mode_that_crashes_leaves_the_others_alone(self):
        self.stack("fake", '[[rule]]\nmatch = "model:lenet"\nvariant = "fusion"\naction = "crash"\n')
        self.plumb("run", self.tiny(), "--stack", "fake", "--only", "models")
        plain, fusion, _ = self.json("bound")["models"][0]["executions"]
        self.assertGreater(plain["samples"], 0)
        self.assertEqual((fusion["mode"], fusion["samples"]), ("fusion", 0))

    def test_finds_a_bound_above_what_was_executed(self):
        self.stack("fake", '[[rule]]\nmatch = "model:lenet"\nseconds = 1e-6\n')
        self.plumb("run", self.tiny(), "--stack", "fake")
        findings = self.json("bound")["models"][0]["findings"]
        self.assertTrue([f for f in findings if f.startswith("library (plain)") and "end to end" in f], findings)

    def test_gives_another_hash_to_other_axes_scenarios_and_graphs(self):
        self.plumb("model", "export", "lenet", "-o", self.folder / "m.onnx")
        model = '[[model]]\npath = "m.onnx"\nscenario = "server"\n'
        for text in (model, model, model + '[model.server]\nlatency = "1s"\n', model + "batch = 2\nrebatch = true\n"):
            self.plumb("run", self.suite(text), "--stack", "fake", "--only", "layers")
        self.plumb("model", "export", "mobilenet-v2", "--dim", "image=64", "-o", self.folder / "m.onnx")
        self.plumb("run", self.suite(model), "--stack", "fake", "--only", "layers")
        hashes = [run["suite_hash"] for run in self.json("runs")["runs"]]
        self.assertEqual((len(hashes), len(set(hashes)), hashes.count(max(hashes, key=hashes.count))), (5, 4, 2))

    def test_ships_suites_whose_models_and_axes_are_there(self):
        for suite in sorted((pathlib.Path(__file__).resolve().parents[2] / "suites").glob("*.toml")):
            for model in self.json("suite", "show", suite)["models"]:
                self.assertIn(model["name"], self.zoo_names(), suite)

    def zoo_names(self):
        return {model["name"] for model in self.json("model", "list")["models"]}

    def test_measures_nothing_twice_when_rows_may_be_reused(self):
        self.run_tiny()
        before = self.store_rows("select count(*) from measurements")[0][0]
        document = self.run_tiny()
        self.assertEqual(self.store_rows("select count(*) from measurements")[0][0], before)
        self.assertEqual(self.json("runs")["runs"][0]["rows"]["ok"] + self.json("runs")["runs"][0]["rows"]["reused"] > 0, True)
        self.assertTrue(all(bound["complete"] for bound in document["models"][0]["bounds"]))
        self.run_tiny(reuse="never")
        self.assertGreater(self.store_rows("select count(*) from measurements")[0][0], before)

    def test_one_environment_for_one_stack_and_another_for_another(self):
        self.run_tiny()
        self.stack("other", '[identity]\nlibrary = "fake 2.0"\n')
        self.json("run", self.tiny(), "--stack", "other")
        environments = {run["stack"]: run["environment"] for run in self.json("runs")["runs"]}
        self.assertEqual(len(set(environments.values())), 2)

    def test_a_missing_time_makes_a_bound_incomplete_and_never_zero(self):
        self.stack("fake", '[[rule]]\nmatch = "v1:max_pool;*"\noutcome = "unsupported"\nreason = "no pooling here"\n')
        model = self.run_tiny()["models"][0]
        self.assertEqual((model["measured_layers"], model["total_layers"]), (10, 12))
        self.assertEqual({row["reason"] for row in model["unsupported"]}, {"unsupported: no pooling here"})
        self.assertFalse(any(bound["complete"] for bound in model["bounds"] if bound["kind"] != "hardware"))

    def test_a_wrong_result_is_never_timed_into_a_bound(self):
        self.stack("fake", '[[rule]]\nmatch = "v1:conv;*"\nvariant = "algorithm=winograd"\noutcome = "wrong_result"\nreason = "differs by 3"\n')
        self.run_tiny()
        wrong = self.store_rows("select count(*), sum(n) from measurements where outcome = 'wrong_result'")[0]
        self.assertGreater(wrong[0], 0)
        self.assertEqual(wrong[1], 0, "a wrong result was timed")

    def test_a_crash_and_a_hang_cost_one_row_each(self):
        self.stack("fake", '[[rule]]\nmatch = "v1:conv;in=*28,28*"\naction = "crash"\n'
                           '[[rule]]\nmatch = "v1:matmul;*"\naction = "hang"\n')
        model = self.run_tiny("--row-timeout", "4s")["models"][0]
        reasons = " ".join(row["reason"] for row in model["unsupported"])
        self.assertIn("SIGABRT", reasons)
        self.assertIn("no answer for 4 s", reasons)
        self.assertEqual(self.json("runs")["runs"][0]["state"], "finished")
        self.assertGreater(model["measured_layers"], 5)

    def test_shards_together_measure_every_layer_once(self):
        for index in (1, 2):
            self.run_tiny("--shard", f"{index}/2")
        # the rows of both shards serve a whole run: nothing is left to measure
        before = self.store_rows("select count(*) from measurements")[0][0]
        model = self.run_tiny()["models"][0]
        self.assertEqual(self.store_rows("select count(*) from measurements")[0][0], before)
        self.assertEqual(model["measured_layers"], model["total_layers"])

    def test_the_machine_limits_a_model_of_bytes_where_their_peak_is_known(self):
        suite = self.suite('[suite]\nname = "bytes"\nversion = 1\nreuse = "never"\n[[model]]\nname = "lenet"\ndtype = "int8"\n')
        calibration = "[calibration]\nlast_level_cache_bytes = 1000000000\n"
        for peak, complete in (("", False), ("peak_int8_operations_per_second = 4e11\n", True)):
            self.stack("fake", calibration + peak)
            run = self.json("run", suite, "--stack", "fake", "--only", "layers")["run"]
            (model,) = self.json("bound", run)["models"]
            (hardware,) = [bound for bound in model["bounds"] if bound["kind"] == "hardware"]
            self.assertEqual(hardware["complete"], complete, hardware)
        self.assertGreater(hardware["seconds"], 0)

    def test_a_budget_that_ends_keeps_what_is_measured(self):
        self.stack("fake", "[[rule]]\ndelay_seconds = 0.3\n")
        done = self.plumb("run", self.tiny(), "--stack", "fake", "--budget", "6s", expect=75)
        self.assertIn("the budget ended", done.stderr)
        self.assertIn("the budget ended the run", done.stderr.splitlines()[-1])
        self.assertEqual(self.json("runs")["runs"][0]["state"], "interrupted")
        self.assertGreater(self.json("runs")["runs"][0]["rows"]["ok"], 0)

    def test_a_budget_that_ends_between_two_processes_cuts_the_run_too(self):
        self.stack("fake", "[[rule]]\ndelay_seconds = 0.004\n")
        done = self.plumb("run", self.tiny("never"), "--stack", "fake", "--budget", "12s", "--processes", 100, expect=75)
        self.assertRegex(done.stderr, "the budget ended in process [0-9]+ of 100")
        self.assertIn("the budget ended the run", done.stderr.splitlines()[-1])
        (run,) = self.json("runs")["runs"]
        self.assertEqual(run["state"], "interrupted")
        (model,) = self.json("bound")["models"]
        self.assertEqual(model["measured_layers"], model["total_layers"], "everything was measured once")
        resumed = self.json("run", self.tiny("never"), "--stack", "fake", "--budget", "10m", "--processes", 2, "--resume")
        self.assertEqual(resumed["run"], run["run"], "a longer budget is for the same run")
        self.assertEqual(self.json("runs")["runs"][0]["state"], "finished")
        self.stack("fake")
        other = self.json("run", self.tiny("never"), "--stack", "fake", "--processes", 2)
        self.assertNotEqual(other["run"], run["run"])
        self.json("compare", run["run"], other["run"])  # nor does another budget make it another suite


class OwnModel(Command):
    """A file is measured as a model of the zoo is."""

    def export(self, model="lenet", *arguments, name="mine"):
        path = self.folder / f"{name}.onnx"
        self.plumb("model", "export", model, *arguments, "-o", path)
        return path

    def run_file(self, *arguments, expect=0):
        return self.json("run", *arguments, "--stack", "fake", expect=expect)

    def test_a_file_is_shown_as_the_model_it_came_from(self):
        for arguments in ((), ("--weights",)):
            ours, theirs = self.json("model", "show", self.export("lenet", *arguments)), self.json("model", "show", "lenet")
            self.assertEqual([row["key"] for row in ours["layer_list"]], [row["key"] for row in theirs["layer_list"]])

    def test_a_file_in_a_suite_reuses_what_the_zoo_model_measured(self):
        self.run_tiny()
        before = self.store_rows("select count(*) from measurements")[0][0]
        self.export()
        suite = self.suite('[suite]\nname = "own"\n[[model]]\npath = "mine.onnx"\n', "own")
        model = self.run_file(suite)["models"][0]
        self.assertEqual((model["model"], model["measured_layers"], model["total_layers"]), ("mine", 12, 12))
        self.assertTrue(all(bound["complete"] for bound in model["bounds"]))
        self.assertEqual(self.store_rows("select count(*) from measurements")[0][0], before)

    def test_a_file_in_a_suite_is_bound_to_every_batch(self):
        self.export()
        suite = self.suite('[suite]\nname = "own"\n[[model]]\npath = "mine.onnx"\nbatch = [1, 8]\nrebatch = true\ndtype = ["f32", "bf16"]\n', "own")
        models = self.run_file(suite)["models"]
        self.assertEqual(sorted((m["batch"], m["dtype"]) for m in models), [(1, "bf16"), (1, "f32"), (8, "bf16"), (8, "f32")])
        self.assertTrue(all(m["measured_layers"] == m["total_layers"] for m in models))

    def test_shipped_suites_have_names(self):
        suite = self.json("suite", "show", "vision30")
        self.assertEqual(len(suite["models"]), 30)
        self.assertEqual({(model["batch"], model["dtype"]) for model in suite["models"]}, {(1, "f32")})
        self.assertEqual(self.json("suite", "show", "nightly")["reuse"], "never")

    def test_models_run_without_a_suite(self):
        models = self.run_file("--model", self.export(), "--model", "squeezenet1.1")["models"]
        self.assertEqual(sorted(model["model"] for model in models), ["mine", "squeezenet1.1"])
        self.assertTrue(all(model["measured_layers"] == model["total_layers"] for model in models))
        self.assertEqual(self.json("runs")["runs"][0]["suite"], "mine+squeezenet1.1")

    def test_what_is_missing_is_said(self):
        self.assertIn("--model", self.plumb("run", "--stack", "fake", expect=2).stderr)
        self.assertIn("none.onnx", self.plumb("run", "--model", "none.onnx", "--stack", "fake", expect=2).stderr)
        self.assertIn("lenet", self.plumb("run", "--model", "lenett", "--stack", "fake", expect=2).stderr)


class BadInput(Command):
    def fails(self, status, *arguments):
        done = self.plumb(*arguments, expect=status)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("error: ") or "--help" in done.stderr, done.stderr)
        return done.stderr

    def test_names_the_nearest_thing(self):
        self.assertIn("resnet50-v1", self.fails(2, "model", "show", "resnet50v1"))
        path = self.suite('[suite]\nname = "x"\n[defaults]\ndtyp = ["f32"]\n')
        message = self.fails(2, "run", path, "--stack", "fake")
        self.assertIn(":4:", message)
        self.assertIn("'dtype'", message)

    def test_wrong_options_and_names(self):
        self.fails(2, "run", self.folder / "none.toml")
        self.fails(2, "run", self.tiny(), "--stack", "none")
        self.fails(2, "run", self.tiny(), "--stack", "fake", "--shard", "5/4")
        self.fails(2, "run", self.tiny(), "--stack", "fake", "--reuse", "sometimes")
        self.fails(2, "bound", "@latest")
        self.fails(2, "layer", "v1:nonsense", "--stack", "fake")
        self.fails(2, "nonsense")
        self.fails(2, "report", "@latest", "-o", self.folder / "x.pdf")
        self.fails(2, "--store", "mysql://x", "runs")

    def test_broken_models(self):
        for name, content in {"empty": b"", "random": os.urandom(4096), "text": b"hello"}.items():
            path = self.folder / f"{name}.onnx"
            path.write_bytes(content)
            self.assertIn(f"{name}.onnx", self.fails(2, "model", "show", path))
        good = self.folder / "good.onnx"
        self.plumb("model", "export", "lenet", "-o", good)
        whole = good.read_bytes()
        for size in (len(whole) // 3, len(whole) - 7):
            cut = self.folder / "cut.onnx"
            cut.write_bytes(whole[:size])
            self.fails(2, "model", "show", cut)

    def test_a_store_from_a_newer_version(self):
        self.run_tiny()
        with sqlite3.connect(self.folder / "plumb/store.db") as store:
            tables = [row[0] for row in store.execute("select name from sqlite_master where type = 'table'")]
            table = next((name for name in tables if "schema" in name or "migration" in name), None)
            if table:
                columns = [row[1] for row in store.execute(f"pragma table_info({table})")]
                store.execute(f"insert into {table} ({columns[0]}" + "".join(f", {c}" for c in columns[1:]) + ") values (999" + ", 'x'" * (len(columns) - 1) + ")")
            store.execute("pragma user_version = 999")
        message = self.fails(3, "runs")
        self.assertIn("999", message)

    def test_a_folder_that_cannot_be_written(self):
        self.assertIn("/proc/nowhere", self.fails(3, "--store", "sqlite:/proc/nowhere/store.db", "runs"))

    def test_a_full_disk_keeps_what_was_stored(self):
        self.run_tiny()
        kept = self.store_rows("select count(*) from measurements")[0][0]
        size = (self.folder / "plumb/store.db").stat().st_size

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 8192, size + 8192))

        done = subprocess.run([self.program(), "run", self.tiny("never"), "--stack", "fake"], env=self.environment,
                              capture_output=True, text=True, timeout=120, preexec_fn=limit)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("free space", done.stderr)
        self.assertGreaterEqual(self.store_rows("select count(*) from measurements")[0][0], kept)
        self.assertIn("sound", self.plumb("store", "verify").stdout)

    def test_a_missing_worker_says_how_to_get_it(self):
        folder = self.folder / "plumb/stacks/odd"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text('backend = "nonesuch"\n')
        self.assertIn("plumb-worker-nonesuch", self.fails(3, "env", "--stack", "odd"))


class Look(Command):
    def test_model_show_in_json(self):
        model = self.json("model", "show", "resnet50-v1")
        self.assertEqual((model["layers"], model["unique_layers"]), (175, 47))
        self.assertEqual(model["ops"]["Conv"], 53)
        self.assertEqual(model["inputs"][0]["shape"], [1, 3, 224, 224])
        self.assertAlmostEqual(model["macs"] / 1e9, 3.858, places=3)
        self.assertEqual(len(model["layer_list"]), 175)
        self.assertEqual(self.json("model", "show", "resnet50-v1", "--batch", "8")["inputs"][0]["shape"], [8, 3, 224, 224])

    def test_whatifs_and_reports(self):
        self.run_tiny()
        names = {row["name"] for row in self.json("whatif")["models"][0]["whatifs"]}
        self.assertLessEqual({"best_variant", "fusion", "bf16"}, names)
        for extension in ("json", "txt", "md", "xml", "html"):
            path = self.folder / f"report.{extension}"
            self.plumb("report", "@latest", "-o", path)
            self.assertIn("lenet", path.read_text())

    def test_gc_removes_old_runs_and_says_so(self):
        self.run_tiny()
        self.plumb("baseline", "set", "@latest", "--reason", "the first")
        self.run_tiny(reuse="never")
        self.run_tiny(reuse="never")
        kept = self.json("store", "gc", "--older-than", "90d")
        self.assertEqual((kept["removed_runs"], kept["runs"]), (0, 3))
        collected = self.json("store", "gc", "--older-than", "1us")
        self.assertEqual((collected["removed_runs"], collected["runs"]), (1, 2), "the baseline and the newest stay")
        self.assertLess(collected["after_bytes"], collected["before_bytes"])
        self.assertIn("removed 0 runs older than 90d; 2 stay", self.plumb("store", "gc").stdout)
        self.assertEqual(self.json("store", "verify")["faults"], [])
        self.assertEqual(len(self.json("bound")["models"]), 1)

    def test_export_and_import_are_idempotent(self):
        self.run_tiny()
        lines = self.folder / "runs.jsonl"
        self.plumb("store", "export", "-o", lines)
        other = f"sqlite:{self.folder}/other.db"
        self.assertEqual(self.json("--store", other, "store", "import", lines)["new_runs"], 1)
        self.assertEqual(self.json("--store", other, "store", "import", lines)["new_runs"], 0)
        ours, theirs = (self.json(*store, "bound")["models"][0]["bounds"] for store in ((), ("--store", other)))
        self.assertEqual([b["seconds"] for b in ours], [b["seconds"] for b in theirs])
        self.assertIn("sound", self.plumb("--store", other, "store", "verify").stdout)

    def test_an_export_of_format_1_is_read_checked_and_marked(self):
        self.run_tiny()
        text = self.plumb("store", "export").stdout
        self.assertIn('"format":2', text)
        old = re.sub(r',"digest":"[0-9a-f]{16}"}', "}", text).replace('"format":2', '"format":1')
        lines = self.folder / "old.jsonl"
        other = f"sqlite:{self.folder}/other.db"
        lines.write_text(old.replace(r'\"bounds\"', r'\"bonds\"', 1))
        refused = self.plumb("--store", other, "store", "import", lines, expect=2).stderr
        self.assertIn("the payload of 'bound'", refused)
        lines.write_text(old)
        self.assertEqual(self.json("--store", other, "store", "import", lines)["new_runs"], 1)
        run = self.json("runs")["runs"][0]["run"]
        self.assertEqual(self.json("--store", other, "store", "verify")["unguarded_runs"], [run])
        self.assertIn("is unguarded", self.plumb("--store", other, "store", "verify").stdout)
        self.assertEqual(self.json("store", "verify")["unguarded_runs"], [])

    def test_layer_lists_every_variant(self):
        document = self.json("layer", CONV, "--stack", "fake")
        self.assertEqual(document["macs"], 14 * 14 * 16 * 8 * 9)
        variants = {row["variant"] for row in document["rows"] if row["purpose"] != "race"}
        self.assertEqual(len(variants), 3)

    def test_layer_reads_counters_when_asked_to(self):
        script = """
[facts]
profiler = "scripted"
[[rule]]
match = "v1:conv;*"
variant = "algorithm=gemm"
counted = { dram_read_bytes = [4096.0], "sm__inst_executed.sum" = [8192.0, 8190.0, 8194.0] }
"""
        self.stack("counting", script)

        def readings(*arguments):
            rows = self.json("layer", CONV, "--stack", "counting", *arguments)["rows"]
            return {row["variant"]: (row.get("readings", {}), row.get("attributes", {})) for row in rows if row["purpose"] != "race"}

        self.assertEqual(readings()["algorithm=gemm"][0], {})
        seen = readings("--metrics")
        self.assertEqual(seen["algorithm=gemm"][0]["dram_read_bytes"]["median"], 4096)
        self.assertEqual(seen["algorithm=gemm"][0]["sm__inst_executed.sum"]["n"], 3)
        self.assertEqual(seen["algorithm=direct"][0], {})
        some = readings("--metrics=sm__inst_executed.sum,sm__no_such.sum")["algorithm=gemm"]
        self.assertEqual(list(some[0]), ["sm__inst_executed.sum"])
        self.assertIn("sm__no_such.sum", some[1]["metrics_missing"])

    def test_layer_says_why_there_are_no_counters(self):
        rows = self.json("layer", CONV, "--stack", "fake", "--metrics")["rows"]
        self.assertEqual({"the backend of this stack has no counters to read, or no device"}, {row["attributes"]["metrics_missing"] for row in rows if row["purpose"] != "race"})
        for names in ("sm__inst_executed", "a.b,a.b", "<b>.sum", "a.sum,,b.sum", ",".join(f"m{i}.sum" for i in range(25))):
            self.assertIn("metric", self.plumb("layer", CONV, "--stack", "fake", f"--metrics={names}", expect=2).stderr)

    def test_a_suite_of_layers_only_runs_and_reports(self):
        refused = CONV.replace("strides=[1,1]", "strides=[2,2]").replace("out=f32[1,16,14,14]", "out=f32[1,16,7,7]")
        (self.folder / "shapes.toml").write_text(f'[[layers]]\nkey = "{CONV}"\ncount = 3\n[[layers]]\nkey = "{refused}"\n')
        suite = self.suite('[defaults]\ncache = ["none"]\n[[layers]]\nfile = "shapes.toml"\n', "layers")
        self.assertEqual(self.json("suite", "show", suite)["layers"][0]["count"], 3)
        self.stack("fake", '[[rule]]\nmatch = "*strides=[2,2]"\noutcome = "unsupported"\nreason = "no strides"\n')
        document = self.json("run", suite, "--stack", "fake")
        self.assertEqual(document["models"], [])
        timed, untimed = document["layers"]
        self.assertEqual((timed["key"], timed["count"], timed["file"]), (CONV, 3, "shapes.toml"))
        self.assertGreater(timed["seconds"], timed["hardware_seconds"])
        self.assertEqual(untimed["reason"], "unsupported: no strides")
        self.assertEqual(self.json("bound")["layers"], document["layers"])
        for extension in ("html", "md", "json", "xml", "txt"):
            path = self.folder / f"report.{extension}"
            self.plumb("report", "@latest", "-o", path)
            self.assertIn("no strides", path.read_text(), extension)

    def test_onednn_times_a_layer_and_verifies_it(self):
        document = self.json("layer", CONV)
        timed = [row for row in document["rows"] if row["outcome"] in ("ok", "unstable") and row["purpose"] == "full"]
        self.assertGreaterEqual(len(timed), 2)
        self.assertEqual(sum(row["library_choice"] for row in timed), 1)
        for row in timed:
            self.assertGreater(row["median_seconds"], 0)
            self.assertLess(row["maximum_error"], 1e-4)

    def test_env_and_doctor(self):
        document = self.json("env", "--stack", "fake")
        self.assertRegex(document["environment"], "^[0-9a-f]{16}$")
        done = subprocess.run([self.program(), "--json", "doctor"], env=self.environment, capture_output=True, text=True, timeout=120)
        self.assertIn(done.returncode, (0, 75), done.stdout)
        self.assertIn("worker", {row["check"] for row in json.loads(done.stdout)["checks"]})


if __name__ == "__main__":
    unittest.main(verbosity=2)
