#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares runs and paired samples, and detects change points, as a user would.

Usage: changes_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Changes(Command):
    def write(self, document):
        path = self.folder / "input.json"
        path.write_text(json.dumps(document))
        return path

    def rounds(self, *factors):
        """Paired rounds that scatter by half a percent in a fixed pattern."""
        return [1e-3 * factor * (1 + 0.005 * ((i * 7 % 11) / 5 - 1)) for i, factor in enumerate(factors)]

    def test_compare_samples_and_its_gate(self):
        same, slow = self.rounds(*[1] * 12), self.rounds(*[1.1] * 12)[::-1]
        questions = {name: {"id": name, "end_to_end": {"baseline": same, "candidate": candidate},
                            "layers": {"conv": {"baseline": same, "candidate": candidate}}}
                     for name, candidate in (("same", same[::-1]), ("slow", slow), ("fast", self.rounds(*[0.9] * 12)))}
        path = self.write({"comparisons": list(questions.values())})
        rows = {row["id"]: row for row in self.json("compare", "--samples", path)["comparisons"]}
        self.assertEqual({name: row["verdict"] for name, row in rows.items()},
                         {"same": "equivalent", "slow": "regressed", "fast": "improved"})
        metric = rows["slow"]["metrics"][0]
        self.assertEqual(set(metric) - {"reason"}, {"series", "kind", "baseline_seconds", "candidate_seconds", "ratio",
                                                    "interval", "q", "mde", "verdict", "causes"})
        self.assertAlmostEqual(metric["ratio"], 1.1, places=2)
        self.assertLess(metric["interval"][0], 1.1)
        self.assertEqual(rows["slow"]["metrics"][1]["series"], "layers/conv")
        attribution = rows["slow"]["attribution"]
        self.assertAlmostEqual(attribution["delta_seconds"], sum(attribution["layers"].values()) + attribution["unexplained_seconds"])
        self.plumb("compare", "--samples", path, "--gate", expect=1)
        reports = {ending: self.folder / f"samples.{ending}" for ending in ("html", "md", "xml", "json", "txt", "annotations")}
        self.plumb("compare", "--samples", path, *(part for report in reports.values() for part in ("-o", report)))
        self.assertEqual({row["id"]: row["verdict"] for row in json.loads(reports["json"].read_text())["comparisons"]},
                         {name: row["verdict"] for name, row in rows.items()})
        self.assertEqual(len(list(xml.etree.ElementTree.parse(reports["xml"]).iter("failure"))), 2, "slow end to end, and its layer")
        for ending in ("html", "md"):
            text = reports[ending].read_text()
            self.assertIn("paired rounds of", text)
            self.assertIn("slow/layers/conv", text)
            self.assertIn("plumb compare --samples", text)
            self.assertNotIn("each measured once", text)
        self.assertIn("::error", reports["annotations"].read_text())
        self.plumb("compare", "--samples", path, "-o", self.folder / "samples.pdf", expect=2)
        sequential = {row["id"]: row for row in self.json("compare", "--samples", path, "--sequential")["comparisons"]}
        self.assertEqual([sequential[name]["verdict"] for name in ("slow", "fast")], ["regressed", "improved"])
        self.assertNotIn(sequential["same"]["verdict"], ("regressed", "improved"))
        self.plumb("compare", "--samples", self.write({"comparisons": [questions["same"]]}), "--gate")
        questions["same"]["end_to_end"]["candidate"][3] = 0
        done = self.plumb("compare", "--samples", self.write({"comparisons": [questions["same"]]}), "--gate", expect=75)
        self.assertIn("round 3 has the time 0 s", done.stdout)

    def test_compare_two_runs(self):
        base = self.run_tiny(reuse="never")["run"]
        again = self.run_tiny(reuse="never")["run"]
        same = self.json("compare", base, again)
        self.assertEqual((same["verdict"], same["baseline"], same["candidate"]), ("equivalent", base, again))
        self.plumb("compare", base, again, "--gate")
        self.stack("fake", '[[rule]]\nmatch = "v1:matmul;*"\nseconds = 0.001\n[[rule]]\nmatch = "v1:max_pool;*"\noutcome = "unsupported"\nreason = "gone"\n')
        worse = self.run_tiny(reuse="never")["run"]
        document = self.json("compare", base, worse, "--gate", expect=1)
        self.assertEqual(document["verdict"], "broken")
        self.assertEqual(document["metrics"][0]["verdict"], "broken")
        self.assertIn("worked before, and now unsupported: gone", document["metrics"][0]["reason"])
        slow = [row for row in document["metrics"] if row["verdict"] == "regressed" and row["kind"] == "layer"]
        self.assertTrue(slow and all(row["series"].startswith("layers/v1:matmul;") for row in slow))
        self.assertEqual(slow[0]["causes"][0]["cause"], "capability changed")
        slower = next(found for found in document["findings"] if found["cause"].startswith("the same implementation is slower"))
        self.assertEqual({"layers/" + key for key in slower["layers"]}, {row["series"] for row in slow}, "one cause is one finding")
        broken = next(found for found in document["findings"] if "now unsupported: gone" in found["cause"])
        self.assertTrue(all(key.startswith("v1:max_pool;") for key in broken["layers"]))
        self.assertIn("broken", self.plumb("compare", base, worse).stdout)

    def test_layers_of_no_model_have_no_profiles_to_take_of_one_stack(self):
        (self.folder / "one.toml").write_text(f'[[layers]]\nkey = "{CONV}"\n')
        suite = self.suite('[suite]\nname = "layers"\nversion = 1\nreuse = "never"\n[[layers]]\nfile = "one.toml"\n', "layers")
        base = self.json("run", suite, "--stack", "fake")["run"]
        self.stack("fake", '[[rule]]\nmatch = "v1:conv;*"\nseconds = 0.01\n')
        worse = self.json("run", suite, "--stack", "fake")["run"]
        document = self.json("compare", base, worse)
        self.assertEqual([row["verdict"] for row in document["metrics"] if row["kind"] == "layer"], ["regressed"])
        self.assertIsNone(document["profile_with"])
        said = self.plumb("compare", base, worse, "--profile", expect=4).stderr
        self.assertIn("both runs are of the stack 'fake', so that profiles of now would not differ", said)
        self.assertNotIn("--profile-budget", said)

    def test_compare_writes_reports_and_report_writes_them_again(self):
        base = self.run_tiny(reuse="never")["run"]
        self.stack("fake", '[[rule]]\nmatch = "v1:matmul;*"\nseconds = 0.001\noutput = "b"\nmaximum_error = 1e-6\n[[rule]]\nmatch = "model:*"\nseconds = 0.002\n')
        worse = self.run_tiny(reuse="never")["run"]
        names = ["new.html", "new.md", "new.json", "new.xml", "new.txt", "new.annotations"]
        options = [word for name in names for word in ("-o", self.folder / name)]
        done = self.plumb("--json", "compare", base, worse, "--gate", *options, expect=1)
        texts = {name: (self.folder / name).read_text() for name in names}
        self.assertEqual(json.loads(done.stdout), json.loads(texts["new.json"]))
        cases = xml.etree.ElementTree.fromstring(texts["new.xml"])
        failed = [case.get("name") for case in cases.iter("testcase") if case.find("failure") is not None]
        document = json.loads(done.stdout)
        self.assertEqual(sorted(failed), sorted(row["series"] for row in document["metrics"] if row["verdict"] in ("regressed", "broken")))
        self.assertTrue(failed)
        drifted = [row for row in document["metrics"] if row["kind"] == "accuracy" and not row["output"]["same_bits"]]
        self.assertTrue(drifted and all(row["verdict"] == "equivalent" and "v1:matmul;" in row["series"] for row in drifted))
        self.assertEqual(drifted[0]["output"]["candidate_maximum_error"], 1e-6)
        self.assertIn("with other bits within the tolerance", texts["new.txt"])
        self.assertIn('<svg class="strips"', texts["new.html"])
        for name in ("new.html", "new.md", "new.txt"):
            self.assertIn("the same implementation is slower", texts[name])
        self.assertLessEqual(texts["new.annotations"].count("::error "), 10)
        self.plumb("report", f"{base}..{worse}", "-o", self.folder / "again.html")
        self.assertEqual((self.folder / "again.html").read_text(), texts["new.html"])
        self.plumb("compare", base, worse, "-o", self.folder / "x.pdf", expect=2)
        self.plumb("report", f"{base}..nonsense", "-o", self.folder / "again.html", expect=2)

    def test_a_result_that_turns_wrong_is_regressed_in_accuracy(self):
        base = self.run_tiny(reuse="never")["run"]
        self.stack("fake", '[[rule]]\nmatch = "v1:conv;*"\nvariant = "algorithm=direct"\noutcome = "wrong_result"\nreason = "differs by 3"\n')
        document = self.json("compare", base, self.run_tiny(reuse="never")["run"])
        wrong = [row for row in document["metrics"] if row["kind"] == "accuracy" and row["verdict"] == "regressed"]
        self.assertTrue(wrong and all("differs by 3" in row["reason"] for row in wrong))

    def test_a_kept_comparison_knows_what_differed_on_purpose(self):
        base = self.run_tiny()["run"]
        self.stack("other", '[identity]\nlibrary = "fake 2.0"\n')
        other = self.json("run", self.tiny(), "--stack", "other")["run"]
        page = self.folder / "page.html"
        self.plumb("report", f"{base}..{other}", "-o", page, expect=4)
        self.plumb("compare", base, other, "--vary", "stack")
        self.plumb("report", f"{base}..{other}", "-o", page)
        self.assertIn("fake 2.0", page.read_text())

    def test_compare_refuses_unlike_environments_and_suites(self):
        base = self.run_tiny()["run"]
        self.stack("other", '[identity]\nlibrary = "fake 2.0"\n')
        other = self.json("run", self.tiny(), "--stack", "other")["run"]
        done = self.plumb("compare", base, other, expect=4)
        self.assertIn("library", done.stderr)
        self.assertIn("--vary stack", done.stderr)
        document = self.json("compare", base, other, "--vary", "stack")
        self.assertEqual([row["fact"] for row in document["environment_diff"] if row["identity"]], ["library"])
        suite = self.suite('[suite]\nname = "two"\nversion = 1\n[[model]]\nname = "squeezenet1.1"\n', "two")
        two = self.json("run", suite, "--stack", "fake")["run"]
        self.stack("fake")
        self.assertIn("--vary suite", self.plumb("compare", base, two, expect=4).stderr)
        self.plumb("compare", base, expect=2)
        self.plumb("compare", expect=2)
        self.plumb("compare", base, "nonsense", expect=2)

    def test_detect_in_a_file_and_in_the_store(self):
        step = [10 + 0.05 * (i * 7 % 5) + (i >= 40) for i in range(80)]
        path = self.write({"series": [{"id": "step", "values": step}, {"id": "flat", "values": step[:40]}]})
        series = {row["id"]: row for row in self.json("detect", "--input", path)["series"]}
        self.assertEqual([point["index"] for point in series["step"]["change_points"]], [40])
        self.assertEqual(series["flat"]["change_points"], [])
        self.assertIn("change, confidence", self.plumb("detect", "--input", path).stdout)
        drift = [100 + 0.05 * i + 0.1 * (i * 7 % 5) for i in range(120)]
        states = [(10 if i % 7 < 3 else 12) + 0.01 * (i * 7 % 5) for i in range(120)]
        loud = [10 + (0.1 if i < 60 else 1) * ((i * 7 % 11) / 5 - 1) for i in range(120)]
        path = self.write({"series": [{"id": "drift", "values": drift}, {"id": "states", "values": states}, {"id": "loud", "values": loud},
                                      {"id": "gaps", "values": step[:20] + [None] * 3 + step[20:]}]})
        series = {row["id"]: row for row in self.json("detect", "--input", path, "--variance")["series"]}
        self.assertAlmostEqual(series["drift"]["creep"]["slope"], 0.05, delta=0.005)
        self.assertEqual(series["drift"]["change_points"], [])
        self.assertTrue(series["states"]["two_states"])
        self.assertEqual(series["states"]["change_points"], [])
        self.assertEqual([change["index"] for change in series["loud"]["variance_changes"]], [60])
        self.assertEqual([point["index"] for point in series["gaps"]["change_points"]], [43])
        text = self.plumb("detect", "--input", path).stdout
        self.assertIn("creep, +0.0", text)
        self.assertIn("jumps between two states", text)
        self.assertNotIn("deviation changed", text)
        self.assertNotIn("variance_changes", self.json("detect", "--input", path)["series"][0])
        self.run_tiny()
        key = self.store_rows("select min(text) from layer_keys where text like 'v1:conv;%'")[0][0]
        self.assertEqual(len(self.json("detect", key)["series"]), 1)
        self.assertGreater(len(self.json("detect")["series"]), 5)

    def test_detect_is_evaluated_by_annotated_series(self):
        step = [10 + 0.05 * (i * 7 % 5) + (i >= 40) for i in range(80)]
        path = self.write({"series": [{"id": "step", "values": step, "change_points": [40]}, {"id": "flat", "values": step[:40], "change_points": []}]})
        document = self.json("detect", "--evaluate", path)
        self.assertEqual([(row["id"], row["f1"], row["cover"], row["change_points"]) for row in document["series"]],
                         [("step", 1, 1, [40]), ("flat", 1, 1, [])])
        self.assertEqual((document["means"]["all"]["series"], document["means"]["all"]["nothing"]["cover"]), (2, 0.75))
        self.assertEqual(sum(document["means"][part]["series"] for part in ("tuning", "checking")), 2)
        self.assertIn("mean of 2", self.plumb("detect", "--evaluate", path).stdout)
        self.plumb("detect", "--evaluate", path, "--input", path, expect=2)

    def test_hostile_input_is_refused(self):
        for text in ("", "{", "[1]", '{"series": 5}', '{"series": [{"id": "x", "values": ["y"]}]}', "[" * 100000):
            path = self.folder / "bad.json"
            path.write_text(text)
            self.plumb("detect", "--input", path, expect=2)
            self.plumb("detect", "--evaluate", path, expect=2)
            self.plumb("compare", "--samples", path, expect=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
