#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ranked list of what-ifs, and `plumb whatif --measure`, which obtains what the list lacks.

Usage: what_ifs_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker.
"""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: The rows of the table of what-ifs.
ROWS = (
    *("best_variant", "fusion", "channels_last", "bf16", "f16", "channels_last+f16", "bf16+channels_last", "tf32", "int8", "micro_batch", "padded_channels"),
    *("graph_capture", "parallel_branches", "co_schedule", "weight_gradients", "checkpointing", "folded_norms", "framework", "all_sequential", "all"),
)


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
            if row["execution_mode"] is None:  # no mode of ours switches it on
                self.assertEqual((row["command"], row["settings"]), ("", []), name)
                continue
            self.assertIn("--mode " + row["execution_mode"], row["command"], name)
            self.assertTrue(row["settings"], name)
        self.assertLessEqual(rows["fusion"]["predicted_saving_low"], rows["fusion"]["predicted_saving_seconds"])
        self.assertEqual((rows["fusion"]["accuracy"], rows["int8"]["accuracy"]), ("same", "int8"))
        for name in ("co_schedule", "parallel_branches", "all"):
            self.assertFalse(rows[name]["applies"], name)
            self.assertIn("--threads 2", rows[name]["why_not"])
        self.assertIn("plumb trace inception-v1 --run", rows["framework"]["why_not"])
        self.assertIn("by the names of the variants", rows["padded_channels"]["why_not"])
        levels = [level["seconds"] for level in model["waterfall"]]
        self.assertEqual(model["waterfall"][0]["name"], "now")
        self.assertEqual(levels, sorted(levels, reverse=True))

    def test_the_vision_suite_lists_every_row_or_says_why_not(self):
        chosen = ("bvlc-alexnet", "lenet", "shufflenet", "squeezenet1.1")
        self.plumb("run", "vision30", *(word for name in chosen for word in ("--model", name)), "--stack", "fake", "--processes", 1)
        models = self.json("whatif")["models"]
        self.assertEqual({model["model"] for model in models}, set(chosen))
        text = self.plumb("whatif", "--all").stdout
        for model in models:
            rows = {row["name"]: row for row in model["whatifs"]}
            self.assertEqual(set(ROWS), {name for name, row in rows.items() if not row["combination"]}, model["model"])
            for name, row in rows.items():
                self.assertTrue(row["predicted_saving_seconds"] is not None or row["why_not"], (model["model"], name))
        for name in ROWS:
            self.assertGreaterEqual(len(re.findall(rf"\b{re.escape(name)}\b", text)), len(chosen), name)

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
        newest, typed, oldest = self.runs()
        self.assertGreater(newest["rows"]["reused"], 0)
        self.assertEqual(newest["rows"]["ok"] + newest["rows"]["failed"], 0, "no layer is measured again")
        self.assertEqual({newest["environment"], typed["environment"]}, {oldest["environment"]})
        self.plumb("whatif", "--measure")
        self.assertEqual(len(self.runs()), 3, "nothing is missing any more")

    def test_measure_obtains_times_in_other_types(self):
        self.measure("lenet", threads=1)
        before = self.rows(self.json("whatif"))
        self.assertIn("no bf16 time", before["bf16"]["why_not"])
        self.assertEqual([name for name, row in before.items() if row["combination"]], ["best_variant+fusion"])
        after = self.rows(self.json("whatif", "--measure"))
        for name in ("bf16", "f16", "tf32", "int8", "all_sequential"):
            self.assertIsNotNone(after[name]["predicted_seconds"], name)
            self.assertIsNotNone(after[name]["realised_seconds"], name)
        combinations = [row for row in after.values() if row["combination"]]
        self.assertGreater(len(combinations), 1)
        for row in combinations:
            self.assertIsNotNone(row["realised_seconds"], row["name"])
        self.assertTrue(any("bf16" in row["name"] or "f16" in row["name"] for row in combinations))

    def test_a_type_that_the_library_refuses_is_not_measured_again(self):
        refused = "".join(f'[[rule]]\nmatch = "v1:*{text}*"\noutcome = "unsupported"\nreason = "not here"\n' for text in ("in=f16", "math=tf32"))
        self.stack("fake", refused)
        self.measure("lenet", threads=1)
        rows = self.rows(self.json("whatif", "--measure"))
        self.assertIn("unsupported: not here", rows["f16"]["why_not"])
        self.assertIsNotNone(rows["bf16"]["realised_seconds"])
        self.assertIn("lacks nothing", self.plumb("whatif", "--measure").stderr)

    def test_a_mode_with_the_fastest_variants_measures_its_type(self):
        mode = "best_variant+bf16+fusion"
        done = self.plumb("run", "--model", "lenet", "--stack", "fake", "--processes", 1, "--mode", "plain", "--mode", mode)
        self.assertNotIn("not executed in the mode", done.stderr)
        self.assertIsNotNone(self.rows(self.json("whatif"))["all_sequential"]["realised_seconds"])

    def test_measure_keeps_the_rule_by_which_batches_are_divided(self):
        rule = ("--workspace-cap", "8MiB", "--micro-batch-policy", "all")
        modes = ("--mode", "plain", "--mode", "micro_batch")
        self.plumb("run", "--model", "lenet", "--batch", 4, "--stack", "fake", "--processes", 1, *rule, *modes)
        convolutions = [key for key, in self.store_rows("select text from layer_keys where text like 'v1:conv;in=f32%'")]
        self.assertEqual({key.split("[")[1].split(",")[0] for key in convolutions}, {"1", "2", "3", "4"}, "every size")
        row = self.rows(self.json("whatif", "--measure"))["micro_batch"]
        self.assertGreater(len(self.runs()), 1)
        self.assertIn("at most 8 MiB of workspace", row["mode"])
        self.assertIn("cuDNN's WR, all)", row["mode"])
        self.assertIn("--workspace-cap 8MiB --micro-batch-policy all", row["command"])

    def test_measure_obtains_times_of_padded_layers(self):
        self.stack("fake", 'variants = ["impl=jit:avx512_core", "impl=ref"]\n')
        self.measure("squeezenet1.1", threads=1)
        before = self.padded()
        self.assertTrue(before)
        row = self.rows(self.json("whatif"))["padded_channels"]
        self.assertIn("plumb whatif --measure measures it", row["why_not"])
        self.assertTrue(row["applies"])
        row = self.rows(self.json("whatif", "--measure"))["padded_channels"]
        self.assertIsNotNone(row["predicted_seconds"], row.get("why_not"))
        self.assertEqual({layer["key"] for layer in row["layers"]}, set(before))
        self.assertIn("multiples of 16", row["prerequisites"][0])
        after = self.padded()
        self.assertEqual(set(before.values()), {None})
        self.assertEqual(set(after), set(before))
        self.assertNotIn(None, after.values())
        self.assertTrue(all("1008" in key for key in after), "1000 classes are 62.5 blocks of 16")
        self.assertIn("lacks nothing", self.plumb("whatif", "--measure").stderr)

    def padded(self):
        """Returns the times of padded layers by their keys, None where there is none."""
        steps = self.json("bound")["models"][0]["roofline"]["steps"]
        return {step["padded_key"]: step["padded_seconds"] for step in steps if step["padded_key"]}

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

    def test_bound_shows_latency_against_the_batch_with_its_knee(self):
        self.plumb("run", "--model", "lenet", "--batch", "1,4,32,128", "--stack", "fake", "--processes", 1, "--mode", "plain")
        document = self.json("bound")
        [curve] = document["batches"]
        self.assertEqual((curve["model"], curve["mode"], curve["knee"]), ("lenet", "plain", 32))
        points = {point["batch"]: point["seconds"] for point in curve["points"]}
        self.assertEqual(list(points), [1, 4, 32, 128])
        self.assertEqual(points, {model["batch"]: model["executions"][0]["median_seconds"] for model in document["models"]})
        enough = 0.9 * max(batch / seconds for batch, seconds in points.items())
        self.assertEqual([batch for batch, seconds in points.items() if batch / seconds >= enough], [32, 128])
        self.assertIn("lenet f32, plain: the knee is at batch 32\n", self.plumb("bound", "--all").stdout)

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
