#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures models without a suite: batches, types and dimensions from the command line, their baselines, and chosen layers.

Usage: own_models_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: A model in ONNX's text form: its batch N and its axis S are open.
MODEL = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,S,2] x) => (y) <float[2,2] w = {1.0, 2.0, 3.0, 4.0}> {
  a = MatMul(x, w)
  b = Relu(a)
  y = Softmax<axis = -1>(b)
}
"""


class OwnModels(Command):
    def write(self, name="mine.onnxtxt", text=MODEL):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def measure(self, *arguments, expect=0):
        return self.json("run", *arguments, "--stack", "fake", "--processes", 1, expect=expect)

    def instances(self, *arguments):
        return [(model["batch"], model["dtype"], *model["dims"].values()) for model in self.measure(*arguments)["models"]]

    def keys(self):
        """Lists the keys of all layers that were measured."""
        return sorted(key for key, in self.store_rows("select distinct k.text from measurements m join layer_keys k on k.id = m.layer_key"))

    def operators(self):
        return sorted({key.split(":")[1].split(";")[0] for key in self.keys()})


class Combinations(OwnModels):
    def test_of_batches_types_and_dimensions_are_measured(self):
        own = self.write()
        measured = self.instances("--model", own, "--batch", "1,8", "--dtype", "f32,bf16", "--dim", "S=384")
        self.assertEqual(sorted(measured), [(1, "bf16", 384), (1, "f32", 384), (8, "bf16", 384), (8, "f32", 384)])

    def test_may_be_ranges_as_in_suites(self):
        own = self.write()
        self.assertEqual(sorted(self.instances("--model", own, "--batch", "2", "--dim", "S=128..512")), [(2, "f32", each) for each in (128, 256, 512)])
        written = 'S=[7, {from = 64, to = 200, step = "+64"}]'
        self.assertEqual(sorted(self.instances("--model", own, "--batch", "1..4:x2", "--dim", written)),
                         [(batch, "f32", each) for batch in (1, 2, 4) for each in (7, 64, 128, 192)])
        suite = self.suite('[[model]]\npath = "mine.onnxtxt"\nbatch = [1, 2, 4]\ndim.' + written + "\n")
        shown = [{**model, "name": ""} for model in self.json("suite", "show", suite)["models"]]
        same = [{**model, "name": ""} for model in self.json("suite", "show", "--model", own, "--batch", "1,2..4", "--dim", written)["models"]]
        self.assertEqual(shown, same, "the command line and a suite's file mean the same")

    def test_are_of_built_in_models_too(self):
        shown = self.json("suite", "show", "--model", "bert-base", "--model", "bert-large", "--dim", "sequence=384", "--dtype", "int8")["models"]
        self.assertEqual([(model["name"], model["dims"], model["dtype"]) for model in shown],
                         [("bert-base", {"sequence": 384}, "int8"), ("bert-large", {"sequence": 384}, "int8")])

    def test_are_refused_where_they_make_no_sense(self):
        own = self.write()
        for arguments, expected in ((["--dtype", "fp32"], "--dtype"), (["--batch", "8..4"], "--batch: '8..4'"), (["--dim", "S"], "NAME=VALUES"), (["--dim", "T=1", "--dim", "S=1"], "no dimension 'T'"),
                                    (["--batch", "1,1"], "listed twice"), (["--batch", "2", "--rebatch", "2"], "--rebatch"), (["--batch", "8", "--dim", "N=4", "--dim", "S=1"], "a batch of 8")):
            self.assertIn(expected, self.plumb("run", "--model", own, *arguments, "--stack", "fake", expect=2).stderr)
        for option, value in (("--batch", "2"), ("--rebatch", "2"), ("--dtype", "bf16"), ("--dim", "S=3")):
            self.assertIn(f"'{option}' is for models without a suite", self.plumb("run", self.tiny(), option, value, expect=2).stderr)
        self.assertEqual(self.json("runs")["runs"], [])


class OpenDimensions(OwnModels):
    def test_are_set_aloud_or_asked_for(self):
        own = self.write()
        done = self.plumb("run", "--model", own, "--dim", "S=4", "--stack", "fake", "--processes", 1)
        self.assertIn("'N' of input 'x' is open: it is set to 1; --batch N", done.stderr)
        self.assertIn("batch 1", done.stdout)
        asked = self.plumb("run", "--model", own, "--batch", 1, "--dim", "S=4", "--stack", "fake", "--processes", 1)
        self.assertNotIn("is open", asked.stderr)
        self.assertIn("'S' is open: bind it with --dim S=N", self.plumb("run", "--model", own, "--stack", "fake", expect=2).stderr)
        for option in ("--dim N=N", "--batch N"):
            self.assertIn(option, self.plumb("model", "show", own, "--dim", "S=4", expect=2).stderr)


class Baselines(OwnModels):
    def names(self):
        return sorted(row["name"] for row in self.json("baseline", "list")["baselines"] if row["current"])

    def test_each_model_has_its_own(self):
        own, other = self.write(), self.write("the other.onnxtxt", MODEL.replace("Relu", "Sigmoid"))
        options = ("--batch", 1, "--dim", "S=4", "--reuse", "never")
        for model, name in ((own, "mine"), (other, "the_other"), ("lenet", "lenet")):
            extra = options if model != "lenet" else options[4:]
            self.measure("--model", model, *extra)
            self.assertEqual(self.json("runs")["runs"][0]["suite"], name)
            self.assertEqual(self.json("suite", "show", "--model", model)["name"], name)
            self.plumb("baseline", "set", "@latest", "--reason", "first")
        self.assertEqual(self.names(), ["baseline/lenet", "baseline/mine", "baseline/the_other"])
        self.plumb("baseline", "set", "--model", own, *options[:4], "--runs", 2, "--stack", "fake", "--reason", "measured twice")
        self.assertEqual(self.names(), ["baseline/lenet", "baseline/mine", "baseline/the_other"])
        for arguments in (["--model", own], [], ["--runs", 2]):
            self.plumb("baseline", "set", *arguments, expect=2)
        again = self.measure("--model", own, *options, "--baseline", "baseline/mine", "--gate")
        self.assertEqual(again["comparison"]["verdict"], "equivalent")
        self.assertIn("--vary suite", self.plumb("run", "--model", other, *options, "--stack", "fake", "--baseline", "baseline/mine", expect=4).stderr)


class InPlaceOfASuite(OwnModels):
    """An .onnx file where a suite is expected."""

    def setUp(self):
        super().setUp()
        self.own = self.folder / "own.onnx"
        self.plumb("model", "export", "lenet", "-o", self.own)

    def test_a_file_is_measured_and_has_its_baseline(self):
        self.assertEqual(self.json("suite", "show", self.own), self.json("suite", "show", "--model", self.own))
        self.plumb("baseline", "set", self.own, "--runs", 2, "--stack", "fake")
        document = self.measure(self.own, "--batch", 1, "--baseline", "baseline/own", "--gate")
        self.assertEqual(document["comparison"]["verdict"], "equivalent")
        self.measure("--model", self.own, "--baseline", "baseline/own", "--gate")

    def test_what_is_no_model_or_two_is_refused(self):
        self.assertIn(f"--model {self.own}", self.plumb("run", self.own, "--model", "lenet", expect=2).stderr)
        missing = self.plumb("run", self.folder / "none.onnx", "--stack", "fake", expect=2).stderr
        self.assertIn("none.onnx", missing)
        self.assertNotIn("there is no suite", missing)


class Layers(OwnModels):
    def setUp(self):
        super().setUp()
        self.own = ("--model", self.write(), "--batch", 1, "--dim", "S=4")

    def test_are_chosen_by_operator_name_or_key(self):
        for number, (pattern, expected) in enumerate((("MatMul", ["matmul"]), ("relu", ["eltwise"]), ("v1:softmax;*", ["softmax"]), ("*M*u*", ["matmul"]))):
            self.environment["PLUMB_STORE"] = f"sqlite:{self.folder}/plumb/store.db"
            (self.folder / "plumb/store.db").unlink(missing_ok=True)
            done = self.plumb("--json", "run", *self.own, "--layer", pattern, "--stack", "fake")
            self.assertEqual(self.operators(), expected, pattern)
            self.assertRegex(done.stderr, r"1 of [345] unique layers")
            self.assertEqual(self.json("bound")["models"][0]["executions"], [], "no model is executed")

    def test_are_left_out_with_the_forms_that_hold_them(self):
        self.measure(*self.own, "--exclude", "Softmax", "--exclude", "relu")
        self.assertEqual(self.operators(), ["matmul"])
        self.assertEqual(len(self.keys()), 1, "neither is the fused form of both measured")
        bounds = self.json("bound")["models"][0]
        self.assertEqual((bounds["measured_layers"], bounds["total_layers"]), (1, 3))
        self.assertFalse(any(bound["complete"] for bound in bounds["bounds"] if bound["kind"] == "library"))

    def test_of_a_suite_and_its_list_are_chosen_too(self):
        (self.folder / "list.toml").write_text(f'[[layers]]\nkey = "{CONV}"\n')
        suite = self.suite('[[model]]\nname = "lenet"\n[[layers]]\nfile = "list.toml"\n')
        self.measure(suite, "--layer", "Conv*", "--exclude", CONV)
        self.assertEqual(self.operators(), ["conv"])
        self.assertNotIn(CONV, self.keys())
        self.measure(suite, "--layer", CONV)
        self.assertIn(CONV, self.keys())

    def test_that_are_none_are_refused(self):
        for arguments, expected in ((["--layer", "Conv*"], "the operators are eltwise, matmul, softmax"), (["--layer", "MatMul", "--layer", "Gemn"], "'--layer Gemn'"),
                                    (["--exclude", "*"], "leaves no layer"), (["--layer", "MatMul", "--exclude", "matmul"], "leaves no layer"),
                                    (["--layer", "MatMul", "--only", "models"], "--only models"), (["--exclude", "Relu", "--scenario", "offline"], "--scenario")):
            self.assertIn(expected, self.plumb("run", *self.own, *arguments, "--stack", "fake", expect=2).stderr)
        self.assertEqual(self.json("runs")["runs"], [])

    def test_make_another_suite_for_comparisons(self):
        whole = self.measure(*self.own)["run"]
        part = self.measure(*self.own, "--layer", "MatMul")["run"]
        self.assertIn("--vary suite", self.plumb("compare", whole, part, expect=4).stderr)
        self.plumb("compare", whole, part, "--vary", "suite")


if __name__ == "__main__":
    unittest.main(verbosity=2)
