#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the flame graph of an HTML report in headless Chromium as a reader would, without a network.

Usage: flame_graph_test.py BUILD_FOLDER [unittest arguments]. The profile is one of oneDNN's worker. Exits with 77 (skipped)
where there is no Chromium.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser_page import CHROMIUM
from browser_session import BrowserSession
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
MODEL = "lenet"
#: What each frame shows: its row, where it is, and what it says.
FRAMES = """[...document.querySelectorAll('svg.flame g')].map((group) => {
  const rect = group.querySelector('rect'), number = (name) => Number(rect.getAttribute(name));
  const lines = group.querySelector('title').textContent.split('\\n');
  return {row: number('y') / 20, x: number('x'), width: number('width'), name: lines[0], samples: parseInt(lines[1]),
    label: (group.querySelector('text') || {}).textContent || '', marked: group.classList.contains('marked'), above: group.classList.contains('above')};
})"""


class FlameGraph(Command):
    def setUp(self):
        super().setUp()
        self.plumb("run", "--model", MODEL, "--only", "models", "--mode", "fusion", "--processes", "1", "--profile-budget", "4s")
        report = self.folder / "report.html"
        self.plumb("report", "@latest", "-o", report)
        self.browser = BrowserSession(self.folder)
        self.addCleanup(self.browser.close)
        self.browser.open(report.as_uri())
        self.browser.wait("document.body.dataset.ready === 'yes'")
        self.browser.evaluate("document.querySelectorAll('details').forEach((box) => { box.open = true; })")

    def frames(self):
        return self.browser.evaluate(FRAMES)

    def click(self, number):
        """Clicks on a frame with the mouse, as far left in it as it is drawn."""
        place = self.browser.evaluate(f"""(() => {{
          const rect = document.querySelectorAll('svg.flame rect')[{number}];
          rect.scrollIntoView({{block: 'center'}});
          const box = rect.getBoundingClientRect();
          return {{x: box.x + box.width / 2, y: box.y + box.height / 2}};
        }})()""")
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def search(self, text):
        self.browser.evaluate(f"""(() => {{
          const box = document.querySelector('p.flame input');
          box.value = {text!r};
          box.dispatchEvent(new Event('input'));
        }})()""")
        return self.browser.evaluate("document.querySelector('p.flame output').textContent")

    def check_widths(self, frames):
        """Checks that frames lie inside those that called them, and that these hold nothing else."""
        for parent in frames:
            end = parent["x"] + parent["width"]
            inside = [frame for frame in frames if frame["row"] == parent["row"] + 1 and parent["x"] - 1e-6 <= frame["x"] and frame["x"] + frame["width"] <= end + 1e-6]
            if inside:
                thin = 0.2 * 200  # frames that are too thin to be drawn
                self.assertLessEqual(sum(frame["width"] for frame in inside), parent["width"] + 1e-6)
                self.assertGreater(sum(frame["width"] for frame in inside), parent["width"] - thin, parent)
        for row in range(1, 1 + max(frame["row"] for frame in frames)):
            self.assertLessEqual(sum(frame["width"] for frame in frames if frame["row"] == row), frames[0]["width"] + 1e-6)

    def test_it_is_drawn_zooms_and_marks_beside_listings(self):
        frames = self.frames()
        self.assertEqual((frames[0]["row"], frames[0]["x"]), (0, 0))
        self.assertIn(MODEL, frames[0]["name"])
        self.assertIn(MODEL, frames[0]["label"])
        whole = frames[0]["width"]
        self.assertGreater(whole, 300)
        steps = [frame for frame in frames if frame["row"] == 1]
        self.assertTrue(any(frame["name"].startswith("conv0") for frame in steps), steps)
        self.assertTrue(any(frame["row"] == 2 for frame in frames), "functions")
        for frame in frames:
            self.assertAlmostEqual(frame["width"], whole * frame["samples"] / frames[0]["samples"], delta=0.01)
        self.check_widths(frames)
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)

        widest = max(steps, key=lambda frame: frame["width"])
        self.assertLess(widest["width"], whole)
        self.click(frames.index(widest))
        zoomed = self.frames()
        self.assertEqual([frame["name"] for frame in zoomed if frame["row"] == 1], [widest["name"]])
        self.assertEqual((zoomed[1]["x"], zoomed[1]["width"], zoomed[1]["samples"]), (0, whole, widest["samples"]))
        self.assertTrue(zoomed[0]["above"])
        self.assertFalse(zoomed[1]["above"])
        self.check_widths(zoomed)
        self.click(0)
        self.assertEqual(self.frames(), frames)

        # A step and what it calls are one part of the samples.
        share = sum(frame["samples"] for frame in steps if "conv0" in frame["name"]) / frames[0]["samples"]
        self.assertEqual(self.search("CONV0"), f"{100 * share:.2f} % of the samples are in marked frames")
        self.assertEqual({frame["name"] for frame in self.frames() if frame["marked"]}, {frame["name"] for frame in frames if "conv0" in frame["name"]})
        self.assertEqual(self.search("no such function"), "0.00 % of the samples are in marked frames")
        self.assertEqual(self.search(""), "")
        self.assertEqual(self.frames(), frames)

        listings = self.browser.evaluate("[...document.querySelectorAll('details details')].map((box) => [box.querySelector('summary').textContent, "
                                         "box.querySelectorAll('td.hot').length, box.textContent.includes('approximate')])")
        self.assertEqual(len(listings), 3)
        self.assertTrue(any(" samples, " in title and hot > 0 and approximate for title, hot, approximate in listings), listings)

        self.assertEqual(self.browser.console, [])
        self.assertEqual(self.browser.evaluate("performance.getEntriesByType('resource').map((each) => each.name)"), [])


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
