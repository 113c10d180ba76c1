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
    def double(self, script):
        doubles = self.build / "tests/cuda_stand_in"
        folder = self.folder / "plumb/stacks/double"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stack.toml").write_text(
            f'backend = "cuda"\nlibraries = ["{doubles}/libcudnn.so.9"]\nfolders = ["{doubles}"]\n'
            f'variables = {{ PLUMB_STAND_IN = "{script}" }}\n'
        )

    def test_layers_are_verified_and_measured(self):
        self.double("seed=1")
        for key in (RELU, GEMM):
            document = self.json("layer", key, "--stack", "double")
            self.assertIn("no GPU", json.dumps(document["environments"]), "the double says what it is")
            self.assertEqual({row["outcome"] for row in document["rows"]}, {"ok"}, document["rows"])

    def test_short_memory_is_an_outcome(self):
        self.double("seed=1,memory=65536")
        key = "v1:eltwise;in=f32[400,500];out=f32[400,500];acc=f32;math=strict;fn=relu;parameters=[]"
        document = self.json("layer", key, "--stack", "double")
        self.assertEqual({row["outcome"] for row in document["rows"]}, {"out_of_memory"}, document["rows"])

    def test_a_run_on_a_small_gpu_has_no_copy_rate(self):
        """A quarter of its memory fits into four of its caches: the rate is unknown, and the run goes on."""
        self.double("seed=1,memory=3145728")
        self.plumb("run", "--model", "lenet", "--only", "models", "--mode", "plain", "--stack", "double")
        [[calibration]] = self.store_rows("select payload from derived where kind = 'calibration'")
        self.assertEqual(json.loads(calibration)["memory_bandwidth_bytes_per_second"], 0.0)


if __name__ == "__main__":
    plumb_command.Command.build = pathlib.Path(sys.argv.pop(1))
    unittest.main()
