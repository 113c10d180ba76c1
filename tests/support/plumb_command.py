# SPDX-License-Identifier: Apache-2.0
"""Runs the real `plumb` of a build in an empty data folder, with a stack of the fake worker."""

import contextlib
import datetime
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest


#: A small convolution, for commands that want a layer key.
CONV = (
    "v1:conv;in=f32[1,8,14,14],f32[16,8,3,3]c;out=f32[1,16,14,14];acc=f32;math=strict;"
    "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"
)


#: oneDNN computes bf16 with these instructions alone.
HAS_BF16 = not {"avx512bw", "avx_ne_convert"}.isdisjoint(pathlib.Path("/proc/cpuinfo").read_text().split())

#: What a CI job calls what it builds; plumb takes labels from it.
JOB_VARIABLES = (
    "GITHUB_SHA", "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "GITHUB_REF", "CI_COMMIT_SHA", "CI_COMMIT_REF_NAME", "CI_MERGE_REQUEST_IID",
    "GIT_COMMIT", "BRANCH_NAME", "CHANGE_ID", "BUILDKITE_COMMIT", "BUILDKITE_BRANCH", "BUILDKITE_PULL_REQUEST",
)


def option(name, default):
    """Takes an option with a whole number from the command line, before unittest reads the rest."""
    if name not in sys.argv:
        return default
    at = sys.argv.index(name)
    value = int(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    return value


class Command(unittest.TestCase):
    """Gives each test an empty data folder and the stack `fake`. Set `build`, the build folder, before the tests run."""

    build = None
    seconds = 600  # that a command may take: only a guard against one that hangs
    calibrated = False  # its store begins with a run that calibrated oneDNN, which takes 3 s of a processor

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder), "PLUMB_WORKER_PATH": str(self.build / "libexec/plumb")}
        for name in ("PLUMB_STORE", *JOB_VARIABLES):
            self.environment.pop(name, None)
        self.stack("fake")
        if self.calibrated:
            shutil.copy(self.calibrated_store(), self.folder / "plumb/store.db")

    @classmethod
    def program(cls):
        return cls.build / "bin/plumb"

    def calibrated_store(self):
        """Returns a store with a run of one layer by oneDNN. All tests of a build share it; the first one makes it."""
        path = self.build / "tests/calibrated.db"
        if not path.exists():
            (self.folder / "one.toml").write_text(f'[[layers]]\nkey = "{CONV}"\n')
            self.plumb("run", self.suite('[suite]\nname = "calibration"\nversion = 1\n[[layers]]\nfile = "one.toml"\n', "calibration"))
            with contextlib.closing(sqlite3.connect(self.folder / "plumb/store.db")) as store:
                store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            part = path.with_suffix(f".{os.getpid()}")  # tests run side by side, so the store appears as a whole
            shutil.copy(self.folder / "plumb/store.db", part)
            part.replace(path)
        return path

    def stack(self, name, script=""):
        folder = self.folder / "plumb/stacks" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "script.toml").write_text(script)
        (folder / "stack.toml").write_text(
            f'backend = "fake"\nvariables = {{ PLUMB_FAKE_SCRIPT = "{folder}/script.toml" }}\n'
        )

    def suite(self, text, name="mine"):
        path = self.folder / f"{name}.toml"
        path.write_text(text)
        return path

    def tiny(self, reuse="always"):
        return self.suite(f'[suite]\nname = "tiny"\nversion = 1\nreuse = "{reuse}"\n[[model]]\nname = "lenet"\n')

    def plumb(self, *arguments, expect=0, **options):
        done = subprocess.run(
            [self.program(), *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=self.seconds, **options
        )
        self.assertEqual(done.returncode, expect, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def json(self, *arguments, expect=0):
        document = json.loads(self.plumb("--json", *arguments, expect=expect).stdout)
        self.assertEqual(document["schema_version"], 1)
        return document

    def json_unless_busy(self, *arguments):
        """Returns what a command prints, or skips the test: with status 75, the host is too busy to decide."""
        done = subprocess.run(
            [self.program(), "--json", *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=self.seconds
        )
        if done.returncode == 75:
            self.assertNotIn("they do not differ", done.stdout)
            self.skipTest(f"the host is too busy to decide: {done.stderr}")
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{done.stderr}")
        return json.loads(done.stdout)

    def run_tiny(self, *arguments, reuse="always", expect=0):
        return self.json("run", self.tiny(reuse), "--stack", "fake", *arguments, expect=expect)

    def import_day(self, day, times, name="mine", version=""):
        """Imports the milliseconds of benchmarks as a run of the nth day of 2026, with a little noise, and returns its id."""
        wobble = 1 + 0.002 * ((day * 7 % 11) / 5 - 1)
        entries = [{"name": benchmark, "run_type": "iteration", "repetitions": 2, "repetition_index": i, "iterations": 100,
                    "real_time": time * wobble, "time_unit": "ms"} for benchmark, time in times.items() for i in range(2)]
        date = (datetime.datetime(2026, 1, 1, 4) + datetime.timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = self.folder / "day.json"
        path.write_text(json.dumps({"context": {"date": date, "host_name": "ci", "num_cpus": 4}, "benchmarks": entries}))
        return self.json("import", "google-benchmark", path, "--name", name, *(["--version", version] if version else []))["run"]

    def assert_no_worker_is_left(self):
        """Waits until nothing of a killed run is left. The kernel kills its worker as soon as that has a processor."""
        for _ in range(600):
            left = subprocess.run(["pgrep", "-f", str(self.folder)], capture_output=True, text=True).stdout
            if not left:
                return
            time.sleep(0.1)
        self.fail(f"a worker outlived its harness: {left}")

    def store_rows(self, sql):
        # sqlite3's own context manager leaves the connection open, and with it the log in place.
        with contextlib.closing(sqlite3.connect(self.folder / "plumb/store.db")) as store:
            return store.execute(sql).fetchall()

    def change_store(self, statement):
        with contextlib.closing(sqlite3.connect(self.folder / "plumb/store.db")) as store:
            store.execute(statement)
            store.commit()
