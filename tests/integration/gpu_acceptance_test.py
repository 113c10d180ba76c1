#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ci/gpu-acceptance with the real programs over the test doubles of NVIDIA's libraries. No figure of theirs is a time.

gpu_acceptance_test.py BUILD [unittest arguments]
"""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))
from gpu_acceptance import bundle, judges, run  # noqa: E402

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
DOUBLES = BUILD / "tests/cuda_stand_in"


class Acceptance(unittest.TestCase):
    """A folder laid out as the bundle, with links to the build's files, and calls of the script in it."""

    memory = 20 << 20  # of the double: too little for the large products of a calibration, which the host would compute

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.out = self.folder / "out"

    def stage(self):
        stage = self.folder / "plumb"
        (stage / "tests").mkdir(parents=True)
        (stage / "lib/plumb").mkdir(parents=True)
        for name in ("bin", "libexec", "share"):
            (stage / name).symlink_to(BUILD / name)
        for test in bundle.TESTS:
            (stage / "tests" / pathlib.Path(test).name).symlink_to(BUILD / test)
        bundle.copy_scripts(ROOT, stage / "tests")
        return stage

    def call(self, stage, *words, expect, script="seed=1", minutes=9):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PLUMB_")}
        environment |= {"PLUMB_GPU_LIBRARIES": str(DOUBLES), "CUDA_HOME": "/nowhere", "PLUMB_STAND_IN": f"{script},memory={self.memory}"}
        command = [sys.executable, self.script(stage), "run", stage, self.out, "--small", "--work", self.folder / "work", *words]
        begin = time.monotonic()
        done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=60 * minutes, check=False)
        print(f"{' '.join(words) or 'a call'}: {time.monotonic() - begin:.1f} s, exit {done.returncode}\n{done.stdout}", file=sys.stderr)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        files = list(self.out.iterdir())
        self.assertLessEqual(len(files), 8)
        self.assertLessEqual(max(file.stat().st_size for file in files), 16 << 20)
        return done.stdout

    @staticmethod
    def script(stage):
        return stage / "tests/gpu-acceptance"

    def results(self):
        return {one["step"]: one for one in json.loads((self.out / "results.json").read_text())["steps"]}

    def states(self):
        return {name: one["state"] for name, one in self.results().items()}

    def document(self, step, name):
        return json.loads((self.folder / "work/steps" / step / name).read_text())


class Steps(Acceptance):
    """The quick steps, and the judges over what the programs really write: a field of another name fails here."""

    def setUp(self):
        super().setUp()
        self.call(self.stage(), "warm", "checks", "models", "counters", "choices", "units:device", "contract:norms", "quick", expect=75)

    def test_the_double(self):
        self.assertEqual(
            self.states(),
            {
                "warm": "passed",
                "checks": "unknown",
                "models": "passed",
                "contract": "unknown",
                "counters": "unknown",
                "choices": "unknown",
                "units": "passed",
                "quick": "passed",
            },
        )
        page = (self.out / "summary.md").read_text()
        self.assertIn("**This device is a test double. There is no GPU. No figure below is a time.**", page)
        self.assertIn("| sanitizer | not run | |", page)
        self.check_documents()
        results = self.results()
        self.assertIn("no profile of 'Plumbline test double (no GPU)'", " ".join(results["checks"]["reasons"]))
        self.assertRegex(" ".join(results["counters"]["reasons"]), "CUPTI")
        self.assertIn("BAD_PARAM", " ".join(results["choices"]["reasons"]))
        self.assertEqual(results["choices"]["figures"]["live_engines"], results["choices"]["figures"]["n"], "the double's engines are asked for")
        self.assertGreater(results["contract"]["figures"]["norms"]["n"], 10)
        self.assertRegex(" ".join(results["contract"]["reasons"]), "not run: convolutions, models, others, products, sequences")
        self.assertEqual(set(results["models"]["figures"]["lenet"]), {"captured", "eager", "streams"})

    def check_documents(self):
        """Over the double's own figures as data sheet every judge passes, and fails over twice as much."""
        truths = self.document("checks", "truths.json")
        rate = judges.judge_copy(truths, None).figures["memory_bytes_per_second"]
        flops = judges.judge_product(truths, None).figures["bf16_flops_per_second"]
        for scale, state in ((1.0, "passed"), (2.0, "failed")):
            sheet = {
                "memory_bytes_per_second": {"figure": scale * rate, "least_share": 0.85},
                "bf16_flops_per_second": {"figure": scale * flops, "least_share": 0.7},
            }
            profile = {"data_sheet": sheet, "properties": truths["properties"]}
            self.assertEqual(judges.judge(judges.judge_copy, truths, profile).state, state)
            self.assertEqual(judges.judge(judges.judge_product, truths, profile).state, state)
        self.assertEqual(judges.judge(judges.judge_properties, truths["properties"], profile).state, "passed")
        for file in (BUILD / "share/plumb/suites/gpus").glob("*.json"):
            self.assertEqual(set(json.loads(file.read_text())["properties"]), set(truths["properties"]), f"{file.name} has the device's names")
        self.assertEqual(truths["properties"]["deviceVer"], 900)
        strict = truths["strict_f32"]
        for rows in (strict["f32"], strict["tf32"]):
            outcomes = {row["outcome"] for row in rows}
            self.assertTrue(outcomes & {"ok", "unstable"}, rows)
            self.assertLessEqual(outcomes, {"ok", "unstable", "out_of_memory"}, rows)
        converted = copy.deepcopy(truths)  # as tensor cores would do it
        converted["strict_f32"]["tf32"] = [dict(row, tensor_cores="yes") for row in strict["tf32"]]
        self.assertEqual(judges.judge(judges.judge_strict_f32, converted, False).state, "failed", "a double's TF32 is as exact as f32")
        clocks = self.document("checks", "clocks.json")
        alone = clocks["profiled_slopes"]["rows"]

        def profiled(kernel, slope):
            rows = [
                dict(
                    row,
                    kernel_seconds={"median": kernel * row["slope"]["median_seconds"]},
                    slope_profiled={**row["slope"], "median_seconds": slope * row["slope"]["median_seconds"]},
                )
                for row in alone
            ]
            return judges.judge(judges.judge_slopes, {**clocks, "profiled_slopes": {"rows": rows}}).state

        self.assertEqual(profiled(1.0, 1.0), "passed")
        self.assertEqual(profiled(1.08, 1.08), "passed", "the profiler slows kernels, both times show it")
        self.assertEqual(profiled(1.08, 1.0), "failed")
        self.assertEqual(judges.judge(judges.judge_slopes, clocks).state, "unknown")
        bound = self.document("quick", "bound-0.json")
        self.assertEqual(judges.judge(judges.judge_suite, 0, bound).state, "passed")
        for model in bound["models"]:
            for one in model["executions"]:
                above = 2 * max(one["median_seconds"], one["high"] or 0)
                model["bounds"].append({"kind": "library", "mode": one["mode"], "seconds": above, "complete": True})
        self.assertEqual(judges.judge(judges.judge_suite, 0, bound).state, "failed")


class Faults(Acceptance):
    def test_an_illegal_address_costs_tests_and_no_other_step(self):
        stage = self.stage()
        self.call(stage, "warm", expect=0)
        self.call(stage, "contract:norms", "units:device", expect=1, script="seed=1,fail=kernel:60:700")
        self.assertEqual(self.states(), {"warm": "passed", "contract": "failed", "units": "passed"})
        result = self.results()["contract"]
        self.assertGreaterEqual(result["figures"]["norms"]["lost"] + result["figures"]["norms"]["failed"], 1)
        self.assertGreater(result["figures"]["norms"]["n"], 0, "what ran before counts")

    def test_a_small_device_is_told(self):
        self.memory = 1 << 16
        self.call(self.stage(), "checks", "models", expect=1)
        self.assertEqual(self.states(), {"warm": "passed", "checks": "unknown", "models": "failed"})
        for step in ("checks", "models"):
            self.assertRegex(" ".join(self.results()[step]["reasons"]), "memory is too small", step)


class Whole(Acceptance):
    """The bundle, and all steps from it, call after call."""

    def test_all_steps(self):
        file = self.folder / "bundle.tar.xz"
        subprocess.run([sys.executable, ROOT / "ci/gpu-acceptance", "bundle", BUILD, file], check=True, timeout=600)
        self.assertLessEqual(file.stat().st_size, 48 << 20)
        front = self.folder / "front"
        with tarfile.open(file) as tar:
            tar.extractall(front, [member for member in tar.getmembers() if "/gpu-acceptance" in member.name or "/gpu_acceptance" in member.name])
        self.script = lambda _: front / "plumb/tests/gpu-acceptance"  # the bundle's own, without the repository
        for _ in range(4):
            said = self.call(file, expect=75)
            if "not run: " not in said:
                break
        states = self.states()
        self.assertEqual(list(states), run.NAMES)
        self.assertEqual({name for name, state in states.items() if state == "passed"}, {"warm", "models", "contract", "units", "quick"})
        self.assertNotIn("failed", states.values())


if __name__ == "__main__":
    unittest.main()
