#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `plumb model show --training` says of a step of training.

Usage: training_test.py BUILD_FOLDER [unittest arguments]. Nothing is executed.
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

    def test_a_loss_belongs_to_training(self):
        self.assertIn("--training", self.plumb("model", "show", "lenet", "--loss", "cross_entropy", expect=2).stderr)
        self.assertIn("mean_squared_error", self.plumb("model", "show", "lenet", "--training", "--loss", "dice", expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
