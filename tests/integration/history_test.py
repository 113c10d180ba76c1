#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches the history of a suite: changes across an upgrade, suspicions, decisions, as a user would.

Usage: history_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import shlex
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from commit_line import CommitLine
from plumb_command import Command
from run_history import rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

SLOW = rule("v1:matmul;*", seconds=0.001) + rule("model:*", seconds=0.01)


class History(Command):
    def days(self, times, name="mine", first=0):
        """A run a day of one imported benchmark; returns the runs' ids."""
        return [self.import_day(day, {"x": time}, name, f"v{time}") for day, time in enumerate(times, first)]

    def only(self, document):
        self.assertEqual(len(document["series"]), 1)
        return document["series"][0]

    def test_an_upgrade_is_crossed_and_named(self):
        for version, rules in (("1.0", ""), ("2.0", SLOW)):
            self.stack("fake", f'[identity]\nlibrary = "fake {version}"\n[facts]\n"library.version" = "{version}"\n{rules}')
            runs = []
            for number in range(7):
                self.environment["GITHUB_SHA"] = f"{version}abc{number}"
                runs.append(self.run_tiny(reuse="never")["run"])
        del self.environment["GITHUB_SHA"]
        labelled = self.json("runs", "--label", "commit=2.0abc")["runs"]
        self.assertEqual([row["run"] for row in labelled], runs[::-1])
        self.assertEqual(labelled[0]["labels"], {"commit": "2.0abc6"})
        self.assertEqual(self.json("runs", "--label", "branch=main")["runs"], [])
        self.stack("other", SLOW)
        document = self.json("detect", "--look-only")
        kinds = {name.split("/")[2] if name.startswith("models/") else "layers" for name in (row["id"] for row in document["series"])}
        self.assertLessEqual({"layers", "end_to_end", "library", "hardware"}, kinds)
        self.assertTrue(all(row["points"] == 14 for row in document["series"]))
        self.assertEqual(self.store_rows("select count(*) from derived where kind = 'change'"), [(0,)])
        changed = {row["id"]: row["change_points"][0] for row in document["series"] if row["change_points"]}
        slow = [name for name in changed if name.startswith("layers/v1:matmul;")]
        self.assertTrue(slow)
        self.assertFalse([name for name in changed if name.startswith("layers/") and name not in slow])
        point = changed[slow[0]]
        self.assertEqual((point["run"], point["index"], point["state"], point["open"]), (runs[0], 7, "detected", True))
        self.assertLessEqual({"library", "library.version"}, {row["fact"] for row in point["environment_diff"]})
        self.assertTrue(any("/end_to_end/" in name for name in changed), "what the layers lost the model lost")
        text = self.plumb("detect", "--gate", expect=1).stdout
        self.assertIn("library.version: 1.0 → 2.0", text)
        self.assertIn("label.commit: 1.0abc6 → 2.0abc0", text)
        linked = ("--commit-url", "https://example.org/repo/commit/{commit}")
        self.assertIn("  commit: https://example.org/repo/commit/2.0abc0\n", self.plumb(*linked, "detect", "--stack", "fake").stdout)
        document = self.json(*linked, "detect", "--stack", "fake")
        (change,) = {tuple(point[name] for name in ("commit_before", "commit", "commit_url"))
                     for row in document["series"] for point in row["change_points"]}
        self.assertEqual(change, ("1.0abc6", "2.0abc0", "https://example.org/repo/commit/2.0abc0"))
        self.environment["PLUMB_COMMIT_URL"] = "javascript:alert('{commit}')"
        self.assertIn("must begin with http", self.plumb("detect", "--stack", "fake", expect=2).stderr)
        self.environment["PLUMB_COMMIT_URL"] = "https://example.org/{commit}"
        self.plumb("report", "@latest", "-o", self.folder / "run.md")
        self.assertIn("[2.0abc6](https://example.org/2.0abc6)", (self.folder / "run.md").read_text())
        self.plumb("detect", "--accept", f"@{runs[0]}", expect=2)
        self.plumb("detect", "--accept", "@nonsense", "--reason", "x", expect=2)
        self.plumb("detect", "--accept", f"layers/none@{runs[0]}", "--reason", "x", expect=2)
        self.plumb("detect", "--accept", f"@{runs[0]}", "--reason", "2.0 is <safer>", "--gate")
        after = self.json("detect", slow[0].removeprefix("layers/"), "--gate")
        self.assertEqual(self.only(after)["change_points"][0]["state"], "accepted")
        self.assertEqual(self.only(after)["change_points"][0]["reason"], "2.0 is <safer>")
        self.assertIn("sound", self.plumb("store", "verify").stdout)
        # Another stack's runs are another history.
        self.json("run", self.tiny("never"), "--stack", "other")
        self.assertTrue(all(row["points"] == 1 for row in self.json("detect")["series"]))
        self.assertTrue(all(row["points"] == 14 for row in self.json("detect", "--stack", "fake")["series"]))
        self.plumb("detect", "--suite", "nothing", expect=2)
        self.plumb("detect", "v1:nothing", expect=2)

    def test_a_suspicion_becomes_a_change_and_is_fixed(self):
        runs = self.days([1.0] * 20)
        self.plumb("detect", "--gate")
        runs += self.days([1.1] * 2, first=20)
        document = self.json("detect", "--gate", expect=75)
        suspicion = self.only(document)["suspicions"][0]
        self.assertIn(suspicion["run"], runs[20:])
        self.assertEqual(self.only(document)["change_points"], [])
        self.assertIn("plumb import", document["measure_again"])
        self.assertIn("measure again", self.plumb("detect").stdout)
        runs += self.days([1.1] * 10, first=22)
        change = self.only(self.json("detect", "--gate", expect=1))["change_points"][0]
        self.assertEqual((change["run"], change["state"]), (runs[20], "detected"))
        self.assertIn("version", {row["fact"] for row in change["environment_diff"]})
        self.plumb("detect", "--confirm", f"external:mine:x@{runs[20]}", "--reason", "compared", "--gate", expect=1)
        self.days([1.0] * 12, first=32)
        states = [point["state"] for point in self.only(self.json("detect", "--gate"))["change_points"]]
        self.assertEqual(states, ["fixed", "detected"])
        book = self.store_rows("select json_extract(payload, '$.state') from derived where kind = 'change' order by id")
        self.assertEqual([row[0] for row in book], ["detected", "confirmed", "detected", "fixed"])

    def test_what_measures_again_is_a_command_for_the_same_history(self):
        own = self.folder / "own model.onnx"
        self.plumb("model", "export", "lenet", "-o", own)
        self.plumb("run", "--model", own, "--batch", 1, "--stack", "fake", "--threads", 2)
        again = self.json("detect")["measure_again"]
        self.assertEqual(again, f"plumb run --model '{own}' --batch 1 --stack fake --threads 2 --reuse never")
        self.plumb(*shlex.split(again)[1:])
        self.assertEqual({row["points"] for row in self.json("detect")["series"]}, {2})
        self.run_tiny("--model", "lenet")
        self.assertIn("mine.toml --model lenet --stack fake --reuse never", self.json("detect")["measure_again"])

    def test_decisions_hold_while_history_grows(self):
        runs = self.days([1.0] * 12 + [1.2] * 8)
        self.plumb("detect", "--invalid", f"@{runs[12]}", "--reason", "another job ran", "--gate")
        self.days([1.2] * 10, first=20)
        self.assertEqual([point["state"] for point in self.only(self.json("detect", "--gate"))["change_points"]], ["invalid"])

    def test_a_decision_that_comes_back_holds(self):
        runs = self.days([1.0] * 12 + [1.2] * 8)
        for option in ("--accept", "--invalid", "--accept", "--accept"):
            self.plumb("detect", option, f"@{runs[12]}", "--reason", "agreed")
        self.assertEqual([point["state"] for point in self.only(self.json("detect"))["change_points"]], ["accepted"])
        book = self.store_rows("select json_extract(payload, '$.state') from derived where kind = 'change' order by id")
        self.assertEqual([row[0] for row in book][-3:], ["accepted", "invalid", "accepted"], "the same decision twice is one entry")
        self.assertEqual(self.plumb("store", "verify").returncode, 0)
        exported = self.folder / "runs.jsonl"
        exported.write_text(self.plumb("store", "export").stdout)
        self.environment["PLUMB_STORE"] = f"sqlite:{self.folder}/other.db"
        self.plumb("store", "import", exported)
        self.assertEqual([point["state"] for point in self.only(self.json("detect"))["change_points"]], ["accepted"])

    def test_a_small_step_in_a_short_history_is_early(self):
        runs = self.days([1.0] * 12 + [1.04] * 8)
        (point,) = self.only(self.json("detect", "--gate", expect=75))["change_points"]
        self.assertEqual((point["run"], point["state"], point["early"], point["open"]), (runs[12], "detected", True, False))
        self.assertIn("  detected, early  ", self.plumb("detect").stdout)
        self.assertEqual(self.json("triage")["open"], 0)
        self.assertIn("| detected, early |", self.plumb("issue", f"@{runs[12]}").stdout)
        self.plumb("triage", "assign", f"@{runs[12]}", "--to", "ann")
        self.assertEqual(self.json("triage")["open"], 1, "a person looks after it")
        (point,) = self.only(self.json("detect", "--gate", expect=1))["change_points"]
        self.assertEqual((point["early"], point["open"]), (False, True))

    def test_triage_groups_and_decides(self):
        self.assertEqual(self.plumb("triage").stdout, "no open changes\n" if self.days([1.0] * 12) else None)
        runs = self.days([1.2] * 8, first=12) and [row["run"] for row in self.json("runs")["runs"]][::-1]
        name = f"external:mine:x@{runs[12]}"
        document = self.json("triage")
        self.assertEqual(document["open"], 1)
        (change,) = document["groups"][0]["changes"]
        self.assertEqual((change["run"], change["state"], change["assignee"]), (runs[12], "detected", None))
        self.assertEqual(self.store_rows("select count(*) from derived where kind = 'change'"), [(0,)], "looking stores nothing")
        self.plumb("triage", "assign", name, "--to", "ann", "--who", "ben")
        self.plumb("triage", "note", f"@{runs[12]}", "--text", "since <b>v1.2</b>", "--who", "ben")
        text = self.plumb("triage").stdout
        self.assertRegex(text, r"\+20\.\d+ % +detected +ann +mine")
        self.assertIn("ben: since <b>v1.2</b>", text)
        self.assertIn(f"plumb triage accept @{runs[12]} --reason TEXT", text)
        self.plumb("detect", "--gate", expect=1)
        self.plumb("triage", "accept", name, expect=2)
        self.plumb("triage", "accept", name, "--reason", "agreed in #812")
        self.assertEqual(self.json("triage")["open"], 0)
        (point,) = self.only(self.json("detect", "--gate"))["change_points"]
        self.assertEqual((point["state"], point["reason"]), ("accepted", "agreed in #812"))
        self.plumb("triage", "invalid", name, "--reason", "no")
        self.plumb("triage", "accept", name, "--reason", "agreed in #812")
        self.assertEqual(self.only(self.json("detect"))["change_points"][0]["state"], "accepted")
        self.plumb("triage", "note", "nonsense", "--text", "x", expect=2)
        self.plumb("triage", "assign", f"@{runs[3]}", "--to", "x", expect=2)

    def test_an_issue_has_history_reproducer_and_suspects(self):
        self.stack("fake", '[identity]\nlibrary = "fake 1.0"\n')
        line = CommitLine(self.folder / "repository", [""] * 14)
        line.git("commit", "--quiet", "--allow-empty", "--message", "<b>@all</b> | `x`")
        commits = iter([*line.hashes[:7], line.git("rev-parse", "HEAD"), *line.hashes[:6]])
        def nights(count):
            for _ in range(count):
                self.run_tiny("--label", f"commit={next(commits)}", reuse="never")
        nights(7)
        self.stack("fake", '[identity]\nlibrary = "fake 2.0"\n' + SLOW)
        nights(7)
        (group,) = self.json("triage")["groups"]
        self.assertEqual([cause["fact"] for cause in group["causes"]][:2], ["label.commit", "library"])
        self.assertIn("models", group["families"])
        run = group["changes"][0]["run"]
        text = self.plumb("--commit-url", "https://example.org/c/{commit}", "issue", f"@{run}").stdout
        self.assertRegex(text, r"^## \S+ .*since \d{4}-\d\d-\d\d, and \d+ more\n")
        before, after = line.hashes[6], line.git("rev-parse", "HEAD")
        self.assertIn(f"| 1 | commit | [commit {before[:12]} → {after[:12]}](https://example.org/c/{after}) |", text)
        self.assertIn("| library | library fake 1.0 → fake 2.0 |", text)
        self.assertRegex(text, r"``plumb layer 'v1:matmul;[^`]*' --stack fake``")
        self.assertIn(f"``git log --oneline {before}..{after}``", text)
        self.assertNotIn("commit 13", text, "no repository was named")
        listed = self.plumb("--commit-url", "https://example.org/c/{commit}", "issue", f"@{run}", "--git", line.folder).stdout
        self.assertIn("\n8 commits:\n", listed)
        self.assertIn(f"| [{after[:12]}](https://example.org/c/{after}) | &lt;b&gt;&#64;all&lt;/b&gt; \\| 'x' |\n", listed)
        self.assertIn(f"| [{line.hashes[13][:12]}](https://example.org/c/{line.hashes[13]}) | commit 13 |\n", listed)
        self.assertNotIn("commit 6 ", listed)
        other = CommitLine(self.folder / "other", [""])
        self.assertIn("They are not known: there is no commit", self.plumb("issue", f"@{run}", "--git", other.folder).stdout)
        self.assertIn("no git repository", self.plumb("issue", f"@{run}", "--git", self.folder / "plumb", expect=2).stderr)
        self.assertRegex(text, r"```text\n +\S+ \S+ \| +#")
        file = self.folder / "issue.md"
        self.plumb("issue", group["changes"][0]["change"], "-o", file)
        self.assertIn("## How to see it again".replace("## ", "### "), file.read_text())
        self.plumb("issue", "@nothing", expect=2)
        for lost in (["issue", f"@{run}"], ["triage"], ["triage", "--json"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([self.program(), *lost], env=self.environment, stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 3, (lost, done.stderr))

    def test_creep_below_every_step(self):
        self.days([1.0 + 0.001 * day for day in range(110)])
        document = self.json("detect", "--gate", expect=1)
        steps = [point for point in self.only(document)["change_points"] if point["after_seconds"] > 1.05 * point["before_seconds"]]
        self.assertEqual(steps, [])
        creep = self.only(document)["creep"]
        self.assertGreater(creep["newest_seconds"] / creep["best_seconds"], 1.05)
        self.assertIn("little by little", self.plumb("detect").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
