#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a page of `plumb matrix` in headless Chromium, and looks at what it drew.

Usage: matrix_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker. Exits with 77 (skipped) where there
is no Chromium.
"""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser_page import CHROMIUM, browse, drawn
from browser_session import BrowserSession
from plumb_command import Command
from run_history import rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
HOSTILE = "<u>evil & co --><s>"


class Matrix(Command):
    def setUp(self):
        super().setUp()
        self.plumb("model", "export", "lenet", "-o", self.folder / f"{HOSTILE}.onnx")
        self.stack("slow", '[identity]\nlibrary = "slow 1.0"\n' + rule("model:squeezenet1.1", seconds=0.05) +
                   rule("model:lenet", outcome="unsupported", reason=HOSTILE))
        runs = [self.json("run", "--model", "lenet", "--model", "squeezenet1.1", "--model", self.folder / f"{HOSTILE}.onnx", "--rebatch", batch,
                          "--only", "models", "--mode", "plain", "--stack", stack)["run"]
                for stack in ("fake", "slow") for batch in ("1", "8")]
        self.file = self.folder / "matrix.html"
        self.plumb("matrix", *runs, "--batch", "1", "--relative-to", "fake", "-o", self.file)
        self.fronts = self.folder / "fronts.html"
        self.plumb("matrix", *runs, "--columns", "batch", "--pareto", "--limit-ms", "30", "--stack", "fake", "-o", self.fronts)

    def test_it_draws_every_cell_and_shades_what_is_slower(self):
        page = drawn(self.file)
        heads = [element["text"] for element in page.all("th")]
        self.assertIn("fake", heads)
        self.assertIn("slow", heads)
        rows = [element for element in page.all("tr")]
        self.assertTrue(any(row["text"].startswith("squeezenet1.1") for row in rows))
        classes = [element.get("class", "") for element in page.all("td")]
        self.assertTrue(any("slow4" in each for each in classes), "the slow stack is shaded")
        self.assertTrue(any("absent" in each for each in classes), "what failed is a cell too")
        text = page.all("body")[0]["text"]
        self.assertIn(HOSTILE, text)
        for tag in ("u", "s", "script", "img"):
            self.assertEqual(page.all(tag), [], f"an element <{tag}>")

    def test_it_says_nothing_on_the_console_and_wants_nothing_from_outside(self):
        browser = BrowserSession(self.folder)
        self.addCleanup(browser.close)
        for file in (self.file, self.fronts):
            browser.open(file.as_uri())
            self.assertEqual(browser.evaluate("performance.getEntriesByType('resource').map((each) => each.name)"), [])
            self.assertEqual(browser.evaluate("document.querySelectorAll('script, u, s, img, iframe').length"), 0)
            # No cell is cut: a table scrolls in its own box, the page never does.
            self.assertLessEqual(browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)
        self.assertEqual(browser.console, [])

    def test_a_shade_is_a_colour_that_can_be_read(self):
        browser = BrowserSession(self.folder)
        self.addCleanup(browser.close)
        browser.open(self.file.as_uri())
        shades = browser.evaluate("""[...document.querySelectorAll('td.shade')].map((cell) => {
            const light = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
              .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
              .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0);
            const style = getComputedStyle(cell);
            const [one, other] = [light(style.color), light(style.backgroundColor)].sort((a, b) => b - a);
            return {name: cell.className, contrast: (one + 0.05) / (other + 0.05), colour: style.backgroundColor};
        })""")
        self.assertGreaterEqual(len({each["colour"] for each in shades}), 8, shades)
        for each in shades:
            self.assertGreaterEqual(each["contrast"], 4.5, each)

    def test_fronts_are_drawn_inside_their_frame(self):
        page = drawn(self.fronts)
        plots = [element for element in page.all("svg") if "pareto" in element.get("class", "")]
        self.assertTrue(plots)
        points = page.all("circle")
        self.assertGreaterEqual(len(points), 4)
        for point in points:
            self.assertTrue(0 <= float(point["cx"]) and 0 <= float(point["cy"]), point)

    def test_it_prints(self):
        paper = self.folder / "matrix.pdf"
        browse(self.file, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
        self.assertTrue(paper.read_bytes().startswith(b"%PDF"))


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
