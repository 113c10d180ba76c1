#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Executes models in several shapes that alternate, with oneDNN and with ONNX Runtime.

Usage: alternate_test.py BUILD_FOLDER ONNXRUNTIME_LIBRARY [unittest arguments]. Without that library, oneDNN alone executes.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = pathlib.Path(sys.argv.pop(1))
MODEL = "squeezenet1.1"


class Alternate(Command):
    def alternate(self, *arguments):
        return self.json("alternate", MODEL, "--batch", "1,2", "--executions", "5", *arguments)

    def check(self, document):
        self.assertEqual([shape["shape"] for shape in document["shapes"]], ["1×3×224×224", "2×3×224×224"])
        self.assertEqual(document["executions"], 2 * 3 + 2 * 2 * 5)
        for shape in document["shapes"]:
            self.assertEqual(shape["steady"]["samples"], 5)
            self.assertAlmostEqual(shape["change_seconds"], shape["changed"]["median_seconds"] - shape["steady"]["median_seconds"])

    def test_each_shape_has_a_plan_of_its_own_that_its_first_execution_makes(self):
        document = self.alternate()
        self.check(document)
        self.assertEqual((document["one_program"], document["preparation_seconds"], document["order"]), (False, None, "in_turn"))
        one, two = document["shapes"]
        self.assertEqual((one["changed"]["samples"], two["changed"]["samples"]), (5, 5))
        for shape in (one, two):
            self.assertGreater(shape["first_seconds"], 1.2 * shape["steady"]["median_seconds"], "it plans and lays out weights")

    def test_shapes_are_drawn_from_a_seed_and_shown(self):
        document = self.alternate("--order", "drawn", "--seed", "7")
        changed, steady = (sum(shape[kind]["samples"] for shape in document["shapes"]) for kind in ("changed", "steady"))
        self.assertGreater(steady, 2, "a drawn shape may follow itself")
        self.assertEqual(changed + steady, 20)
        text = self.plumb("alternate", "lenet", "--batch", "1,2,4", "--order", "drawn", "--executions", "2").stdout
        self.assertIn("lenet, f32, mode fusion, on default\n  21 executions, shapes drawn from seed 1; a program for each shape", text)
        self.assertEqual([line.split()[0] for line in text.splitlines()[-3:]], ["1×1×28×28", "2×1×28×28", "4×1×28×28"])

    def test_what_cannot_alternate_says_why(self):
        for arguments, reason in ((["--batch", "1"], "1 shape: give 2 to 16"), (["--batch", "1,2", "--dtype", "f32,bf16"], "one --dtype"),
                                  (["--batch", "1,2", "--mode", "best_variant"], "measured variants"),
                                  (["--batch", "1,2", "--mode", "int8+fusion"], "8-bit integers"),
                                  (["--batch", "1,2", "--stack", "fake"], "several shapes")):
            self.assertIn(reason, self.plumb("alternate", "lenet", *arguments, expect=2).stderr)


@unittest.skipUnless(LIBRARY.is_file(), "no ONNX Runtime in this Python")
class OnnxRuntime(Alternate):
    def alternate(self, *arguments):
        return super().alternate("--stack", f"{LIBRARY.parent}/", *arguments)

    def test_each_shape_has_a_plan_of_its_own_that_its_first_execution_makes(self):
        document = self.alternate()
        self.check(document)
        self.assertTrue(document["one_program"], "a session takes all batches")
        self.assertGreater(document["preparation_seconds"], 0)

    def test_shapes_are_drawn_from_a_seed_and_shown(self):
        self.skipTest("of the command alone")

    def test_what_cannot_alternate_says_why(self):
        self.skipTest("of the command alone")


if __name__ == "__main__":
    unittest.main()
