#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes built-in models end to end through oneDNN and compares every output with ONNX Runtime's, same weights, same inputs.

Usage: model_outputs_test.py BUILD_FOLDER ONEDNN_LIBRARY [unittest arguments]. Needs onnxruntime (ci/setup test); exits 77 (skipped) without it.
PLUMB_MODELS="a b" compares these models instead, "all" every built-in one.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import onnxruntime
except ImportError:
    print("skipped: no ONNX Runtime in this Python; ci/setup test installs it")
    sys.exit(77)

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = sys.argv.pop(1)
PLUMB = BUILD / "bin/plumb"
# Each mode, and how far an output may be from ONNX Runtime's, which computes in f32. With 8 bits of mantissa, single elements behind a hundred
# layers are off by more than the whole is: there the norm counts.
MODES = {"plain": ("largest", 1e-4), "fusion": ("largest", 1e-4), "bf16": ("norm", 2e-2), "bf16+fusion": ("norm", 2e-2), "fusion+int8": ("norm", 6e-2), "reference:fusion+int8": ("norm", 6e-2)}
# BERT with random weights carries the rounding of its 12 blocks' sums to the end.
LOOSER = {"bert-base": 8e-2}
# Model, and how many changes of layout an execution may have.
MODELS = {
    "resnet18-v1": 5,
    "resnet50-v1": 5,
    "mobilenet-v2": 5,
    "squeezenet1.1": 5,
    "inception-v1": 5,
    "densenet121": 22,
    "shufflenet": 5,
    "bert-base": 5,
}
# Whose 8-bit graphs the reference computes too, where the CPU has no such arithmetic.
BY_REFERENCE = ("resnet18-v1", "mobilenet-v2", "squeezenet1.1", "bert-base", "lenet")
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {done.stderr[-1000:]}")
    return done.stdout


def read(folder, name, like):
    return numpy.fromfile(folder / name, like[0]).reshape(like[1])


def read_output(folder, index, like):
    """Reads an output of the type and shape of another; floating ones may be bfloat16, the upper half of a float."""
    file = folder / f"output_{index}"
    if like.dtype != numpy.float32 or file.stat().st_size == like.nbytes:
        return numpy.fromfile(file, like.dtype).reshape(like.shape)
    upper = numpy.fromfile(file, numpy.uint16).astype(numpy.uint32)
    return (upper << 16).view(numpy.float32).reshape(like.shape)


def asked_for():
    names = os.environ.get("PLUMB_MODELS", "").split()
    if names == ["all"]:
        names = [model["name"] for model in json.loads(run(PLUMB, "--json", "model", "list"))["models"]]
    return {name: MODELS.get(name) for name in names} if names else MODELS


def modes_of(model):
    return [mode for mode in MODES if model in BY_REFERENCE or not mode.startswith("reference:")]


def executed(model, folder):
    """Writes a model with weights, executes it in every mode, and returns the facts by mode, and what ONNX Runtime makes of the same inputs."""
    file = folder / "model.onnx"
    run(PLUMB, "model", "export", model, "--weights", "-o", file)
    lines = run(BUILD / "tests/integration/plumb_model_outputs", BUILD / "libexec/plumb/plumb-onednn-backend.so", LIBRARY, file, folder, *modes_of(model))
    facts = {entry["mode"]: entry for entry in map(json.loads, lines.splitlines())}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    inputs = {value.name: read(folder, f"input_{i}", (TYPES[value.type], value.shape)) for i, value in enumerate(session.get_inputs())}
    return facts, session.run(None, inputs)


def largest(ours, theirs):
    """Returns the largest difference relative to the largest magnitude."""
    scale = numpy.max(numpy.abs(theirs))
    return float(numpy.max(numpy.abs(ours.astype(numpy.float64) - theirs)) / (scale if scale > 0 else 1))


def norm(ours, theirs):
    """Returns the norm of the difference relative to the norm."""
    scale = numpy.linalg.norm(theirs.astype(numpy.float64))
    return float(numpy.linalg.norm(ours.astype(numpy.float64) - theirs) / (scale if scale > 0 else 1))


class ModelOutputs(unittest.TestCase):
    def test_agree_with_onnx_runtime(self):
        for model, reorders in asked_for().items():
            with self.subTest(model=model), tempfile.TemporaryDirectory(prefix="plumb-") as name:
                folder = pathlib.Path(name)
                facts, expected = executed(model, folder)
                self.assertGreater(numpy.ptp(expected[0]), 0, "the output says nothing")
                for mode in modes_of(model):
                    measure, tolerance = MODES[mode]
                    if mode not in ("plain", "fusion") and facts[mode].get("unsupported"):
                        print(f"{model} {mode}: this CPU has no such arithmetic", flush=True)
                        continue
                    pairs = [(read_output(folder / mode, i, each), each) for i, each in enumerate(expected)]
                    errors = {each.__name__: max(each(*pair) for pair in pairs) for each in (largest, norm)}
                    print(f"{model} {mode}: difference {errors['largest']:.2g} (norm {errors['norm']:.2g}), {facts[mode].get('layers')} layers, {facts[mode].get('reorders')} reorders", flush=True)
                    with self.subTest(mode=mode):
                        self.assertLessEqual(errors[measure], LOOSER.get(model, tolerance) if mode not in ("plain", "fusion") else tolerance)
                if model in MODELS:  # others may have nothing to fuse
                    self.assertLess(facts["fusion"]["layers"], facts["plain"]["layers"])
                if reorders is not None:
                    self.assertLessEqual(facts["plain"]["reorders"], reorders)


if __name__ == "__main__":
    unittest.main()
