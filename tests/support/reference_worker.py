# SPDX-License-Identifier: Apache-2.0
"""A small worker in Python for tests: executes layers and models with onnx.reference.

PLUMB_TEST_MISBEHAVE makes it raise, exit, hang or compute something else in executions. Where PLUMB_TEST_ONCE names a file, only the
worker that makes the file exits among shapes. PLUMB_TEST_TWICE makes it execute everything twice.
"""

import json
import os
import pathlib
import sys
import time

import numpy
import onnx
from onnx.reference import ReferenceEvaluator
from plumb_worker.backend import Backend, Program, Variant
from plumb_worker.layer_model import layer_model
from plumb_worker.outcome import Unsupported
from plumb_worker.worker import run_worker


class ReferenceBackend(Backend):
    """onnx.reference in float32."""

    def describe(self):
        return {"library": f"onnx-{onnx.__version__}"}, {"library.version": onnx.__version__}

    def variants(self, spec):
        layer_model(spec)
        return [Variant("order=plain", library_choice=True), Variant("order=twice")]

    def prepare(self, spec, variant, operands):
        model = layer_model(spec)
        feeds = {f"x{i}": operand.astype(numpy.float32) for i, operand in enumerate(operands) if operand is not None}
        once = _call(ReferenceEvaluator(model), feeds)
        return Program(once if variant == "order=plain" else lambda: (once(), once())[1], attributes={"evaluator": "onnx.reference"})

    def prepare_model(self, model, mode):
        if mode != "plain":
            raise Unsupported(f"onnx.reference executes as written, so it has no mode {mode}")
        model.proto.graph.initializer.sort(key=lambda tensor: tensor.name)
        return Program(_call(ReferenceEvaluator(model.proto), model.inputs))

    def prepare_shapes(self, models, mode):
        if os.environ.get("PLUMB_TEST_MISBEHAVE") == "exit among shapes" and _is_first():
            os._exit(7)
        return super().prepare_shapes(models, mode)

    def export_model(self, code, path, seed):
        if os.environ.get("PLUMB_TEST_MISBEHAVE") == "export nothing":
            return True
        onnx.save(code.build(seed)[0], path)
        return True

    def prepare_code(self, code, model, mode):
        if mode != "plain":
            raise Unsupported(f"onnx.reference executes as written, so it has no mode {mode}")
        module, inputs = code.build(model.seed)
        model.take_inputs(inputs)
        return Program(_call(ReferenceEvaluator(module), model.inputs), attributes={"code": code.name})

    def trace(self, program, folder, executions):
        """Writes what torch.profiler would of one convolution, and if told so of torch.compile before it."""
        events = []
        for i in range(executions):
            begin = time.perf_counter() * 1e6
            program.run(1)
            duration = time.perf_counter() * 1e6 - begin
            calls = [("user_annotation", f"ProfilerStep#{i}", begin, duration), ("cpu_op", "aten::conv2d", begin, duration)]
            if os.environ.get("PLUMB_TEST_MISBEHAVE") == "compile":
                calls[1:] = [("user_annotation", "entire_frame_compile", begin, 0.4 * duration), ("cpu_op", "aten::conv2d", begin + duration / 2, duration / 2)]
            for category, name, start, length in calls:
                events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length, "args": {}})
        pathlib.Path(folder, "trace.json").write_text(json.dumps({"traceEvents": events}))
        return [("kineto", "trace.json")]


def _is_first():
    """Returns whether no other worker was here before. Without PLUMB_TEST_ONCE each is the first."""
    try:
        with open(os.environ["PLUMB_TEST_ONCE"], "x"):
            return True
    except KeyError:
        return True
    except FileExistsError:
        return False


def _call(evaluator, feeds):
    def call():
        if os.environ.get("PLUMB_TEST_TWICE"):
            evaluator.run(None, feeds)
        outputs = [numpy.asarray(output) for output in evaluator.run(None, feeds)]
        match os.environ.get("PLUMB_TEST_MISBEHAVE"):
            case "raise":
                raise FileNotFoundError("the planted failure\nof two lines")
            case "exit":
                os._exit(7)
            case "hang":
                time.sleep(600)
            case "wrong":
                return [output + 1 for output in outputs]
            case "memory":
                raise MemoryError
            case "print":
                print("x" * 100_000, flush=True)  # a library's words are a log
        return outputs
    return call


if __name__ == "__main__":
    sys.exit(run_worker("reference", lambda setup: ReferenceBackend()))
