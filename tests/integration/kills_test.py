#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a run, its process group or its worker at random moments, and shows that nothing stored is lost or doubled.

Usage: kills_test.py BUILD_FOLDER [--points N] [--seed N] [unittest arguments]. Each of the three is killed at N moments (default 2)
of one run each, drawn evenly from the time that an undisturbed run takes.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command, option

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
POINTS = option("--points", 2)
SEED = option("--seed", 20261123)

ROWS = "select count(*) from measurements"
DOUBLED = ("select count(*) from (select count(*) as times from measurements where purpose = 'full' "
           "group by layer_key, variant, cache having times > 1)")


class Kills(Command):
    """One run for each moment: started, killed, looked at and resumed."""

    def setUp(self):
        super().setUp()
        self.stack("fake", "[[rule]]\ndelay_seconds = 0.01\n")
        begin = time.monotonic()
        self.start().communicate(timeout=600)
        self.length = time.monotonic() - begin
        self.whole = self.results()

    def start(self):
        for path in (self.folder / "plumb").glob("store.db*"):
            path.unlink()
        return subprocess.Popen([self.program(), "run", self.tiny("never"), "--stack", "fake"], env=self.environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def results(self):
        """Returns what a finished run has: its layers' variants and its models' modes, with their outcomes."""
        rows = self.store_rows(
            "select distinct k.text, v.text, m.cache, m.outcome from measurements m join layer_keys k on k.id = m.layer_key "
            "join variants v on v.id = m.variant where m.purpose = 'full'")
        executions = self.json("bound")["models"][0]["executions"]
        return sorted(rows), sorted((each["mode"], each["outcome"]) for each in executions)

    def stopped_at(self, victim, point):
        """Starts a run and waits for a moment of it. A run that ends before was faster than the first: it is started again."""
        part = random.Random(f"{SEED} {victim} {point}").uniform(0.0, 0.95)
        while True:
            begin = time.monotonic()
            process = self.start()
            try:
                process.wait(timeout=part * self.length)
            except subprocess.TimeoutExpired:
                return process
            process.communicate()
            self.assertEqual(process.returncode, 0)
            self.length = time.monotonic() - begin

    def stored(self):
        if not (self.folder / "plumb/store.db").exists():
            return 0
        tables = self.store_rows("select count(*) from sqlite_master where name = 'measurements'")
        return self.store_rows("select count(*) from measurements")[0][0] if tables[0][0] else 0

    def die_and_resume(self, victim, kill):
        for point in range(POINTS):
            with self.subTest(victim=victim, point=point):
                process = self.stopped_at(victim, point)
                kept = self.stored()
                kill(process)
                process.communicate(timeout=600)
                self.assertEqual(process.returncode, -signal.SIGKILL)
                self.assert_no_worker_is_left()
                self.assertGreaterEqual(self.stored(), kept, "rows were lost")
                self.plumb("run", self.tiny("never"), "--stack", "fake", "--resume")
                self.assertEqual([run["state"] for run in self.json("runs")["runs"]], ["finished"])
                doubled = self.store_rows(
                    "select count(*) from (select count(*) as times from measurements where purpose = 'full' "
                    "group by layer_key, variant, cache having times > 1)")
                self.assertEqual(doubled[0][0], 0, "a layer was measured twice")
                self.assertIn("sound", self.plumb("store", "verify").stdout)
                self.assertEqual(self.results(), self.whole)

    def test_the_run_alone(self):
        self.die_and_resume("parent", lambda process: process.kill())

    def test_the_whole_group(self):
        self.die_and_resume("group", lambda process: os.killpg(process.pid, signal.SIGKILL))

    def kill_a_worker(self, process):
        """Kills the workers of a run as soon as it has one. Returns how many: none if the run ended before."""
        while process.poll() is None:
            workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
            killed = sum(subprocess.run(["kill", "-KILL", each], stderr=subprocess.DEVNULL).returncode == 0 for each in workers)
            if killed:
                return killed
        return 0

    def test_its_worker(self):
        killed = 0
        for point in range(POINTS):
            with self.subTest(victim="worker", point=point):
                process = self.stopped_at("worker", point)
                killed += self.kill_a_worker(process)
                _, messages = process.communicate(timeout=600)
                self.assertEqual(process.returncode, 0, messages)
                self.assertEqual(self.results(), self.whole, messages)
                self.assertIn("sound", self.plumb("store", "verify").stdout)
        self.assertGreater(killed, 0, "no worker was met")


if __name__ == "__main__":
    unittest.main(verbosity=2)
