#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures a stack against itself, as a user would. Usage: calibrate_test.py BUILD_FOLDER [unittest arguments]."""

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

    def test_a_worker_that_dies_leaves_too_little(self):
        self.stack("fake", rule("*", action="crash"))
        self.plumb("calibrate", self.tiny(), "--stack", "fake", "--pairs", "5", "--only", "layers", expect=75)


if __name__ == "__main__":
    unittest.main(verbosity=2)
