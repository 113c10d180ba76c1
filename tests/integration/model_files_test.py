#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models from files: the batch that a file fixes, one bad file among good ones, odd names, hostile content.

Usage: model_files_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker.
"""

import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from local_server import wait_until
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """Encodes one field of a protobuf message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, *dims):
    shape = b"".join(field(1, field(1, dim) if isinstance(dim, int) else field(2, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def relu(*dims):
    """Makes an ONNX model of one Relu. A dimension is a number, or the name of an open one."""
    node = field(1, "x") + field(2, "y") + field(4, "Relu")
    graph = field(1, node) + field(2, "g") + field(11, tensor("x", *dims)) + field(12, field(1, "y"))
    return field(1, 8) + field(8, field(2, 17)) + field(7, graph)


class ModelFiles(Command):
    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def run_models(self, *paths, expect=0, options=()):
        models = [argument for path in paths for argument in ("--model", path)]
        return self.plumb("--json", "run", *models, "--stack", "fake", *options, expect=expect)

    def measured(self):
        return self.json("bound")["models"]

    def shapes(self):
        """Lists the results' shapes of all layers that were measured."""
        keys = self.store_rows("select distinct k.text from measurements m join layer_keys k on k.id = m.layer_key")
        return sorted(key.split("out=")[1].split(";")[0] for key, in keys)


class FixedBatch(ModelFiles):
    def test_is_measured_as_it_is(self):
        fixed = self.write("fixed.onnx", relu(3, 4, 5))
        self.run_models(fixed)
        self.assertEqual([(m["model"], m["batch"], m["measured_layers"]) for m in self.measured()], [("fixed", 3, 1)])
        self.assertEqual(self.shapes(), ["f32[3,4,5]"])

    def test_is_rewritten_only_when_asked(self):
        fixed = self.write("fixed.onnx", relu(3, 4, 5))
        refused = self.run_models(fixed, options=["--batch", "1"], expect=2).stderr
        self.assertIn("--rebatch 1", refused)
        self.assertIn("fixed at 3", refused)
        self.assertIn("--rebatch 1", self.plumb("model", "show", fixed, "--batch", "1", expect=2).stderr)
        self.assertEqual(self.json("model", "show", fixed, "--batch", "3")["inputs"][0]["shape"], [3, 4, 5])
        done = self.run_models(fixed, options=["--rebatch", "1"])
        self.assertIn("rewritten from 3 to 1", done.stderr)
        self.assertEqual([(m["batch"], m["measured_layers"]) for m in self.measured()], [(1, 1)])
        self.assertEqual(self.shapes(), ["f32[1,4,5]"])
        shown = self.plumb("--json", "model", "show", fixed, "--rebatch", "2")
        self.assertIn("rewritten from 3 to 2", shown.stderr)
        self.plumb("model", "show", fixed, "--rebatch", "2", "--batch", "2", expect=2)

    def test_in_a_suite_needs_rebatch(self):
        self.write("fixed.onnx", relu(3, 4, 5))
        text = '[suite]\nname = "own"\n[[model]]\npath = "fixed.onnx"\nbatch = [3, 8]\n'
        done = self.plumb("--json", "run", self.suite(text), "--stack", "fake", expect=2)
        self.assertIn("rebatch = true", done.stderr)
        self.assertEqual([m["batch"] for m in self.measured()], [3], "the other instance is measured")
        self.plumb("run", self.suite(text + "rebatch = true\n"), "--stack", "fake")
        self.assertEqual(sorted(m["batch"] for m in self.measured()), [3, 8])

    def test_left_open_is_set_and_said(self):
        done = self.run_models(self.write("open.onnx", relu("N", 4)))
        self.assertIn("'N' of input 'x' is open: it is set to 1", done.stderr)
        self.assertEqual([m["batch"] for m in self.measured()], [1])
        done = self.run_models(self.folder / "open.onnx", options=["--batch", "6"])
        self.assertNotIn("is open", done.stderr)
        self.assertEqual([m["batch"] for m in self.measured()], [6])


class OneOfMany(ModelFiles):
    def test_that_cannot_be_read_does_not_end_the_run(self):
        good = self.write("good.onnx", relu(2, 8))
        bad = self.write("bad.onnx", b"this is no model")
        done = self.run_models(bad, good, self.folder / "none.onnx", expect=2)
        self.assertIn("bad.onnx", done.stderr)
        self.assertIn("none.onnx", done.stderr)
        self.assertIn("2 of 3 models could not be read", done.stderr)
        self.assertEqual([(m["model"], m["measured_layers"]) for m in self.measured()], [("good", 1)])
        self.assertEqual(self.json("runs")["runs"][0]["state"], "finished")

    def test_ends_the_run_if_no_other_is_left(self):
        bad = self.write("bad.onnx", b"this is no model")
        self.assertIn("bad.onnx", self.run_models(bad, expect=2).stderr)
        self.assertEqual(self.json("runs")["runs"], [])


class OddNames(ModelFiles):
    def test_that_are_no_utf8_are_measured_and_read_again(self):
        name = os.fsdecode(b"caf\xe9 \xff.onnx")
        path = self.write(name, relu(2, 8))
        for arguments in (["model", "show", path], ["--json", "run", "--model", path, "--stack", "fake"], ["--json", "bound"],
                          ["--json", "runs"], ["report", "@latest", "-o", self.folder / "r.html"], ["report", "@latest", "-o", self.folder / "r.json"]):
            done = subprocess.run([self.program(), *map(os.fsencode, arguments)], env=self.environment, capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            done.stdout.decode()  # UTF-8 throughout
        self.assertEqual(self.measured()[0]["measured_layers"], 1)

    def test_of_suites_may_be_no_utf8(self):
        path = self.folder / os.fsdecode(b"su\xeftes.toml")
        path.write_text('[[model]]\nname = "lenet"\n')
        for arguments in (["suite", "show", path], ["--json", "run", path, "--stack", "fake", "--only", "layers"]):
            done = subprocess.run([self.program(), *map(os.fsencode, arguments)], env=self.environment, capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            done.stdout.decode()


class Hostile(ModelFiles):
    def test_equations_nesting_and_keys_end(self):
        head = '<ir_version: 8, opset_import: ["" : 17]>\ng (float[4,4] x, bool[1] c) => (y) { '
        self.write("einsum.onnxtxt", (head + 'y = Einsum<equation = "...i...->...">(x) }').encode())
        shown = self.json("model", "show", self.folder / "einsum.onnxtxt")
        self.assertEqual(shown["outputs"][0], {"name": "y", "shape": None, "dtype": None})
        text = "y = Relu(x)"
        for _ in range(5200):
            text = f"y = If(c) <then_branch = t () => (y) {{ {text} }}, else_branch = e () => (y) {{ y = Neg(x) }}>"
        self.write("deep.onnxtxt", (head + text + " }").encode())
        self.assertIn("brackets are nested", self.plumb("model", "show", self.folder / "deep.onnxtxt", expect=2).stderr)
        key = ".".join(["a"] * 31_000)
        self.assertIn("more than 16 parts", self.plumb("suite", "show", self.suite(f"{key} = 1\n"), expect=2).stderr)
        (self.folder / "plumb/stacks/fake/stack.toml").write_text(f"{key} = 1\n")
        self.assertIn("more than 16 parts", self.plumb("env", "--stack", "fake", expect=2).stderr)


class SecondSignal(ModelFiles):
    def test_ends_the_program_at_once(self):
        begun = self.folder / "begun"
        self.stack("fake", f'[[rule]]\nmatch = "v1:conv;*"\nonce = "{begun}"\ndelay_seconds = 50\n')
        for first, second, status in ((signal.SIGINT, signal.SIGTERM, 143), (signal.SIGTERM, signal.SIGTERM, 143), (signal.SIGTERM, signal.SIGINT, 130)):
            process = subprocess.Popen([self.program(), "run", self.tiny("never"), "--stack", "fake"], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_until(begun.exists, "a key is in progress")
            begun.unlink()
            process.send_signal(first)
            wait_until(lambda: self.has_taken_signals(process), "the first signal is taken")
            time.sleep(0.3)
            self.assertIsNone(process.poll(), "the first signal lets the key in progress end")
            process.send_signal(second)
            self.assertEqual(process.wait(timeout=40), status)

    @staticmethod
    def has_taken_signals(process):
        """Whether no signal waits for a process."""
        text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        return not any(int(line.split()[1], 16) for line in text.splitlines() if line.startswith(("SigPnd:", "ShdPnd:")))


if __name__ == "__main__":
    unittest.main()
