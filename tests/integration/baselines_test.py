#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Accepts baselines and gates runs by them, as a user would, with the fake worker.

Usage: baselines_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import re
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

SLOW = '[[rule]]\nmatch = "v1:matmul;*"\nseconds = 0.001\n[[rule]]\nmatch = "model:*"\nseconds = 0.002\n'


class Baselines(Command):
    def measure(self, *arguments, expect=0):
        return self.run_tiny(*arguments, reuse="never", expect=expect)["run"]

    def runs(self):
        return [row["run"] for row in self.json("runs")["runs"]]

    def baselines(self):
        return self.json("baseline", "list")["baselines"]

    def test_accepting_keeps_who_when_why_and_what_was_before(self):
        first, second = self.measure(), self.measure()
        self.assertEqual(self.baselines(), [])
        self.plumb("baseline", "set", first, "--reason", "the first <b>one</b>", "--who", "ann")
        self.plumb("baseline", "set", second, "--reason", "faster", "--who", "ben")
        newest, oldest = self.baselines()
        self.assertEqual((newest["name"], newest["run"], newest["current"], newest["previous"]), ("baseline/tiny", second, True, first))
        self.assertEqual((newest["who"], newest["reason"]), ("ben", "faster"))
        self.assertEqual((oldest["run"], oldest["current"], oldest["previous"], oldest["reason"]), (first, False, None, "the first <b>one</b>"))
        self.assertLessEqual(oldest["accepted"], newest["accepted"])
        text = self.plumb("baseline", "list").stdout
        self.assertIn("baseline/tiny (before)", text)
        compared = self.plumb("compare", "baseline/tiny", first).stdout
        self.assertIn("assumed (their noise is not known yet)", compared)
        self.assertNotIn("calibrate", compared)
        self.plumb("baseline", "set", first, "--name", "release-1")
        self.assertEqual({row["name"] for row in self.baselines() if row["current"]}, {"baseline/tiny", "release-1"})
        self.assertTrue(next(row for row in self.baselines() if row["name"] == "release-1")["who"])
        self.plumb("baseline", "set", "nonsense", expect=2)
        self.plumb("baseline", expect=2)

    def test_a_record_outlives_export_and_import(self):
        self.plumb("baseline", "set", self.measure(), "--reason", "why not", "--who", "ann")
        kept = self.baselines()
        exported = self.folder / "runs.jsonl"
        exported.write_text(self.plumb("store", "export").stdout)
        self.environment["PLUMB_STORE"] = f"sqlite:{self.folder}/other.db"
        self.plumb("store", "import", exported)
        self.assertEqual(self.baselines(), kept)

    def test_a_run_is_gated_by_its_baseline(self):
        base = self.measure()
        self.plumb("baseline", "set", base)
        self.measure("--baseline", "baseline/tiny", "--gate")
        self.stack("fake", SLOW)
        junit = self.folder / "junit.xml"
        slow = self.measure("--baseline", "baseline/tiny", "--gate", "-o", junit, "-o", self.folder / "page.html", expect=1)
        self.assertGreater(len(list(xml.etree.ElementTree.parse(junit).iter("failure"))), 0)
        self.assertIn(slow, (self.folder / "page.html").read_text())
        done = self.plumb("run", self.tiny("never"), "--stack", "fake", "--baseline", "baseline/tiny")
        self.assertIn("regressed", done.stdout)
        document = self.run_tiny("--baseline", "baseline/tiny", reuse="never")
        self.assertEqual((document["comparison"]["verdict"], document["comparison"]["candidate"]), ("regressed", document["run"]))
        self.assertNotIn("comparison", self.run_tiny(reuse="never"))
        page = self.folder / "again.html"
        self.plumb("report", f"{base}..{slow}", "-o", page)
        self.assertEqual(page.read_text(), (self.folder / "page.html").read_text())

    def test_what_a_suite_excludes_fails_no_gate_until_its_last_day(self):
        base = self.measure()
        self.plumb("baseline", "set", base)
        self.stack("fake", SLOW)
        text = pathlib.Path(self.tiny("never")).read_text()
        exclude = '[[exclude]]\ncase = "{}"\nreason = "known since May"\nexpires = "{}"\n'

        def gated(*exclusions, expect):
            suite = self.suite(text + "".join(exclude.format(*each) for each in exclusions), "tiny")
            return self.json("run", suite, "--stack", "fake", "--baseline", "baseline/tiny", "--gate", "--confirm", "never", expect=expect)

        gated(("lenet|*", "2020-01-01"), expect=1)
        document = gated(("lenet|*", "2999-01-01"), ("no-such-model|*", "2999-01-01"), expect=75)
        comparison = document["comparison"]
        self.assertEqual(comparison["verdict"], "inconclusive", "nothing is left that decides")
        covered, idle = comparison["exclusions"]
        self.assertEqual((covered["case"], covered["reason"], covered["expired"]), ("lenet|*", "known since May", False))
        self.assertIn("regressed", {metric["verdict"] for metric in covered["metrics"]})
        self.assertEqual(idle["metrics"], [])
        self.assertFalse(any(metric["series"].startswith("models/lenet|") for metric in comparison["metrics"]))
        self.assertIn("known since May", self.plumb("bound", document["run"]).stdout)
        self.assertIn("known since May", self.plumb("detect").stdout)
        self.assertEqual({each["case"] for each in self.json("detect")["excluded"]}, {"lenet|*"})

    def test_an_interrupted_run_is_a_baseline_if_that_is_said(self):
        part = self.measure("--budget", "1us", expect=75)
        self.assertIn("--partial", self.plumb("baseline", "set", part, expect=2).stderr)
        self.plumb("baseline", "set", part, "--partial", "--reason", "half is enough")
        (baseline,) = self.baselines()
        self.assertEqual(baseline["run"], part)

    def test_a_baseline_may_be_measured_as_several_runs(self):
        self.plumb("baseline", "set", self.tiny("never"), "--runs", 3, "--stack", "fake", "--reason", "new machine")
        (baseline,) = self.baselines()
        self.assertEqual((baseline["name"], baseline["reason"]), ("baseline/tiny", "new machine"))
        self.assertEqual(len(self.runs()), 3)
        self.assertIn(baseline["run"], self.runs())
        self.environment["PLUMB_FAKE_SLOWNESS"] = "1.4"
        self.plumb("baseline", "set", self.tiny("never"), "--runs", 4, "--stack", "fake", "--name", "noisy")
        comparison = self.run_tiny("--baseline", "noisy", reuse="never")["comparison"]
        self.assertEqual(comparison["verdict"], "equivalent")
        self.plumb("baseline", "set", self.tiny("never"), "--runs", 2, "--stack", "fake", "--threads", 2, "--name", "two-threads")
        self.plumb("run", self.tiny("never"), "--stack", "fake", "--baseline", "two-threads", expect=4)
        self.run_tiny("--baseline", "two-threads", "--threads", 2, "--gate", reuse="never")
        self.plumb("baseline", "set", "nonsense.toml", "--runs", 3, expect=2)
        self.plumb("baseline", "set", self.tiny(), "--stack", "fake", expect=2)

    def test_a_slower_machine_fails_no_gate(self):
        base = self.measure("--processes", 3)
        self.environment["PLUMB_FAKE_SLOWNESS"] = "1.3"
        document = self.run_tiny("--processes", 3, "--baseline", base, "--gate", reuse="never")
        comparison = document["comparison"]
        self.assertTrue(comparison["same_software"])
        self.assertEqual(comparison["verdict"], "equivalent")
        tried = [metric for metric in comparison["metrics"] if metric.get("confirmed") is False and metric.get("decides")]
        self.assertGreater(len(tried), 0)
        for metric in tried:
            self.assertAlmostEqual(metric["ratio"], 1.0)
            self.assertIn("the runs differ by +30.0 %", metric["reason"])
        alone = self.json("compare", base, self.measure("--processes", 3))
        self.assertIn(alone["verdict"], ("regressed", "inconclusive"), "without pairs it is more than a machine is known to drift")
        self.environment["PLUMB_FAKE_SLOWNESS"] = "1.08"
        alone = self.json("compare", base, self.measure("--processes", 3))
        self.assertNotIn(alone["verdict"], ("regressed", "improved", "broken"))

    def test_a_slower_stack_fails_the_gate_whatever_the_machine_does(self):
        base = self.measure("--processes", 3)
        self.environment["PLUMB_FAKE_SLOWNESS"] = "0.9"
        self.stack("slower", '[[rule]]\nmatch = "model:*"\nseconds = 0.0015\n')
        done = self.plumb("--json", "run", self.tiny("never"), "--stack", "slower", "--processes", 3, "--baseline", base, "--gate", expect=1)
        comparison = json.loads(done.stdout)["comparison"]
        self.assertFalse(comparison["same_software"])
        confirmed = [metric for metric in comparison["metrics"] if metric.get("confirmed")]
        self.assertGreater(len(confirmed), 0)

    def test_an_unlike_run_is_refused_before_it_is_measured(self):
        base = self.measure()
        self.stack("fake", '[identity]\nlibrary = "fake 2.0"\n')
        done = self.plumb("run", self.tiny("never"), "--stack", "fake", "--baseline", base, "--gate", expect=4)
        self.assertIn("--vary stack", done.stderr)
        self.assertNotIn("to measure", done.stderr)
        self.stack("like")
        for stacks in (["--stack", "fake"], ["--stack", "like", "--stack", "fake"]):
            self.assertEqual(self.plumb("--json", "run", self.tiny("never"), *stacks, "--baseline", base, expect=4).stdout, "")
        other = self.suite(pathlib.Path(self.tiny("never")).read_text() + 'batch = 2\n', "tiny")
        self.assertIn("--vary suite", self.plumb("run", other, "--stack", "like", "--baseline", base, expect=4).stderr)
        self.assertEqual(self.runs(), [base])
        self.measure("--baseline", base, "--vary", "stack", "--gate")

    def test_variables_of_a_stack_are_the_stack_and_not_the_machine(self):
        base = self.measure()
        file = self.folder / "plumb/stacks/fake/stack.toml"
        file.write_text(file.read_text().replace("variables = {", 'variables = { ONEDNN_DEFAULT_FPMATH_MODE = "BF16",'))
        error = self.plumb("run", self.tiny("always"), "--stack", "fake", "--baseline", base, "--gate", expect=4).stderr
        self.assertIn("ONEDNN_DEFAULT_FPMATH_MODE: '' and 'BF16'", error)
        self.assertEqual(self.runs(), [base])
        other = self.run_tiny("--baseline", base, "--vary", "stack", reuse="never")
        self.assertEqual(other["comparison"]["verdict"], "equivalent")
        self.assertNotIn("comparison", self.run_tiny())
        rows = self.store_rows("select run, count(*) from reused_rows group by run")
        self.assertEqual(len(rows), 1, "rows of another stack are not reused, and those of this one are")
        systems = set()
        for run in self.runs():
            self.plumb("push", run, "--textfile", self.folder / "run.prom")
            systems |= set(re.findall(r'system="([0-9a-f]+)"', (self.folder / "run.prom").read_text()))
        self.assertEqual(len(systems), 1, systems)

    def test_a_baseline_of_several_runs_gates_a_suite_that_reuses(self):
        self.plumb("baseline", "set", self.tiny("always"), "--runs", 2, "--stack", "fake")
        self.assertEqual(self.run_tiny("--baseline", "baseline/tiny")["comparison"]["verdict"], "equivalent")

    def test_what_cannot_work_is_refused_before_anything_is_measured(self):
        base = self.measure()
        self.plumb("run", self.tiny(), "--stack", "fake", "--baseline", "nonsense", expect=2)
        self.plumb("run", self.tiny(), "--stack", "fake", "--gate", expect=2)
        self.plumb("run", self.tiny(), "--stack", "fake", "--baseline", base, "-o", "x.pdf", expect=2)
        self.plumb("run", self.tiny(), "--stack", "fake", "--stack", "fake", "--baseline", base, "-o", "x.html", expect=2)
        self.assertEqual(self.runs(), [base])

    def test_an_unfinished_run_is_no_baseline_and_not_enough_evidence(self):
        base = self.measure()
        part = self.measure("--budget", "1us", "--baseline", base, "--vary", "suite", "--gate", expect=75)
        self.assertIn("only a finished run", self.plumb("baseline", "set", part, expect=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
