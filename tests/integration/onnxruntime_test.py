#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures layers and models with ONNX Runtime by whole commands.

Usage: onnxruntime_test.py BUILD_FOLDER LIBRARY [unittest arguments]. Exits 77 (skipped) without the library, libonnxruntime.so.1.x.
"""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = pathlib.Path(sys.argv.pop(1))
if not LIBRARY.is_file():
    print("skipped: no ONNX Runtime in this Python; ci/setup test installs it")
    sys.exit(77)
FOLDER = f"{LIBRARY.parent}/"
VERSION = LIBRARY.name.split(".so.")[1]


class OnnxRuntime(Command):
    def write_stack(self, name, **variables):
        folder = self.folder / "plumb/stacks" / name
        folder.mkdir(parents=True)
        lines = [f'{variable} = "{value}"' for variable, value in variables.items()]
        (folder / "stack.toml").write_text("\n".join(['backend = "onnxruntime"', f'libraries = ["{LIBRARY}"]', "[variables]", *lines, ""]))
        return name

    def test_a_wheels_folder_is_a_stack_whose_library_is_named(self):
        [stack] = [stack for stack in self.json("stacks", "probe", FOLDER)["stacks"] if stack["backend"] == "onnxruntime"]
        [library] = [library for library in stack["libraries"] if library["name"] == "libonnxruntime"]
        self.assertEqual((library["version"], library["path"], stack["problems"]), (VERSION, str(LIBRARY.resolve()), []))

    def test_a_layer_has_a_time_for_each_level_that_matters(self):
        document = self.json("layer", CONV, "--stack", FOLDER)
        rows = [row for row in document["rows"] if row["cache"] == "none" and row["outcome"] == "ok"]
        self.assertEqual({row["variant"] for row in rows}, {"optimization=all", "optimization=extended"})

    def test_a_model_has_a_bound_and_runs_in_the_modes_of_a_runtime(self):
        self.plumb("run", "--model", "lenet", "--stack", FOLDER, "--processes", "1")
        [model] = self.json("bound")["models"]
        self.assertEqual((model["measured_layers"], model["unsupported"]), (model["total_layers"], []))
        times = {execution["mode"]: execution["median_seconds"] for execution in model["executions"] if execution["samples"]}
        self.assertEqual(set(times), {"plain", "fusion"})
        bounds = {(bound["kind"], bound["mode"]) for bound in model["bounds"] if bound["complete"]}
        self.assertLessEqual({("library", "plain"), ("library", "fusion")}, bounds)
        text = self.plumb("bound").stdout
        [now, unit] = re.search(r"(\S+) (\S+) now", text).groups()
        scale = {"ns": 1e9, "µs": 1e6, "ms": 1e3}[unit]
        self.assertAlmostEqual(float(now) / (scale * times["fusion"]), 1.0, places=3, msg="what the runtime does by default")

    def test_levels_are_other_stacks_and_other_environments(self):
        basic = self.write_stack("basic", PLUMB_ONNXRUNTIME_OPTIMIZATION="basic")
        whole = self.write_stack("whole")
        document = self.json("qualify", "--model", "lenet", "--baseline", basic, "--candidate", whole, "--pairs", "6")
        self.assertNotEqual(document["baseline"]["environment"], document["candidate"]["environment"])
        self.assertEqual({model["mode"] for model in document["models"]}, {"plain", "fusion"})
        self.write_stack("wrong", PLUMB_ONNXRUNTIME_OPTIMIZATION="most")
        refused = self.plumb("run", "--model", "lenet", "--stack", "wrong", expect=2)
        self.assertIn("give it basic, extended or all", refused.stderr)


if __name__ == "__main__":
    unittest.main()
