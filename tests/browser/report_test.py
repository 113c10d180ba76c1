#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens an HTML report in headless Chromium, without a network, and looks at what it drew.

Usage: report_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker. Exits with 77 (skipped) where there
is no Chromium.
"""

import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from browser_page import CHROMIUM, Page, drawn

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PLUMB = BUILD / "bin" / "plumb"

# Names of two nodes of LeNet and what replaces them in the file: of equal length, and markup for who is careless.
HOSTILE = {b"\x1a\x05conv0": b"\x1a\x05<b>x0", b"\x1a\x08maxpool0": b"\x1a\x08<i>evil1"}
# Counts the bars that begin at the end of a logarithmic axis, and lists the batches drawn as knees, once all charts are drawn.
READ_CHARTS = """
setTimeout(() => {
  const fromTheEnd = (chart) => chart.scales.x && chart.scales.x.type === 'logarithmic' ? chart.data.datasets.filter((set) =>
    (set.type || chart.config.type) === 'bar' && set.data.some((value) => typeof value === 'number')).length : 0;
  document.body.dataset.bars = Object.values(Chart.instances).reduce((sum, chart) => sum + fromTheEnd(chart), 0);
  const knees = (chart) => chart.data.datasets.flatMap((set) => Array.isArray(set.pointRadius) ? chart.data.labels.filter((_, i) => set.pointRadius[i] > 4) : []);
  document.body.dataset.knees = JSON.stringify(Object.values(Chart.instances).flatMap(knees));
}, 300);"""
# A convolution and its Relu, each by a call of its own.
CALLS = """plumb_execution,begin,100
plumb_step,0,100.0000,0
onednn_verbose,exec,cpu,convolution,<b>jit,forward,,,,1,0.5
plumb_step_end,0.0005
plumb_step,1,100.0006,1
onednn_verbose,exec,cpu,eltwise,jit,forward,,,,1,0.1
plumb_step_end,0.0001
plumb_execution,end,100.001
"""
HOSTILE_FILE = "<u>evil & co --><s>.onnx"


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.environment = {**os.environ, "XDG_DATA_HOME": str(cls.folder), "PLUMB_WORKER_PATH": str(BUILD / "libexec/plumb")}
        cls.environment.pop("PLUMB_STORE", None)
        # one operator has no time: the report must show what is missing
        cls.stack("fake", '[[rule]]\nmatch = "v1:max_pool;*"\noutcome = "unsupported"\nreason = "no pooling here"\n')
        cls.stack("whole", '[identity]\nlibrary = "whole 1.0"\n')
        cls.plumb("model", "export", "lenet", "-o", cls.folder / "lenet.onnx")
        data = (cls.folder / "lenet.onnx").read_bytes()
        for name, other in HOSTILE.items():
            assert data.count(name) == 1, name
            data = data.replace(name, other)
        (cls.folder / HOSTILE_FILE).write_bytes(data)
        suite = cls.folder / "mine.toml"
        suite.write_text('[suite]\nname = "mine"\nversion = 1\n[[model]]\nname = "squeezenet1.1"\n'
                         f'[[model]]\npath = "{HOSTILE_FILE}"\n[[model]]\nname = "inception-v1"\n'
                         '[[exclude]]\ncase = "inception-v1|*"\nreason = "<i>slow"\nwho = "ann"\nexpires = "2999-12-31"\n'
                         '[[exclude]]\ncase = "<b>no such"\nreason = "long gone"\nexpires = "2020-01-01"\n')
        cls.plumb("run", suite, "--stack", "fake")
        (cls.folder / "calls.log").write_text(CALLS)
        cls.plumb("trace", "squeezenet1.1", "--file", cls.folder / "calls.log", "--run", "@latest")
        cls.page = cls.latest("report")

    @classmethod
    def stack(cls, name, script):
        folder = cls.folder / "plumb/stacks" / name
        folder.mkdir(parents=True)
        (folder / "script.toml").write_text(script)
        (folder / "stack.toml").write_text(f'backend = "fake"\nvariables = {{ PLUMB_FAKE_SCRIPT = "{folder}/script.toml" }}\n')

    @classmethod
    def plumb(cls, *arguments):
        done = subprocess.run([PLUMB, *map(str, arguments)], env=cls.environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{arguments}\n{done.stdout}\n{done.stderr}"

    @classmethod
    def latest(cls, name):
        """Writes the newest run's report, opens every model's section as a reader would, and returns the page as drawn."""
        report = cls.folder / f"{name}.html"
        cls.plumb("report", "@latest", "-o", report)
        everything = report.read_text(encoding="utf-8").replace(
            "</body>", "<script>for (const box of document.querySelectorAll('details')) box.open = true;" + READ_CHARTS + "</script></body>")
        (cls.folder / "open.html").write_text(everything, encoding="utf-8")
        return drawn(cls.folder / "open.html")

    def cells(self):
        return [element["text"] for element in self.page.all("td")]

    def rectangles(self, state):
        return [e for e in self.page.all("rect") if e.get("class") == state]

    def test_draws_itself_without_an_error(self):
        body = self.page.all("body")[0]
        self.assertEqual(body.get("data-ready"), "yes")
        self.assertNotIn("data-error", body)
        self.assertGreaterEqual(int(body["data-charts"]), 3)
        self.assertEqual(len(self.page.all("canvas")), int(body["data-charts"]))

    def test_gives_no_length_to_what_a_logarithmic_axis_shows(self):
        self.assertEqual(self.page.all("body")[0].get("data-bars"), "0")

    def test_draws_the_critical_path_of_every_model(self):
        self.assertEqual(len(self.page.all("svg")), 4, "and the trace of one of them")
        self.assertGreater(len(self.rectangles("critical")), 20)
        self.assertGreater(len(self.rectangles("plain")), 5, "squeezenet's expand branches lie beside the critical path")
        self.assertTrue(all(float(e["width"]) > 0 for e in self.rectangles("critical")))

    def test_leads_from_now_to_the_bound_and_says_what_binds(self):
        charts = [element.get("aria-label") for element in self.page.all("canvas")]
        self.assertTrue(any(label.startswith("From the time of squeezenet1.1") for label in charts), charts)
        self.assertIn("Time of each model by what binds its steps", charts)
        self.assertTrue(any("latency" in cell for cell in self.cells()), "a limit of a layer")
        self.assertTrue(any(cell.startswith("before: layers as written") for cell in self.cells()))

    def test_shows_what_a_runtime_executed_beside_what_it_should(self):
        self.assertEqual([e["text"] for e in self.page.all("h3")].count("Executed and expected"), 1)
        [drawing] = [e for e in self.page.all("svg") if (e.get("aria-label") or "").startswith("Executed and expected")]
        self.assertIn("squeezenet1.1", drawing["aria-label"])
        self.assertIn("missed fusion", self.cells())
        self.assertIn("<b>jit", self.cells())

    def test_lists_layers_with_their_keys_and_commands(self):
        layer_rows = [e for e in self.page.all("code") if e["text"].startswith("v1:conv;")]
        self.assertGreater(len(layer_rows), 20)
        buttons = [e for e in self.page.all("button") if e["text"] == "copy command"]
        self.assertGreater(len(buttons), 20)
        self.assertTrue(all(e["title"].startswith("plumb layer 'v1:") for e in buttons))

    def test_shows_what_has_no_time_as_missing(self):
        self.assertIn("10 of 12", self.cells())
        self.assertTrue(any("no pooling here" in cell for cell in self.cells()))
        self.assertGreater(len(self.rectangles("missing")), 0)
        self.assertIn("–", self.cells())
        cells = self.cells()
        for before, cell, saved in zip(cells, cells[1:], cells[2:]):
            self.assertTrue(not cell.startswith("0.000 ") or before == saved, "unknown is never zero; what is saved whole leaves nothing")

    def test_shows_hostile_names_as_text(self):
        self.assertIn("<b>x0", self.cells())
        self.assertTrue(any(cell == "<i>evil1" for cell in self.cells()))
        self.assertTrue(any("<u>evil & co --><s>" in e["text"] for e in self.page.all("summary")))
        for tag in ("b", "i", "u", "s", "img"):
            self.assertEqual(self.page.all(tag), [], f"a name became an element <{tag}>")

    def test_is_ready_only_once_its_charts_are_drawn(self):
        # A busy browser may draw no frame before somebody looks at the page.
        text = (self.folder / "report.html").read_text(encoding="utf-8").replace("<body>", "<body><script>requestAnimationFrame = () => 0;</script>")
        (self.folder / "frameless.html").write_text(text, encoding="utf-8")
        page = drawn(self.folder / "frameless.html")
        body = page.all("body")[0]
        self.assertEqual(body.get("data-ready"), "yes")
        self.assertEqual(body.get("data-charts"), str(len(page.all("canvas"))))
        self.assertTrue(all("width" in canvas for canvas in page.all("canvas")), "Chart.js sizes what it draws on")

    def test_lists_what_the_suite_excludes(self):
        self.assertIn("Excluded by the suite", [e["text"] for e in self.page.all("h2")])
        rows = [e["text"] for e in self.page.all("tr")]
        self.assertIn("inception-v1|*<i>slowann2999-12-31", rows)
        self.assertIn("<b>no suchlong gone2020-01-01, expired", rows)

    def test_shows_a_suite_of_layers_only(self):
        relu = "v1:eltwise;in=f32[8,64];out=f32[8,64];acc=f32;math=strict;fn=relu;parameters=[]"
        pool = ("v1:max_pool;in=f32[1,1,4,4];out=f32[1,1,2,2];acc=f32;math=strict;ceil_mode=0;dilations=[1,1];kernel=[2,2];"
                "pads=[0,0,0,0];strides=[2,2]")
        (self.folder / "shapes.toml").write_text(f'[[layers]]\nkey = "{relu}"\ncount = 7\n[[layers]]\nkey = "{pool}"\n')
        suite = self.folder / "layers.toml"
        suite.write_text('[[layers]]\nfile = "shapes.toml"\n')
        self.plumb("run", suite, "--stack", "fake")
        page = self.latest("layers")
        self.assertEqual(page.all("body")[0].get("data-ready"), "yes")
        self.assertNotIn("data-error", page.all("body")[0])
        self.assertEqual([e["text"] for e in page.all("h2")], ["Single layers"])
        cells = [e["text"] for e in page.all("td")]
        self.assertIn("7", cells)
        self.assertTrue(any("no pooling here" in cell for cell in cells))
        self.assertIn("1 of 2 layers have a time", page.all("strong")[0]["text"])

    def test_draws_the_schedule_of_steps_that_share_the_processors(self):
        for options in (("--threads", 1, "--only", "layers"), ("--threads", 2, "--mode", "plain")):
            self.plumb("run", "--model", "squeezenet1.1", "--stack", "whole", "--processes", 1, *options)
        page = self.latest("schedule")
        self.assertNotIn("data-error", page.all("body")[0])
        self.assertIn("Steps that share the processors", [element["text"] for element in page.all("h3")])
        label = "Schedule of squeezenet1.1, batch 1, f32 on 2 processors"
        elements = itertools.dropwhile(lambda element: (element["tag"], element.get("aria-label")) != ("svg", label), page.elements)
        self.assertTrue(next(elements, None), label)
        lanes = {}
        for element in itertools.takewhile(lambda element: "svg" in element["within"], elements):
            if element["tag"] == "rect":
                lanes.setdefault(float(element["y"]), []).append((float(element["x"]), float(element["width"])))
        self.assertEqual(len(lanes), 2, "one for each processor")
        for parts in lanes.values():
            self.assertGreater(len(parts), 5)
            parts.sort()
            for (left, width), (following, _) in zip(parts, parts[1:]):
                self.assertLessEqual(left + width, following + 0.5, "a processor executes one part at a time")

    def test_draws_latency_against_the_batch_with_its_knee(self):
        self.plumb("run", "--model", "lenet", "--batch", "1,4,32,128", "--stack", "whole", "--processes", 1, "--mode", "plain")
        page = self.latest("batches")
        self.assertIn("Batches", [element["text"] for element in page.all("h2")])
        self.assertIn("Latency and throughput of lenet f32, plain against its batch", [element.get("aria-label") for element in page.all("canvas")])
        self.assertEqual(json.loads(page.all("body")[0]["data-knees"]), [32])

    def test_draws_the_cliffs_of_the_library_suite(self):
        shapes = pathlib.Path(__file__).resolve().parents[2] / "suites/shapes/library_cliff.toml"
        # 64 channels fit the kernel's block; 65 take ten times as long.
        self.stack("cliff", '[[rule]]\nmatch = "v1:conv;in=f32[1,64,56,56]*"\nseconds = 0.001\n'
                            '[[rule]]\nmatch = "v1:conv;in=f32[1,65,56,56]*"\nseconds = 0.01\n')
        suite = self.folder / "cliff.toml"
        suite.write_text(f'[suite]\nname = "cliff"\nversion = 1\n[[layers]]\nfile = "{shapes}"\n')
        self.plumb("run", suite, "--stack", "cliff", "--processes", "1")
        page = self.latest("cliffs")
        self.assertIn("Cliffs", [element["text"] for element in page.all("h2")])
        steepest = next(element["text"] for element in page.all("h3") if "falls to" in element["text"])
        self.assertEqual(steepest, "conv f32, extent 56, 63, 64, 65, 72: falls to 10 % in one step")
        labels = [element.get("aria-label", "") for element in page.all("canvas")]
        self.assertTrue(any("Rate of conv f32" in label for label in labels), labels)

    def test_all_but_charts_can_be_read_without_scripts(self):
        written = Page((self.folder / "report.html").read_text(encoding="utf-8"))
        for tag in ("h1", "h2", "summary", "td", "th", "li"):
            shown = [element["text"].removesuffix("copy command") for element in self.page.all(tag)]
            self.assertEqual([element["text"] for element in written.all(tag)], shown, tag)
        self.assertGreater(len(written.all("td")), 1000)

    def test_refers_to_nothing_outside(self):
        for element in self.page.elements:
            for attribute in ("src", "href", "srcset", "action"):
                self.assertNotIn(attribute, element)
        policy = [e["content"] for e in self.page.all("meta") if e.get("http-equiv") == "Content-Security-Policy"]
        self.assertTrue(policy[0].startswith("default-src 'none'"))


if __name__ == "__main__":
    if CHROMIUM is None:
        print("skipped: no Chromium here; install the package chromium, or run ci/setup")
        sys.exit(77)
    unittest.main(verbosity=2)
