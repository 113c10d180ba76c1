#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of training: what `plumb model show --training` says of them, and what executing one gives.

Usage: training_test.py BUILD_FOLDER [unittest arguments].
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Training(Command):
    def test_phases_add_up_to_the_layers_of_the_step(self):
        step = self.json("model", "show", "resnet18-v1", "--batch", "4", "--training")
        forward, loss, backward = step["phases"]
        self.assertEqual(sum(phase["layers"] for phase in step["phases"]), len(step["layer_list"]))
        inference = self.json("model", "show", "resnet18-v1", "--batch", "4")
        self.assertEqual(forward["macs"], inference["macs"])
        self.assertEqual(loss["macs"], 0)
        # Two gradients a product, but for the first convolution, whose image has none.
        self.assertTrue(1.8 * forward["macs"] < backward["macs"] < 2.0 * forward["macs"], (forward, backward))
        self.assertEqual((step["missing"], step["incomplete"], step["unreached"]), ([], [], []))
        self.assertEqual(step["outputs"][0]["name"].split()[0], "cross_entropy")
        self.assertEqual(len(step["outputs"]), 1 + len(step["gradients"]))

    def test_every_key_of_a_step_is_one_that_a_layer_can_have(self):
        step = self.json("model", "show", "lenet", "--training", "--loss", "mean_squared_error")
        keys = {layer["key"] for layer in step["layer_list"] if layer["key"]}
        for key in sorted(key for key in keys if "_backward" in key):
            rows = self.json("layer", key, "--stack", "fake")["rows"]
            self.assertTrue(rows, key)

    def test_an_embedding_has_a_gradient_and_a_model_of_text_is_complete(self):
        step = self.json("model", "show", "bert-base", "--dim", "sequence=8", "--training")
        self.assertIn("gather_backward", {layer["key"].split(";")[0].removeprefix("v1:") for layer in step["layer_list"] if layer["key"]})
        self.assertEqual((step["missing"], step["incomplete"]), ([], []))

    def test_an_update_moves_what_its_optimiser_keeps(self):
        step = self.json("model", "show", "lenet", "--training", "--optimizer", "sgd")
        forward, loss, backward, update = step["phases"]
        self.assertEqual(update["layers"], len(step["gradients"]))
        self.assertEqual(update["bytes"], 5 * step["weight_bytes"])  # weights, gradient, momentum; weights and momentum again
        self.assertEqual(self.json("model", "show", "lenet", "--training", "--optimizer", "adamw")["optimizer"], "adamw")
        refused = self.plumb("model", "show", "lenet", "--training", "--optimizer", "lion", expect=2).stderr
        self.assertIn("adamw", refused)

    def test_a_step_is_executed_verified_and_bounded(self):
        self.plumb("run", "--model", "lenet", "--batch", "4", "--training", "sgd,adamw", "--mode", "plain", "--mode", "fusion", "--cache", "none",
                   "--processes", "1")
        models = self.json("bound")["models"]
        self.assertEqual([model["training"] for model in models], ["sgd", "adamw"])
        for model in models:
            self.assertEqual(model["measured_layers"], model["total_layers"], model["unsupported"])
            bounds = {(bound["kind"], bound["mode"]): bound for bound in model["bounds"]}
            executions = {each["mode"]: each for each in model["executions"]}
            self.assertEqual(set(executions), {"plain", "fusion"})
            for mode, execution in executions.items():
                self.assertGreater(execution["samples"], 0, execution)
                self.assertTrue(bounds["library", mode]["complete"], mode)
                self.assertLessEqual(bounds["library_parallel", mode]["seconds"], bounds["library", mode]["seconds"])
                self.assertGreater(execution["median_seconds"], 0.5 * bounds["library", mode]["seconds"])
            self.assertTrue(bounds["predicted", "plain"]["complete"])
        self.assertIn("lenet (training by sgd)", self.report("r.md"))

    def test_what_cannot_be_trained_says_why(self):
        self.assertIn("in f32", self.plumb("run", "--model", "lenet", "--training", "sgd", "--dtype", "bf16", expect=2).stderr)
        done = self.plumb("run", "--model", "lenet", "--training", "sgd", "--stack", "fake", "--mode", "plain", "--mode", "bf16")
        self.assertIn("training by sgd", done.stdout)

    def report(self, name):
        self.plumb("report", "@latest", "-o", self.folder / name)
        return (self.folder / name).read_text()

    def test_a_loss_belongs_to_training(self):
        self.assertIn("--training", self.plumb("model", "show", "lenet", "--loss", "cross_entropy", expect=2).stderr)
        self.assertIn("mean_squared_error", self.plumb("model", "show", "lenet", "--training", "--loss", "dice", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
