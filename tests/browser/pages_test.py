#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the pages of `plumb serve` in headless Chromium and looks at what it drew.

Usage: pages_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker. Exits with 77 (skipped) where there
is no Chromium.
"""

import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from browser_page import CHROMIUM, drawn
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
HOSTILE = "<u>evil & co --><s>"


class Pages(Command):
    def setUp(self):
        super().setUp()
        self.plumb("model", "export", "lenet", "-o", self.folder / "lenet.onnx")
        shutil.copy(self.folder / "lenet.onnx", self.folder / f"{HOSTILE}.onnx")
        suite = self.suite(f'[suite]\nname = "mine"\nversion = 1\n[[model]]\nname = "squeezenet1.1"\n[[model]]\npath = "{HOSTILE}.onnx"\n'
                           f'[[exclude]]\ncase = "{HOSTILE}|*"\nreason = "{HOSTILE}"\nexpires = "2999-12-31"\n')
        self.runs = [self.json("run", suite, "--stack", "fake", "--reuse", "never")["run"] for _ in range(2)]
        self.server = subprocess.Popen([self.program(), "serve", "--listen", "127.0.0.1:0", "--refresh", "0.2"],
                                       env=self.environment, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.server.stderr.close)
        self.addCleanup(self.server.wait, 120)
        self.addCleanup(self.server.send_signal, signal.SIGTERM)
        self.base = re.search(r"http://127\.0\.0\.1:\d+", next(line for line in self.server.stderr if line.startswith("serving")))[0]

    def page(self, path):
        return drawn(self.base + path, self.folder)

    def cells(self, page):
        return [element["text"] for element in page.all("td")]

    def test_the_overview_leads_to_reports_models_and_a_comparison(self):
        page = self.page("/")
        self.assertEqual([e["text"] for e in page.all("h2")], ["Models", "Excluded by the suites", "Runs"])
        self.assertIn(f"{HOSTILE}|*{HOSTILE}–2999-12-31", "".join(e["text"] for e in page.all("tr")))
        self.assertIn("excluded until 2999-12-31", self.cells(page))
        links = [e["href"] for e in page.all("a")]
        for run in self.runs:
            self.assertIn(f"/runs/{run}", links)
        self.assertIn("/models/squeezenet1.1", links)
        self.assertIn("/models/" + urllib.parse.quote(HOSTILE, safe="~"), links)
        self.assertTrue(any(cell.startswith("squeezenet1.1, batch 1, f32") for cell in self.cells(page)))
        for tag in ("u", "s", "script"):
            self.assertEqual(page.all(tag), [], f"a name became an element <{tag}>")
        chosen = {e["name"]: e["value"] for e in page.all("input") if "checked" in e}
        self.assertEqual(chosen, {"base": self.runs[0], "cand": self.runs[1]})
        compared = self.page(f"/compare?base={chosen['base']}&cand={chosen['cand']}")
        self.assertIn("equivalent", [e["text"].strip(" .") for e in compared.all("strong")])
        self.assertTrue(any(cell.startswith("models/squeezenet1.1|1|f32") for cell in self.cells(compared)))

    def test_a_report_draws_itself_under_the_servers_policy(self):
        page = self.page(f"/runs/{self.runs[1]}")
        body = page.all("body")[0]
        self.assertEqual(body.get("data-ready"), "yes")
        self.assertNotIn("data-error", body)
        self.assertGreaterEqual(int(body["data-charts"]), 3)

    def test_a_model_of_a_hostile_name_has_its_page(self):
        page = self.page("/models/" + urllib.parse.quote(HOSTILE, safe=""))
        self.assertIn(HOSTILE, page.all("h1")[0]["text"])
        self.assertIn("library", self.cells(page))
        self.assertEqual(page.all("u"), [])
        self.assertIn(f"Excluded by the suite: {HOSTILE}|*: {HOSTILE} (until 2999-12-31).", page.all("body")[0]["text"])


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
