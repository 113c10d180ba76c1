#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures layers and models with PyTorch by whole commands.

Usage: pytorch_test.py BUILD_FOLDER PACKAGES [unittest arguments]. PACKAGES is the site-packages with PyTorch. Exits 77 (skipped) without it.
"""

import pathlib
import shutil
import sys
import sysconfig
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
PACKAGES = pathlib.Path(sys.argv.pop(1))
if not (PACKAGES / "torch/lib/libtorch_cpu.so").is_file():
    print("skipped: PyTorch is not installed; ci/setup frameworks installs it (5.5 GB)")
    sys.exit(77)
FOLDER = f"{PACKAGES}/"
FUSED = CONV + ";epilogue=relu"
COMPILES = bool(shutil.which("g++")) and pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file()


class PyTorch(Command):
    def setUp(self):
        super().setUp()
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def run_models(self, *models, modes=("plain",)):
        arguments = [word for model in models for word in ("--model", model)] + [word for mode in modes for word in ("--mode", mode)]
        self.plumb("run", *arguments, "--stack", FOLDER, "--processes", "1", "--only", "models")
        return {model["model"]: {execution["mode"]: execution for execution in model["executions"]} for model in self.json("bound")["models"]}

    def test_a_folder_of_packages_is_a_stack_whose_library_is_named(self):
        [stack] = [stack for stack in self.json("stacks", "probe", FOLDER)["stacks"] if stack["backend"] == "pytorch"]
        [library] = [library for library in stack["libraries"] if library["name"] == "libtorch_cpu"]
        self.assertEqual((library["path"], stack["problems"]), (str((PACKAGES / "torch/lib/libtorch_cpu.so").resolve()), []))
        self.assertRegex(library["version"], r"^[12]\.\d+\.\d+")

    def test_a_layer_has_a_time_for_each_layout(self):
        rows = [row for row in self.json("layer", CONV, "--stack", FOLDER)["rows"] if row["cache"] == "none" and row["outcome"] == "ok"]
        self.assertEqual({row["variant"]: row["library_choice"] for row in rows}, {"layout=contiguous": True, "layout=channels_last": False})
        self.assertTrue(all(row["maximum_error"] < 1e-5 for row in rows))

    @unittest.skipUnless(COMPILES, "torch.compile needs g++ and Python's headers")
    def test_a_fused_layer_is_compiled_too(self):
        rows = [row for row in self.json("layer", FUSED, "--stack", FOLDER)["rows"] if row["cache"] == "none" and row["outcome"] == "ok"]
        [compiled] = [row for row in rows if row["variant"] == "layout=contiguous;compiled=1"]
        self.assertEqual(compiled["attributes"]["operators"], "torch.compile")

    def test_a_model_has_bounds_and_runs_in_pytorchs_modes(self):
        self.plumb("run", "--model", "lenet", "--stack", FOLDER, "--processes", "1", "--mode", "plain", "--mode", "channels_last", "--mode", "bf16")
        [model] = self.json("bound")["models"]
        self.assertEqual((model["measured_layers"], model["unsupported"]), (model["total_layers"], []))
        self.assertEqual({execution["mode"] for execution in model["executions"] if execution["samples"]}, {"plain", "channels_last", "bf16"})
        self.assertIn(("library", "plain"), {(bound["kind"], bound["mode"]) for bound in model["bounds"] if bound["complete"]})

    @unittest.skipUnless(COMPILES, "torch.compile needs g++ and Python's headers")
    def test_fusion_is_torch_compile(self):
        [modes] = self.run_models("lenet", modes=("plain", "fusion", "channels_last+fusion")).values()
        self.assertTrue(all(execution["samples"] for execution in modes.values()), modes)

    def test_models_of_each_kind_agree_with_the_reference(self):
        # Pools with unequal padding, grouped convolutions, transpositions.
        models = self.run_models("squeezenet1.1", "shufflenet")
        self.assertEqual(len(models), 2)
        for model, modes in models.items():
            self.assertGreater(modes["plain"]["samples"], 0, model)

    def test_modes_without_a_meaning_say_why(self):
        self.plumb("run", "--model", "lenet", "--stack", FOLDER, "--processes", "1", "--only", "models", "--mode", "f16", "--mode", "parallel_branches",
                   "--threads", "2")
        reasons = " ".join(row[0] for row in self.store_rows("select cast(payload as text) from derived where kind = 'execution'"))
        self.assertIn("PyTorch executes operators one after the other", reasons)
        self.assertIn("compute f16 through f32", reasons)

    def test_a_python_without_pytorch_says_how_to_get_it(self):
        folder = self.folder / "plumb/stacks/empty"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(f'backend = "pytorch"\n[variables]\nPYTHONPATH = "{self.folder}"\nPLUMB_PYTHON = "/usr/bin/python3"\n')
        text = self.plumb("run", "--model", "lenet", "--stack", "empty", expect=3).stderr
        self.assertIn("plumb stacks fetch pytorch", text)


if __name__ == "__main__":
    unittest.main()
