#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets a regression happen before Debian's Prometheus, Alertmanager and Pushgateway beside `plumb serve`, with the files of dashboards/.

Usage: alerts_test.py BUILD_FOLDER [unittest arguments]. Runs are those of the fake worker. Exits with 77 (skipped) where a server is missing.
"""

import datetime
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from alert_servers import AlertServers, leave_if_missing
from local_server import wait_until
from run_history import SUITE, RunHistory, rule

RunHistory.build = pathlib.Path(sys.argv.pop(1)).resolve()

SLOWER = rule("model:lenet", seconds=0.01)
BROKEN = rule("v1:average_pool;*", outcome="unsupported", reason="gone")


class Alerts(AlertServers):
    def test_a_regression_calls_once_and_resolves(self):
        self.nights_before()
        self.servers()
        wait_until(lambda: len(self.now("up == 1")) == 2, "both targets are up")
        wait_until(lambda: self.now("stack:plumb_normalized_bound:geomean"), "the rules recorded something")
        self.assert_raises()
        groups = self.prometheus.get("rules")["groups"]
        self.assertEqual({each["health"] for group in groups for each in group["rules"]}, {"ok"})

        self.night(SLOWER)
        self.assert_raises("PlumbRegressionSuspected")
        self.assertEqual(self.receiver.messages, [], "a suspicion calls nobody")

        self.night(SLOWER)
        self.assert_raises("PlumbRegressed")
        message = wait_until(lambda: self.receiver.told("/on-call", "firing"), "somebody is called")[0]
        self.assertEqual({alert["labels"]["alertname"] for alert in message["alerts"]}, {"PlumbRegressed"})
        self.assertEqual({alert["labels"]["model"] for alert in message["alerts"]}, {"lenet"})
        self.assertEqual({alert["labels"]["batch"] for alert in message["alerts"]}, {"1", "8"}, "one message for both")
        self.assertIn("times its baseline", message["alerts"][0]["annotations"]["summary"])

        self.night()
        wait_until(lambda: self.receiver.told("/on-call", "resolved"), "the alert resolves")
        self.assert_raises()
        self.assertTrue(len(self.receiver.told("/on-call", "firing")) == 1 or self.lost_a_scrape(), self.receiver.messages)
        self.assertEqual(self.receiver.told("/team", "firing"), [])

    def test_a_drifted_environment_holds_back_regressions_but_not_breaks(self):
        self.nights_before()
        self.night(SLOWER)
        self.servers()
        self.assert_raises("PlumbRegressionSuspected")

        drifted = '"governor" = "powersave"\n'
        self.night(SLOWER, facts=drifted)
        self.assert_raises("PlumbRegressed", "PlumbEnvironmentDrift")
        wait_until(lambda: self.receiver.told("/team", "firing"), "the team hears of the environment")
        self.assertEqual(self.receiver.told("/on-call", "firing"), [], "nobody is called")

        self.night(SLOWER, BROKEN, facts=drifted)
        self.assert_raises("PlumbRegressed", "PlumbBroken", "PlumbSuiteIncomplete")
        wait_until(lambda: "PlumbBroken" in self.receiver.named("/on-call"), "somebody is called")

    def test_what_a_suite_excludes_calls_nobody_until_its_last_day(self):
        now = datetime.datetime.now(datetime.timezone.utc)
        evening = now.replace(hour=18, minute=0, second=0) - datetime.timedelta(days=1)
        yesterday = (now - evening) / datetime.timedelta(days=1)
        suite = SUITE + f"""[[exclude]]
case = "lenet|*"
reason = "slow since the new kernel"
expires = "{evening.date()}"
"""
        for days in (4, 3, 2):
            self.stack("current", self.script())
            self.run_ago(days + yesterday, "current", suite)
        self.stack("current", self.script(rules=SLOWER))
        for hours in (2, 1, 0):
            self.run_ago(yesterday + hours / 24, "current", suite)
        self.servers()
        excluded = wait_until(lambda: self.now("plumb_run_exclusion_info"), "the exclusion is a metric")
        self.assertEqual({(each["metric"]["case"], each["metric"]["until"]) for each in excluded}, {("lenet|*", str(evening.date()))})
        wait_until(lambda: self.now('plumb_regression_state{model="squeezenet1.1"}'), "other models are judged")
        self.assertEqual(self.now('plumb_regression_state{model="lenet"}'), [])
        self.assert_raises()
        self.assertEqual(self.receiver.messages, [])

        self.run_ago(0, "current", suite)
        self.assert_raises("PlumbRegressed")
        message = wait_until(lambda: self.receiver.told("/on-call", "firing"), "somebody is called after the last day")[0]
        self.assertEqual({alert["labels"]["model"] for alert in message["alerts"]}, {"lenet"})
        self.assertEqual(self.now("plumb_run_exclusion_info"), [])

    def test_a_run_of_models_alone_is_no_incomplete_suite(self):
        self.nights_before()
        self.servers()
        self.assert_raises()
        ordinary = self.night()
        models = self.json("run", self.suite(SUITE, "nightly"), "--stack", "current", "--only", "models")["run"]
        self.assertNotEqual(ordinary, models)
        wait_until(lambda: self.now("plumb_model_latency_seconds") and not self.now("plumb_run_models"),
                   "the newest run is the one of models alone")
        self.assert_raises()

    def test_pushed_results_alert_and_show_too(self):
        self.nights_before()
        self.servers()
        store = f"sqlite:{self.folder}/ci.db"
        for rules in ("", SLOWER, SLOWER):
            self.stack("ci", self.script(rules=rules))
            self.json("--store", store, "run", self.suite(SUITE, "ci"), "--stack", "ci")
        self.plumb("--store", store, "push", "--gateway", self.gateway.url)
        wait_until(lambda: "PlumbRegressed" in self.raised(), lambda: f"the pushed regression is raised; now {self.raised()}")
        def regressed():
            alerts = [alert["labels"] for alert in self.prometheus.alerts() if alert["labels"]["alertname"] == "PlumbRegressed"]
            return {(alert["job"], alert["instance"], alert["stack"]) for alert in alerts}

        wait_until(lambda: regressed() == {("plumb", "pushed", "ci")}, lambda: f"it is of the job that pushed it; now {regressed()}")
        wait_until(lambda: self.receiver.told("/on-call", "firing"), "somebody is called")
        pushed = 'plumb_model_latency_seconds{job=~".+", instance=~".+", stack="ci", stat="median"}'
        wait_until(lambda: {each["metric"]["model"] for each in self.now(pushed)} == {"lenet", "squeezenet1.1"}, "the dashboards find what was pushed")


if __name__ == "__main__":
    import unittest

    leave_if_missing()
    unittest.main(verbosity=2)
