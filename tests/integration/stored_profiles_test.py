#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles that runs keep: their pass, what reads them, and the functions that explain a real regression of oneDNN.

The regression is another instruction set: the stack `slow` is the same library, limited to SSE4.1.

Usage: stored_profiles_test.py BUILD_FOLDER [unittest arguments].
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from local_server import LocalServer, fetch, free_address
from plumb_command import Command
from postgresql_server import PostgresqlServer

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
MODEL = "squeezenet1.1"
SUBJECT = f"{MODEL}|1|f32"


class StoredProfiles(Command):
    calibrated = True

    def setUp(self):
        super().setUp()
        folder = self.folder / "plumb/stacks/slow"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text('backend = "onednn"\nlibraries = ["libdnnl.so.3"]\n[variables]\nONEDNN_MAX_CPU_ISA = "SSE41"\n')

    def run_model(self, stack, *options):
        words = ["--model", MODEL, "--only", "models", "--mode", "fusion", "--processes", "3", "--stack", stack]
        self.plumb("run", *words, *options)
        return self.json("runs")["runs"][0]["run"]

    def check_listings(self, run, shown):
        """The instructions of the hottest functions are kept with the profile, and in its reports."""
        listing = shown["listings"][0]
        self.assertEqual((listing["image"], listing.get("problem", "")), ("generated", ""), "the library's kernel")
        self.assertIn("conv", listing["step"])
        kept = len(listing["instructions"])
        self.assertLessEqual(kept, 100)
        if kept < 100:
            self.assertGreaterEqual(sum(each["samples"] for each in listing["instructions"]), 0.9 * listing["samples"])
        self.assertEqual(listing["samples_of_profile"], shown["samples"])
        self.assertEqual(self.json("profile", run, "--listing", "hottest")["listing"], listing)
        refused = self.plumb("profile", run, "--listing", "absent_function", expect=2).stderr
        self.assertIn("name a model in place of the run", refused)
        hot = max(listing["instructions"], key=lambda each: each["samples"])
        text = self.plumb("profile", run, "--listing", listing["name"]).stdout
        self.assertIn(" ".join(hot["text"].split()), " ".join(text.split()))
        self.plumb("report", run, "-o", self.folder / "report.md")
        for report in ("report.html", "report.md"):
            words = (self.folder / report).read_text()
            self.assertIn("approximate", words)
            self.assertIn(hot["text"], words)

    def check_pages(self, base, slow):
        """The server shows listings, and which functions take more time than before."""
        address = free_address()
        server = LocalServer(self, "serve", [self.program(), "serve", "--listen", address], address, "/functions", self.environment)
        page = fetch(server.url + "/functions")
        for words in (f"{SUBJECT}, mode fusion", f"/runs/{base}", f"/runs/{slow}", "In the last run: ", "approximate"):
            self.assertIn(words, page)
        self.assertIn('<table class="listing">', fetch(f"{server.url}/runs/{slow}"))

    def check_regression(self, functions, decided):
        if not decided:
            self.skipTest("the host is too busy to decide that the slow stack is slower")
        (whole,) = [each for each in functions if each["model"] == SUBJECT and not each["layer"]]
        self.assertEqual((whole["problem"], whole["mode"]), ("", "fusion"))
        self.assertGreater(whole["ratio"], 1.1)
        self.assertGreater(whole["candidate_seconds"], whole["baseline_seconds"])
        self.assertLess(abs(whole["unexplained_seconds"]), 0.3 * (whole["candidate_seconds"] - whole["baseline_seconds"]))
        appeared = [part for part in whole["parts"] if part["in_candidate"] and not part["in_baseline"]]
        self.assertTrue(any(part["image"] == "generated" for part in appeared), whole["parts"][:5])

    @staticmethod
    def is_decided(metrics):
        """Returns whether the model end to end is found to be slower."""
        return any("/end_to_end/" in each["series"] and each["verdict"] == "regressed" for each in metrics)

    def test_a_comparison_names_the_functions_of_a_regression(self):
        base = self.run_model("default", "--profile-budget", "8s")
        slow = self.run_model("slow", "--profile-budget", "8s")
        shown = self.json("profile", base)
        self.assertEqual((shown["mode"], shown["stack"]), ("fusion", "default"))
        self.assertGreater(shown["samples"], 1000)
        self.assertGreaterEqual(shown["share_in_steps"], 0.95)
        self.assertEqual(self.json("profile", base, "--model", MODEL), shown)
        self.assertLessEqual(len(shown["blocks"]), 200)
        self.plumb("report", base, "-o", self.folder / "report.html")
        self.assertIn('"drawing":"flames"', (self.folder / "report.html").read_text())
        self.check_listings(base, shown)
        self.check_pages(base, slow)

        self.plumb("store", "export", base, "-o", self.folder / "export.jsonl")
        copy = ("--store", f"sqlite:{self.folder}/copy.db")
        self.plumb("store", "import", self.folder / "export.jsonl", *copy)
        self.assertEqual(self.json("profile", base, *copy), shown)
        self.plumb("store", "verify", *copy)

        compared = ("compare", base, slow, "--vary", "stack")
        document = self.json(*compared)
        self.check_regression(document["functions"], self.is_decided(document["metrics"]))
        self.assertGreater(self.json("profile", "diff", base, slow)["change_seconds"], 0)
        text = self.plumb(*compared).stdout
        self.assertIn("Inside what changed", text)
        self.assertIn("which the baseline did not execute", text)
        for kind in ("html", "md"):
            self.plumb(*compared, "-o", self.folder / f"comparison.{kind}")
            self.assertIn("unexplained", (self.folder / f"comparison.{kind}").read_text())

    def test_a_qualification_profiles_what_changed(self):
        words = ("--model", MODEL, "--baseline", "default", "--candidate", "slow", "--mode", "fusion", "--pairs", "6", "--budget", "30s")
        document = self.json("qualify", *words, "--profile-budget", "20s")
        self.check_regression(document["functions"], any(each["test"]["verdict"] == "regressed" for each in document["models"]))
        kept = self.plumb("report", f"{document['baseline']['run']}..{document['candidate']['run']}", "-o", self.folder / "qualification.md")
        self.assertEqual(kept.returncode, 0)
        self.assertIn("Inside what changed", (self.folder / "qualification.md").read_text())
        self.assertGreater(self.json("profile", document["candidate"]["run"])["samples"], 1000)

    def test_a_comparison_profiles_what_changed(self):
        base = self.run_model("default", "--profile", "off")
        slow = self.run_model("slow", "--profile", "off")
        compared = ("compare", base, slow, "--vary", "stack")
        document = self.json(*compared)
        if not self.is_decided(document["metrics"]):
            self.skipTest("the host is too busy to decide that the slow stack is slower")
        self.assertEqual(document["functions"], [])
        self.assertEqual(document["profile_with"], f"plumb compare {base} {slow} --vary stack --profile")
        profiled = self.json(*compared, "--profile", "--profile-budget", "16s")
        self.check_regression(profiled["functions"], True)
        self.assertIsNone(profiled["profile_with"])
        self.assertEqual(self.json(*compared)["functions"], profiled["functions"], "both runs keep their profiles")
        kept = self.json("profile", slow)
        self.assertEqual(kept["stack"], "slow")
        self.assertGreater(len(kept["processes"]), 1)
        self.assertEqual(sum(kept["processes"]), len(kept["blocks"]))
        # What a run measured must still be there.
        stack = self.folder / "plumb/stacks/slow/stack.toml"
        stack.write_text(stack.read_text().replace("SSE41", "AVX"))
        self.assertIn("is not what run", self.plumb(*compared, "--profile", expect=4).stderr)

    def test_a_layer_of_no_model_is_profiled_alone(self):
        key = (
            "v1:conv;in=f32[1,64,56,56],f32[64,64,3,3]c;out=f32[1,64,56,56];acc=f32;math=strict;"
            "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"
        )
        (self.folder / "one.toml").write_text(f'[[layers]]\nkey = "{key}"\n')
        suite = self.suite('[suite]\nname = "layers"\nversion = 1\nreuse = "never"\n[[layers]]\nfile = "one.toml"\n', "layers")
        for stack in ("default", "slow"):
            self.plumb("run", suite, "--stack", stack, "--processes", "3")
        runs = [each["run"] for each in self.json("runs")["runs"][1::-1]]
        compared = ("compare", *runs, "--vary", "stack")
        document = self.json(*compared)
        if not any(each["kind"] == "layer" and each["verdict"] == "regressed" for each in document["metrics"]):
            self.skipTest("the host is too busy to decide that the slow stack is slower")
        self.assertEqual(document["profile_with"], f"plumb compare {runs[0]} {runs[1]} --vary stack --profile")
        (found,) = self.json(*compared, "--profile", "--profile-budget", "16s")["functions"]
        self.assertEqual((found["layer"], found["model"], found["problem"]), (key, key, ""))
        self.assertTrue(any(part["in_candidate"] and not part["in_baseline"] for part in found["parts"]), found["parts"][:5])
        self.assertIn(" alone: ", self.plumb(*compared).stdout)
        self.assertEqual(self.json("profile", runs[1])["model"], key)

    def test_profiles_of_several_runs_are_merged(self):
        words = ["--model", "lenet", "--only", "models", "--mode", "fusion", "--processes", "1"]
        for stack in 6 * ["default"] + 2 * ["slow"]:
            self.plumb("run", *words, "--stack", stack, "--profile-budget", "3s")
        self.plumb("run", *words, "--profile", "off")
        runs = [each["run"] for each in self.json("runs")["runs"]]
        without, slow, fast = runs[0], runs[1:3], runs[3:9]
        single = [self.json("profile", run) for run in fast]

        merged = self.json("profile", *fast)
        self.assertEqual(merged["samples"], sum(each["samples"] for each in single))
        self.assertEqual([each["run"] for each in merged["runs"]], fast, "newest first")
        self.assertEqual(len({each["environment"] for each in merged["runs"]}), 1)
        self.assertEqual(merged["interval_of"], "runs")
        self.assertEqual(self.json("profile", ",".join(reversed(fast))), merged, "in any order")
        self.assertEqual(self.json("profile", fast[0], "--runs", 6), merged)
        newest = self.plumb("profile", without, "--runs", 3, "--json")
        self.assertIn("1 runs keep no profile", newest.stderr)
        self.assertIn(f'"{fast[2]}"', newest.stdout)
        few = self.json("profile", *fast[:2])
        self.assertEqual((few["interval_of"], len(few["runs"])), ("blocks", 2))
        listed = [each for each in few["listings"] if each["instructions"]]
        self.assertTrue(listed, few["listings"])
        self.assertEqual({each["interval_of"] for each in listed}, {"blocks"})
        self.assertTrue(all(len(each["interval"]) == 2 for each in listed[0]["instructions"]), listed[0])
        self.assertIn(listed[0]["name"], self.plumb("profile", *fast, "--listing", "hottest", "--all").stdout)
        text = self.plumb("profile", *fast).stdout
        self.assertIn("  runs       6 of environment ", text)
        self.assertIn("intervals are by runs", text)
        self.assertIn("do not know how runs differ", self.plumb("profile", *fast[:2]).stdout)

        both = self.json("profile", *runs[1:])["profiles"]
        self.assertEqual([each["stack"] for each in both], ["default", "slow"])
        self.assertEqual([len(each["runs"]) for each in both], [6, 2])
        self.assertIn("unlike things", self.plumb("profile", *runs[1:], "-o", self.folder / "all.json", expect=4).stderr)
        self.assertIn("unlike things", self.plumb("profile", "diff", ",".join(runs[1:]), fast[0], expect=4).stderr)
        self.assertIn("of 2 that were looked at", self.plumb("profile", without, fast[0], "--model", "vgg16", expect=2).stderr)

        difference = self.json("profile", "diff", ",".join(fast), ",".join(slow))
        self.assertEqual((difference["baseline"]["runs"], difference["candidate"]["runs"]), (fast, slow))
        self.assertEqual((difference["baseline"]["interval_of"], difference["candidate"]["interval_of"]), ("runs", "blocks"))
        file = self.folder / "merged.json"
        self.plumb("profile", *fast, "-o", file)
        self.assertEqual(self.json("profile", "diff", file, ",".join(slow)), difference)
        self.assertIn("on default, by 6 runs", self.plumb("profile", "diff", file, slow[0]).stdout)

    def test_a_run_that_is_always_sampled_is_marked_and_no_baseline(self):
        plain = self.run_model("default", "--profile", "off")
        run = self.run_model("default", "--profile", "always")
        (entry,) = [each for each in self.json("runs")["runs"] if each["run"] == run]
        self.assertEqual(entry["kind"], "sampled")
        shown = self.json("profile", run)
        self.assertEqual((shown["mode"], shown["cost"], shown["asked_hertz"]), ("fusion", None, 1000))
        self.assertGreater(shown["samples"], 100)
        self.assertGreaterEqual(shown["share_in_steps"], 0.95)
        self.assertGreaterEqual(shown["share_in_functions"], 0.9)
        self.plumb("store", "export", run, "-o", self.folder / "sampled.jsonl")
        exported = (self.folder / "sampled.jsonl").read_text()
        self.assertIn(' sampled"', exported, "the run is marked")
        self.assertIn("1000 Hz by ", exported, "its rows are marked")
        self.assertIn("was sampled while it was timed", self.plumb("baseline", "set", run, expect=2).stderr)
        self.assertIn("was sampled while it was timed", self.plumb("push", run, "--textfile", self.folder / "out.prom", expect=2).stderr)
        self.assertIn("method", self.plumb("compare", plain, run, expect=4).stderr)
        self.assertEqual(self.json("compare", plain, run, "--vary", "method")["varied"], ["method"])
        self.plumb("export", "--openmetrics", "-o", self.folder / "history.txt")
        self.assertIn(MODEL, (self.folder / "history.txt").read_text(), "of the other run")

    def test_a_server_keeps_what_was_sampled_while_it_was_timed(self):
        with PostgresqlServer() as server:
            self.environment["PLUMB_STORE"] = server.url()
            self.plumb("run", "--model", MODEL, "--only", "models", "--mode", "fusion", "--processes", "2", "--profile", "always")
            run = self.json("runs")["runs"][0]
            self.assertEqual(run["kind"], "sampled")
            shown = self.json("profile", run["run"])
            self.assertEqual((shown["mode"], shown["cost"]), ("fusion", None))
            self.assertGreater(shown["samples"], 50)
            self.assertEqual([each["samples_of_profile"] for each in shown["listings"]], 3 * [shown["samples"]])
            self.plumb("store", "verify")
            self.plumb("store", "export", run["run"], "-o", self.folder / "export.jsonl")
            copy = ("--store", f"sqlite:{self.folder}/copy.db")
            self.plumb("store", "import", self.folder / "export.jsonl", *copy)
            self.assertEqual(self.json("profile", run["run"], *copy), shown)

    def test_what_cannot_be_sampled_while_it_is_timed_is_refused(self):
        words = ["run", "--model", MODEL, "--profile", "always"]
        self.assertIn("timed end to end", self.plumb(*words, "--only", "layers", expect=2).stderr)
        self.plumb("run", self.tiny(), "--stack", "fake")
        self.assertIn("leave out one of them", self.plumb(*words, "--baseline", "@latest", expect=2).stderr)
        self.assertIn("cannot be sampled", self.plumb("run", self.tiny(), "--stack", "fake", "--profile", "always", expect=2).stderr)

    def test_a_pass_takes_one_per_cent_of_a_run(self):
        run = self.run_model("default")
        done = self.plumb("profile", run, expect=2).stderr
        self.assertIn("would take longer than", done)

    def test_old_profiles_are_removed_before_their_runs(self):
        run = self.run_model("default", "--profile-budget", "5s")
        self.assertGreater(self.json("profile", run)["samples"], 0)
        self.assertEqual(self.json("store", "gc", "--profiles-older-than", "1us")["removed_profiles"], 1)
        self.assertIn("has no profile", self.plumb("profile", run, expect=2).stderr)

    def test_what_takes_no_profile_says_why(self):
        run = self.run_model("default", "--profile", "off")
        self.assertIn("has no profile", self.plumb("profile", run, expect=2).stderr)
        self.plumb("run", self.tiny(), "--stack", "fake")
        self.assertIn("unsupported", self.plumb("profile", "@latest", expect=2).stderr)
        self.assertIn("absent", self.plumb("profile", "diff", "absent", run, expect=2).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
