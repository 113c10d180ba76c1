#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces models live with oneDNN and ONNX Runtime, and finds planted faults.

Usage: traces_test.py BUILD_FOLDER ONNXRUNTIME_LIBRARY [unittest arguments]. Without that library, oneDNN alone is traced.
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = pathlib.Path(sys.argv.pop(1))
MODEL = "squeezenet1.1"
FIXTURES = pathlib.Path(__file__).resolve().parent / "traces"


class Traces(Command):
    calibrated = True

    def trace(self, *arguments):
        return self.json("trace", *arguments)

    def findings(self, document):
        return {finding["finding"] for finding in document["findings"] if finding["loss"]}

    def check_times(self, document):
        calls = document["calls"]
        self.assertAlmostEqual(document["traced_seconds"], sum(call["seconds"] for call in calls), delta=1e-9)
        self.assertGreaterEqual(document["matched_seconds"], 0.95 * document["traced_seconds"])

    def test_every_call_of_onednn_belongs_to_a_layer(self):
        document = self.trace(MODEL)
        self.check_times(document)
        self.assertEqual((document["formats"], document["not_executed"], document["left_out"]), (["onednn"], [], 0))
        self.assertEqual(document["matched_seconds"], document["traced_seconds"])
        self.assertGreater(document["untraced_seconds"], 0)
        convolutions = [call for call in document["calls"] if call["operation"] == "convolution"]
        self.assertEqual(len(convolutions), 26)
        self.assertTrue(all(call["implementation"] and call["layers"] for call in convolutions))

    def test_what_was_switched_off_is_named_and_a_clean_run_is_not(self):
        clean = self.findings(self.trace(MODEL))
        self.assertLessEqual(clean, {"reorder", "gap"})
        plain = self.trace(MODEL, "--mode", "plain")
        self.assertIn("missed fusion", self.findings(plain))
        self.check_times(plain)

    def test_both_timelines_and_the_raw_trace_are_written(self):
        perfetto, folder = self.folder / "timelines.json", self.folder / "raw"
        made = self.trace(MODEL, "--perfetto", perfetto, "--folder", folder)
        events = json.loads(perfetto.read_text())["traceEvents"]
        self.assertEqual({event["pid"] for event in events if event["ph"] == "X"}, {1, 2})
        read = self.trace(MODEL, "--file", folder / "onednn.log")
        self.assertEqual([call["layers"] for call in read["calls"]], [call["layers"] for call in made["calls"]])

    def test_a_run_keeps_the_result_and_tells_slower_variants(self):
        self.plumb("run", "--model", "lenet", "--processes", "1", "--only", "layers")
        self.trace("lenet", "--mode", "plain", "--run", "@latest")
        records = [json.loads(line) for line in self.plumb("store", "export").stdout.splitlines()]
        self.assertTrue(any('"trace"' in json.dumps(record) for record in records))

    def test_a_mode_of_measured_variants_wants_a_run(self):
        self.assertIn("--run", self.plumb("trace", "lenet", "--mode", "best_variant", expect=2).stderr)

    def test_what_is_no_trace_is_refused(self):
        file = self.folder / "words"
        file.write_text("words\n")
        self.assertIn("no executed calls", self.plumb("trace", "lenet", "--file", file, expect=2).stderr)
        self.assertIn("profiler", self.plumb("trace", "lenet", "--stack", "fake", expect=2).stderr)


@unittest.skipUnless(LIBRARY.is_file(), "no ONNX Runtime in this Python")
class OnnxRuntimeTraces(Traces):
    def optimization(self, level):
        folder = self.folder / "plumb/stacks" / level
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(
            f'backend = "onnxruntime"\nlibraries = ["{LIBRARY}"]\n[variables]\nPLUMB_ONNXRUNTIME_OPTIMIZATION = "{level}"\n'
        )
        return level

    def trace(self, *arguments):
        if "--file" in arguments:
            return super().trace(*arguments)
        return super().trace(*arguments, "--stack", f"{LIBRARY.parent}/")

    def test_each_level_of_graph_optimisation_executes_other_nodes(self):
        whole = f"{LIBRARY.parent}/"
        executed = {}
        for level, stack, mode in (("off", whole, "plain"), ("basic", self.optimization("basic"), "fusion"),
                                   ("extended", self.optimization("extended"), "fusion"), ("all", whole, "fusion")):
            calls = self.json("trace", "lenet", "--stack", stack, "--mode", mode, "--executions", "3")["calls"]
            executed[level] = {call["operation"] for call in calls} & {"Add", "Relu", "FusedConv", "ReorderOutput"}
        self.assertEqual(executed, {"off": {"Add", "Relu"}, "basic": {"Relu"}, "extended": {"FusedConv"}, "all": {"ReorderOutput"}})

    def test_every_call_of_onednn_belongs_to_a_layer(self):
        document = self.trace(MODEL)
        self.check_times(document)
        self.assertEqual((document["formats"], document["not_executed"]), (["onnxruntime"], []))
        self.assertGreater(document["executions"], 10)

    def test_both_timelines_and_the_raw_trace_are_written(self):
        folder = self.folder / "raw"
        made = self.trace(MODEL, "--folder", folder)
        [file] = folder.iterdir()
        read = self.trace(MODEL, "--file", file)
        self.assertEqual(read["traced_seconds"], made["traced_seconds"])

    def test_a_run_keeps_the_result_and_tells_slower_variants(self):
        self.skipTest("of the store alone")

    def test_what_is_no_trace_is_refused(self):
        self.skipTest("of the reader alone")

    def test_a_mode_of_measured_variants_wants_a_run(self):
        self.skipTest("of the command alone")


class ForeignTraces(Command):
    def test_a_trace_of_pytorch_belongs_to_its_exported_model(self):
        document = self.json("trace", FIXTURES / "three_layers.onnx", "--file", FIXTURES / "three_layers.json.gz")
        self.assertEqual(document["formats"], ["kineto"])
        self.assertGreaterEqual(document["matched_seconds"], 0.95 * document["traced_seconds"])
        self.assertEqual(document["not_executed"], [])


if __name__ == "__main__":
    unittest.main()
