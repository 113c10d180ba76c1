#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Modes of executing models, from the command line to the findings of a bound.

Usage: modes_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker; tests named `onednn` use the real one.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


def finding(model, mode):
    """The finding that says why a mode has no time, or None."""
    begin = f"not executed end to end ({mode}): "
    return next((text.removeprefix(begin) for text in model["findings"] if text.startswith(begin)), None)


class Modes(Command):
    calibrated = True

    def executed(self, *modes, stack="fake", model="lenet"):
        """Executes a model in some modes, and returns what `bound` says of it."""
        options = [option for mode in modes for option in ("--mode", mode)]
        self.plumb("run", "--model", model, "--only", "models", "--processes", 1, "--stack", stack, *options)
        return self.json("bound")["models"][0]

    def suite_of(self, types):
        return self.suite(f'[suite]\nname = "types"\nversion = 1\nreuse = "never"\n[[model]]\nname = "lenet"\ndtype = {types}\n')

    def whatifs(self, run="@latest"):
        return {whatif["name"]: whatif for whatif in self.json("whatif", run)["models"][0]["whatifs"]}

    def test_f16_is_executed_and_predicted_like_any_type(self):
        self.plumb("run", self.suite_of('["f32", "f16"]'), "--stack", "fake", "--processes", 1)
        model = self.json("bound")["models"][0]
        modes = [execution["mode"] for execution in model["executions"]]
        self.assertEqual([mode for mode in modes if "f16" in mode], ["f16", "channels_last+f16"], modes)
        whatifs = self.whatifs()
        self.assertGreater(whatifs["f16"]["predicted_speedup"], 0)
        self.assertAlmostEqual(whatifs["f16"]["realised_speedup"], 1 / 0.9, places=2)
        self.assertIn("--mode f16", whatifs["f16"]["command"])
        self.assertIsNotNone(whatifs["channels_last+f16"]["realised_seconds"])
        self.assertIn("in the mode channels_last+f16 first", whatifs["channels_last+f16"]["why_not"])

    def test_tf32_is_a_type_of_its_own_and_a_mode_of_f32(self):
        self.plumb("run", self.suite_of('["f32", "tf32"]'), "--stack", "fake", "--processes", 1)
        models = {model["dtype"]: model for model in self.json("bound")["models"]}
        modes = {dtype: {execution["mode"]: execution for execution in model["executions"]} for dtype, model in models.items()}
        self.assertIsNotNone(modes["f32"]["tf32"]["median_seconds"])
        self.assertIsNotNone(modes["tf32"]["fusion"]["median_seconds"], "executed as it is, beside its own bounds")
        self.assertNotIn("tf32", modes["tf32"])
        keys = {key for key, in self.store_rows("select text from layer_keys") if "math=tf32" in key}
        self.assertEqual({key.split(":")[1].split(";")[0] for key in keys}, {"conv", "matmul"})
        self.assertGreater(self.whatifs()["tf32"]["predicted_speedup"], 0)

    def test_a_bound_is_complete_where_the_peak_of_its_type_is_known(self):
        for dtype in ("f16", "tf32"):
            for peak, complete in (("", False), (f"peak_{dtype}_flops_per_second = 2e11\n", True)):
                self.stack("fake", "[calibration]\nlast_level_cache_bytes = 1000000000\n" + peak)
                run = self.json("run", self.suite_of(f'"{dtype}"'), "--stack", "fake", "--only", "layers", "--processes", 1)["run"]
                [hardware] = [bound for bound in self.json("bound", run)["models"][0]["bounds"] if bound["kind"] == "hardware"]
                self.assertEqual(hardware["complete"], complete, hardware)

    def test_onednn_has_no_tf32_and_says_so(self):
        model = self.executed("plain", "tf32", stack="default")
        self.assertGreater(model["executions"][0]["samples"], 0)
        self.assertIsNone(model["executions"][1]["median_seconds"])
        self.assertRegex(finding(model, "tf32"), "^unsupported: .*no instructions that oneDNN uses on a CPU multiply in TF32")
        key = "v1:matmul;in=f32[4,8],f32[8,16]c;out=f32[4,16];acc=f32;math=tf32"
        [row] = self.json("layer", key)["rows"]
        self.assertEqual(row["outcome"], "unsupported")
        self.assertIn("multiply in TF32: use f32, or bf16 for speed", row["reason"])

    def test_words_that_contradict_each_other_are_refused(self):
        for mode, words in (("f16+int8", "f16 and int8"), ("tf32+fusion+bf16", "bf16 and tf32"), ("eager+captured", "captured and eager"),
                            ("parallel_branches+streams", "streams and parallel_branches")):
            error = self.plumb("run", "--model", "lenet", "--mode", mode, "--stack", "fake", expect=2).stderr
            self.assertIn(f"{words} exclude each other: use one of them", error)

    def test_graph_capture_is_what_captured_saves_against_eager(self):
        rules = "".join(f'[[rule]]\nmatch = "model:lenet"\nvariant = "{mode}"\nseconds = {seconds}\n' for mode, seconds in (("eager", 0.3), ("captured", 0.1)))
        self.stack("fake", '[identity]\ngpu = "a device with launches"\n' + rules)
        self.executed("plain", "eager", "captured")
        capture = self.whatifs()["graph_capture"]
        self.assertAlmostEqual(capture["realised_speedup"], 3.0, places=3)
        self.assertIsNone(capture["predicted_seconds"])
        self.assertEqual((capture["baseline_mode"], capture["execution_mode"]), ("eager", "captured"))
        self.assertIn("--mode captured --mode eager", capture["command"])
        self.assertIn("in the modes eager and captured first", self.plumb("whatif").stdout)

    def test_onednn_has_no_launches_and_says_so(self):
        model = self.executed("plain", "captured", "eager", "fusion+streams", stack="default")
        self.assertGreater(model["executions"][0]["samples"], 0)
        for mode, way in (("captured", "captured"), ("eager", "eager"), ("fusion+streams", "streams")):
            self.assertEqual(finding(model, mode), f"unsupported: a CPU has no launches, so there is no mode {way}: use plain, or parallel_branches for branches side by side")
        self.assertIsNone(self.whatifs()["graph_capture"]["realised_seconds"])

    def test_onednn_divides_batches(self):
        modes = ("--mode", "plain", "--mode", "micro_batch")
        self.plumb("run", "--model", "lenet", "--batch", 4, "--processes", 1, "--cache", "none", "--workspace-cap", "32MiB", *modes)
        batches = {key.split("[")[1].split(",")[0] for key, in self.store_rows("select text from layer_keys where text like 'v1:conv;%'")}
        self.assertEqual(batches, {"1", "2", "4"}, "what is missing is measured, not guessed")
        executions = {execution["mode"]: execution for execution in self.json("bound")["models"][0]["executions"]}
        self.assertGreater(executions["micro_batch"]["median_seconds"], 0)
        divided = self.whatifs()["micro_batch"]
        self.assertGreater(divided["predicted_seconds"], 0)
        self.assertEqual(divided["realised_seconds"], executions["micro_batch"]["median_seconds"])
        self.assertIn("--batch 4 --workspace-cap 32MiB --mode micro_batch", divided["command"])

    def test_onednn_divides_gradients(self):
        modes = ("--mode", "plain", "--mode", "micro_batch")
        self.plumb("run", "--model", "lenet", "--batch", 8, "--training", "sgd", "--processes", 1, "--cache", "none", *modes)
        keys = [key for key, in self.store_rows("select text from layer_keys")]
        for op in ("conv", "conv_backward_data", "conv_backward_weights"):
            batches = {key.split("[")[1].split(",")[0] for key in keys if key.startswith(f"v1:{op};")}
            self.assertEqual(batches, {"1", "2", "4", "8"}, op)
        self.assertTrue(any("in=f32[8,1,5,5],f32[8,1,5,5]" in key for key in keys), "parts of a gradient of weights are added up")
        divided = self.json("bound")["models"][0]["executions"][1]
        self.assertEqual(divided["mode"], "micro_batch")
        self.assertGreater(divided["median_seconds"], 0, divided)

    def test_a_batch_of_one_is_not_divided(self):
        self.executed("plain", "micro_batch", stack="default")
        self.assertIn("use --batch", self.whatifs()["micro_batch"]["why_not"])
        error = self.plumb("run", "--model", "lenet", "--mode", "micro_batch+fusion", expect=2).stderr
        self.assertIn("micro_batch is a mode by itself", error)

    def test_onednn_executes_f16_or_says_what_the_cpu_lacks(self):
        model = self.executed("plain", "f16", "fusion+f16", "channels_last+f16", stack="default")
        for execution in model["executions"][1:]:
            reason = finding(model, execution["mode"])
            self.assertEqual(execution["median_seconds"] is None, reason is not None, model["findings"])
            if reason is not None:
                self.assertRegex(reason, "^unsupported: .*f16 needs AVX512_CORE_FP16 or AVX2_VNNI_2, and oneDNN uses [A-Z]")
                self.assertIn(f"({execution['mode']}): {reason}", self.plumb("bound", "--all").stdout)
        if any(execution["median_seconds"] is None for execution in model["executions"]):
            self.assertRegex(self.plumb("bound").stdout, "(?m)^  f16 .* unsupported ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
