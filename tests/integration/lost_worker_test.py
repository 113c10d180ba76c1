#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loses workers from outside. Usage: lost_worker_test.py BUILD_FOLDER [unittest arguments]."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class LostWorker(Command):
    def lose(self, match, action, always=False, variant="*"):
        """Has the worker act once, or always, at what a rule matches."""
        once = "" if always else f'once = "{self.folder}/lost"\n'
        self.stack("fake", f'[[rule]]\nmatch = "{match}"\nvariant = "{variant}"\naction = "{action}"\n{once}log = "last words"\n')

    def tiny_run(self, *options, expect=0):
        return self.plumb("run", self.tiny("never"), "--stack", "fake", *options, expect=expect)

    def test_a_worker_lost_while_calibrating_or_describing_is_replaced_once(self):
        for request in ("request:calibrate", "request:describe"):
            for action in ("crash", "stop"):
                with self.subTest(request=request, action=action):
                    (self.folder / "lost").unlink(missing_ok=True)
                    self.lose(request, action)
                    self.assertIn("another one tries", self.tiny_run("--row-timeout", "5s").stderr)

    def test_one_that_is_always_lost_is_no_bug_and_leaves_its_last_words(self):
        for action in ("crash", "stop"):
            with self.subTest(action=action):
                self.lose("request:calibrate", action, always=True)
                start = time.monotonic()
                failed = self.tiny_run("--row-timeout", "5s", expect=3)
                # By default two workers may be silent for a minute each.
                self.assertLess(time.monotonic() - start, 100, "the row's time-out holds for calibrations, too")
                self.assertIn("while calibrating", failed.stderr)
                self.assertNotIn("bug", failed.stderr)
        self.lose("request:calibrate", "crash", always=True)
        self.assertIn("last words", self.tiny_run(expect=3).stderr)
        self.assertEqual(self.json("runs")["runs"][0]["state"], "interrupted")

    def test_other_commands_say_so_as_well(self):
        self.lose("request:describe", "crash", always=True)
        for command in (["stacks", "probe", "fake"], ["env", "--stack", "fake"], ["calibrate", self.tiny(), "--stack", "fake"]):
            with self.subTest(command=command[0]):
                failed = self.plumb(*command, expect=3)
                self.assertNotIn("bug", failed.stderr)

    def test_a_layer_is_measured_in_the_next_process(self):
        self.lose("v1:max_pool;*", "crash")
        self.assertIn("another one tries", self.tiny_run().stderr)
        self.assertEqual([row["rows"]["failed"] for row in self.json("runs")["runs"]], [0])

    def test_a_model_loses_no_mode(self):
        whole = self.modes_after()
        for variant in ("plain", "fusion"):
            with self.subTest(variant=variant):
                (self.folder / "lost").unlink(missing_ok=True)
                self.lose("model:lenet", "crash", variant=variant)
                self.assertEqual(self.modes_after(), whole)

    def modes_after(self):
        self.tiny_run()
        executions = self.json("bound")["models"][0]["executions"]
        return sorted(each["mode"] for each in executions if each["outcome"] == "ok")


if __name__ == "__main__":
    unittest.main(verbosity=2)
