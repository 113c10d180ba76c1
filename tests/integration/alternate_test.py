#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes models in several shapes that alternate, with oneDNN and with ONNX Runtime, by the command and by suites.

Usage: alternate_test.py BUILD_FOLDER ONNXRUNTIME_LIBRARY [unittest arguments]. Without that library, oneDNN alone executes.
"""

import collections
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = pathlib.Path(sys.argv.pop(1))
MODEL = "squeezenet1.1"
SHAPES = "shapes = [[1, 1, 28, 28], [2, 1, 28, 28]]\n"


class Alternate(Command):
    def alternate(self, *arguments):
        return self.json("alternate", MODEL, "--batch", "1,2", "--executions", "5", *arguments)

    def check(self, document):
        self.assertEqual([shape["shape"] for shape in document["shapes"]], ["1×3×224×224", "2×3×224×224"])
        self.assertEqual(document["executions"], 2 * 3 + 2 * 2 * 5)
        self.assertIsInstance(document["disturbed"], bool)
        for shape in document["shapes"]:
            self.assertEqual(shape["steady"]["samples"], 5)
            self.assertAlmostEqual(shape["change_seconds"], shape["changed"]["median_seconds"] - shape["steady"]["median_seconds"])

    def test_each_shape_has_a_plan_of_its_own_that_its_first_execution_makes(self):
        document = self.alternate()
        self.check(document)
        self.assertEqual((document["one_program"], document["preparation_seconds"], document["order"]), (False, None, "in_turn"))
        one, two = document["shapes"]
        self.assertEqual((one["changed"]["samples"], two["changed"]["samples"]), (5, 5))
        for shape in (one, two):
            # Others on the machine make any of them longer, and none shorter.
            self.assertGreater(shape["first_seconds"], 1.2 * shape["steady"]["low_seconds"], "it plans and lays out weights")

    def test_shapes_are_drawn_from_a_seed_and_shown(self):
        document = self.alternate("--order", "drawn", "--seed", "7")
        changed, steady = (sum(shape[kind]["samples"] for shape in document["shapes"]) for kind in ("changed", "steady"))
        self.assertGreater(steady, 2, "a drawn shape may follow itself")
        self.assertEqual(changed + steady, 20)
        text = self.plumb("alternate", "lenet", "--batch", "1,2,4", "--order", "drawn", "--executions", "2").stdout
        self.assertIn("lenet, f32, mode fusion, on default\n  21 executions, shapes drawn from seed 1; a program for each shape", text)
        self.assertEqual([line.split()[0] for line in text.splitlines()[-3:]], ["1×1×28×28", "2×1×28×28", "4×1×28×28"])

    def test_what_cannot_alternate_says_why(self):
        for arguments, reason in ((["--batch", "1"], "1 shape: give 2 to 16"), (["--batch", "1,2", "--dtype", "f32,bf16"], "one --dtype"),
                                  (["--batch", "1,2", "--mode", "best_variant"], "measured variants"),
                                  (["--batch", "1,2", "--mode", "int8+fusion"], "8-bit integers"),
                                  (["--batch", "1,2", "--stack", "fake"], "several shapes")):
            self.assertIn(reason, self.plumb("alternate", "lenet", *arguments, expect=2).stderr)


class Suites(Command):
    stack_options = ()

    def run_shapes(self):
        suite = self.suite(f'[[model]]\nname = "lenet"\n{SHAPES}')
        return self.json("run", suite, "--only", "models", "--mode", "fusion", "--processes", 3, *self.stack_options)

    def check(self, document, processes):
        self.assertEqual([model["batch"] for model in document["models"]], [1, 2])
        for model in document["models"]:
            self.assertNotIn("not executed among", "\n".join(model["findings"]))
            turns = {row["turn"]: row for row in model["alternations"]}
            quiet = turns["first"]["samples"]  # processes: disturbed ones are left out beside others
            self.assertIn(quiet, range(1, processes + 1))
            self.assertEqual({turn: row["samples"] for turn, row in turns.items()}, {"first": quiet, "steady": 10 * quiet, "changed": 10 * quiet})
            for row in turns.values():
                self.assertEqual((row["mode"], row["outcome"]), ("fusion", "ok"))
                self.assertGreater(row["median_seconds"], 0)
                if row["samples"] > 1:
                    self.assertTrue(row["low"] <= row["median_seconds"] <= row["high"], row)
            self.assertEqual({row["scenario"] for row in model["executions"]}, {"single_stream"}, "the shape alone stands beside")

    def test_a_run_stores_lists_and_compares_the_three_latencies_of_each_shape(self):
        first = self.run_shapes()
        self.check(first, processes=3)
        self.assertEqual(self.store_rows("select count(*) from derived where kind = 'alternation'"), [(3 * 2 * 3,)])
        for (payload,) in self.store_rows("select cast(payload as text) from derived where kind = 'alternation'"):
            row = json.loads(payload)["row"]
            self.assertGreater(row["readings"]["host_pace_seconds"]["low"], 0, "a neighbour on the core is noticed")
            self.assertIsNotNone(row["disturbance"]["load"])
        self.assertEqual(self.json("bound")["models"][1]["alternations"], first["models"][1]["alternations"])
        self.assertRegex(self.plumb("bound").stdout, r"among its shapes +first +steady +after another shape +change\n *fusion ")
        report = self.folder / "r.md"
        self.plumb("report", "@latest", "-o", report)
        self.assertEqual(report.read_text().count("| after another shape |"), 2)
        second = self.run_shapes()
        metrics = self.json("compare", first["run"], second["run"])["metrics"]
        found = {metric["series"]: metric for metric in metrics if metric["kind"] == "alternation"}
        self.assertEqual(set(found), {f"models/lenet|{batch}|f32/alternation/fusion/{turn}" for batch in (1, 2)
                                      for turn in ("first", "steady", "changed")})
        for series, metric in found.items():
            if metric["interval"]:
                self.assertTrue(0 < metric["interval"][0] < metric["ratio"] < metric["interval"][1], f"{series} has the scatter of three processes")
            else:
                self.assertIn("process", metric["reason"], "too few were quiet")
        self.assertEqual(len(self.json("runs")["runs"]), 2)
        followed = self.json("detect", "--look-only", "models/lenet|2|f32/alternation/")["series"]
        self.assertEqual({series["id"]: series["points"] for series in followed},
                         {f"models/lenet|2|f32/alternation/fusion/{turn}": 2 for turn in ("first", "steady", "changed")})


class SuiteFiles(Command):
    def test_a_file_alternates_in_a_drawn_order(self):
        self.plumb("model", "export", MODEL, "--weights", "-o", self.folder / "m.onnx")
        suite = self.suite('[[model]]\npath = "m.onnx"\nrebatch = true\nshapes = [[1, 3, 224, 224], [2, 3, 224, 224]]\nshape_order = "drawn"\n')
        models = self.json("run", suite, "--only", "models", "--mode", "fusion", "--processes", 2)["models"]
        for model, batch in zip(models, (1, 2), strict=True):
            self.assertEqual((model["model"], model["batch"]), ("m", batch))
        rows = [json.loads(payload) for (payload,) in self.store_rows("select cast(payload as text) from derived where kind = 'alternation'")]
        total = sum(row["row"]["summary"]["n"] for row in rows)
        self.assertEqual(total, 2 * (2 + 2 * 2 * 10), "drawn, a shape follows itself or another")

    def test_a_backend_that_cannot_says_so_and_the_run_goes_on(self):
        suite = self.suite(f'[[model]]\nname = "lenet"\n{SHAPES}')
        for model in self.json("run", suite, "--stack", "fake", "--only", "models", "--mode", "plain", "--processes", 3)["models"]:
            (row,) = model["alternations"]
            self.assertEqual((row["turn"], row["outcome"], row["median_seconds"], row["samples"]), ("first", "unsupported", None, 0))
            self.assertIn("several shapes", row["reason"])
            self.assertTrue(model["executions"][0]["samples"] > 0)
            self.assertIn("not executed among its other shapes (plain): unsupported", "\n".join(model["findings"]))
        self.assertEqual(self.store_rows("select count(*) from derived where kind = 'alternation'"), [(2,)], "it is not tried again")

    def test_modes_of_one_shape_are_left_out(self):
        suite = self.suite(f'[[model]]\nname = "lenet"\n{SHAPES}')
        modes = ("--mode", "fusion", "--mode", "best_variant+fusion", "--mode", "int8+fusion")
        for model in self.json("run", suite, "--only", "models", *modes, "--processes", 1)["models"]:
            self.assertEqual({row["mode"] for row in model["alternations"]}, {"fusion"})
            self.assertNotIn("not executed among", "\n".join(model["findings"]))
            first = next(row for row in model["alternations"] if row["turn"] == "first")
            self.assertEqual((first["samples"], first["low"], first["high"]), (1, None, None))

    def test_a_process_stores_all_of_its_rows_or_none_and_the_run_is_resumed(self):
        suite = self.suite(f'[[model]]\nname = "lenet"\n{SHAPES}')
        arguments = ["run", suite, "--only", "models", "--mode", "fusion", "--processes", 3]
        self.plumb(*arguments[:-1], 1)  # makes the store, and calibrates
        before = len(self.store_rows("select id from derived where kind = 'alternation'"))
        # What a killed process leaves between two rows: the third one of its second process is refused.
        self.change_store("create trigger full before insert on derived when new.kind = 'alternation' and (select count(*) from derived "
                          f"where kind = 'alternation') >= {before + 8} begin select raise(abort, 'full'); end")
        ended = subprocess.run([self.program(), *map(str, arguments)], env=self.environment, capture_output=True, timeout=self.seconds)
        self.assertNotEqual(ended.returncode, 0)
        self.assertEqual(len(self.store_rows("select id from derived where kind = 'alternation'")), before + 6, ended.stderr)
        self.change_store("drop trigger full")
        self.plumb(*arguments, "--resume")
        newest, *_ = self.json("runs")["runs"]
        self.assertEqual((newest["state"], len(self.json("runs")["runs"])), ("finished", 2))
        rows = self.store_rows("select d.subject, cast(d.payload as text) from derived d join runs r on r.number = d.run "
                               f"where d.kind = 'alternation' and r.id = '{newest['run']}'")
        turns = [(subject, row["turn"], row["row"]["process"]) for subject, row in ((subject, json.loads(payload)) for subject, payload in rows)]
        self.assertEqual(len(turns), len(set(turns)), "no row is there twice")
        self.assertEqual(sorted(collections.Counter(process for _, _, process in turns).values()), [6, 6, 6])

    def test_a_resolved_suite_shows_its_shapes(self):
        suite = self.suite(f'[[model]]\nname = "resnet18-v1"\n{SHAPES}'.replace("1, 28, 28", "3, 64, 64"))
        shown = self.json("suite", "show", suite)["models"]
        self.assertEqual([(model["batch"], model["dims"]) for model in shown], [(1, {"image": 64}), (2, {"image": 64})])
        self.assertEqual([model["alternation"] for model in shown],
                         [{"group": 0, "order": "in_turn", "shape": [batch, 3, 64, 64]} for batch in (1, 2)])
        wrong = self.suite(f'[[model]]\nname = "lenet"\n{SHAPES}'.replace("28, 28]]", "28]]"))
        self.assertIn("each has as many extents", self.plumb("run", wrong, expect=2).stderr)


@unittest.skipUnless(LIBRARY.is_file(), "no ONNX Runtime in this Python")
class OnnxRuntimeSuites(Suites):
    stack_options = ("--stack", f"{LIBRARY.parent}/")


@unittest.skipUnless(LIBRARY.is_file(), "no ONNX Runtime in this Python")
class OnnxRuntime(Alternate):
    def alternate(self, *arguments):
        return super().alternate("--stack", f"{LIBRARY.parent}/", *arguments)

    def test_each_shape_has_a_plan_of_its_own_that_its_first_execution_makes(self):
        document = self.alternate()
        self.check(document)
        self.assertTrue(document["one_program"], "a session takes all batches")
        self.assertGreater(document["preparation_seconds"], 0)

    def test_shapes_are_drawn_from_a_seed_and_shown(self):
        self.skipTest("of the command alone")

    def test_what_cannot_alternate_says_why(self):
        self.skipTest("of the command alone")


if __name__ == "__main__":
    unittest.main()
