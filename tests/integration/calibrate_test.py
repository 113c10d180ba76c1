#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a stack against itself, as a user would. Usage: calibrate_test.py BUILD_FOLDER [unittest arguments]."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command
from run_history import rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Calibrate(Command):
    def test_noise_is_kept_and_floors_follow(self):
        document = self.json("calibrate", self.tiny(), "--stack", "fake", "--pairs", "6", "--comparisons", "100")
        self.assertEqual(document["calibrations"], 1)
        series = {row["series"]: row for row in document["metrics"]}
        layers = [name for name in series if name.startswith("layers/")]
        self.assertGreater(len(layers), 4)
        self.assertTrue([name for name in series if name.startswith("models/lenet|1|f32/end_to_end/plain/")])
        for row in series.values():
            self.assertEqual((row["pairs"], row["daily"], row["floor"]), (6, None, 0.02), "the fake worker has no noise")
            self.assertLess(row["process"], 1e-9)
        self.assertAlmostEqual(document["power"][-1]["found"], 1)
        states = self.store_rows("select state from runs")
        self.assertEqual(states, [("finished",), ("finished",)])
        self.plumb("store", "verify")
        again = self.json("calibrate", self.tiny(), "--stack", "fake", "--pairs", "5", "--comparisons", "100", "--only", "layers")
        self.assertEqual(again["calibrations"], 2)
        self.assertEqual({row["pairs"] for row in again["metrics"] if row["kind"] == "layer"}, {11})
        self.assertIn("floor", self.plumb("calibrate", self.tiny(), "--stack", "fake", "--pairs", "5").stdout)

    def test_floors_are_used_by_compare_and_qualify(self):
        def script(milliseconds):
            self.stack("fake", rule("v1:matmul;*", seconds=1e-3 * milliseconds))

        def layers(document):
            return {row["series"]: row for row in document["metrics"] if row["kind"] == "layer"}

        script(1)
        before = self.run_tiny(reuse="never")["run"]
        script(1.1)
        after = self.run_tiny(reuse="never")["run"]
        assumed = self.json("compare", before, after)
        self.assertEqual({row["floor_source"] for row in layers(assumed).values()}, {"assumed"})
        slow = {name for name, row in layers(assumed).items() if row["verdict"] == "regressed"}
        self.assertTrue(slow and all(name.startswith("layers/v1:matmul;") for name in slow))
        self.assertEqual(assumed["calibrations"], [])
        report = self.folder / "before.json"
        self.plumb("report", f"{before}..{after}", "-o", report)
        # A stack whose processes differ by ten percent shows nothing by ten percent.
        for milliseconds in (1, 1.1):
            script(milliseconds)
            calibration = self.json("calibrate", self.tiny(), "--stack", "fake", "--pairs", "5", "--comparisons", "100")
        floor = {row["series"]: row["floor"] for row in calibration["metrics"]}
        calibrated = self.json("compare", before, after)
        self.assertEqual(calibrated["calibrations"], [calibration["run"]])
        for name, row in layers(calibrated).items():
            if name in floor:
                self.assertEqual((row["floor_source"], row["floor"]), ("calibrated", floor[name]))
                self.assertNotEqual(row["verdict"], "regressed")
            else:
                self.assertEqual(row["floor_source"], "assumed", "fused layers are not calibrated")
        self.assertGreater(min(floor[name] for name in slow & floor.keys()), 0.1)
        self.assertIn("calibrated (2.0 to", self.plumb("compare", before, after).stdout)
        again = self.folder / "again.json"
        self.plumb("report", f"{before}..{after}", "-o", again)
        self.assertEqual(layers(json.loads(again.read_text())), layers(calibrated))
        # Another library's floors are its own.
        self.stack("new", '[identity]\nlibrary = "fake 2.0"\n' + rule("v1:matmul;*", seconds=1.2e-3))
        document = self.json("qualify", self.tiny(), "--baseline", "fake", "--candidate", "new", "--pairs", "6")
        found = {layer["subject"]: layer["test"] for layer in document["layers"]}
        for key, test in found.items():
            self.assertEqual((test["floor_source"], test["floor"]), ("calibrated", floor["layers/" + key]))
        self.assertIn(calibration["run"], " ".join(document["notes"]))
        other = self.json("qualify", self.tiny(), "--baseline", "new", "--candidate", "new", "--pairs", "6")
        self.assertEqual({layer["test"]["floor_source"] for layer in other["layers"]}, {"assumed"})

    def test_a_worker_that_dies_leaves_too_little(self):
        self.stack("fake", rule("*", action="crash"))
        self.plumb("calibrate", self.tiny(), "--stack", "fake", "--pairs", "5", "--only", "layers", expect=75)


if __name__ == "__main__":
    unittest.main(verbosity=2)
