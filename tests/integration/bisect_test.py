#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Searches commits of small git repositories, which the test makes, for a slow-down: the fake worker, and oneDNN held to an older instruction set.

Usage: bisect_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from commit_line import CommitLine
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

KEY = "v1:matmul;in=f32[8,8],f32[8,8]c;out=f32[8,8];acc=f32;math=strict"


def rule(match, seconds, variant="algorithm=direct"):
    return f'[[rule]]\nmatch = "{match}"\nvariant = "{variant}"\nseconds = {seconds}\n'


class Bisect(Command):
    def setUp(self):
        super().setUp()
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        # A repository of the user's: what surrounds plumb must not lead git elsewhere.
        self.environment["GIT_DIR"] = "/nowhere"

    def line(self, scripts, build=CommitLine.BUILD):
        """Makes a repository with a commit for each script of the fake worker."""
        return CommitLine(self.folder / "repository", scripts, build)

    def bisect(self, line, *arguments, what=KEY, good="first", bad="main", expect=0):
        return self.json("bisect", "--git", line.folder, "--good", good, "--bad", bad, "--build", "./build.sh", "--pairs", 6, *arguments, "--", what,
                         expect=expect)

    def test_names_the_commit_of_a_real_repository(self):
        slow = rule("v1:matmul;*", 1e-4)
        slower = rule("v1:matmul;*", 1.1e-4)
        line = self.line([slow] * 6 + [slower] * 4)
        document = self.bisect(line)
        self.assertEqual((document["first_bad"], document["last_good"]), (line.hashes[6], line.hashes[5]))
        self.assertTrue(document["exact"] and document["confirmed"] and document["complete"])
        self.assertEqual(document["commits"], line.hashes)
        self.assertEqual((document["key"], document["model"]), (KEY, None))
        self.assertIn(f"{line.hashes[6][:12]} (commit 6)", document["reason"])
        self.assertLessEqual(document["builds"], 6)
        purposes = [step["purpose"] for step in document["steps"]]
        self.assertEqual((purposes[0], purposes[-1]), ("ends", "confirmation"))
        confirmation = document["steps"][-1]
        self.assertEqual((confirmation["candidate"], confirmation["against"], confirmation["state"]), (6, 5, "bad"))
        self.assertAlmostEqual(confirmation["ratio"], 1.1, 2)
        # Each side is a run of its commit, and belongs to the search.
        runs = {run["run"]: run for run in self.json("runs")["runs"]}
        self.assertEqual(runs[confirmation["run"]]["labels"], {"commit": line.hashes[6]})
        self.assertEqual(runs[confirmation["run"]]["kind"], "bisection")
        # Nothing of the user's checkout was touched, and nothing is built again.
        self.assertEqual(line.git("status", "--porcelain"), "")
        self.assertEqual(line.git("rev-parse", "--abbrev-ref", "HEAD"), "main")
        again = self.bisect(line)
        self.assertEqual((again["builds"], again["first_bad"]), (0, line.hashes[6]))
        text = self.plumb("bisect", "--git", line.folder, "--good", "first", "--bad", "main", "--build", "./build.sh", "--pairs", 6, "--", KEY).stdout
        self.assertIn(f"first bad commit: {line.hashes[6]}", text)
        self.assertIn("confirmed against it, in new pairs", text)

    def test_searches_a_model_and_the_largest_slow_down_of_a_suite(self):
        same = rule("model:lenet", 1e-3, "*")
        line = self.line([same] * 3 + [rule("model:lenet", 1.2e-3, "plain") + same] * 3)
        document = self.bisect(line, what="lenet")
        self.assertEqual((document["first_bad"], document["mode"], document["key"]), (line.hashes[3], "plain", None))
        self.assertTrue(document["model"].startswith("lenet|"), document["model"])
        mixed = self.line([""] * 2 + [rule("model:lenet", 2e-3, "plain")] + [rule("v1:gemm;*", 0.5) + rule("v1:matmul;*", 0.5) + rule("model:lenet", 2e-3, "plain")] * 3)
        document = self.bisect(mixed, what=self.tiny())
        self.assertEqual(document["first_bad"], mixed.hashes[3], "the layers slow down more than the model")
        self.assertIsNone(document["model"])
        self.assertIn(document["key"].split(";")[0], ("v1:gemm", "v1:matmul"))

    def test_skips_commits_that_do_not_build_and_names_the_range(self):
        fine, slower = rule("v1:matmul;*", 1e-4), rule("v1:matmul;*", 1.2e-4)
        line = self.line([fine] * 4 + [None] * 2 + [slower] * 4)
        document = self.bisect(line)
        self.assertEqual((document["last_good"], document["first_bad"]), (line.hashes[3], line.hashes[6]))
        self.assertEqual((document["exact"], document["confirmed"]), (False, True))
        self.assertEqual(document["range"], line.hashes[4:7])
        skipped = [step for step in document["steps"] if step["state"] == "skipped"]
        self.assertEqual(sorted(step["candidate"] for step in skipped), [4, 5])
        self.assertEqual(skipped[0]["log_tail"], ["no such header"])
        self.assertIn("no such header", pathlib.Path(skipped[0]["log"]).read_text())
        self.assertIn("the 2 between could not be decided", document["reason"])
        # A broken end ends it, with the end of the log.
        error = self.plumb("bisect", "--git", line.folder, "--good", line.hashes[4], "--bad", "main", "--build", "./build.sh", "--", KEY, expect=2).stderr
        self.assertIn(f"{line.hashes[4][:12]} cannot be measured", error)
        self.assertIn("no such header", error)

    def test_a_broken_layer_is_searched_for_and_other_failures_are_unknown(self):
        broken = '[[rule]]\nmatch = "v1:matmul;*"\noutcome = "wrong_result"\nreason = "differs"\n'
        fine, slower = rule("v1:matmul;*", 1e-4), rule("v1:matmul;*", 1.2e-4)
        line = self.line([fine] * 5 + [broken] * 3)
        document = self.bisect(line)
        self.assertEqual((document["first_bad"], document["confirmed"]), (line.hashes[5], True))
        self.assertEqual(document["steps"][0]["verdict"], "broken")
        line = self.line([fine] * 3 + [broken] + [slower] * 3)
        document = self.bisect(line, expect=75)
        self.assertEqual((document["last_good"], document["first_bad"], document["exact"]), (line.hashes[2], line.hashes[4], False))
        self.assertIn("unknown", {step["state"] for step in document["steps"]})

    def test_what_does_not_differ_is_not_searched(self):
        line = self.line([rule("v1:matmul;*", 1e-4)] * 3)
        document = self.bisect(line)
        self.assertEqual((document["first_bad"], len(document["steps"])), (None, 1))
        self.assertIn("nothing to search", document["reason"])

    def test_slow_downs_spread_over_commits_are_not_confirmed(self):
        line = self.line([rule("v1:matmul;*", 1e-4 * (1.0 + 0.006 * step)) for step in range(9)])
        document = self.bisect(line, expect=75)
        self.assertEqual((document["exact"], document["confirmed"]), (True, False))
        self.assertIn("not confirmed", document["reason"])

    def test_a_killed_search_continues_from_its_record(self):
        fine, slower = rule("v1:matmul;*", 1e-4), rule("v1:matmul;*", 1.2e-4)
        line = self.line([fine] * 10 + [slower] * 7, CommitLine.BUILD + f'echo x >> {self.folder}/builds\n[ ! -e {self.folder}/slow ] || sleep 60\n')
        command = [str(self.program()), "bisect", "--git", line.folder, "--good", "first", "--bad", "main", "--build", "./build.sh", "--pairs", "6", "--resume", "--",
                   KEY]
        records = self.folder / "plumb/bisections"
        for wanted, ending in ((2, signal.SIGINT), (3, signal.SIGKILL)):
            process = subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            deadline = time.monotonic() + 300
            while process.poll() is None and time.monotonic() < deadline:
                done = [json.loads(file.read_text()) for file in records.glob("*.json")] if records.exists() else []
                if done and len(done[0]["steps"]) >= wanted - 1:
                    (self.folder / "slow").touch()
                if done and len(done[0]["steps"]) >= wanted:
                    break
                if (self.folder / "slow").exists() and done and len(done[0]["steps"]) >= wanted - 1:
                    time.sleep(0.3)
                    break
                time.sleep(0.005)
            process.send_signal(ending)
            out, error = process.communicate(timeout=600)
            self.assertEqual(process.returncode, 130 if ending == signal.SIGINT else -ending, error)
            if ending == signal.SIGINT:
                self.assertIn("--resume continues", out)
            (self.folder / "slow").unlink()
        kept = json.loads(next(records.glob("*.json")).read_text())["steps"]
        self.assertGreaterEqual(len(kept), 1)
        document = self.bisect(line, "--resume")
        self.assertEqual((document["first_bad"], document["confirmed"]), (line.hashes[10], True))
        self.assertEqual(document["steps"][: len(kept)], kept, "what was measured is not measured again")
        self.assertEqual(list(records.glob("*.json")), [], "a search that has ended keeps no record")

    def test_what_cannot_be_is_refused(self):
        line = self.line([""] * 2)
        for arguments, text in (
                (["--good", "nothing", "--bad", "main", "--build", "true"], "there is no commit 'nothing'"),
                (["--good", "main", "--bad", "first", "--build", "true"], "no commits between"),
                (["--good", "first", "--bad", "main", "--build", "true", "--stack-folder", "../out"], "must lie in the worktree"),
                (["--good", "first", "--bad", "main", "--build", "true", "--stack-folder", "/tmp"], "must lie in the worktree"),
                (["--good", "first", "--bad", "main"], "--build"),
                (["--good", "first", "--bad", "main", "--build", "true", "--stack", "fake"], "--stack"),
                (["--good", "first", "--bad", "main", "--build", "true"], "left no folder 'build'")):
            self.assertIn(text, self.plumb("bisect", "--git", line.folder, *arguments, "--", KEY, expect=2).stderr)
        self.assertIn("no git repository", self.plumb("bisect", "--git", self.folder / "plumb", "--good", "a", "--bad", "b", "--build", "true", "--", KEY, expect=2).stderr)
        self.assertIn("nosuch", self.plumb("bisect", "--good", "fake", "--bad", "fake", "--", "nosuch", expect=2).stderr)


class Build(Command):
    def setUp(self):
        super().setUp()
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")

    def test_run_builds_the_stack_first_and_records_its_commit(self):
        line = CommitLine(self.folder / "repository", ['[identity]\nlibrary = "fake 9.0"\n'])
        self.environment["CI_COMMIT_SHA"] = "f" * 40
        build = ("--build", f"cd {line.folder} && ./build.sh", "--stack-folder", line.folder / "build")
        self.json("run", self.tiny(), *build)
        self.json("run", self.tiny(), *build, "--label", "commit=mine")
        newest, first = self.json("runs")["runs"]
        self.assertEqual((first["stack"], first["labels"]["commit"]), (str(line.folder / "build"), line.hashes[0]))
        self.assertEqual(newest["labels"]["commit"], "mine", "what the user says counts")
        # The same folder is a stack in every command.
        for command in (["stacks", "probe", f"{line.folder}/build"], ["env", "--stack", f"{line.folder}/build"],
                        ["layer", CONV, "--stack", os.path.relpath(line.folder / "build")]):
            self.assertIn("fake 9.0" if command[0] == "env" else "", self.plumb(*command).stdout)

    def test_a_build_that_fails_ends_the_run_with_its_log(self):
        error = self.plumb("run", self.tiny(), "--build", "echo no such header; exit 3", "--stack-folder", self.folder, expect=2).stderr
        self.assertIn("exited with status 3", error)
        self.assertIn("no such header", error)
        log = next((self.folder / "cache/plumb/build-logs").glob("*.log"))
        self.assertIn("no such header", log.read_text())
        self.assertIn("is no stack", self.plumb("run", self.tiny(), "--build", "true", "--stack-folder", self.folder, expect=2).stderr)
        self.assertIn("stopped after", self.plumb("run", self.tiny(), "--build", "sleep 60", "--build-timeout", "1s", "--stack-folder", self.folder, expect=2).stderr)
        self.assertIn("--build", self.plumb("run", self.tiny(), "--build", "true", "--stack-folder", self.folder, "--stack", "fake", expect=2).stderr)


@unittest.skipUnless((Command.build / "libexec/plumb/plumb-worker-onednn").exists(), "no oneDNN worker")
class Measured(Command):
    """Wants a quiet machine: run it by its name."""

    def test_an_older_instruction_set_is_found_on_onednn(self):
        self.environment["XDG_CACHE_HOME"] = str(self.folder / "cache")
        library = self.json("stacks", "probe", "default")["stacks"][0]["libraries"][0]["path"]
        key = ("v1:conv;in=f32[1,64,28,28],f32[64,64,3,3]c;out=f32[1,64,28,28];acc=f32;math=strict;"
               "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]")
        stack = f'backend = "onednn"\nlibraries = ["{library}"]\n'
        held = stack + 'variables = { ONEDNN_MAX_CPU_ISA = "SSE41" }\n'
        line = CommitLine(self.folder / "repository", [stack] * 9 + [held] * 8, "mkdir -p build && cp script.toml build/stack.toml\n")
        document = self.json("bisect", "--git", line.folder, "--good", "first", "--bad", "main", "--build", "./build.sh", "--control-drift", 100, "--", key)
        self.assertEqual((document["first_bad"], document["confirmed"]), (line.hashes[9], True), json.dumps(document, indent=1))
        print(f"{len(document['steps'])} comparisons, {document['builds']} builds: {document['reason']}")


if __name__ == "__main__":
    unittest.main()
