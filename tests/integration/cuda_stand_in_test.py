#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CUDA worker, as the harness starts it, over the test doubles of NVIDIA's libraries. No figure of theirs is a time.

cuda_stand_in_test.py BUILD"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import plumb_command  # noqa: E402

RELU = "v1:eltwise;in=f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;parameters=[]"
GEMM = "v1:matmul;in=f32[4,8],f32[8,16]c;out=f32[4,16];acc=f32;math=strict"


class CudaStandIn(plumb_command.Command):
    def double(self, script, **variables):
        listed = ", ".join(f'{name} = "{value}"' for name, value in {"PLUMB_STAND_IN": script, **variables}.items())
        doubles = self.build / "tests/cuda_stand_in"
        folder = self.folder / "plumb/stacks/double"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stack.toml").write_text(
            f'backend = "cuda"\nlibraries = ["{doubles}/libcudnn.so.9"]\nfolders = ["{doubles}"]\n'
            f"variables = {{ {listed} }}\n"
        )

    def test_layers_are_verified_and_measured(self):
        self.double("seed=1")
        for key in (RELU, GEMM):
            document = self.json("layer", key, "--stack", "double")
            self.assertIn("no GPU", json.dumps(document["environments"]), "the double says what it is")
            self.assertLessEqual({row["outcome"] for row in document["rows"]}, {"ok", "unstable"}, document["rows"])

    def test_short_memory_is_an_outcome(self):
        self.double("seed=1,memory=65536")
        key = "v1:eltwise;in=f32[400,500];out=f32[400,500];acc=f32;math=strict;fn=relu;parameters=[]"
        document = self.json("layer", key, "--stack", "double")
        self.assertEqual({row["outcome"] for row in document["rows"]}, {"out_of_memory"}, document["rows"])

    def test_launches_and_types_are_modes_of_one_stack(self):
        """The memory is too small for the products of a calibration: their peaks are unknown, and the test is quick."""
        self.double("seed=1,memory=16777216")
        modes = ["plain", "eager", "captured", "streams", "f16", "channels_last+f16", "tf32"]
        self.plumb("run", "--model", "lenet", "--only", "models", "--processes", 1, "--stack", "double", *(word for mode in modes for word in ("--mode", mode)))
        document = self.json("bound")
        executions = {execution["mode"]: execution for execution in document["models"][0]["executions"]}
        self.assertEqual(set(executions), set(modes))
        self.assertEqual([mode for mode in modes if not executions[mode]["samples"]], [], document["models"][0]["findings"])
        self.assertNotIn("execution", document["environments"][document["environment"]]["identity"])
        whatifs = {whatif["name"]: whatif for whatif in self.json("whatif")["models"][0]["whatifs"]}
        for name in ("graph_capture", "f16", "channels_last+f16", "tf32"):
            self.assertIsNotNone(whatifs[name]["realised_speedup"], name)
        [[calibration]] = self.store_rows("select payload from derived where kind = 'calibration'")
        for peak in ("peak_f16_flops_per_second", "peak_tf32_flops_per_second"):
            self.assertIsNone(json.loads(calibration)[peak], peak)

    def test_a_step_of_training_is_executed_and_verified(self):
        self.double("seed=1,memory=16777216")
        modes = ["plain", "eager", "fusion"]
        self.plumb("run", "--model", "lenet", "--batch", "2", "--training", "sgd", "--only", "models", "--processes", 1, "--stack", "double",
                   *(word for mode in modes for word in ("--mode", mode)))
        [model] = self.json("bound")["models"]
        self.assertEqual(model["training"], "sgd")
        executions = {execution["mode"]: execution for execution in model["executions"]}
        self.assertEqual(set(executions), set(modes))
        self.assertEqual([mode for mode in modes if not executions[mode]["samples"]], [], model["findings"])

    def test_the_variable_of_earlier_stacks_says_what_to_do(self):
        self.double("seed=1", PLUMB_CUDA_EXECUTION="eager")
        for command in (("env",), ("run", "--model", "lenet", "--only", "models")):
            error = self.plumb(*command, "--stack", "double", expect=2).stderr
            self.assertIn("remove PLUMB_CUDA_EXECUTION from the stack's variables, and use --mode", error)

    def test_a_run_on_a_small_gpu_has_no_copy_rate(self):
        """A quarter of its memory fits into four of its caches: the rate is unknown, and the run goes on."""
        self.double("seed=1,memory=3145728")
        self.plumb("run", "--model", "lenet", "--only", "models", "--mode", "plain", "--stack", "double")
        [[calibration]] = self.store_rows("select payload from derived where kind = 'calibration'")
        self.assertEqual(json.loads(calibration)["memory_bandwidth_bytes_per_second"], 0.0)


if __name__ == "__main__":
    plumb_command.Command.build = pathlib.Path(sys.argv.pop(1))
    unittest.main()
