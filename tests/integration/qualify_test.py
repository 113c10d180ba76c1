#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Qualifies upgrades as a user would: the fake worker for every verdict, and oneDNN held to an older instruction set as a real regression.

Usage: qualify_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: Something takes a millisecond that took microseconds: by its own choice only.
SLOW = '[[rule]]\nmatch = "v1:matmul;*"\nvariant = "algorithm=direct"\nseconds = 0.001\n'



def control(factor):
    """A script in which the control 'product' takes so many milliseconds."""
    return f'[[rule]]\nmatch = "control:product"\nvariant = "algorithm=direct"\nseconds = {factor * 1e-3}\n'


class Qualify(Command):
    def setUp(self):
        super().setUp()
        self.stack("fake", control(1))

    def qualify(self, candidate, *arguments, expect=0):
        return self.json("qualify", self.tiny(), "--baseline", "fake", "--candidate", candidate, "--pairs", "6", *arguments, expect=expect)

    def criteria(self, text):
        path = self.folder / "criteria.toml"
        path.write_text(text)
        return path

    def test_a_stack_against_itself_is_approved_after_the_screening(self):
        document = self.qualify("fake", "--gate")
        self.assertEqual(document["verdict"], "approve", document["reason"])
        states = {result["criterion"]: result["state"] for result in document["results"]}
        self.assertEqual((states["model_slowdown"], states["memory_growth"]), ("met", "not measured"), "the fake worker knows no memory")
        self.assertIn("not measured: memory_growth", document["reason"])
        self.assertEqual({layer["test"]["verdict"] for layer in document["layers"]}, {"equivalent"})
        self.assertEqual([look["pairs"] for look in document["looks"]], [3])
        self.assertEqual((document["baseline"]["environment"], document["findings"]), (document["candidate"]["environment"], []))
        self.assertEqual({model["mode"] for model in document["models"]}, {"plain", "fusion"})
        runs = {run["run"]: run for run in self.json("runs")["runs"]}
        self.assertEqual({runs[document[side]["run"]]["state"] for side in ("baseline", "candidate")}, {"finished"})
        stored = self.store_rows("select payload from derived where kind = 'qualification'")
        self.assertEqual(len(stored), 1)
        # Its short samples of one variant are nothing that a run may reuse.
        self.assertEqual(self.run_tiny()["models"][0]["measured_layers"], self.run_tiny()["models"][0]["total_layers"])
        self.assertNotEqual(self.json("runs")["runs"][0]["environment"], document["baseline"]["environment"])

    def test_models_alone_are_judged_without_layers(self):
        document = self.qualify("fake", "--only", "models", "--gate")
        self.assertEqual((document["verdict"], document["layers"]), ("approve", []), document["reason"])
        self.assertEqual({model["mode"] for model in document["models"]}, {"plain", "fusion"})
        self.assertEqual({r["criterion"]: r["state"] for r in document["results"]}["layer_slowdown"], "not measured")

    def test_models_are_executed_in_the_modes_that_are_named(self):
        document = self.qualify("fake", "--mode", "f16", "--mode", "fusion+tf32")
        self.assertEqual({model["mode"] for model in document["models"]}, {"f16", "fusion+tf32"})
        self.assertIn("best_variant", self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "fake", "--mode", "best_variant", expect=2).stderr)

    def test_types_of_a_suite_are_qualified_and_int8_by_its_layers(self):
        suite = self.suite('[[model]]\nname = "lenet"\ndtype = ["f16", "tf32", "int8"]\n')
        document = self.json("qualify", suite, "--baseline", "fake", "--candidate", "fake", "--pairs", 6)
        self.assertEqual({model["subject"].split("|")[2] for model in document["models"]}, {"f16", "tf32"}, document["models"])

    def test_shapes_that_alternate_are_measured_by_themselves_which_is_said(self):
        suite = self.suite('[[model]]\nname = "lenet"\nshapes = [[1, 1, 28, 28], [2, 1, 28, 28]]\n', "alternating")
        document = self.json("qualify", suite, "--baseline", "fake", "--candidate", "fake", "--pairs", 6)
        self.assertEqual({model["subject"] for model in document["models"]}, {"lenet|1|f32", "lenet|2|f32"})
        [note] = [note for note in document["notes"] if "shape" in note]
        self.assertIn("each shape of lenet was executed by itself", note)
        self.assertFalse([note for note in self.qualify("fake")["notes"] if "shape" in note])
        self.assertIn("each shape of lenet", self.plumb("calibrate", suite, "--stack", "fake", "--pairs", 5).stderr)

    def test_an_own_model_needs_no_suite(self):
        own = self.folder / "own.onnx"
        self.plumb("model", "export", "lenet", "-o", own)
        sides = ("--baseline", "fake", "--candidate", "fake", "--pairs", 6)
        for chosen in ((own,), ("--model", own), ("--model", own, "--dtype", "bf16", "--batch", 1)):
            document = self.json("qualify", *chosen, *sides, "--gate")
            self.assertEqual((document["verdict"], document["suite"]), ("approve", "own"))
        self.assertEqual({model["subject"] for model in document["models"]}, {"own|1|bf16"})
        self.assertIn("name what to measure", self.plumb("qualify", *sides, expect=2).stderr)
        self.assertIn("'--batch'", self.plumb("qualify", self.tiny(), *sides, "--batch", 2, expect=2).stderr)

    def test_a_device_that_errs_decides_nothing(self):
        self.stack("new", '[[rule]]\nmatch = "v1:matmul;*"\nvariant = "algorithm=direct"\noutcome = "crashed"\nreason = "Xid 48"\n'
                   'attributes = { device_fault = "the driver reported Xid 48" }\n' + control(1))
        error = self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "new", "--pairs", 6, expect=3).stderr
        self.assertIn("the driver reported Xid 48: the measurements beside it", error)
        self.assertEqual(self.store_rows("select count(*) from derived where kind = 'qualification'"), [(0,)])

    def test_a_slower_layer_is_rejected_with_its_cause(self):
        self.stack("new", SLOW + control(1))
        document = self.qualify("new", "--gate", expect=1)
        self.assertEqual(document["verdict"], "reject")
        slow = [layer for layer in document["layers"] if layer["test"]["verdict"] == "regressed"]
        self.assertTrue(slow and all(layer["subject"].startswith("v1:matmul;") for layer in slow))
        for layer in slow:
            self.assertEqual((layer["replay"]["finding"], layer["replay"]["bound"]), ("kernel_changed", "choice_only"))
            self.assertGreater(layer["test"]["ratio"], 2)
        self.assertEqual(len(document["findings"]), 1, "one cause is one finding")
        self.assertEqual(len(document["findings"][0]["layers"]), len(slow))
        text = self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "new", "--pairs", 6).stdout
        self.assertIn("fake 1.0 (fake) → fake 1.0 (new): reject", text)
        self.assertRegex(text, r"\w+ of lenet, batch 1, f32(, and \d+ more)?: plumb layer 'v1:matmul;")
        self.assertIn("layer_slowdown", text)

    def test_a_waiver_with_a_date_excuses(self):
        self.stack("new", SLOW + control(1))
        waiver = '[[waiver]]\ncase = "{}"\nreason = "known"\nwho = "release"\nexpires = "{}"\n'
        # The slow layer's primitive takes longer to make, too.
        path = self.criteria(waiver.format("v1:matmul;*", "2999-01-01") + waiver.format("all layers *", "2999-01-01"))
        document = self.qualify("new", "--criteria", path, "--gate")
        self.assertEqual(document["verdict"], "approve_with_exceptions", document["reason"])
        self.assertEqual(len(document["criteria"]["sha256"]), 64)
        expired = self.criteria(waiver.format("v1:matmul;*", "2020-01-01"))
        self.assertEqual(self.qualify("new", "--criteria", expired)["verdict"], "reject")
        done = self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "new", "--criteria",
                          self.criteria("[criteria]\nlayer_slowdwn = 0.5\n"), expect=2)
        self.assertIn("layer_slowdown", done.stderr)

    def test_stored_evidence_is_judged_again_by_other_criteria(self):
        self.stack("new", SLOW + control(1))
        document = self.qualify("new", expect=0)
        self.assertEqual(document["verdict"], "reject")
        runs = document["baseline"]["run"] + ".." + document["candidate"]["run"]
        waiver = '[[waiver]]\ncase = "{}"\nreason = "known"\nwho = "release"\nexpires = "2999-01-01"\n'
        path = self.criteria("".join(waiver.format(case) for case in ("v1:matmul;*", "all layers *")))
        report = self.folder / "again.md"
        again = self.json("report", runs, "-o", report, "--criteria", path)
        self.assertEqual(again["verdict"], "approve_with_exceptions", again["reason"])
        self.assertTrue(again["judged_again"])
        self.assertIn("Applied after the measurement", report.read_text())
        self.plumb("report", runs, "-o", report)
        self.assertIn("Reject", report.read_text(), "the stored verdict stays")
        run = self.run_tiny()["run"]
        for which in (run, f"{run}..{run}"):
            self.assertIn("is not one", self.plumb("report", which, "-o", report, "--criteria", path, expect=2).stderr)

    def test_what_worked_before_and_crashes_now_is_broken(self):
        self.stack("new", '[[rule]]\nmatch = "v1:max_pool;*"\naction = "crash"\n' + control(1))
        document = self.qualify("new", expect=0)
        self.assertEqual(document["verdict"], "reject")
        self.assertIn("broken", {layer["test"]["verdict"] for layer in document["layers"]})
        self.assertGreater(document["candidate"]["crashes"], 0)
        states = {result["criterion"]: result["state"] for result in document["results"]}
        self.assertEqual((states["new_unsupported"], states["stability"]), ("failed", "failed"))

    def test_a_machine_that_moves_decides_nothing(self):
        self.stack("new", SLOW + control(1.05))
        document = self.qualify("new", "--gate", expect=75)
        self.assertEqual(document["verdict"], "not_enough_evidence")
        self.assertIn("the machine drifted", document["reason"])

    def test_rounds_with_other_controls_do_not_count_and_a_budget_ends_it(self):
        self.stack("new", control(2))
        document = self.qualify("new", "--gate", expect=75)
        self.assertEqual((document["rounds"], len(document["invalid_rounds"])), (9, 9))
        document = self.qualify("fake", "--budget", "1ms", "--gate", expect=75)
        self.assertEqual((document["rounds"], document["complete"]), (1, False))

    def test_unlike_devices_are_refused(self):
        self.stack("elsewhere", '[identity]\ndevice = "another"\n')
        done = self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "elsewhere", expect=4)
        self.assertIn("device", done.stderr)

    def test_bisect_finds_the_first_bad_version(self):
        for version, script in (("1.9", ""), ("1.10", ""), ("1.11", SLOW), ("2.0", SLOW)):
            self.stack(f"v{version}", f'[facts]\n"library.version" = "{version}"\n{script}')
        self.stack("fake", '[facts]\n"library.version" = "1.0"\n')
        key = "v1:matmul;in=f32[8,8],f32[8,8]c;out=f32[8,8];acc=f32;math=strict"
        document = self.json("bisect", key, "--good", "fake", "--bad", "v2.0", "--pairs", 6)
        self.assertEqual(document["stacks"], ["fake", "v1.9", "v1.10", "v1.11", "v2.0"])
        self.assertEqual((document["last_good"], document["first_bad"], document["exact"]), ("v1.10", "v1.11", True))
        self.assertEqual([step["state"] for step in document["steps"]], ["bad", "good", "bad", "bad"])
        self.assertEqual((document["confirmed"], document["steps"][-1]["purpose"]), (True, "confirmation"))
        named = self.json("bisect", key, "--good", "fake", "--bad", "v2.0", "--stack", "v1.9", "--pairs", 6)
        self.assertEqual((named["last_good"], named["first_bad"]), ("v1.9", "v2.0"))
        self.assertIsNone(self.json("bisect", key, "--good", "fake", "--bad", "v1.9", "--pairs", 6)["first_bad"])
        self.assertIn("is first worse in v1.11", self.plumb("bisect", key, "--good", "fake", "--bad", "v2.0", "--pairs", 6).stdout)

    @unittest.skipUnless((Command.build / "libexec/plumb/plumb-worker-onednn").exists(), "no oneDNN worker")
    def test_an_older_instruction_set_is_found_and_named(self):
        # A real regression, whatever the host does: no AVX costs factors.
        folder = self.folder / "plumb/stacks/held"
        folder.mkdir(parents=True)
        library = self.json("stacks", "probe", "default")["stacks"][0]["libraries"][0]["path"]
        (folder / "stack.toml").write_text(
            f'backend = "onednn"\nlibraries = ["{library}"]\nvariables = {{ ONEDNN_MAX_CPU_ISA = "SSE41" }}\n')
        loose = self.criteria("[criteria]\ncontrol_drift = 100\n")
        key = ("v1:conv;in=f32[1,64,28,28],f32[64,64,3,3]c;out=f32[1,64,28,28];acc=f32;math=strict;"
               "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]")
        (self.folder / "shapes.toml").write_text(f'[[layers]]\nkey = "{key}"\n')
        suite = self.suite('[suite]\nname = "one"\n[[layers]]\nfile = "shapes.toml"\n', "one")
        document = self.json("qualify", suite, "--baseline", "default", "--candidate", "held", "--pairs", 20, "--criteria", loose)  # 10 on a quiet machine
        layer = document["layers"][0]
        self.assertEqual(layer["test"]["verdict"], "regressed", json.dumps(layer["test"]))
        self.assertIn("instruction set changed", document["findings"][0]["cause"])
        self.assertIn("sse41", document["findings"][0]["cause"])
        self.assertEqual((layer["replay"]["finding"], layer["replay"]["bound"]), ("removed", "capability_lost"), json.dumps(layer))


if __name__ == "__main__":
    unittest.main()
