#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models that a function of a user's Python file builds, over a small worker in Python whose modules are ONNX models.

Usage: own_code_test.py BUILD_FOLDER [unittest arguments]. Exits 77 (skipped) without onnx, numpy and protobuf.
"""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command
from reference_stack import write_reference_worker

try:
    import google.protobuf  # noqa: F401
    import numpy  # noqa: F401
    import onnx  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}; ci/setup test installs it")
    sys.exit(77)

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: Weights and inputs are random: only equal seeds make the exported model and the executed one the same. It notes who runs it.
CODE = '''
import os, pathlib
import numpy, onnx
from onnx import helper

with open(pathlib.Path(__file__).with_suffix(".log"), "a") as log:
    print(pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\\0")[2].decode(), file=log)

def value(name, *shape):
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

def build(rows=64):
    weight = onnx.numpy_helper.from_array(numpy.random.standard_normal((32, 16)).astype("f4"), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", rows, 32)], [value("y", rows, 16)], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model, numpy.random.standard_normal((rows, 32)).astype("f4")
'''


class OwnCode(Command):
    def setUp(self):
        super().setUp()
        write_reference_worker(self)
        self.file = self.write(CODE)
        self.model = f"{self.file}:build"

    def write(self, text, name="mine.py"):
        path = self.folder / "code" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def measure(self, *arguments, expect=0):
        return self.json("run", "--model", self.model, "--processes", "1", *arguments, expect=expect)

    def refusal(self, model, *arguments, expect=2):
        text = self.plumb("run", "--model", model, "--stack", "reference", *arguments, expect=expect).stderr
        self.assertLess(len(text), 6000)
        return text

    def executions(self):
        return [json.loads(row[0]) for row in self.store_rows("select cast(payload as text) from derived where kind = 'execution'")]

    def test_layers_are_of_the_exported_graph_and_the_code_is_executed_in_workers(self):
        self.measure("--stack", "fake", "--stack", "reference")
        [plain] = [row for row in self.executions() if row["mode"] == "plain" and "code" in row["row"].get("attributes", {})]
        self.assertEqual(plain["row"]["attributes"]["code"], "mine.py:build")
        self.assertLess(plain["row"]["maximum_error"], 1e-6)
        log = self.file.with_suffix(".log")
        self.assertEqual(set(log.read_text().split()), {"reference_worker"})
        # An analysis runs no code, and needs none.
        log.unlink()
        self.file.unlink()
        runs = {run["stack"]: run["run"] for run in self.json("runs")["runs"]}
        self.assertEqual(set(runs), {"fake", "reference"})
        for run in runs.values():
            [model] = self.json("bound", run)["models"]
            self.assertEqual((model["model"], model["total_layers"], model["measured_layers"]), ("mine.py:build", 2, 2))
            self.assertIn(("library", "plain"), {(bound["kind"], bound["mode"]) for bound in model["bounds"] if bound["complete"]})
        self.assertFalse(log.exists())

    def test_equal_exports_are_kept_once_and_are_the_same_suite(self):
        self.measure("--stack", "reference", "--only", "models")
        self.measure("--stack", "reference", "--only", "models")
        self.assertEqual(len(list((self.folder / "plumb/exported").rglob("*.onnx"))), 1)
        self.assertEqual(len(list((self.folder / "plumb/exported").iterdir())), 1)
        self.assertEqual(len({run["suite_hash"] for run in self.json("runs")["runs"]}), 1)
        self.write(CODE + "\n# changed\n")
        self.measure("--stack", "reference", "--only", "models")
        self.assertEqual(len({run["suite_hash"] for run in self.json("runs")["runs"]}), 2)

    def test_it_is_shown(self):
        shown = self.json("model", "show", self.model, "--stack", "reference")
        self.assertEqual((shown["name"], shown["layers"], shown["macs"]), ("mine.py:build", 2, 64 * 32 * 16))

    def test_an_upgrade_is_qualified_on_it(self):
        # No pair starts after the budget: this is about what would be measured.
        document = self.json("qualify", "--model", self.model, "--baseline", "reference", "--candidate", "reference", "--pairs", "6", "--budget", "1s")
        self.assertIn("mine.py:build", json.dumps(document))
        self.assertEqual(set(self.file.with_suffix(".log").read_text().split()), {"reference_worker"})

    def test_no_code_runs_without_an_order(self):
        for words in (("run", self.suite(f'[suite]\nname = "s"\nversion = 1\n[[model]]\npath = "{self.model}"\n')),
                      ("run", self.suite(f'[suite]\nname = "s"\nversion = 1\n[[model]]\nname = "{self.model}"\n'))):
            self.assertIn("is a function of a Python file", self.plumb(*words, "--stack", "reference", expect=2).stderr)
        self.assertIn("is a function of a Python file, which the stack 'fake' cannot run", self.plumb(
            "run", "--model", self.model, "--stack", "fake", expect=2).stderr)
        self.assertIn("plumb stacks fetch pytorch", self.plumb("model", "show", self.model, "--stack", "fake", expect=2).stderr)
        self.assertFalse(self.file.with_suffix(".log").exists())

    def test_code_that_fails_says_where(self):
        for body, text in (
            ("raise ValueError('the planted failure\\nof two lines')",
             "mine.py:build failed: ValueError: the planted failure of two lines; at mine.py:3 in build: raise ValueError("),
            ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package'; at mine.py:3 in build"),
            ("raise SystemExit('enough')", "SystemExit: enough"),
            ("return 7", "returned one int: return a module and its example inputs"),
            ("return 7, 8, 9", "returned 3 values"),
            ("pass", "returned nothing"),
            ("raise RuntimeError('x' * 100000)", "RuntimeError: xxxx"),
            ("import os; os._exit(7)", "the code of 'mine.py:build' ended its worker: exited with status 7"),
        ):
            with self.subTest(body):
                self.write(f"\ndef build():\n    {body}\n")
                self.assertIn(text, self.refusal(self.model))
        self.write("def build(:\n")
        self.assertIn("at mine.py:1", self.refusal(self.model))
        self.assertIn("has no function 'other'", self.refusal(f"{self.write('x = 1')}:other"))
        self.assertIn("there is no file", self.refusal(f"{self.folder}/none.py:build"))

    def test_code_that_builds_something_else_next_time_is_a_failed_row(self):
        counter = self.folder / "calls"
        for change, outcome, reason in (("model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(numpy.ones((32, 16), 'f4') * calls, 'w'))",
                                         "wrong_result", "differs from the float64 reference"),
                                        ("inputs = inputs[:1]", "crashed", "example input 'x' is float32[1, 32], and float32[64, 32]")):
            with self.subTest(change):
                counter.write_text("")
                self.write(CODE + f'''
def changing():
    with open("{counter}", "a+") as file:
        file.write("x")
        calls = file.tell()
    model, inputs = build()
    if calls > 1:
        {change}
    return model, inputs
''')
                self.model = f"{self.file}:changing"
                self.measure("--stack", "reference", "--only", "models", "--mode", "plain")
                row = self.executions()[-1]["row"]
                self.assertEqual(row["outcome"]["kind"] if isinstance(row["outcome"], dict) else row["outcome"], outcome, row)
                self.assertIn(reason, json.dumps(row))

    def test_a_worker_that_writes_nothing_is_found_out(self):
        self.environment["PLUMB_TEST_MISBEHAVE"] = "export nothing"
        self.assertIn("the worker wrote no file", self.refusal(self.model, expect=3))


if __name__ == "__main__":
    unittest.main()
