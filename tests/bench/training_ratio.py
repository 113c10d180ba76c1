#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of training beside PyTorch's eager ones, in turns, one thread each, and prints medians, their ratio and the geometric mean,
and the memory of each step in the first mode: planned with what making the plan took, and resident.

Usage: PYTHON training_ratio.py BUILD_FOLDER ONEDNN_LIBRARY [MODEL=BATCH…], with a Python that has PyTorch (PYTHONPATH). Both sides: f32, SGD with momentum,
the same graph and weights, cross-entropy, and denormals are taken for 0. PyTorch executes the ONNX file as this project's PyTorch worker does, with weights as parameters. A model with a
Dropout is refused: that worker leaves it out. Steps are not verified here: `plumb run --training sgd` does that.
"""

import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = sys.argv[2]
MODELS = sys.argv[3:] or [
    "lenet=64",
    "shufflenet=8",
    "mobilenet-v2=8",
    "tiny-yolo-v2=4",
    "resnet18-v1=8",
    "resnet18-v2=8",
    "resnet34-v1=4",
    "inception-v2=4",
    "resnet50-v1=4",
    "densenet121=2",
]
MODES = ["plain", "fusion"]
BLOCKS = 5
BLOCK_SECONDS = 0.5
os.environ["OMP_NUM_THREADS"] = "1"
sys.path[:0] = [str(BUILD / "libexec/plumb/python"), str(pathlib.Path(__file__).resolve().parent / "peers")]

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from plumb_pytorch.converter import convert  # noqa: E402
from plumb_side import Plumb, export  # noqa: E402
from plumb_worker.onnx_model import RequestedModel  # noqa: E402
from rounds import ratios, timed_in_turns  # noqa: E402


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
    def __init__(self, name, file):
        read = RequestedModel({"name": name, "path": str(file), "dtype": "f32", "seed": "1"})
        if any(node.op_type == "Dropout" for node in read.graph.node):
            raise SystemExit(f"{name} has a Dropout")
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

    def step(self):
        self.optimizer.zero_grad()
        result = self.module(*self.inputs)[0]
        loss = -(self.target * F.log_softmax(result, -1)).sum() * (result.shape[-1] / result.numel())
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def times(self, count):
        seconds = []
        for _ in range(count):
            begin = time.perf_counter()
            self.step()
            seconds.append(time.perf_counter() - begin)
        return seconds


def blocks_of(model, batch, folder):
    """Returns the medians of the blocks of PyTorch and of each of our modes, and the MiB planned and resident of the first mode."""
    file = folder / "model.onnx"
    export(BUILD / "bin/plumb", model, file, batch)
    module = BUILD / "libexec/plumb/plumb-onednn-backend.so"
    ours = Plumb(BUILD / "tests/bench/model_latency", module, LIBRARY, file, folder, MODES, "f32:sgd")
    runs = {mode: (lambda count, number=number: ours.times(number, count)) for number, mode in enumerate(MODES)}
    runs["pytorch"] = PyTorchStep(model, file).times
    planned, preparation, resident = (int(word) / 2**20 for word in (folder / "memory").read_text().splitlines()[0].split())
    try:
        return timed_in_turns(runs, BLOCKS, BLOCK_SECONDS), (planned + preparation, resident)
    finally:
        ours.close()


def main():
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # as our side does
    found = []
    print(f"{'model':16} batch    pytorch      plain     fusion  ms   pytorch ÷ fusion [of {BLOCKS} pairs of blocks]   planned  resident  MiB   (torch {torch.__version__})")
    for entry in MODELS:
        model, batch = entry.split("=")
        with tempfile.TemporaryDirectory(prefix="plumb-") as name:
            blocks, (planned, resident) = blocks_of(model, batch, pathlib.Path(name))
        pairs = ratios(blocks["pytorch"], blocks["fusion"])
        found.append(statistics.median(pairs))
        times = " ".join(f"{statistics.median(blocks[side]) * 1e3:10.3f}" for side in ("pytorch", *MODES))
        print(f"{model:16} {batch:>5} {times}       {found[-1]:.3f} [{min(pairs):.3f}, {max(pairs):.3f}]           {planned:9.1f} {resident:9.1f}  ({planned / resident - 1:+.1%})", flush=True)
    print(f"geometric mean of {len(found)}: {math.exp(statistics.fmean(map(math.log, found))):.3f}")


if __name__ == "__main__":
    main()
