#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants six faults in executions of ONNX Runtime and oneDNN, and expects `plumb trace` to name each, and none in clean ones.

Usage: planted_faults_test.py BUILD_FOLDER [unittest arguments]. Exits 77 (skipped) where this Python lacks onnx or onnxruntime.
"""

import os
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import HAS_BF16, Command

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}; ci/setup test installs it")
    sys.exit(77)

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: What a planted fault is called.
FAULTS = {"pad", "threads oversubscribed", "missed fusion", "reorder", "weights reordered", "slower variant", "lower precision"}
LAYERS = 6
CHANNELS = 32
SIZE = 56


def make_model(path, planted=""):
    """Writes convolutions, each with its Relu. `planted` is what stands before each of them."""
    generator = numpy.random.default_rng(1)
    nodes, weights, value = [], [], "x"
    if planted == "pad":
        weights.append(numpy_helper.from_array(numpy.array([0, 0, 1, 1, 0, 0, 1, 1], numpy.int64), "pads"))
    for i in range(LAYERS):
        weight = generator.standard_normal((CHANNELS, CHANNELS, 3, 3), numpy.float32) * 0.05
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        if planted == "pad":
            nodes.append(helper.make_node("Pad", [value, "pads"], [f"p{i}"], name=f"pad{i}"))
            value = f"p{i}"
        elif planted == "layouts":
            for step, order in (("to", [0, 2, 3, 1]), ("from", [0, 3, 1, 2])):
                nodes.append(helper.make_node("Transpose", [value], [f"{step}{i}"], name=f"{step}_last{i}", perm=order))
                value = f"{step}{i}"
        pads = [0] * 4 if planted == "pad" else [1] * 4
        nodes.append(helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], name=f"conv{i}", pads=pads))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"], name=f"relu{i}"))
        value = f"r{i}"
    shape = [1, CHANNELS, SIZE, SIZE]
    graph = helper.make_graph(
        nodes,
        "convolutions",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)],
        weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)


class PlantedFaults(Command):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "model.onnx"
        make_model(self.model)

    def findings(self, *arguments):
        document = self.json("trace", self.model, *arguments)
        self.assertGreaterEqual(document["matched_seconds"], 0.95 * document["traced_seconds"])
        findings = [finding for finding in document["findings"] if finding["loss"] or finding["finding"] == "lower precision"]
        print("\n".join(f"{finding['finding']}: {finding['evidence']}" for finding in findings), file=sys.stderr)
        return {finding["finding"] for finding in findings}

    def execute(self, planted="", disabled=(), level=None, threads=1):
        """Executes a model with ONNX Runtime under its profiler, and returns the findings of its trace."""
        file = self.folder / "executed.onnx"
        make_model(file, planted)
        options = onnxruntime.SessionOptions()
        options.enable_profiling = True
        options.profile_file_prefix = str(self.folder / "profile")
        options.intra_op_num_threads = threads
        if level is not None:
            options.graph_optimization_level = level
        session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"], disabled_optimizers=list(disabled)
        )
        image = numpy.ones((1, CHANNELS, SIZE, SIZE), numpy.float32)
        for _ in range(7):
            session.run(None, {"x": image})
        return self.findings("--file", session.end_profiling())

    def onednn_stack(self, name, **variables):
        folder = self.folder / "plumb/stacks" / name
        folder.mkdir(parents=True)
        lines = [f'{variable} = "{value}"' for variable, value in variables.items()]
        (folder / "stack.toml").write_text("\n".join(['backend = "onednn"', 'libraries = ["libdnnl.so.3"]', "[variables]", *lines, ""]))
        return name

    def measure(self):
        self.plumb("run", "--model", self.model, "--processes", "3", "--only", "layers", "--reuse", "never")

    def test_clean_executions_have_none(self):
        self.assertEqual(self.execute() & FAULTS, set())
        self.assertEqual(self.findings() & FAULTS, set())
        self.measure()
        self.assertEqual(self.findings("--run", "@latest") & FAULTS, set())

    def test_a_pad_before_each_convolution(self):
        self.assertEqual(self.execute("pad", ["Pad_Fusion", "NchwcTransformer"]) & FAULTS, {"pad"})

    def test_threads_oversubscribed(self):
        self.assertIn("threads oversubscribed", self.execute(threads=4 * len(os.sched_getaffinity(0))))
        threads = str(4 * len(os.sched_getaffinity(0)))
        self.assertIn("threads oversubscribed", self.findings("--threads", threads))

    def test_fusion_off(self):
        off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.assertEqual(self.execute(level=off) & FAULTS, {"missed fusion"})
        self.assertEqual(self.findings("--mode", "plain") & FAULTS, {"missed fusion"})

    def test_layouts_forced(self):
        # Its optimiser removes such pairs at every level, so no fusion is left either.
        off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.assertEqual(self.execute("layouts", level=off) & FAULTS, {"reorder", "missed fusion"})

    def test_a_slow_algorithm(self):
        slow = self.onednn_stack("slow", ONEDNN_MAX_CPU_ISA="SSE41")
        for _ in range(4):  # while the machine is slow for a moment, the fastest variants are as slow as these: then they are measured again
            self.measure()
            findings = self.findings("--stack", slow, "--run", "@latest")
            if "slower variant" in findings:
                break
        self.assertIn("slower variant", findings)

    @unittest.skipUnless(HAS_BF16, "oneDNN has no bf16 on this processor")
    def test_precision_lowered(self):
        raw = self.folder / "raw"
        self.plumb("trace", self.model, "--mode", "bf16+fusion", "--folder", raw)
        self.assertIn("lower precision", self.findings("--file", raw / "onednn.log"))
        shutil.rmtree(raw)

    def test_two_executions_differ_by_what_is_told(self):
        document = self.json("trace", self.model, "--mode", "fusion", "--against", "default", "--against-mode", "plain")
        self.assertEqual(len(document["layers"]), LAYERS, "each convolution with its Relu")
        told = sum(layer["difference_seconds"] for layer in document["layers"])
        for name in ("gap_seconds", "not_matched_seconds"):
            told += document["after"][name] - document["before"][name]
        self.assertAlmostEqual(told, document["difference_seconds"], delta=1e-9)
        self.assertEqual(document["after"]["not_matched_seconds"], 0)
        lines = self.plumb("trace", self.model, "--against", "default", "--against-mode", "plain").stdout.splitlines()
        self.assertRegex(lines[1], r"^  before +default, mode fusion: ")
        self.assertRegex(lines[2], r"^  after +default, mode plain: ")
        self.assertRegex(lines[3], r"^  difference +[+−]")

    def test_a_run_keeps_the_trace_for_the_what_if(self):
        self.measure()
        rows = lambda: {row["name"]: row for row in self.json("whatif")["models"][0]["whatifs"]}
        self.assertIn("plumb trace", rows()["framework"]["why_not"])
        trace = self.json("trace", self.model, "--mode", "plain", "--run", "@latest")
        row = rows()["framework"]
        self.assertAlmostEqual(row["baseline_seconds"], trace["untraced_seconds"], delta=1e-9)
        self.assertLess(row["predicted_seconds"], row["baseline_seconds"])
        self.assertIn("missed fusion", " ".join(layer["change"] for layer in row["layers"]))
        page = self.folder / "report.html"
        self.plumb("report", "@latest", "-o", page)
        self.assertIn("<td>missed fusion</td>", page.read_text())


if __name__ == "__main__":
    unittest.main()
