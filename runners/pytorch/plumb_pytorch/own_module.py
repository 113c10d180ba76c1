# SPDX-License-Identifier: Apache-2.0
"""Modules that code of the user builds, and their export to ONNX."""

import contextlib
import importlib.util
import sys
import warnings

import torch
from plumb_worker.outcome import UserError

MAX_REASON = 500  # characters of what an exporter says
OPSET_TRACED, OPSET_EXPORTED = 17, 18  # the second is the least that the exporter of torch.export writes


def build_module(code, seed):
    """Returns what the code builds: the module, for inference, and its example inputs. The same for equal seeds."""
    torch.manual_seed(seed)
    module, inputs = code.build(seed)
    if not isinstance(module, torch.nn.Module):
        raise UserError(f"{code.name} returned a {type(module).__name__} in the place of a torch.nn.Module")
    for index, tensor in enumerate(inputs):
        if not isinstance(tensor, torch.Tensor):
            raise UserError(f"example input {index} of {code.name} is a {type(tensor).__name__}: only tensors are inputs of a model")
    devices = {str(tensor.device) for tensor in (*module.parameters(), *module.buffers(), *inputs)} - {"cpu"}
    if devices:
        raise UserError(f"{code.name} uses the device {devices.pop()}: this worker executes on the CPU")
    return module.eval(), [tensor.detach().contiguous() for tensor in inputs]


def write_onnx(code, path, seed):
    """Writes what the code builds as an ONNX file with its weights.

    Tracing comes first: it needs no other package, and BatchNorms stay layers of their own. What it cannot write is left to torch.export.
    """
    module, inputs = build_module(code, seed)
    failures = []
    for exporter in (_export_traced, _export_graph):
        try:
            with warnings.catch_warnings(), _without_fast_path(), contextlib.redirect_stdout(sys.stderr):
                warnings.simplefilter("ignore")
                exporter(module, tuple(inputs), path, [f"input_{index}" for index in range(len(inputs))])
            return
        except Exception as problem:  # pylint: disable=broad-except
            print(f"{exporter.__name__}: {problem}", file=sys.stderr, flush=True)
            failures.append(f"{type(problem).__name__}: {str(problem).strip().partition(chr(10))[0][:MAX_REASON]}")
    raise UserError(f"torch.onnx.export cannot write {code.name}: by tracing, {failures[0]}; by torch.export, {failures[1]}")


def _export_traced(module, inputs, path, names):
    options = {"dynamo": False} if hasattr(torch, "export") else {}
    torch.onnx.export(module, inputs, path, input_names=names, opset_version=OPSET_TRACED, training=torch.onnx.TrainingMode.PRESERVE, **options)


def _export_graph(module, inputs, path, names):
    if not importlib.util.find_spec("onnxscript"):
        raise ImportError("it needs the package onnxscript, which this Python lacks")
    torch.onnx.export(module, inputs, path, input_names=names, opset_version=OPSET_EXPORTED, dynamo=True, external_data=False, verbose=False)


@contextlib.contextmanager
def _without_fast_path():
    """Keeps attention as single operators: its fused one has no form in ONNX."""
    mha = getattr(torch.backends, "mha", None)
    if mha is None:
        yield
        return
    before = mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        mha.set_fastpath_enabled(before)
