#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of training beside PyTorch's eager ones, in turns, one thread each, and prints both medians, their ratio and the geometric mean.

Usage: PYTHON training_ratio.py BUILD_FOLDER [MODEL=BATCH…], with a Python that has PyTorch (PYTHONPATH). Both sides: f32, SGD with momentum,
the same graph, cross-entropy. PyTorch executes the ONNX file as this project's PyTorch worker does, with weights as parameters. A model with a
Dropout is refused: that worker leaves it out.
"""

import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
MODELS = sys.argv[2:] or ["lenet=64", "emotion-ferplus=8", "shufflenet=8", "mobilenet-v2=8", "resnet18-v1=8", "resnet50-v1=4", "densenet121=4"]
ROUNDS = 3
SECONDS = 2.0  # of PyTorch's turn, and at least five steps
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(BUILD / "libexec/plumb/python"))

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from plumb_pytorch.converter import convert  # noqa: E402
from plumb_worker import protocol_pb2 as protocol  # noqa: E402
from plumb_worker.onnx_model import RequestedModel  # noqa: E402


def make_trainable(module):
    """Gives the batch normalisations the batch's statistics, and makes parameters of the weights."""
    statistics_of = set()
    for node in module.graph.nodes:
        if node.op == "call_function" and node.target is F.batch_norm:
            node.args = (*node.args[:5], True, *node.args[6:])
            statistics_of |= {str(node.args[1].target), str(node.args[2].target)}
    module.recompile()
    for name, buffer in list(module.named_buffers()):
        if buffer.is_floating_point() and buffer.numel() > 1 and name not in statistics_of:
            delattr(module, name)
            module.register_parameter(name, torch.nn.Parameter(buffer))
    return module


class PyTorchStep:
    def __init__(self, model, batch):
        with tempfile.TemporaryDirectory(prefix="plumb-") as folder:
            file = pathlib.Path(folder, "model.onnx")
            subprocess.run([BUILD / "bin/plumb", "model", "export", model, "--batch", batch, "-o", file], check=True, capture_output=True)
            request = protocol.ExecuteRequest(name=model.encode(), path=str(file).encode(), dtype=b"f32", seed=1)
            read = RequestedModel(request)
        if any(node.op_type == "Dropout" for node in read.graph.node):
            raise SystemExit(f"{model} has a Dropout")
        last = read.graph.node[-1]
        if last.op_type == "Softmax":  # part of the loss
            read.graph.output[0].name = last.input[0]
            read.graph.node.pop()
        self.inputs = [torch.from_numpy(array.copy()) for array in read.inputs.values()]
        named = {name: torch.from_numpy(array.copy()) for name, array in read.inputs.items()}
        self.module = make_trainable(convert(read.graph, read.opset(), read.weights, named))
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=0.001, momentum=0.9)
        result = self.module(*self.inputs)[0]
        classes = torch.randint(0, result.shape[-1], result.shape[:-1])
        self.target = F.one_hot(classes, result.shape[-1]).to(torch.float32)

    def __call__(self):
        self.optimizer.zero_grad()
        result = self.module(*self.inputs)[0]
        loss = -(self.target * F.log_softmax(result, -1)).sum() * (result.shape[-1] / result.numel())
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def median(self):
        self()
        times = []
        end = time.perf_counter() + SECONDS
        while time.perf_counter() < end or len(times) < 5:
            begin = time.perf_counter()
            self()
            times.append(time.perf_counter() - begin)
        return statistics.median(times)


def plumb_median(model, batch, store):
    """Returns the medians of the modes plain and fusion, executed by oneDNN."""
    plumb = [BUILD / "bin/plumb", "--store", f"sqlite:{store}", "--json"]
    subprocess.run([*plumb, "run", "--model", model, "--batch", batch, "--training", "sgd", "--only", "models", "--mode", "plain", "--mode", "fusion",
                    "--processes", "1"], check=True, capture_output=True)
    bounds = json.loads(subprocess.run([*plumb, "bound"], check=True, capture_output=True, text=True).stdout)
    return {each["mode"]: each["median_seconds"] for each in bounds["models"][0]["executions"]}


def main():
    torch.set_num_threads(1)
    ratios = []
    with tempfile.TemporaryDirectory(prefix="plumb-") as folder:
        for entry in MODELS:
            model, batch = entry.split("=")
            step = PyTorchStep(model, batch)
            pytorch, plumb = [], []
            for turn in range(ROUNDS):
                pytorch.append(step.median())
                plumb.append(plumb_median(model, batch, pathlib.Path(folder, f"{model}-{turn}.db")))
            theirs = statistics.median(pytorch)
            ours = {mode: statistics.median(each[mode] for each in plumb) for mode in plumb[0]}
            ratios.append(theirs / ours["fusion"])
            print(f"{model:18} batch {batch:>3}  pytorch {theirs * 1e3:9.3f} ms  plain {ours['plain'] * 1e3:9.3f} ms  "
                  f"fusion {ours['fusion'] * 1e3:9.3f} ms  pytorch/fusion {ratios[-1]:5.2f}", flush=True)
    print(f"geometric mean of {len(ratios)}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")


if __name__ == "__main__":
    main()
