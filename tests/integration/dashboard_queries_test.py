#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a real Prometheus, which holds a month of history and scrapes `plumb serve`, every query of every panel: none may be empty.

Usage: dashboard_queries_test.py BUILD_FOLDER [unittest arguments]. The history comes from runs of the fake worker at moments of the past. Exits
with 77 (skipped) without Prometheus or libfaketime.
"""

import math
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from dashboard_files import dashboards, panels, queries, variables
from local_server import LocalServer, Prometheus, free_address, wait_until
from run_history import FAKETIME, SUITE, RunHistory, observed, rule

RunHistory.build = pathlib.Path(sys.argv.pop(1)).resolve()

DAY = 86400
#: Graphs are about this wide, so that a month has steps of half an hour, as Grafana would choose.
STEP = 1800
#: Winograd no longer is the fastest.
OTHER_ALGORITHM = rule("v1:conv;*", variant="algorithm=winograd", seconds=1.0)
SLOWER = rule("model:lenet", seconds=0.01)
#: Each model is loaded, too.
LOADED = re.sub(r'(?m)^(name = "(?:lenet|squeezenet.*)"\n(?:batch.*\n)?)',
                r'\1scenario = ["server"]\n[model.server]\nlatency = "900ms"\ntarget_rate = 10\nduration = "100s"\n', SUITE)


def chosen(prometheus, dashboard, now):
    """What the reader would see chosen when the dashboard opens, by the variables' names."""
    values = {"__interval": f"{STEP}s", "__range": f"{30 * DAY}s"}
    for name, variable in variables(dashboard).items():
        if variable["type"] in ("custom", "textbox"):
            values[name] = variable["current"]["value"]
        elif variable["includeAll"]:
            values[name] = variable["allValue"]
        elif variable["type"] == "query":
            selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]).groups()
            found = prometheus.get(f"label/{label}/values", **{"match[]": filled(selector, values), "start": now - 30 * DAY, "end": now})
            values[name] = sorted(found, reverse=variable["sort"] == 2)[0]
    return values


def filled(query, values):
    """The query with the choices put in; what is none of them (`$1`) stays."""
    return re.sub(r"\$\{?(\w+)\}?", lambda found: values.get(found[1], found[0]), query)


class DashboardQueries(RunHistory):
    def history(self):
        """A month of nights: an upgrade that changes an algorithm, a regression that stays, a second stack since ten days."""
        for days in range(30, 0, -1):
            upgraded = days <= 14
            rules = (SLOWER if days <= 3 else "") + (OTHER_ALGORITHM if upgraded else "")
            self.stack("current", self.script("2.0" if upgraded else "1.0", rules + observed(throttled=0.1)))
            self.run_ago(days - 0.5, "current", LOADED, options=("--label", f"commit={days:012x}", "--label", "branch=main"))
            if days <= 10:
                self.stack("next", self.script("3.0"))
                self.run_ago(days - 0.4, "next", LOADED)

    def prometheus(self):
        self.history()
        address = free_address()
        export = self.folder / "history.om"
        self.plumb("export", "--openmetrics", "--label", "job=plumb", "--label", f"instance={address}", "-o", export)
        self.assertTrue(export.read_text().endswith("# EOF\n"))
        data = self.folder / "data"
        done = subprocess.run(["promtool", "tsdb", "create-blocks-from", "openmetrics", export, data], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        LocalServer(self, "plumb", [self.program(), "serve", "--listen", address], address, "/healthz", self.environment)
        configuration = self.folder / "prometheus.yml"
        configuration.write_text(f"scrape_configs:\n  - job_name: plumb\n    scrape_interval: 1s\n    static_configs: [{{targets: ['{address}']}}]\n")
        prometheus = Prometheus(self, configuration, data)
        return prometheus

    def moment_with_answers(self, prometheus):
        """Returns a moment for which Prometheus has what the exporter says. What it knows of one moment stays."""

        def scraped():
            now = time.time()
            return now if prometheus.instant("plumb_run_info", now) else None

        return wait_until(scraped, "Prometheus scraped the exporter")

    def test_no_query_is_empty(self):
        prometheus = self.prometheus()
        now = self.moment_with_answers(prometheus)
        asked = 0
        for name, dashboard in dashboards().items():
            values = chosen(prometheus, dashboard, now)
            instant = {target["expr"] for panel in panels(dashboard) for target in panel["targets"] if target["instant"]}
            for place, query in queries(dashboard):
                with self.subTest(dashboard=name, place=place):
                    asked += 1
                    query_now = filled(query, values)
                    self.assertNotRegex(query_now, r"\$[A-Za-z{]")
                    if query in instant:
                        series = prometheus.instant(query_now, now)
                        points = [each["value"] for each in series]
                    else:
                        series = prometheus.range(query_now, now - 30 * DAY, now, STEP)
                        points = [point for each in series for point in each["values"]]
                    self.assertTrue(points, f"nothing for {query_now}")
                    self.assertTrue(all(math.isfinite(float(value)) for _, value in points), query_now)
        self.assertGreater(asked, 60)


if __name__ == "__main__":
    import unittest

    missing = [name for name in ("prometheus", "promtool") if shutil.which(name) is None] + ([] if FAKETIME else ["libfaketime"])
    if missing:
        print(f"skipped: {' and '.join(missing)} missing; install prometheus and libfaketime, or run ci/setup test")
        sys.exit(77)
    unittest.main(verbosity=2)
