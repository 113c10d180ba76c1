#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the dashboards that dashboards.py describes as JSON for Grafana, into the folder `json` beside it.

Usage: generate.py [--check]. --check writes nothing and exits with 1 if a file is not what it should be.
"""

import json
import pathlib
import sys

import dashboards
from elements import link

FOLDER = pathlib.Path(__file__).resolve().parent / "json"
COLUMNS = 24


def placed(rows):
    """Gives every panel its number and place: from left to right, a new line where one is full."""
    panels, top = [], 0
    for title, members in rows:
        panels.append({"type": "row", "id": len(panels) + 1, "title": title, "collapsed": False, "panels": [],
                       "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": top}})
        top, left, tallest = top + 1, 0, 0
        for member in members:
            width, height = member["size"]
            if left + width > COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            rest = {name: value for name, value in member.items() if name != "size"}
            panels.append({"id": len(panels) + 1, "gridPos": {"h": height, "w": width, "x": left, "y": top}, **rest})
            left, tallest = left + width, max(tallest, height)
        top += tallest
    return panels


def dashboard(name, title, description, variables, annotations, rows, span, report="/"):
    """The whole of one dashboard, as Grafana reads it; `report` is its page at `plumb serve`."""
    others = {**link("Plumbline", ""), "type": "dashboards", "tags": ["plumb"], "asDropdown": True, "includeVars": True, "keepTime": True}
    return {
        "uid": f"plumb-{name}", "title": title, "description": description, "tags": ["plumb"], "schemaVersion": 39, "version": 1,
        "editable": False, "graphTooltip": 1, "timezone": "browser", "refresh": "5m", "time": {"from": f"now-{span}", "to": "now"},
        "timepicker": {}, "links": [others, link("Reports", "${reports}" + report, blank=True)],
        "templating": {"list": variables}, "annotations": {"list": annotations}, "panels": placed(rows),
    }


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    wanted = {FOLDER / f"{each['name']}.json": json.dumps(dashboard(**each), indent=1, ensure_ascii=False) + "\n" for each in dashboards.ALL}
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    left = [path for path in FOLDER.glob("*.json") if path not in wanted]
    if check and (stale or left):
        sys.exit(f"not current: {', '.join(sorted(path.name for path in stale + left))}; run {pathlib.Path(__file__).name}")
    FOLDER.mkdir(exist_ok=True)
    for path in stale:
        path.write_text(wanted[path], encoding="utf-8")
    for path in left:
        path.unlink()


if __name__ == "__main__":
    main()
