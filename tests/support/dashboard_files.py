# SPDX-License-Identifier: Apache-2.0
"""Reads the dashboards as they are committed, and what Grafana would ask Prometheus for them."""

import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAFANA = ROOT / "dashboards/grafana"


def all_dashboards():
    """Every dashboard by the name of its file."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((GRAFANA / "json").glob("*.json"))}


def dashboards():
    """The dashboards that ask Prometheus."""
    return {name: dashboard for name, dashboard in all_dashboards().items() if "datasource" in variables(dashboard)}


def store_queries():
    """Every query to the store: where it stands, its text, and the form of its answer."""
    found = []
    for name, dashboard in all_dashboards().items():
        for variable in variables(dashboard).values():
            if variable.get("datasource", {}).get("type") == "postgres":
                found.append((f"{name}, variable {variable['name']}", variable["query"], "variable"))
        found += [(f"{name}, {panel['title']}", target["rawSql"], target["format"]) for panel in panels(dashboard) for target in panel["targets"]
                  if "rawSql" in target]
    return found


def panels(dashboard):
    """The panels of a dashboard that show something: no headings."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


def variables(dashboard):
    """The choices of a dashboard by their names."""
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def queries(dashboard):
    """Every query to Prometheus of a dashboard: where it stands, and its text."""
    found = [(f"{panel['title']}, query {target['refId']}", target["expr"]) for panel in panels(dashboard) for target in panel["targets"]]
    return found + [(f"annotation {each['name']}", each["expr"]) for each in dashboard["annotations"]["list"]]


def metrics(query):
    """The names of metrics in a query."""
    return set(re.findall(r"\b(\w+)\{", query))
