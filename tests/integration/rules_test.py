#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules for Prometheus and the routes for Alertmanager with promtool and amtool, and that every alert is tested and explained.

Usage: rules_test.py [unittest arguments]. Exits with 77 (skipped) where the tools are missing.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "dashboards/prometheus"
ALERTMANAGER = ROOT / "dashboards/alertmanager/alertmanager.yml"


def tool(*arguments):
    done = subprocess.run([*map(str, arguments)], cwd=PROMETHEUS, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def alerts():
    """The text of each alert by its name."""
    parts = re.split(r"(?m)^ +- alert: (\w+)\n", (PROMETHEUS / "alerts.yml").read_text())
    return dict(zip(parts[1::2], parts[2::2]))


class Rules(unittest.TestCase):
    def test_promtool_takes_configuration_and_rules(self):
        status, said = tool("promtool", "check", "config", "prometheus.yml")
        self.assertEqual(status, 0, said)
        self.assertIn("2 rule files found", said)

    def test_unit_tests_of_rules_pass(self):
        files = sorted(path.name for path in PROMETHEUS.glob("*_test.yml"))
        self.assertEqual(len(files), 3)
        status, said = tool("promtool", "test", "rules", *files)
        self.assertEqual(status, 0, said)

    def test_every_alert_is_tested_firing_and_silent(self):
        tests = "".join(path.read_text() for path in PROMETHEUS.glob("*_test.yml"))
        for name in alerts():
            self.assertRegex(tests, rf"\{{alertname: {name}, eval_time: \w+\}}", f"{name} has no silent test")
            self.assertRegex(tests, rf"- alertname: {name}\n +eval_time: \w+\n +exp_alerts:\n", f"{name} has no firing test")

    def test_every_record_is_tested(self):
        records = re.findall(r"- record: (\S+)", (PROMETHEUS / "records.yml").read_text() + (PROMETHEUS / "alerts.yml").read_text())
        self.assertGreater(len(records), 0)
        tests = "".join(path.read_text() for path in PROMETHEUS.glob("*_test.yml"))
        for name in records:
            self.assertIn(name, tests)

    def test_every_alert_says_how_bad_what_and_where_to_read(self):
        headings = set(re.findall(r"(?m)^### (\w+)$", (ROOT / "docs/guides/runbook.md").read_text()))
        self.assertEqual(headings, set(alerts()), "docs/guides/runbook.md has one section for each alert")
        for name, text in alerts().items():
            self.assertRegex(text, r"labels: \{severity: (critical|warning|info), topic: (regression|measurement|delivery|exporter)\}")
            for annotation in ("summary", "description"):
                self.assertRegex(text, rf"{annotation}: '.{{20,}}'", name)
            self.assertIn(f"runbook_url: docs/guides/runbook.md#{name.lower()}\n", text)

    def test_only_confirmed_findings_page(self):
        paging = {name for name, text in alerts().items() if "severity: critical" in text}
        self.assertEqual(paging, {"PlumbBroken", "PlumbRegressed"})


class Routes(unittest.TestCase):
    def test_amtool_takes_the_configuration(self):
        status, said = tool("amtool", "check-config", ALERTMANAGER)
        self.assertEqual(status, 0, said)

    def test_routes_by_severity(self):
        for severity, receiver in (("critical", "on-call"), ("warning", "team"), ("info", "nobody")):
            status, said = tool("amtool", "config", "routes", "test", f"--config.file={ALERTMANAGER}", "--verify.receivers", receiver,
                                "alertname=Any", f"severity={severity}")
            self.assertEqual(status, 0, said)

    def test_inhibitions_name_alerts_that_exist(self):
        named = set(re.findall(r"\bPlumb[A-Z]\w+", ALERTMANAGER.read_text()))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - set(alerts()), set())


if __name__ == "__main__":
    missing = [name for name in ("promtool", "amtool") if shutil.which(name) is None]
    if missing:
        print(f"skipped: {' and '.join(missing)} missing; install prometheus and prometheus-alertmanager, or run ci/setup test")
        sys.exit(77)
    unittest.main(verbosity=2)
