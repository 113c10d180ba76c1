#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several GPUs in one host: which one a command measures on, and what equal GPUs share.

Usage: devices_test.py BUILD_FOLDER [unittest arguments]. The CUDA worker runs over the test doubles of NVIDIA's libraries, of which no figure is
a time. What the store keeps apart is tested with the fake worker, which says that it is a GPU.
"""

import contextlib
import fcntl
import json
import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

RELU = "v1:eltwise;in=f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;parameters=[]"
LAYER = '[suite]\nname = "one"\nversion = 1\nreuse = "always"\n[[layers]]\nfile = "layers.toml"\n'


class Doubles(Command):
    """Two test doubles of a GPU, whose identifiers are the same in all processes of a test. Their memory is too small for the
    large products of a calibration, which would take minutes."""

    def setUp(self):
        super().setUp()
        doubles = self.build / "tests/cuda_stand_in"
        self.environment["TMPDIR"] = str(self.folder)
        (self.folder / "layers.toml").write_text(f'[[layers]]\nkey = "{RELU}"\n')
        folder = self.folder / "plumb/stacks/double"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(
            f'backend = "cuda"\nlibraries = ["{doubles}/libcudnn.so.9"]\nfolders = ["{doubles}"]\n'
            'variables = { PLUMB_STAND_IN = "seed=1,devices=2,serial=5,memory=16777216" }\n'
        )

    def device(self, *arguments):
        (environment,) = self.json("env", "--stack", "double", *arguments)["environments"].values()
        return environment["identity"]["gpu.uuid"], environment["facts"]["gpu.index"]

    @contextlib.contextmanager
    def taken(self, uuid):
        """Holds a GPU as another worker would."""
        with (self.folder / f"plumb-{uuid}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def test_a_device_is_chosen_by_number_and_by_identifier(self):
        first, second = self.device(), self.device("--device", 1)
        self.assertEqual((first[1], second[1]), ("0", "1"))
        self.assertNotEqual(first[0], second[0])
        self.assertEqual(self.device("--device", 0), first)
        self.assertEqual(self.device("--device", second[0]), second)
        self.assertEqual(self.device("--device", second[0][:-6]), second)

    def test_a_device_that_is_not_there_is_refused_with_those_that_are(self):
        for choice, reason in (("2", "no such GPU"), ("GPU-0", "no such GPU"), ("GPU-dd", "several GPUs begin so")):
            said = self.plumb("run", self.suite(LAYER), "--stack", "double", "--device", choice, expect=3).stderr
            self.assertIn(reason, said)
            self.assertIn("0 GPU-dddddddd-", said)
            self.assertIn("1 GPU-dddddddd-", said)
        self.assertEqual(self.json("runs")["runs"], [])
        for text in ("one", "-1", "GPU-", "GPU-x", "1;2", "12345", "GPU-" + "0" * 200):
            said = self.plumb("env", "--stack", "double", f"--device={text}", expect=2).stderr
            self.assertIn("neither the number of a GPU", said)

    def test_every_command_measures_on_the_device(self):
        second, _ = self.device("--device", 1)
        suite = self.suite(LAYER)
        run = self.json("run", suite, "--stack", "double", "--device", 1)["run"]
        layer = self.json("layer", RELU, "--stack", "double", "--device", 1)
        self.assertEqual([each["identity"]["gpu.uuid"] for each in layer["environments"].values()], [second])
        (probed,) = self.json("stacks", "probe", "double", "--device", 1)["stacks"]
        self.assertEqual(probed["problems"], [])
        self.plumb("baseline", "set", suite, "--runs", 1, "--stack", "double", "--device", 1)
        found = {(row[0], json.loads(row[1])["gpu.uuid"]) for row in self.store_rows("select r.id, e.identity from runs r join environments e on e.number = r.environment")}
        self.assertIn(run, {each for each, _ in found})
        self.assertEqual({uuid for _, uuid in found}, {second})

    def test_equal_devices_are_compared_and_share_no_rows(self):
        suite = self.suite(LAYER)

        def rows(*arguments):
            run = self.json("run", suite, "--stack", "double", *arguments)["run"]
            (found,) = [each["rows"] for each in self.json("runs")["runs"] if each["run"] == run]
            return run, found["reused"]

        first, reused = rows()
        self.assertEqual(reused, 0)
        second, reused = rows("--device", 1)
        self.assertEqual(reused, 0, "what one GPU measured is not the other's")
        _, reused = rows("--device", 1)
        self.assertGreater(reused, 0)
        compared = self.json("compare", first, second)
        self.assertIn("gpu.uuid", json.dumps(compared))

    def test_both_sides_of_a_pair_share_the_device(self):
        other = self.folder / "plumb/stacks/other"
        shutil.copytree(self.folder / "plumb/stacks/double", other)
        self.json("qualify", self.suite(LAYER), "--baseline", "double", "--candidate", "other", "--device", 1, "--pairs", 6, "--only", "layers")
        second, _ = self.device("--device", 1)
        uuids = {json.loads(identity)["gpu.uuid"] for (identity,) in self.store_rows(
            "select e.identity from runs r join environments e on e.number = r.environment")}
        self.assertEqual(uuids, {second})
        outcomes = {outcome for (outcome,) in self.store_rows("select outcome from measurements")}
        self.assertLessEqual(outcomes, {"ok", "unstable"}, "no figure of the doubles is a time")

    def test_a_device_that_is_taken_does_not_keep_from_the_other(self):
        suite = self.suite(LAYER)
        with self.taken(self.device()[0]):
            said = self.plumb("layer", RELU, "--stack", "double", expect=75).stderr
            self.assertIn("in use by another worker", said)
            self.json("layer", RELU, "--stack", "double", "--device", 1)
            self.json("run", suite, "--stack", "double", "--device", 1)


class EveryCommand(Command):
    def test_a_backend_without_devices_refuses_a_choice(self):
        tiny = self.tiny()
        for command in (("run", tiny, "--stack", "fake"), ("layer", CONV, "--stack", "fake"), ("calibrate", tiny, "--stack", "fake"),
                        ("qualify", tiny, "--baseline", "fake", "--candidate", "fake"), ("bisect", CONV, "--good", "fake", "--bad", "fake"),
                        ("baseline", "set", tiny, "--runs", 2, "--stack", "fake"), ("env", "--stack", "fake"), ("stacks", "probe", "fake")):
            said = self.plumb(*command, "--device", 1, expect=2).stderr
            self.assertIn("the backend 'fake' measures on this machine's processor and has no devices", said, command)
        self.assertEqual(self.json("runs")["runs"], [])

    def test_equal_gpus_are_one_series_and_a_change_of_model_is_none(self):
        runs = []
        for uuid, model in (("GPU-1", "A"), ("GPU-2", "A"), ("GPU-2", "B")):
            self.stack("fake", f'[identity]\ngpu = "{model}"\n"gpu.uuid" = "{uuid}"\n')
            runs.append(self.run_tiny(reuse="never")["run"])
        self.plumb("compare", runs[0], runs[1])
        self.assertIn("gpu: 'A' and 'B'", self.plumb("compare", runs[1], runs[2], expect=4).stderr)


if __name__ == "__main__":
    unittest.main()
