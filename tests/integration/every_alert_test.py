#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets each alert of dashboards/ fire in a real Prometheus, from runs that a store recorded. A rule without a case fails.

Usage: every_alert_test.py BUILD_FOLDER [unittest arguments]. Runs are those of the fake worker. Exits with 77 (skipped) where a server is missing.
"""

import functools
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from alert_servers import AlertServers, leave_if_missing
from dashboard_files import ROOT
from local_server import free_address, wait_until
from run_history import RunHistory, observed, rule

RunHistory.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: The alerts that each test lets fire, by the test's name.
CASES = {}
WEEKLY = '[suite]\nname = "weekly"\nversion = 1\nreuse = "never"\n[[model]]\nname = "lenet"\n'


def fires(*names):
    """Says which alerts a test lets fire, and fails if they are others."""

    def case(test):
        CASES[test.__name__] = names

        @functools.wraps(test)
        def checked(self):
            self.fired = set()
            test(self)
            self.assertEqual(self.fired, set(names))

        return checked

    return case


class EveryAlert(AlertServers):
    patience = tuple((f"for: {minutes}m", "for: 1s") for minutes in (5, 10, 15))

    def firing(self):
        return {alert["labels"]["alertname"] for alert in self.prometheus.alerts() if alert["state"] == "firing"}

    def assert_fire(self, *names):
        """Waits until these alerts fire at once, beside others."""
        self.fired |= set(names)
        wait_until(lambda: set(names) <= self.firing(), lambda: f"{set(names) - self.firing()} fires; firing: {self.firing()}")

    def test_every_rule_has_a_case(self):
        rules = re.findall(r"(?m)^ +- alert: (\w+)$", (ROOT / "dashboards/prometheus/alerts.yml").read_text())
        self.assertGreater(len(rules), 10)
        self.assertEqual(set(rules), {name for names in CASES.values() for name in names})

    @fires("PlumbRegressed", "PlumbCapabilityLost", "PlumbBroken", "PlumbSuiteIncomplete", "PlumbRowsFailed", "PlumbRegressionSuspected")
    def test_results_get_worse(self):
        self.nights_before()
        self.servers()
        self.assert_raises()
        slower = rule("model:lenet", seconds=0.01) + rule("v1:max_pool;*", seconds=0.0005)
        lost = rule("v1:average_pool;*", outcome="timed_out", reason="no answer for 60 s")
        self.night(slower)
        self.assert_fire("PlumbRegressionSuspected")
        self.night(slower, lost)
        self.assert_fire("PlumbRegressed", "PlumbCapabilityLost", "PlumbBroken", "PlumbSuiteIncomplete", "PlumbRowsFailed")

    @fires("PlumbThrottled", "PlumbHostDisturbed", "PlumbEnvironmentDrift", "PlumbBoundViolated", "PlumbLoadFailed")
    def test_measured_under_bad_conditions(self):
        for days in (2, 1):
            self.stack("current", self.script(rules=observed()))
            self.run_ago(days, "current")
        self.servers()
        wait_until(lambda: [each["value"][1] for each in self.now("plumb_run_throttled")] == ["0"], "the device was asked, and was not throttled")
        self.assert_raises()
        # A time below the bound, heat, neighbours, and another governor.
        self.night(observed("model:lenet", throttled=1.0, seconds=1e-6), observed(throttled=0.5, disturbed=True), facts='"governor" = "powersave"\n')
        self.assert_fire("PlumbThrottled", "PlumbHostDisturbed", "PlumbEnvironmentDrift", "PlumbBoundViolated")
        (share,) = wait_until(lambda: self.now('plumb_run_throttled_ratio{reason="hardware_thermal"}'), "the share is there")
        self.assertGreater(float(share["value"][1]), 0.4)
        self.stack("late", self.script(rules=rule("model:*", seconds=0.01)))
        load = ("--only", "models", "--scenario", "server", "--latency-limit", "15ms", "--target-rate", "99", "--duration", "60s")
        self.run_ago(0, "late", WEEKLY, "weekly", expect=1, options=load)
        self.assert_fire("PlumbLoadFailed")

    @fires("PlumbHostDrifted")
    def test_a_machine_leaves_its_class(self):
        self.nights_before()
        self.servers()
        wait_until(lambda: [each["value"][1] for each in self.now("plumb_host_drifted")] == ["0"], "the host is in its class")
        self.assert_raises()
        # Everything takes longer there, the control too: no regression.
        self.night(rule("control:*", seconds=0.002), rule("model:lenet", seconds=0.01))
        self.assert_fire("PlumbHostDrifted")
        self.assert_raises("PlumbHostDrifted")
        wait_until(lambda: self.now('plumb_regression_state{model="lenet", state="inconclusive"} == 1'), "nothing is decided")

    @fires("PlumbRunStale", "PlumbHostSilent", "PlumbRunUnfinished", "PlumbRunMissing", "PlumbStoreUnreadable", "PlumbExporterDown")
    def test_results_no_longer_arrive(self):
        self.stack("current", self.script())
        self.run_ago(2, "current", WEEKLY, "weekly")
        self.stack("slow", self.script(rules=rule("v1:conv;*", delay_seconds=2.0)))
        self.run_ago(0.3, "slow", expect=75, options=("--budget", "1s"))
        self.servers()
        self.assert_fire("PlumbRunStale", "PlumbHostSilent", "PlumbRunUnfinished")
        wait_until(lambda: self.now("suite:plumb_run_finished_timestamp_seconds:max"), "the end of the weekly suite is recorded")

        other = self.folder / "other.db"
        self.json("--store", f"sqlite:{other}", "run", self.suite(WEEKLY.replace("weekly", "nightly"), "other"), "--stack", "current")
        self.exporter.stop()
        self.exporter = self.serve("--store", f"sqlite:{other}")
        self.assert_fire("PlumbRunMissing")

        other.unlink()
        self.assert_fire("PlumbStoreUnreadable")
        self.exporter.stop()
        self.assert_fire("PlumbExporterDown")

    @fires("PlumbGapWidening")
    def test_a_model_moves_away_from_its_bound(self):
        self.address = free_address()
        self.stack("current", self.script())
        for days in (8, 6, 4, 2):
            self.run_ago(days, "current")
        history = self.folder / "history.om"
        self.plumb("export", "--openmetrics", "--label", "job=plumb", "--label", f"instance={self.address}", "-o", history)
        done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", history, self.folder / "data"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.night(rule("model:lenet", seconds=0.01))
        self.servers()
        self.assert_fire("PlumbGapWidening")


if __name__ == "__main__":
    leave_if_missing()
    unittest.main(verbosity=2)
