#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ranked list of what-ifs, and `plumb whatif --measure`, which obtains what the list lacks.

Usage: what_ifs_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()



class WhatIfs(Command):
    def rows(self, document):
        return {row["name"]: row for row in document["models"][0]["whatifs"]}

    def kinds(self):
        return {(bound["kind"], bound["mode"]) for bound in self.json("bound")["models"][0]["bounds"]}

    def runs(self):
        return self.json("runs")["runs"]

    def measure(self, model="inception-v1", threads=2):
        self.plumb("run", "--model", model, "--stack", "fake", "--processes", 1, "--threads", threads, "--mode", "plain")

    def test_the_largest_saving_comes_first_and_each_row_says_what_it_is(self):
        self.measure(threads=1)
        model = self.json("whatif")["models"][0]
        savings = [row["predicted_saving_seconds"] for row in model["whatifs"] if row["predicted_saving_seconds"] is not None]
        self.assertEqual(savings, sorted(savings, reverse=True))
        rows = {row["name"]: row for row in model["whatifs"]}
        for name, row in rows.items():
            self.assertTrue(row["predicted_saving_seconds"] is not None or row["why_not"], name)
            if name == "framework":  # of a traced runtime: no mode of ours switches it on
                self.assertIn("plumb trace inception-v1 --run", row["why_not"])
                continue
            self.assertIn("--mode " + row["execution_mode"], row["command"], name)
            self.assertTrue(row["settings"], name)
        self.assertLessEqual(rows["fusion"]["predicted_saving_low"], rows["fusion"]["predicted_saving_seconds"])
        self.assertEqual((rows["fusion"]["accuracy"], rows["int8"]["accuracy"]), ("same", "int8"))
        for name in ("co_schedule", "parallel_branches", "all"):
            self.assertFalse(rows[name]["applies"], name)
            self.assertIn("--threads 2", rows[name]["why_not"])
        levels = [level["seconds"] for level in model["waterfall"]]
        self.assertEqual(model["waterfall"][0]["name"], "now")
        self.assertEqual(levels, sorted(levels, reverse=True))

    def test_short_output_explains_three_and_all_explains_each(self):
        self.measure()
        short, everything = (self.plumb("whatif", *options).stdout for options in ([], ["--all"]))
        self.assertLessEqual(short.count("    $ plumb run"), 3)
        self.assertGreater(everything.count("    $ plumb run"), short.count("    $ plumb run"))
        self.assertIn("PyTorch: torch.compile(model)", everything)
        self.assertIn("co_schedule: not predicted: ", short)
        self.assertIn("plumb whatif --measure", short)

    def test_measure_executes_what_has_no_realised_saving(self):
        self.measure(threads=1)
        before = self.rows(self.json("whatif"))
        self.assertIsNone(before["fusion"]["realised_seconds"])
        after = self.rows(self.json("whatif", "--measure"))
        self.assertIsNotNone(after["fusion"]["realised_seconds"])
        self.assertIsNotNone(after["fusion"]["realised_memory_bytes"])
        self.assertIsNotNone(after["channels_last"]["realised_seconds"])
        newest, oldest = self.runs()
        self.assertGreater(newest["rows"]["reused"], 0)
        self.assertEqual(newest["rows"]["ok"] + newest["rows"]["failed"], 0, "no layer is measured again")
        self.assertEqual(newest["environment"], oldest["environment"])
        self.plumb("whatif", "--measure")
        self.assertEqual(len(self.runs()), 2, "nothing is missing any more")

    def test_measure_obtains_times_with_fewer_threads(self):
        self.measure()
        self.assertNotIn(("occupancy", "fusion"), self.kinds())
        self.assertIn("--threads 1", self.rows(self.json("whatif"))["co_schedule"]["why_not"])
        row = self.rows(self.json("whatif", "--measure"))["co_schedule"]
        self.assertGreater(row["predicted_saving_seconds"], 0, "a thread each is as fast as both: branches cost half")
        self.assertEqual((row["execution_mode"], row["baseline_mode"]), ("fusion+parallel_branches", "fusion"))
        for mode in ("plain", "fusion"):
            self.assertIn(("occupancy", mode), self.kinds())
            self.assertIn(("schedule", mode), self.kinds())
        bounds = {(bound["kind"], bound["mode"]): bound["seconds"] for bound in self.json("bound")["models"][0]["bounds"]}
        self.assertLessEqual(bounds["occupancy", "fusion"], bounds["schedule", "fusion"])
        self.assertLessEqual(bounds["schedule", "fusion"], bounds["library", "fusion"])
        self.assertEqual(len({run["environment"] for run in self.runs()}), 2)

    def test_measure_refuses_a_run_that_nothing_can_repeat(self):
        self.import_day(1, {"a": 1.0})
        done = self.plumb("whatif", "--measure", expect=0)
        self.assertIn("lacks nothing", done.stderr, "it has no models")

    def test_bound_says_what_binds_the_steps(self):
        self.measure("lenet", threads=1)
        text = self.plumb("bound", "--all").stdout
        self.assertIn("What binds the models as a whole.", text)
        self.assertIn("Steps of the fused library bound, slowest first", text)
        limits = self.json("bound")["models"][0]["roofline"]
        self.assertAlmostEqual(sum(limits["time_shares"].values()), 1.0, places=6)
        times = [step["seconds"] for step in limits["steps"]]
        self.assertEqual(times, sorted(times, reverse=True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
