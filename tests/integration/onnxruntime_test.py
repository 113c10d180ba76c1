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
#: A convolution whose kernel works in blocks of channels, which the level basic has not.
BLOCKED = (
    "v1:conv;in=f32[1,64,28,28],f32[64,64,3,3]c;out=f32[1,64,28,28];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"
)


class OnnxRuntime(Command):
    def write_stack(self, name, **variables):
        folder = self.folder / "plumb/stacks" / name
        folder.mkdir(parents=True)
        lines = [f'{variable} = "{value}"' for variable, value in variables.items()]
        (folder / "stack.toml").write_text("\n".join(['backend = "onnxruntime"', f'libraries = ["{LIBRARY}"]', "[variables]", *lines, ""]))
        return name

    def what_ifs(self):
        rows = {row["name"]: row for row in self.json("whatif")["models"][0]["whatifs"]}
        for name, row in rows.items():
            self.assertTrue(row["predicted_saving_seconds"] is not None or row["why_not"], name)
        return rows

    def test_a_wheels_folder_is_a_stack_whose_library_is_named(self):
        [stack] = [stack for stack in self.json("stacks", "probe", FOLDER)["stacks"] if stack["backend"] == "onnxruntime"]
        [library] = [library for library in stack["libraries"] if library["name"] == "libonnxruntime"]
        self.assertEqual((library["version"], library["path"], stack["problems"]), (VERSION, str(LIBRARY.resolve()), []))

    def test_a_layer_has_a_time_for_each_level_that_matters(self):
        document = self.json("layer", CONV, "--stack", FOLDER)
        rows = [row for row in document["rows"] if row["cache"] == "none" and row["outcome"] in ("ok", "unstable")]
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
        rows = self.what_ifs()
        self.assertAlmostEqual(rows["fusion"]["realised_seconds"] / times["fusion"], 1.0, places=6)
        self.assertIn("plumb trace lenet --run", rows["framework"]["why_not"])
        trace = self.json("trace", "lenet", "--stack", FOLDER, "--mode", "plain", "--run", "@latest")
        traced = self.what_ifs()["framework"]
        self.assertAlmostEqual(traced["baseline_seconds"], trace["untraced_seconds"], delta=1e-9)
        self.assertLessEqual(traced["predicted_seconds"], traced["baseline_seconds"])
        for execution in model["executions"]:
            if execution["samples"]:
                self.assertEqual(execution["attributes"]["providers"], f"CPUExecutionProvider:{execution['attributes']['nodes']}")
        self.assertRegex(self.plumb("bound", "--all").stdout, r"(?m)^  fusion +.*providers CPUExecutionProvider:\d+")
        exported = re.findall(r'(?m)^plumb_model_latency_seconds\{(.*stat="median".*)\} (\S+) ', self.plumb("export", "--openmetrics").stdout)
        self.assertEqual({re.search(r'mode="([^"]*)"', labels)[1] for labels, _ in exported}, set(times))
        for labels, seconds in exported:
            self.assertIn('backend="onnxruntime"', labels)
            self.assertAlmostEqual(float(seconds) / times[re.search(r'mode="([^"]*)"', labels)[1]], 1.0, places=3)

    def test_two_runtimes_stand_beside_the_same_bounds(self):
        if not (self.build / "libexec/plumb/plumb-worker-onednn").exists():
            self.skipTest("the oneDNN worker is not built")
        self.plumb("run", "--model", "lenet", "--stack", "default", "--stack", self.write_stack("ort"), "--processes", "1", "--mode", "fusion")

        def cells(*options):
            document = self.json("matrix", "@all", "--mode", "fusion", "--columns", "stack", *options)
            [row] = document["rows"]
            return dict(zip(document["columns"], row["cells"], strict=True))

        times, gaps = cells(), cells("--value", "gap", "--bounds-of", "default")
        self.assertEqual((set(times), set(gaps)), ({"default", "ort"}, {"default", "ort"}))
        self.assertAlmostEqual(gaps["ort"]["ratio"] / gaps["default"]["ratio"], times["ort"]["seconds"] / times["default"]["seconds"], places=6)

    def test_a_stack_is_calibrated(self):
        (self.folder / "layer.toml").write_text(f'[[layers]]\nkey = "{CONV}"\n')
        suite = self.suite('[suite]\nname = "noise"\nversion = 1\n[[layers]]\nfile = "layer.toml"\n', "noise")
        document = self.json_unless_busy("calibrate", suite, "--stack", FOLDER, "--pairs", "6", "--comparisons", "100")
        self.assertEqual((document["stack"], document["calibrations"]), (FOLDER, 1))
        rows = [row for row in document["metrics"] if row["series"].startswith("layers/v1:conv;")]
        self.assertTrue(rows, document["metrics"])
        for row in rows:
            self.assertGreaterEqual(row["pairs"], 5)
            self.assertGreater(row["process"], 0.0)
            self.assertGreaterEqual(row["floor"], 0.02)

    def test_bisect_names_the_stack_that_is_slower(self):
        whole, basic = self.write_stack("whole"), self.write_stack("basic", PLUMB_ONNXRUNTIME_OPTIMIZATION="basic")
        document = self.json_unless_busy("bisect", BLOCKED, "--good", whole, "--bad", basic, "--pairs", "6", "--control-drift", "100")
        self.assertEqual((document["last_good"], document["first_bad"], document["confirmed"]), (whole, basic, True), document["reason"])
        self.assertEqual(document["stacks"], [whole, basic])

    def test_levels_are_other_stacks_and_other_environments(self):
        basic = self.write_stack("basic", PLUMB_ONNXRUNTIME_OPTIMIZATION="basic")
        whole = self.write_stack("whole")
        document = self.json("qualify", "--model", "lenet", "--baseline", basic, "--candidate", whole, "--pairs", "6")
        self.assertNotEqual(document["baseline"]["environment"], document["candidate"]["environment"])
        self.assertEqual({model["mode"] for model in document["models"]}, {"plain", "fusion"})
        self.write_stack("wrong", PLUMB_ONNXRUNTIME_OPTIMIZATION="most")
        refused = self.plumb("run", "--model", "lenet", "--stack", "wrong", expect=2)
        self.assertIn("give it basic, extended or all", refused.stderr)

    def test_nodes_that_a_provider_leaves_to_the_cpu_are_named(self):
        # In every wheel, and without operators that a model has.
        azure = self.write_stack("azure", PLUMB_ONNXRUNTIME_PROVIDER="AZURE")
        self.plumb("run", "--model", "lenet", "--stack", azure, "--processes", "1", "--only", "models", "--mode", "fusion")
        [model] = self.json("bound")["models"]
        [execution] = [execution for execution in model["executions"] if execution["samples"]]
        self.assertEqual(execution["attributes"]["cpu_nodes"].count("("), int(execution["attributes"]["nodes"]))
        self.assertTrue([finding for finding in model["findings"] if finding.startswith("nodes fell back to the CPU (fusion): ")], model["findings"])
        for provider in ("NoSuchProvider", "CUDA", "TensorRT"):
            stack = self.write_stack(f"with-{provider}", PLUMB_ONNXRUNTIME_PROVIDER=provider)
            refused = self.plumb("run", "--model", "lenet", "--stack", stack, expect=3)
            self.assertIn(f"has no execution provider '{provider}', but ", refused.stderr)


if __name__ == "__main__":
    unittest.main()
