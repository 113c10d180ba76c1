#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the dashboard of three weeks of runs in headless Chromium, looks at what it drew, and takes the picture that the README shows.

Usage: dashboard_test.py BUILD_FOLDER [--update | unittest arguments]. --update writes docs/images/dashboard.png anew. The runs are those of the fake
worker at moments of the past. Exits with 77 (skipped) where there is no Chromium or no libfaketime.
"""

import json
import pathlib
import random
import re
import shutil
import struct
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser_page import CHROMIUM, drawn, screenshot
from run_history import FAKETIME, RunHistory, rule

RunHistory.build = pathlib.Path(sys.argv.pop(1)).resolve()
UPDATE = "--update" in sys.argv and not sys.argv.remove("--update")

MODELS = ("lenet", "mobilenet-v2", "resnet18-v1", "squeezenet1.1")
SUITE = '[suite]\nname = "nightly"\nversion = 1\nreuse = "never"\n' + "".join(f'[[model]]\nname = "{name}"\n' for name in MODELS)
DAYS = 21
WIDTH, HEIGHT = 1300, 1290
MOST_BYTES = 200_000


class Dashboard(RunHistory):
    def night(self, days, stack, version, factors):
        """One run in which every model takes its usual time by a factor, and a little noise."""
        noise = random.Random(f"{days} {stack}")
        rules = [rule(f"model:{model}", variant="plain", seconds=seconds * factors.get(model, 1) * noise.gauss(1, 0.008))
                 for model, seconds in self.usual.items()]
        self.stack(stack, self.script(version, "".join(rules)))
        self.run_ago(days, stack, SUITE)

    def usual_times(self):
        """What each model takes by itself, a bit above its bound."""
        self.stack("usual", self.script())
        self.json("--store", f"sqlite:{self.folder}/usual.db", "run", self.suite(SUITE), "--stack", "usual")
        bounds = self.json("--store", f"sqlite:{self.folder}/usual.db", "bound")
        return {model["model"]: next(each["median_seconds"] for each in model["executions"] if each["mode"] == "plain") for model in bounds["models"]}

    def page(self):
        self.usual = self.usual_times()
        for days in range(DAYS, 0, -1):
            upgraded = days <= 12
            factors = {"resnet18-v1": 1.0 if upgraded else 1.15, "squeezenet1.1": 1.25 if days <= 3 else 1.0, "mobilenet-v2": 1.4}
            self.night(days - 0.5, "current", "3.2" if upgraded else "3.1", factors)
            if days <= 8:
                self.night(days - 0.4, "next", "3.3", {"mobilenet-v2": 1.05})
        page = self.folder / "dashboard.html"
        self.plumb("report", "--dashboard", "-o", page)
        return page

    def test_shows_three_weeks(self):
        path = self.page()
        page = drawn(path)
        body = page.all("body")[0]
        self.assertEqual(body.get("data-ready"), "yes")
        self.assertNotIn("data-error", body)
        self.assertEqual(int(body["data-charts"]), 2 * len(MODELS), "one history for each model on each stack")
        tiles = {text: number for number, text in re.findall(r"^(\S+?(?: %| h)?)([a-z].*)$", "\n".join(
            each["text"] for each in page.all("div") if each.get("class", "").startswith("tile ")), re.M)}
        self.assertEqual((tiles["broken"], tiles["regressed"], tiles["suspected"]), ("0", "1", "0"))
        self.assertEqual(tiles["oldest suite"], "14 h")
        data = next(json.loads(each["text"]) for each in page.all("script") if each.get("id") == "data")
        changed = [(model["stack"], point["library"]) for model in data["models"] for point in model["points"] if point["library_changed"]]
        self.assertEqual(changed, [("current", "3.2")] * len(MODELS))
        verdicts = [each for each in page.all("span") if each.get("class") == "heat bad"]
        self.assertEqual({each["text"] for each in verdicts}, {"regressed"})
        cells = [each["text"] for each in page.all("td")]
        self.assertIn("squeezenet1.1 · 1 · f32", cells)
        self.assertEqual(len([each for each in page.all("rect")]), len(MODELS) * (DAYS + 8))
        heat = [each["text"] for each in page.all("span") if each.get("class") == "heat" and each["text"].endswith("%")]
        self.assertEqual(len(heat), 2 * len(MODELS))
        self.assertTrue(all(20 < float(each.split()[0]) <= 101 for each in heat), heat)

        image = self.folder / "dashboard.png"
        screenshot(path, image, f"{WIDTH},{HEIGHT}")
        data = image.read_bytes()
        self.assertEqual(struct.unpack(">II", data[16:24]), (WIDTH, HEIGHT))
        self.assertLess(len(data), MOST_BYTES)
        self.assertGreater(len(data), 20_000, "an empty page is small")
        if UPDATE:
            shutil.copy(image, ROOT / "docs/images/dashboard.png")

    def test_shows_a_store_without_runs(self):
        page = self.folder / "dashboard.html"
        self.plumb("report", "--dashboard", "-o", page)
        body = drawn(page).all("body")[0]
        self.assertEqual(body.get("data-ready"), "yes")
        self.assertNotIn("data-error", body)
        self.assertIn("no finished run", body["text"])

    def test_is_a_page_of_all_runs_only(self):
        self.plumb("report", "--dashboard", "-o", self.folder / "dashboard.md", expect=2)
        self.plumb("report", "@latest", "--dashboard", "-o", self.folder / "dashboard.html", expect=2)
        self.plumb("report", "--days", "3", "-o", self.folder / "report.html", expect=2)


if __name__ == "__main__":
    if CHROMIUM is None or FAKETIME is None:
        print("skipped: Chromium or libfaketime is missing; install chromium and libfaketime, or run ci/setup test")
        sys.exit(77)
    unittest.main(verbosity=2)
