#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`plumb matrix` over runs of the fake worker, and of the real oneDNN worker where it is built. Usage: matrix_test.py BUILD_FOLDER."""

import contextlib
import csv
import pathlib
import sqlite3
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


def cells(document):
    """Returns the cells of a document by row and column."""
    return {(row["row"], column): cell for row in document["rows"] for column, cell in zip(document["columns"], row["cells"])}


class Matrix(Command):
    def run_models(self, stack, *options):
        return self.json("run", "--model", "lenet", "--model", "squeezenet1.1", "--stack", stack, "--only", "models", *options)["run"]

    def rule(self, stack, model, **settings):
        lines = "".join(f'{name} = {value!r}\n' for name, value in settings.items())
        self.stack(stack, f'[identity]\nlibrary = "{stack} 1.0"\n[[rule]]\nmatch = "model:{model}"\n{lines}')

    def test_two_stacks_side_by_side(self):
        self.rule("fast", "lenet", seconds=1e-5)
        before = self.run_models("fake", "--mode", "plain")
        after = self.run_models("fast", "--mode", "plain")
        document = self.json("matrix", before, after, "--relative-to", "fake")
        self.assertEqual(document["columns"], ["fake", "fast"])
        found = cells(document)
        times = cells(self.json("matrix", before, after))
        self.assertAlmostEqual(found["lenet", "fast"]["ratio"], times["lenet", "fast"]["seconds"] / times["lenet", "fake"]["seconds"])
        self.assertAlmostEqual(found["squeezenet1.1", "fast"]["ratio"], 1.0)
        mean = document["geometric_means"][1]["own_rows"]
        self.assertAlmostEqual(mean["ratio"] ** 2, found["lenet", "fast"]["ratio"], places=9)
        self.assertEqual(mean["rows"], 2)

    def test_a_missing_cell_says_why_and_what_to_run(self):
        self.rule("broken", "lenet", outcome="unsupported", reason="no such model")
        small = self.json("run", "--model", "lenet", "--stack", "fake", "--only", "models", "--mode", "plain")["run"]
        other = self.run_models("broken", "--mode", "plain")
        document = self.json("matrix", small, other)
        found = cells(document)
        self.assertIsNone(found["lenet", "broken"]["seconds"])
        self.assertEqual(found["lenet", "broken"]["missing"]["kind"], "failed")
        self.assertIn("no such model", found["lenet", "broken"]["missing"]["reason"])
        self.assertEqual(found["squeezenet1.1", "fake"]["missing"]["kind"], "not_in_suite")
        text = self.plumb("matrix", other, "--mode", "fusion").stdout
        self.assertIn("not executed [1]", text)
        self.assertIn("plumb run --model lenet --stack broken --mode fusion", text)

    def test_every_format_and_every_view(self):
        run = self.run_models("fake", "--batch", "1,8")
        for extension in ("html", "md", "json", "csv", "txt"):
            self.plumb("matrix", run, "--limit-ms", "30", "-o", self.folder / f"m.{extension}")
        page = (self.folder / "m.html").read_text()
        self.assertIn("Content-Security-Policy", page)
        self.assertIn('class="pareto"', page)
        self.assertNotIn("<script", page)
        with open(self.folder / "m.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({(row["row"], row["column"]) for row in rows}, {(m, b) for m in ("lenet", "squeezenet1.1") for b in ("1", "8")})
        self.assertTrue(all(float(row["seconds"]) > 0 for row in rows))
        for view in self.json("matrix", "--list-views")["views"]:
            document = self.json("matrix", run, "--view", view["name"])
            self.assertEqual(document["view"], view["name"])
            for cell in cells(document).values():
                value = cell.get("seconds", cell.get("ratio"))
                self.assertTrue(value is None or value > 0, view)
                self.assertTrue(value is not None or cell["missing"]["reason"], view)
        self.plumb("matrix", run, "-o", "m.pdf", expect=2)
        self.assertIn("fusion-speedup", self.plumb("matrix", run, "--view", "fig16", expect=2).stderr)

    def test_a_run_of_an_earlier_version_is_analysed_again(self):
        run = self.json("run", self.tiny("never"), "--stack", "fake")["run"]
        arguments = ("matrix", run, "--value", "gap", "--columns", "mode", "--mode", "plain", "--mode", "fusion")
        before = self.plumb(*arguments).stdout
        self.assertIn("×", before)
        with contextlib.closing(sqlite3.connect(self.folder / "plumb/store.db")) as store:
            self.assertEqual(store.execute("delete from derived where kind = 'model_results'").rowcount, 1)
            store.commit()
        self.assertEqual(self.plumb(*arguments).stdout, before)

    def test_several_runs_of_one_cell(self):
        runs = []
        for seconds in (1e-3, 3e-3, 2e-3):
            self.rule("same", "lenet", seconds=seconds)
            runs.append(self.json("run", "--model", "lenet", "--stack", "same", "--only", "models", "--mode", "plain")["run"])
        cell = cells(self.json("matrix", "@all"))["lenet", "same"]
        self.assertEqual(cell["runs"], 3)
        self.assertAlmostEqual(cell["seconds"], 2e-3, delta=1e-6)
        self.assertGreater(cell["high"], 3e-3)
        newest = cells(self.json("matrix", ",".join(reversed(runs)), "--newest"))["lenet", "same"]
        self.assertAlmostEqual(newest["seconds"], 2e-3, delta=1e-6)

    def test_wrong_input_is_refused(self):
        self.assertIn("no run of a suite", self.plumb("matrix", "@all", expect=2).stderr)
        run = self.run_models("fake", "--mode", "plain")
        self.assertIn("there are 1", self.plumb("matrix", run, "--batch", "4", expect=2).stderr)
        self.assertIn("no column is named", self.plumb("matrix", run, "--relative-to", "nope", expect=2).stderr)
        self.assertIn("both the stack", self.plumb("matrix", run, "--rows", "stack", "--columns", "stack", expect=2).stderr)
        self.assertIn("--value", self.plumb("matrix", run, "--pareto", "--value", "gap", expect=2).stderr)
        self.plumb("matrix", run, "--limit-ms", "0", expect=2)
        self.plumb("matrix", run, "--mode", "fast", expect=2)

    def test_the_real_library(self):
        if not (self.build / "libexec/plumb/plumb-worker-onednn").exists():
            self.skipTest("the oneDNN worker is not built")
        options = ("--only", "models", "--processes", "1", "--mode", "plain", "--mode", "fusion")
        run = self.json("run", "--model", "lenet", "--batch", "1,64", *options)["run"]
        times = cells(self.json("matrix", run, "--columns", "batch"))
        self.assertGreater(times["lenet", "64"]["seconds"], times["lenet", "1"]["seconds"])
        speedup = cells(self.json("matrix", run, "--value", "speedup", "--mode", "fusion", "--columns", "batch"))
        executions = {model["batch"]: {each["mode"]: each["median_seconds"] for each in model["executions"]}
                      for model in self.json("bound", run)["models"]}
        for batch, medians in executions.items():
            self.assertAlmostEqual(speedup["lenet", str(batch)]["ratio"], medians["plain"] / medians["fusion"])
        front = self.json("matrix", run, "--limit-ms", "1e6")["fronts"][0]
        self.assertEqual(front["best_batch"], max(front["points"], key=lambda point: point["inputs_per_second"])["batch"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
