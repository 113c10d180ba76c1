#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles and links the programs that `plumb layer --emit` writes for CUDA rows, with the toolkit alone, and compares the plans that
they make for a described GPU with the rows'. Where there is no toolkit it is skipped.

Usage: cuda_reproducers_test.py BUILD_FOLDER CXX CUDA_FOLDER GPU_JSON [unittest arguments].
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

build = pathlib.Path(sys.argv.pop(1)).resolve()
compiler, toolkit, gpu = sys.argv.pop(1), pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
cudnn = next((path for path in (toolkit / "lib64/libcudnn.so.9", toolkit / "lib/libcudnn.so.9") if path.exists()), None)

driver = toolkit / "lib64/stubs/libcuda.so"


class CudaReproducers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory(prefix="plumb-")
        cls.addClassCleanup(cls.held.cleanup)
        cls.folder = pathlib.Path(cls.held.name)
        cls.environment = {**os.environ, "LD_LIBRARY_PATH": str(cudnn.parent)}
        subprocess.run([build / "tests/integration/plumb_cuda_reproducers", cls.folder, cudnn, gpu, driver], check=True, env=cls.environment, timeout=300)

    def built(self, name):
        folder = self.folder / name
        for step in (["-G", "Ninja", "-S", folder, "-B", folder / "build", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCUDA_FOLDER={toolkit}",
                      "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"], ["--build", folder / "build"]):
            done = subprocess.run(["cmake", *map(str, step)], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return folder / "build/reproducer"

    def run_program(self, program, *arguments, **variables):
        environment = {**self.environment, **variables}
        return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment)

    def check_runs(self, program, key):
        done = self.run_program(program)
        self.assertIn(key, done.stdout)
        self.assertIn(done.returncode, (0, 3), done.stdout + done.stderr)
        if done.returncode == 0:
            self.assertIn("  ratio ", done.stdout)
        elif "refused" not in done.stdout:
            self.assertIn("the GPU: ", done.stderr, "it says what is missing")

    def check_plans(self, name, at_least):
        """The program's graph, engine and knobs are the row's: cuDNN makes the same plan of them."""
        program = self.built(name)
        plans = sorted((self.folder / name).glob("plan-*.json"))
        self.assertGreaterEqual(len(plans), at_least)
        for plan in plans:
            done = self.run_program(program, plan.stem.split("-")[1], "--plan", self.folder / "gpu.json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), json.loads(plan.read_text()))
        return program

    def test_a_fused_convolution(self):
        program = self.check_plans("convolution", 4)
        self.check_runs(program, "v1:conv;")
        self.assertEqual(self.run_program(program, 99, "--plan", self.folder / "gpu.json").returncode, 2)
        self.assertEqual(self.run_program(program, 0, "--plan", self.folder / "none.json").returncode, 3)

    def test_a_transposed_convolution(self):
        self.check_runs(self.check_plans("transposed", 2), "v1:conv_transpose;")

    def test_a_convolution_of_integers(self):
        self.check_runs(self.check_plans("integers", 2), "v1:conv_integer;")

    def test_gradients_of_a_convolution(self):
        self.check_runs(self.check_plans("data_gradient", 2), "v1:conv_backward_data;")
        self.check_runs(self.check_plans("weights_gradient", 2), "v1:conv_backward_weights;")

    def test_attention(self):
        self.check_runs(self.built("attention"), "v1:attention;")

    def check_compiles(self, name):
        """cuDNN takes the program's graph, engine and knobs, and compiles them, as far as loading beside the toolkit's empty driver."""
        if not driver.exists():
            self.skipTest("the toolkit's empty driver is not here")
        program = self.built(name)
        for number in range((self.folder / name / "main.cpp").read_text().count("Builder graph_")):
            done = self.run_program(program, number, "--plan", self.folder / "gpu.json", LD_PRELOAD=str(driver))
            self.assertIn("the plan: CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER", done.stderr)
        return program

    def test_a_normalisation(self):
        self.check_runs(self.check_compiles("norm"), "v1:layer_norm;")

    def test_a_gradient_of_a_normalisation(self):
        self.check_runs(self.check_compiles("norm_gradient"), "v1:batch_norm_backward;")

    def test_the_gradient_of_attention(self):
        self.check_runs(self.check_compiles("attention_gradient"), "v1:attention_backward;")

    def test_a_recurrent_layer(self):
        self.check_runs(self.built("recurrent"), "v1:lstm;")

    def test_a_product(self):
        self.check_runs(self.built("product"), "v1:gemm;")

    def test_products_of_8_bit_floats(self):
        self.check_runs(self.built("float8"), "v1:gemm;")

    def test_products_of_training(self):
        for name in ("bits", "bias_gradient"):
            self.check_runs(self.built(name), "v1:gemm_bias_gradient;")
        self.check_runs(self.built("activation_gradient"), "v1:gemm;")


if __name__ == "__main__":
    if cudnn is None or not (toolkit / "include/cuda_runtime_api.h").exists():
        print(f"skipped: no CUDA toolkit with cuDNN in '{toolkit}'")
        sys.exit(77)
    unittest.main(verbosity=2)
