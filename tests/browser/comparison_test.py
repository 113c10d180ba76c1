#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens the report of a comparison in headless Chromium, without a network, looks at what it drew, and prints it.

Usage: comparison_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker. Exits with 77 (skipped) where there
is no Chromium.
"""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser_page import CHROMIUM, browse, drawn
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
HOSTILE = "<u>evil & co --><s>"
WORSE = """[identity]
library = "fake <i>2.0"
[[rule]]
match = "v1:matmul;*"
seconds = 0.001
output = "b"
maximum_error = 1e-6
[[rule]]
match = "v1:max_pool;*"
outcome = "unsupported"
reason = "<b>gone"
"""


class Comparison(Command):
    def setUp(self):
        super().setUp()
        self.plumb("model", "export", "lenet", "-o", self.folder / "lenet.onnx")
        shutil.copy(self.folder / "lenet.onnx", self.folder / f"{HOSTILE}.onnx")
        suite = self.suite(f'[suite]\nname = "mine"\nversion = 1\n[[model]]\nname = "lenet"\n[[model]]\npath = "{HOSTILE}.onnx"\n')
        base = self.json("run", suite, "--stack", "fake", "--reuse", "never")["run"]
        self.stack("fake", WORSE)
        worse = self.json("run", suite, "--stack", "fake", "--reuse", "never")["run"]
        self.file = self.folder / "comparison.html"
        self.plumb("compare", base, worse, "--vary", "stack", "-o", self.file)
        self.page = drawn(self.file)

    def test_it_draws_the_changes_of_every_model_and_the_raw_times(self):
        self.assertEqual([e["text"] for e in self.page.all("h2")],
                         ["What changed", "Where it comes from", "Model by model", "Layers", "Raw times of what changed", "Outputs", "Environment", "Method"])
        kinds = [e.get("class", "") for e in self.page.all("svg")]
        self.assertGreater(sum(kind == "ratio regressed" for kind in kinds), 3)
        self.assertGreater(sum(kind == "strips" for kind in kinds), 0)
        boxes = [e for e in self.page.all("rect") if "svg" in e["within"]]
        self.assertTrue(boxes and all(0 <= float(e["x"]) <= 240 for e in boxes))
        self.assertTrue(any(e["text"].startswith("broken") for e in self.page.all("strong")))
        self.assertTrue(any("plumb layer 'v1:matmul;" in e["text"] for e in self.page.all("code")))

    def test_hostile_names_are_text_and_nothing_outside_is_wanted(self):
        text = self.page.all("body")[0]["text"]
        for name in (HOSTILE, "fake <i>2.0", "<b>gone"):
            self.assertIn(name, text)
        for tag in ("u", "s", "i", "b", "script", "img", "a"):
            self.assertEqual(self.page.all(tag), [], f"an element <{tag}>")
        policy = [e["content"] for e in self.page.all("meta") if e.get("http-equiv") == "Content-Security-Policy"]
        self.assertTrue(policy[0].startswith("default-src 'none'"))

    def test_it_prints(self):
        paper = self.folder / "comparison.pdf"
        browse(self.file, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
        self.assertTrue(paper.read_bytes().startswith(b"%PDF"))
        self.assertGreater(paper.stat().st_size, 10_000)


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
