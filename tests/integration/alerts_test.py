#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets a regression happen before Debian's Prometheus, Alertmanager and Pushgateway beside `plumb serve`, with the files of dashboards/.

Usage: alerts_test.py BUILD_FOLDER [unittest arguments]. Runs are those of the fake worker. Exits with 77 (skipped) where a server is missing.
"""

import datetime
import http.server
import json
import pathlib
import shutil
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from dashboard_files import ROOT
from local_server import LocalServer, Prometheus, free_address, wait_until
from run_history import FAKETIME, SUITE, RunHistory, rule

RunHistory.build = pathlib.Path(sys.argv.pop(1)).resolve()

SLOWER = rule("model:lenet", seconds=0.01)
BROKEN = rule("v1:average_pool;*", outcome="unsupported", reason="gone")
#: How long nothing must happen to count as quiet: several scrapes and evaluations.
QUIET_SECONDS = 2


class Receiver:
    """Takes Alertmanager's messages, by the path they are sent to."""

    def __init__(self, test):
        self.messages = []
        messages = self.messages

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                messages.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        test.addCleanup(self.server.server_close)
        test.addCleanup(self.server.shutdown)

    def named(self, path):
        """The names of alerts that one receiver was told of."""
        return {alert["labels"]["alertname"] for message in self.told(path, "firing") for alert in message["alerts"]}

    def told(self, path, status):
        """The messages to one receiver that say that something fires, or is resolved."""
        return [message for at, message in self.messages if at == path and message["status"] == status]


class Alerts(RunHistory):
    def shipped(self, name, *changes):
        """A file of dashboards/ with what differs here: addresses, and the pace of a test."""
        text = (ROOT / "dashboards" / name).read_text()
        for old, new in changes:
            self.assertIn(old, text, f"{name} is not as this test expects")
            text = text.replace(old, new)
        path = self.folder / pathlib.Path(name).name
        path.write_text(text)
        return path

    def servers(self):
        self.receiver = Receiver(self)
        exporter, gateway, manager = free_address(), free_address(), free_address()
        LocalServer(self, "plumb", [self.program(), "serve", "--listen", exporter, "--refresh", "0.1"], exporter, "/healthz", self.environment)
        self.gateway = LocalServer(self, "pushgateway", [
            "prometheus-pushgateway", f"--web.listen-address={gateway}", f"--persistence.file={self.folder}/gateway"], gateway, "/-/ready")
        configuration = self.shipped("alertmanager/alertmanager.yml", ("127.0.0.1:9095", self.receiver.address),
                                     ("group_wait: 5m", "group_wait: 1s"), ("group_interval: 30m", "group_interval: 1s"))
        self.manager = LocalServer(self, "alertmanager", [
            "prometheus-alertmanager", f"--config.file={configuration}", f"--storage.path={self.folder}/alertmanager",
            f"--web.listen-address={manager}", "--cluster.listen-address="], manager, "/-/ready")
        self.shipped("prometheus/alerts.yml", ("interval: 2m", "interval: 300ms"))
        self.shipped("prometheus/records.yml", ("interval: 1m", "interval: 300ms"))
        configuration = self.shipped("prometheus/prometheus.yml", ("_interval: 1m", "_interval: 300ms"), ("127.0.0.1:9093", manager),
                                     ("127.0.0.1:9779", exporter), ("127.0.0.1:9091", gateway))
        self.prometheus = Prometheus(self, configuration, self.folder / "data")

    def now(self, query):
        return self.prometheus.instant(query, time.time())

    def raised(self):
        """The names of all alerts that fire or are about to."""
        return {alert["labels"]["alertname"] for alert in self.prometheus.alerts()}

    def night(self, *rules, facts=""):
        """One more run, now, of what the fake worker does by these rules."""
        self.stack("current", self.script(rules=facts + "".join(rules)))
        return self.run_ago(0, "current")

    def nights_before(self):
        for days in (4, 3, 2, 1):
            self.stack("current", self.script())
            self.run_ago(days, "current")

    def assert_raises(self, *names):
        """Waits until just these alerts are raised, and that it stays so."""
        wait_until(lambda: self.raised() == set(names), lambda: f"raised: {names or 'nothing'}; now {self.prometheus.alerts()}")
        end = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < end:
            time.sleep(0.2)
            self.assertEqual(self.raised(), set(names))

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
        (message,) = wait_until(lambda: self.receiver.told("/on-call", "firing"), "somebody is called")
        self.assertEqual({alert["labels"]["alertname"] for alert in message["alerts"]}, {"PlumbRegressed"})
        self.assertEqual({alert["labels"]["model"] for alert in message["alerts"]}, {"lenet"})
        self.assertEqual({alert["labels"]["batch"] for alert in message["alerts"]}, {"1", "8"}, "one message for both")
        self.assertIn("times its baseline", message["alerts"][0]["annotations"]["summary"])

        self.night()
        wait_until(lambda: self.receiver.told("/on-call", "resolved"), "the alert resolves")
        self.assert_raises()
        self.assertEqual(len(self.receiver.told("/on-call", "firing")), 1)
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
        (message,) = wait_until(lambda: self.receiver.told("/on-call", "firing"), "somebody is called after the last day")
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
        alerts = [alert["labels"] for alert in self.prometheus.alerts()]
        self.assertEqual({(alert["job"], alert["instance"], alert["stack"]) for alert in alerts}, {("plumb", "pushed", "ci")})
        wait_until(lambda: self.receiver.told("/on-call", "firing"), "somebody is called")
        shown = self.now('plumb_model_latency_seconds{job=~".+", instance=~".+", stack="ci", stat="median"}')
        self.assertEqual({each["metric"]["model"] for each in shown}, {"lenet", "squeezenet1.1"}, "the dashboards find what was pushed")


if __name__ == "__main__":
    import unittest

    programs = ("prometheus", "prometheus-alertmanager", "prometheus-pushgateway")
    missing = [name for name in programs if shutil.which(name) is None] + ([] if FAKETIME else ["libfaketime"])
    if missing:
        print(f"skipped: {' and '.join(missing)} missing; install them, or run ci/setup test")
        sys.exit(77)
    unittest.main(verbosity=2)
