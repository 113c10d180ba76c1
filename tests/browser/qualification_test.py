#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a qualification report in headless Chromium, without a network, looks at what it drew, and prints it.

Usage: qualification_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker. Exits with 77 (skipped) where there
is no Chromium.
"""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser_page import CHROMIUM, browse, drawn
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
PARTS = ["Question and verdict", "Scope", "Criteria", "Summary", "Model by model", "Layers that got worse", "Correctness", "Stability",
         "Compatibility", "Quality of the evidence", "Waivers", "Earlier decisions", "Data, and how to repeat it", "Sign-off"]
# Says how wide the narrowest column "why" is.
MEASURE_COLUMNS = """<script>
const columns = [...document.querySelectorAll('table')].map((t) => t.querySelector('thead th:last-child')).filter((th) => th && th.textContent === 'why');
document.body.dataset.why = Math.min(...columns.map((th) => th.getBoundingClientRect().width));
</script></body>"""
WORSE = """[identity]
library = "fake <i>2.0"
[[rule]]
match = "v1:matmul;*"
variant = "algorithm=direct"
seconds = 0.001
[[rule]]
match = "v1:max_pool;*"
outcome = "unsupported"
reason = "<b>gone"
"""
CRITERIA = '[[waiver]]\ncase = "v1:nothing*"\nreason = "<u>never used"\nwho = "ann"\nexpires = "2999-01-01"\n'


class Qualification(Command):
    def setUp(self):
        super().setUp()
        self.stack("new", WORSE)
        (self.folder / "criteria.toml").write_text(CRITERIA)
        self.file = self.folder / "qualification.html"
        self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "new", "--pairs", 6, "--criteria",
                   self.folder / "criteria.toml", "-o", self.file)

    def test_it_shows_fourteen_parts_a_verdict_and_a_command_for_each_layer_and_prints(self):
        page = drawn(self.file)
        self.assertEqual([e["text"] for e in page.all("h2")], [f"{i + 1}. {part}" for i, part in enumerate(PARTS)])
        self.assertEqual("May fake <i>2.0 (new) replace fake 1.0 (fake)?", page.all("h1")[0]["text"])
        self.assertEqual(page.all("strong")[0]["text"], "Reject.")
        codes = [e["text"] for e in page.all("code")]
        for operator in ("matmul", "max_pool"):
            self.assertTrue(any(text.startswith(f"plumb layer 'v1:{operator};") for text in codes), operator)
            self.assertTrue(any(re.search(rf"\w+ of lenet, batch 1, f32(, and \d+ more)?: plumb layer 'v1:{operator};", text) for text in codes), operator)
        self.assertGreater(len([e for e in page.all("svg") if e.get("class") == "ratio regressed"]), 0)
        text = page.all("body")[0]["text"]
        for name in ("fake <i>2.0", "<b>gone", "<u>never used", "not measured"):
            self.assertIn(name, text)
        for tag in ("u", "i", "b", "script", "img", "a"):
            self.assertEqual(page.all(tag), [], f"an element <{tag}>")
        paper = self.folder / "qualification.pdf"
        browse(self.file, f"--print-to-pdf={paper}", "--no-pdf-header-footer")
        self.assertTrue(paper.read_bytes().startswith(b"%PDF"))

    def test_the_column_why_has_room(self):
        text = self.file.read_text(encoding="utf-8")
        policy = text[text.index("<meta http-equiv"):text.index("<title>")]
        (self.folder / "measured.html").write_text(text.replace(policy, "").replace("</body>", MEASURE_COLUMNS), encoding="utf-8")
        self.assertGreaterEqual(float(drawn(self.folder / "measured.html").all("body")[0]["data-why"]), 300)

    def test_it_is_written_again_from_the_store_and_knows_earlier_answers(self):
        runs = self.json("runs")["runs"]
        new, old = (next(row["run"] for row in runs if row["stack"] == stack) for stack in ("new", "fake"))
        again = self.folder / "again.html"
        self.plumb("report", f"{old}..{new}", "-o", again)
        self.assertEqual(again.read_text(), self.file.read_text())
        self.plumb("qualify", self.tiny(), "--baseline", "fake", "--candidate", "new", "--pairs", 6, "-o", again)
        self.assertIn(new, again.read_text(), "the earlier answer is listed")


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
