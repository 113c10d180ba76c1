#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures layers and models with PyTorch by whole commands.

Usage: pytorch_test.py BUILD_FOLDER PACKAGES [unittest arguments]. PACKAGES is the site-packages with PyTorch. Exits 77 (skipped) without it.
"""

import json
import os
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


OWN = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, image):
        features = self.features(image).mean((2, 3))
        return {"scores": self.head(features), "features": (features,)}

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 32)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)

    def forward(self, tokens):
        return self.encoder(self.embedding(tokens))

class Svd(nn.Module):
    def forward(self, x):
        return torch.linalg.svd(x)[1]

# The layout of the image is changed and changed back before each convolution.
class Forced(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(32, 32, 3, padding=1) for _ in range(4))

    def forward(self, image):
        for layer in self.layers:
            image = image.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2).contiguous()
            image = torch.relu(layer(image))
        return image

# A number changes with each call, so a guard of torch.compile fails each time.
class Restless(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.layer(x)

def build():
    return Net(), torch.randn(2, 3, 16, 16)

def forced():
    return Forced(), torch.randn(1, 32, 56, 56)

def restless():
    return Restless(), torch.randn(4, 8)

def encoder():
    return Encoder(), (torch.randint(0, 100, (1, 16)),)

def number():
    return 7, torch.zeros(1)

def list_of_inputs():
    return Net(), [torch.zeros(1), "words"]

def svd():
    return Svd(), torch.randn(4, 4)
"""


class PyTorch(Command):
    def setUp(self):
        super().setUp()
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def write(self, text):
        path = self.folder / "mine.py"
        path.write_text(text)
        return path

    def executions(self):
        return [json.loads(row[0]) for row in self.store_rows("select cast(payload as text) from derived where kind = 'execution'")]

    def run_models(self, *models, modes=("plain",)):
        arguments = [word for model in models for word in ("--model", model)] + [word for mode in modes for word in ("--mode", mode)]
        self.plumb("run", *arguments, "--stack", FOLDER, "--processes", "1", "--only", "models")
        return {model["model"]: {execution["mode"]: execution for execution in model["executions"]} for model in self.json("bound")["models"]}

    def test_a_folder_of_packages_is_a_stack_whose_library_is_named(self):
        [stack] = [stack for stack in self.json("stacks", "probe", FOLDER)["stacks"] if stack["backend"] == "pytorch"]
        [library] = [library for library in stack["libraries"] if library["name"] == "libtorch_cpu"]
        self.assertEqual((library["path"], stack["problems"]), (str((PACKAGES / "torch/lib/libtorch_cpu.so").resolve()), []))
        self.assertRegex(library["version"], r"^[12]\.\d+\.\d+")
        [onednn] = [each for each in stack["libraries"] if each["name"] == "onednn"]
        self.assertRegex(onednn["version"], r"^\d+\.\d+")
        self.assertEqual((onednn["path"], onednn["sha256"]), (library["path"], library["sha256"]), "it is linked into PyTorch's own")
        self.assertTrue(all(each["version"] for each in stack["libraries"] if not each["path"].startswith(str(PACKAGES))))

    def timed_rows(self, key):
        rows = self.json("layer", key, "--stack", FOLDER)["rows"]
        return [row for row in rows if row["cache"] == "none" and row["outcome"] in ("ok", "unstable")]

    def test_a_layer_has_a_time_for_each_layout(self):
        rows = self.timed_rows(CONV)
        self.assertEqual({row["variant"]: row["library_choice"] for row in rows}, {"layout=contiguous": True, "layout=channels_last": False})
        self.assertTrue(all(row["maximum_error"] < 1e-5 for row in rows))

    @unittest.skipUnless(COMPILES, "torch.compile needs g++ and Python's headers")
    def test_a_fused_layer_is_compiled_too(self):
        rows = self.timed_rows(FUSED)
        [compiled] = [row for row in rows if row["variant"] == "layout=contiguous;compiled=1"]
        self.assertEqual(compiled["attributes"]["operators"], "torch.compile")

    def test_operators_and_calls_of_onednn_are_traced(self):
        # Its LRNs are several operators each.
        document = self.json("trace", "inception-v1", "--stack", FOLDER, "--mode", "plain", "--executions", "3")
        self.assertEqual(document["formats"], ["kineto", "onednn"])
        self.assertEqual((document["executions"], document["not_executed"]), (3, []))
        self.assertGreaterEqual(document["matched_seconds"], 0.95 * document["traced_seconds"])
        convolutions = [call for call in document["calls"] if call["operation"] == "aten::conv2d"]
        self.assertEqual(len(convolutions), 57)
        self.assertTrue(any(call["implementation"] for call in convolutions), "oneDNN's log is joined")

    def test_shapes_alternate_in_one_module(self):
        for mode in ("plain", *(["fusion"] if COMPILES else [])):
            document = self.json("alternate", "lenet", "--batch", "1,2", "--executions", "3", "--mode", mode, "--stack", FOLDER)
            self.assertTrue(document["one_program"], "its code has no batch")
            if mode == "fusion":
                for shape in document["shapes"]:
                    self.assertGreater(shape["first_seconds"], 10 * shape["changed"]["median_seconds"], "each of both is compiled")

    def test_a_model_has_bounds_and_runs_in_pytorchs_modes(self):
        modes = ["plain", "channels_last", "bf16", *(["fusion", "channels_last+fusion"] if COMPILES else [])]
        self.plumb("run", "--model", "lenet", "--stack", FOLDER, "--processes", "1", "--mode", "f16", *(word for mode in modes for word in ("--mode", mode)))
        [model] = self.json("bound")["models"]
        self.assertEqual((model["measured_layers"], model["unsupported"]), (model["total_layers"], []))
        self.assertEqual({execution["mode"] for execution in model["executions"] if execution["samples"]}, set(modes))
        self.assertIn(("library", "plain"), {(bound["kind"], bound["mode"]) for bound in model["bounds"] if bound["complete"]})
        rows = {row["mode"]: row["row"] for row in self.executions()}
        self.assertIn("compute f16 through f32", json.dumps(rows["f16"]))
        self.assertEqual({rows[mode]["attributes"]["execution"] for mode in modes}, {"eager", *(["torch.compile"] if COMPILES else [])})

    def test_models_of_each_kind_agree_with_the_reference(self):
        # Pools with unequal padding, grouped convolutions, transpositions.
        models = self.run_models("squeezenet1.1", "shufflenet")
        self.assertEqual(len(models), 2)
        for model, modes in models.items():
            self.assertGreater(modes["plain"]["samples"], 0, model)

    def test_a_module_of_the_user_is_exported_and_executed_as_it_is(self):
        code = self.write(OWN)
        modes = ["plain", "channels_last", *(["fusion"] if COMPILES else [])]
        self.plumb("run", "--model", f"{code}:build", "--stack", FOLDER, "--processes", "1", "--threads", "2", "--mode", "parallel_branches",
                   *(word for mode in modes for word in ("--mode", mode)))
        [model] = self.json("bound")["models"]
        self.assertEqual((model["model"], model["measured_layers"], model["unsupported"]), ("mine.py:build", model["total_layers"], []))
        self.assertIn(("library", "plain"), {(bound["kind"], bound["mode"]) for bound in model["bounds"] if bound["complete"]})
        rows = {row["mode"]: row["row"] for row in self.executions()}
        self.assertEqual({rows[mode]["attributes"]["code"] for mode in modes}, {"mine.py:build"})
        self.assertTrue(all(rows[mode]["maximum_error"] < 1e-4 for mode in modes), rows)
        self.assertIn("PyTorch executes operators one after the other", json.dumps(rows["parallel_branches"]))

    def test_a_module_of_the_user_is_traced(self):
        document = self.json("trace", f"{self.write(OWN)}:build", "--stack", FOLDER, "--mode", "plain", "--executions", "3")
        self.assertEqual(document["not_executed"], [])
        self.assertGreaterEqual(document["matched_seconds"], 0.95 * document["traced_seconds"])

    def trace_own(self, function, *more):
        return self.json("trace", f"{self.write(OWN)}:{function}", "--stack", FOLDER, "--executions", "3", *more)

    def findings(self, document):
        return {finding["finding"] for finding in document["findings"] if finding["loss"] or finding["finding"] == "lower precision"}

    def test_forced_layouts_and_threads_without_processors_are_named(self):
        document = self.trace_own("forced", "--mode", "plain")
        self.assertNotIn("threads oversubscribed", self.findings(document))
        forced = [call for call in document["calls"] if call["operation"] == "aten::contiguous"]
        self.assertEqual({call["kind"] for call in forced}, {"reorder"})
        moved = sum(finding["seconds"] for finding in document["findings"] if finding["finding"] == "reorder")
        self.assertGreaterEqual(moved, 0.99 * sum(call["seconds"] for call in forced))
        self.assertIn("reorder", self.findings(document))
        threads = str(4 * len(os.sched_getaffinity(0)))
        self.assertIn("threads oversubscribed", self.findings(self.trace_own("forced", "--mode", "plain", "--threads", threads)))

    def test_lowered_precision_is_named(self):
        raw = self.folder / "raw"
        self.json("trace", "squeezenet1.1", "--stack", FOLDER, "--mode", "bf16", "--executions", "3", "--folder", raw)
        self.assertIn("lower precision", self.findings(self.json("trace", "squeezenet1.1", "--file", raw / "kineto.json")))

    def test_fusion_that_is_off_is_named(self):
        self.assertIn("missed fusion", self.findings(self.trace_own("build", "--mode", "plain")))

    @unittest.skipUnless(COMPILES, "torch.compile needs g++ and Python's headers")
    def test_a_module_that_is_compiled_at_every_call_is_named(self):
        self.assertIn("recompilation", self.findings(self.trace_own("restless", "--mode", "fusion")))
        self.assertNotIn("recompilation", self.findings(self.trace_own("build", "--mode", "fusion")))

    def test_attention_and_indices_are_exported(self):
        shown = self.json("model", "show", f"{self.write(OWN)}:encoder", "--stack", FOLDER)
        self.assertEqual((shown["inputs"][0]["shape"], shown["inputs"][0]["dtype"]), ([1, 16], "s64"))
        self.assertEqual((shown["ops"]["Softmax"], shown["ops"]["LayerNormalization"]), (2, 4))

    def test_what_is_no_module_or_has_no_form_in_onnx_says_so(self):
        code = self.write(OWN)
        for function, reason in (("number", "returned a int in the place of a torch.nn.Module"), ("list_of_inputs", "example input 1 of mine.py:list_of_inputs is a str"),
                                 ("svd", "torch.onnx.export cannot write mine.py:svd: by tracing, ")):
            text = self.plumb("run", "--model", f"{code}:{function}", "--stack", FOLDER, expect=2).stderr
            self.assertIn(reason, text)
            self.assertLess(len(text), 4000)

    def test_a_python_without_pytorch_says_how_to_get_it(self):
        folder = self.folder / "plumb/stacks/empty"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(f'backend = "pytorch"\n[variables]\nPYTHONPATH = "{self.folder}"\nPLUMB_PYTHON = "/usr/bin/python3"\n')
        text = self.plumb("run", "--model", "lenet", "--stack", "empty", expect=3).stderr
        self.assertIn("plumb stacks fetch pytorch", text)


if __name__ == "__main__":
    unittest.main()
