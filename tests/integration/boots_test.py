#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares drivers over boots of a machine, as a user would, with the fake worker. Usage: boots_test.py BUILD_FOLDER [unittest arguments]."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command
from run_history import rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Boots(Command):
    def boot(self, number, driver="1", slower=1.0, tag=None):
        """Runs the suite in one boot; each is a machine a little faster or slower as a whole. Returns the run's id."""
        speed = 1 + 0.1 * (number % 3)
        script = f'[identity]\ndriver = "{driver}"\n[facts]\n"boot.id" = "boot-{number}"\n'
        script += rule("control:product", variant="algorithm=direct", seconds=1e-3 * speed)
        self.stack("fake", script + rule("v1:matmul;*", seconds=2e-3 * speed * slower) + rule("*", seconds=1e-3 * speed))
        run = self.run_tiny(reuse="never")["run"]
        if tag:
            self.plumb("baseline", "set", run, "--name", tag)
        return run

    def test_a_slower_driver_is_found_over_boots(self):
        old = [self.boot(number, tag=f"old/{number}") for number in range(5)]
        new = [self.boot(number, driver="2", slower=1.1) for number in range(5, 10)]
        report = self.folder / "boots.html"
        document = self.json("compare", "old/*", ",".join(new), "--vary", "driver", "--gate", "-o", report, expect=1)
        self.assertEqual(document["verdict"], "regressed")
        self.assertEqual(sorted(boot["runs"][0] for boot in document["boots"]["baseline"]), sorted(old))
        self.assertEqual({boot["boot"] for boot in document["boots"]["candidate"]}, {f"boot-{number}" for number in range(5, 10)})
        for row in document["metrics"]:
            if row["series"].startswith("layers/v1:matmul;"):
                self.assertEqual(row["verdict"], "regressed")
                self.assertAlmostEqual(row["ratio"], 1.1, delta=0.01)
            elif row["kind"] == "layer":
                self.assertEqual(row["verdict"], "equivalent", "the control divides the machine out")
        control = next(row for row in document["metrics"] if row["kind"] == "control")
        self.assertEqual(control["verdict"], "inconclusive")
        self.assertIn("5 boots against 5 boots", report.read_text())
        self.assertIn("5 boots against 5 boots: regressed", self.plumb("compare", ",".join(old), ",".join(new), "--vary", "driver").stdout)

    def test_too_few_boots_and_unlike_ones_are_refused(self):
        old = ",".join(self.boot(number) for number in (1, 2, 3, 4, 4))
        new = ",".join(self.boot(number, driver="2") for number in range(5, 10))
        self.assertIn("not enough evidence: 4 boots", self.plumb("compare", old, new, "--vary", "driver", expect=75).stderr)
        self.assertIn("driver", self.plumb("compare", old, new, expect=4).stderr)
        self.assertIn("driver", self.plumb("compare", f"{old},{new}", new, "--vary", "driver", expect=4).stderr)
        self.plumb("compare", "none/*", new, expect=2)

    def test_a_run_without_its_control_is_no_evidence(self):
        self.stack("fake", rule("control:*", outcome="unsupported"))
        run = self.run_tiny()["run"]
        self.assertIn("did not measure the machine's controls", self.plumb("compare", f"{run},{run}", run, expect=75).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
