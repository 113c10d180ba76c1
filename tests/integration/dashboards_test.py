#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the committed dashboards: current, valid for Grafana's published schema, and sound by the rules of Grafana's dashboard-linter.

Usage: dashboards_test.py [unittest arguments]. The schemas are looked for in the folder PLUMB_GRAFANA_SCHEMAS; without them, or without
Python's jsonschema, their tests are skipped.
"""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from dashboard_files import GRAFANA, ROOT, all_dashboards, dashboards, metrics, panels, queries, variables

SCHEMAS = pathlib.Path(os.environ.get("PLUMB_GRAFANA_SCHEMAS", "/nonexistent"))
try:
    import jsonschema
except ImportError:
    jsonschema = None

#: What a reader cannot choose: Grafana's own variables.
BUILT_IN = {"__interval", "__range", "__url_time_range", "__data", "datasource"}


def of_each(test, find=dashboards):
    """Runs a test for each dashboard of Prometheus; a failure names the one it is in."""

    @functools.wraps(test)
    def tests(self):
        for name, dashboard in find().items():
            with self.subTest(dashboard=name):
                test(self, dashboard)

    return tests


def of_all(test):
    """Runs a test for each dashboard, that of the store too."""
    return of_each(test, all_dashboards)


class Dashboards(unittest.TestCase):
    def test_files_are_what_the_source_says(self):
        done = subprocess.run([sys.executable, GRAFANA / "generate.py", "--check"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((len(dashboards()), len(all_dashboards())), (6, 7))

    @of_all
    def test_names_are_stable_and_apart(self, dashboard):
        self.assertRegex(dashboard["uid"], r"^[a-z-]{8,40}$")
        self.assertEqual([each["uid"] for each in all_dashboards().values()].count(dashboard["uid"]), 1)
        self.assertNotIn("id", dashboard)
        self.assertFalse(dashboard["editable"])
        numbers = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(set(numbers)), len(numbers))

    @of_all
    def test_panels_do_not_overlap(self, dashboard):
        taken = {}
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertNotIn((x, y), taken, f"{panel['title']} lies on {taken.get((x, y))}")
                    taken[x, y] = panel["title"]

    @of_each
    def test_data_source_is_a_choice(self, dashboard):
        sources = [variable for variable in variables(dashboard).values() if variable["type"] == "datasource"]
        self.assertEqual([(each["name"], each["label"], each["query"]) for each in sources], [("datasource", "Data source", "prometheus")])
        for part in [*panels(dashboard), *dashboard["annotations"]["list"]]:
            self.assertEqual(part["datasource"], {"type": "prometheus", "uid": "${datasource}"})

    @of_each
    def test_choices_follow_the_time_range_and_each_other(self, dashboard):
        known = []
        for name, variable in variables(dashboard).items():
            self.assertTrue(variable["label"] and variable["description"], name)
            if variable["type"] == "query":
                self.assertEqual(variable["refresh"], 2, name)
                self.assertRegex(variable["query"], r"^label_values\(plumb_\w+\{.*\}, \w+\)$")
                self.assertLessEqual(set(re.findall(r"\$(\w+)", variable["query"])), set(known))
                known.append(name)
        for name in ("job", "instance"):
            self.assertTrue(variables(dashboard)[name]["multi"])
            self.assertEqual(variables(dashboard)[name]["allValue"], ".+")

    @of_all
    def test_every_panel_says_what_it_shows_and_in_what_unit(self, dashboard):
        for panel in panels(dashboard):
            self.assertTrue(panel["title"])
            self.assertGreater(len(panel["description"]), 15, panel["title"])
            self.assertTrue(panel["fieldConfig"]["defaults"]["unit"], panel["title"])
            self.assertTrue(panel["targets"], panel["title"])

    @of_each
    def test_columns_of_tables_have_units(self, dashboard):
        for panel in panels(dashboard):
            if panel["type"] == "table" and panel["transformations"][-1]["id"] == "organize":
                shown = set(panel["transformations"][-1]["options"]["renameByName"].values())
                with_unit = {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"] if each["properties"][0]["id"] == "unit"}
                self.assertEqual(shown, with_unit, panel["title"])

    @of_each
    def test_queries_are_narrowed_by_the_choices(self, dashboard):
        for place, query in queries(dashboard):
            selectors = re.findall(r"\w+\{([^}]*)\}", query)
            self.assertTrue(selectors, place)
            for selector in selectors:
                self.assertIn('job=~"$job"', selector, place)
                self.assertIn('instance=~"$instance"', selector, place)
            used = set(re.findall(r"\$\{?([A-Za-z_]\w*)", query))
            self.assertLessEqual(used, set(variables(dashboard)) | BUILT_IN, place)
            self.assertNotRegex(query, r"\b(rate|irate|increase)\(|_total\b", "every metric is a gauge")

    @of_all
    def test_every_choice_is_used(self, dashboard):
        text = json.dumps([dashboard["panels"], dashboard["annotations"], dashboard["links"], [v["query"] for v in variables(dashboard).values()]])
        for name in variables(dashboard):
            self.assertRegex(text, rf"\${{?{name}\b", name)

    @of_each
    def test_every_metric_is_documented(self, dashboard):
        documented = set(re.findall(r"\bplumb_\w+", (ROOT / "docs/reference/metrics.md").read_text(encoding="utf-8")))
        for place, query in queries(dashboard):
            self.assertLessEqual(metrics(query) - {"up"}, documented, place)

    def test_links_lead_somewhere(self):
        known = {dashboard["uid"]: dashboard for dashboard in dashboards().values()}
        addresses = re.findall(r'"/d/([^"?]+)\?([^"]*)"', json.dumps(list(known.values())))
        self.assertGreater(len(addresses), 2)
        pages = set(re.findall(r'"\$\{reports\}(/\w*)', json.dumps(list(known.values()))))
        self.assertEqual(pages, {"/", "/hosts", "/models"}, "plumb serve has these pages")
        for target, question in addresses:
            self.assertIn(target, known)
            for name in re.findall(r"var-(\w+)=", question):
                self.assertIn(name, variables(known[target]))

    @unittest.skipUnless(
        jsonschema and (SCHEMAS / "dashboard.jsonschema.json").is_file(), "no jsonschema, or PLUMB_GRAFANA_SCHEMAS does not hold the schema"
    )
    @of_all
    def test_schema_of_grafana(self, dashboard):
        schema = json.loads((SCHEMAS / "dashboard.jsonschema.json").read_text(encoding="utf-8"))
        # The published schema says "object" where its source says "anything": texts and numbers are meant too.
        schema["definitions"]["MatcherConfig"]["properties"]["options"] = {}
        schema["definitions"]["DynamicConfigValue"]["properties"]["value"] = {}
        validator = jsonschema.Draft7Validator(schema)
        self.assertEqual([error.message[:300] for error in validator.iter_errors(dashboard)], [])
        dashboard["panels"][0]["gridPos"]["h"] = "tall"
        self.assertTrue(list(validator.iter_errors(dashboard)), "the schema checks something")

    @unittest.skipUnless((SCHEMAS / "units.jsonschema.json").is_file(), "PLUMB_GRAFANA_SCHEMAS does not hold the units")
    @of_all
    def test_units_of_grafana(self, dashboard):
        units = {each.get("const") for each in json.loads((SCHEMAS / "units.jsonschema.json").read_text(encoding="utf-8"))["definitions"].values()}
        used = {panel["fieldConfig"]["defaults"]["unit"] for panel in panels(dashboard)}
        used |= {
            each["value"]
            for panel in panels(dashboard)
            for override in panel["fieldConfig"]["overrides"]
            for each in override["properties"]
            if each["id"] == "unit"
        }
        self.assertEqual(used - units, set())


if __name__ == "__main__":
    unittest.main(verbosity=2)
