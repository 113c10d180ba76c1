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
# Relative to the largest magnitude of the output.
TOLERANCE = 1e-4
# Model, and how many changes of layout an execution may have.
MODELS = {
    "resnet18-v1": 5,
    "resnet50-v1": 5,
    "mobilenet-v2": 5,
    "squeezenet1.1": 5,
    "inception-v1": 5,
    "densenet121": 20,
    "shufflenet": None,
    "bert-base": 5,
}
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}: {done.stderr[-1000:]}")
    return done.stdout


def read(folder, name, like):
    return numpy.fromfile(folder / name, like[0]).reshape(like[1])


def asked_for():
    names = os.environ.get("PLUMB_MODELS", "").split()
    if names == ["all"]:
        names = [model["name"] for model in json.loads(run(PLUMB, "--json", "model", "list"))["models"]]
    return {name: MODELS.get(name) for name in names} if names else MODELS


def executed(model, folder):
    """Writes a model with weights, executes it, and returns facts, inputs by name and outputs."""
    file = folder / "model.onnx"
    run(PLUMB, "model", "export", model, "--weights", "-o", file)
    facts = json.loads(run(BUILD / "tests/integration/plumb_model_outputs", BUILD / "libexec/plumb/plumb-onednn-backend.so", LIBRARY, file, folder))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    inputs = {value.name: read(folder, f"input_{i}", (TYPES[value.type], value.shape)) for i, value in enumerate(session.get_inputs())}
    return facts, inputs, session.run(None, inputs)


def difference(ours, theirs):
    scale = numpy.max(numpy.abs(theirs))
    return float(numpy.max(numpy.abs(ours.astype(numpy.float64) - theirs)) / (scale if scale > 0 else 1))


class ModelOutputs(unittest.TestCase):
    def test_agree_with_onnx_runtime(self):
        for model, reorders in asked_for().items():
            with self.subTest(model=model), tempfile.TemporaryDirectory(prefix="plumb-") as name:
                folder = pathlib.Path(name)
                facts, inputs, expected = executed(model, folder)
                errors = [difference(read(folder, f"output_{i}", (each.dtype, each.shape)), each) for i, each in enumerate(expected)]
                print(f"{model}: largest difference {max(errors):.2g}, {facts['reorders']} reorders", flush=True)
                self.assertLessEqual(max(errors), TOLERANCE)
                self.assertGreater(numpy.ptp(expected[0]), 0, "the output says nothing")
                if reorders is not None:
                    self.assertLessEqual(facts["reorders"], reorders)


if __name__ == "__main__":
    unittest.main()
