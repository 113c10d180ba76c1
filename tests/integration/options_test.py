#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What every option refuses, over the whole tree of commands, and what messages say.

Usage: options_test.py BUILD_FOLDER [unittest arguments].
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: A value of each type that CLI11 names, for the options that are not looked at.
NOT_FINITE = ("nan", "inf", "-inf", "1e999")


class Options(Command):
    def attempt(self, *arguments):
        done = subprocess.run([self.program(), *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    def help_of(self, *command):
        return self.plumb(*command, "--help").stdout

    def commands(self, *command):
        listed = self.help_of(*command).partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        yield command
        for name in re.findall(r"^  ([a-z]\S*)", listed, re.MULTILINE):
            yield from self.commands(*command, name)

    def options(self):
        """Yields each command, option with a value, and the type that the help names."""
        for command in self.commands():
            for name, kind in re.findall(r"^  (?:-\w,)?(--[a-z-]+) ([A-Z]+)\b", self.help_of(*command), re.MULTILINE):
                yield command, name, kind

    def test_every_option_refuses_an_empty_value(self):
        seen = 0
        for command, name, _ in self.options():
            for arguments in ([name, ""], [f"{name}="]):
                status, error = self.attempt(*command, *arguments)
                self.assertEqual(status, 2, (command, arguments, error))
                self.assertIn(f"{name}: ", error, (command, arguments))
            seen += 1
        self.assertGreater(seen, 90)

    def test_every_name_refuses_an_empty_value(self):
        seen = 0
        for command in self.commands():
            names = re.findall(r"^  ([A-Z=]+) ", self.help_of(*command).partition("\nPositionals:\n")[2].partition("\n\n")[0], re.MULTILINE)
            if names:
                status, error = self.attempt(*command, "")
                self.assertEqual(status, 2, (command, error))
                self.assertIn(f"{names[0]}: ", error, command)
                seen += 1
        self.assertGreater(seen, 15)

    def test_every_number_refuses_what_is_not_finite(self):
        seen = set()
        for command, name, kind in self.options():
            if kind in ("FLOAT", "INT", "UINT", "POSITIVE"):
                for value in NOT_FINITE:
                    status, error = self.attempt(*command, name, value)
                    self.assertEqual(status, 2, (command, name, value, error))
                    self.assertIn(name, error, (command, name, value))
                seen.add(name)
        self.assertLessEqual({"--days", "--alpha", "--floor", "--since", "--step", "--target-rate", "--refresh", "--threads"}, seen)

    def test_every_duration_and_share_refuses_what_is_not_finite(self):
        suite = self.tiny()
        for option in ("--budget", "--row-timeout", "--duration", "--latency-limit", "--batch-timeout", "--reuse", "--shard"):
            for value in (*NOT_FINITE, "nans", "infs", "max_age:nand", "nan/2"):
                status, error = self.attempt("run", suite, "--stack", "fake", "--scenario", "server", option, value)
                self.assertEqual(status, 2, (option, value, error))
                self.assertIn("'", error)

    def test_a_variable_that_is_not_set_does_not_measure_everything(self):
        for option in ("--shard", "--budget", "--reuse"):
            status, error = self.attempt("run", self.tiny(), "--stack", "fake", option, "")
            self.assertEqual(status, 2)
            self.assertIn(f"{option}: the value is empty", error)
        self.assertEqual(self.json("runs")["runs"], [])

    def test_an_empty_environment_variable_is_one_that_is_not_set(self):
        self.environment["PLUMB_STORE"] = ""
        self.assertEqual(self.json("runs")["runs"], [])

    def test_an_id_that_is_there_twice_is_refused(self):
        path = self.folder / "series.json"
        path.write_text(json.dumps({"series": [{"id": "twice", "values": [1.0] * 9}] * 2}))
        self.assertIn("series/1: the id 'twice' occurs twice", self.plumb("detect", "--input", path, expect=2).stderr)

    def test_rounds_without_their_other_half_are_refused(self):
        path = self.folder / "samples.json"
        path.write_text(json.dumps({"comparisons": [{"id": "a", "end_to_end": {"baseline": [1.0] * 9, "candidate": [1.0] * 8}}]}))
        self.assertIn("9 values in 'baseline' and 8 in 'candidate'", self.plumb("compare", "--samples", path, expect=2).stderr)

    def test_an_unknown_variant_is_refused_by_its_name(self):
        for stack in ("fake", "default"):
            error = self.plumb("layer", CONV, "--stack", stack, "--variant", "nonsense", expect=2).stderr
            self.assertIn(f"'--variant nonsense': the stack '{stack}' has no such variant", error)


class Messages(Command):
    def error(self, *arguments, expect=2):
        return self.plumb(*arguments, expect=expect).stderr

    def test_quote_no_more_than_a_person_reads(self):
        long = "x" * 60_000
        path = self.folder / "long.json"
        path.write_text('{"a": "' + long * 10)
        for command in (["layer", "v1:" + long], ["run", long], ["run", self.tiny(), "--shard", long], ["run", self.tiny(), "--only", long],
                        ["model", "show", long], ["bound", long], ["runs", "--store", long], ["detect", "--input", path], ["import", "google-benchmark", path, "--name", "a"],
                        ["store", "import", path]):
            error = self.error(*command)
            self.assertLess(len(error), 5_000, command)
            self.assertIn("…", error, command)

    def test_name_no_exception_of_a_library(self):
        path = self.folder / "wrong.json"
        for text in ("{bad", "[]", "{}", '{"context": 3, "benchmarks": [[]]}', '{"comparisons": [{"id": []}]}', '{"series": [3]}', "", "\x00", "1e999"):
            path.write_text(text)
            for command in (["detect", "--input", path], ["detect", "--evaluate", path], ["compare", "--samples", path], ["store", "import", path],
                            *(["import", form, path, "--name", "a", "--unit", "ns"] for form in ("google-benchmark", "nvbench", "otava", "asv", "benchmark-action"))):
                done = subprocess.run([self.program(), *map(str, command)], env=self.environment, capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 2), (text, command, done.stderr))
                if done.returncode == 2:
                    self.assertIn("wrong.json", done.stderr, command)
                for word in ("json.exception", "_M_range_check", "sto", "basic_string", "map::at"):
                    self.assertNotRegex(done.stderr, rf"\b{word}\b|\[{word}", (text, command))

    def test_a_number_above_0_has_no_range_of_309_digits(self):
        for option in ("--batch", "--rebatch"):
            self.assertIn(f"{option}: '-1' is neither a whole number", self.error("run", "--model", "lenet", option, "-1"))
            self.assertIn(f"{option}: '1e400' is neither a whole number", self.error("run", "--model", "lenet", option, "1e400"))
            self.assertIn(f"{option}: '-1' is not a number above 0", self.error("model", "show", "lenet", option, "-1"))
            error = self.error("model", "show", "lenet", option, "1e400")
            self.assertIn(f"{option} = 1e400", error)
            self.assertLess(len(error), 200)
        self.assertIn("--target-rate: '-1' is not a number above 0", self.error("run", self.tiny(), "--scenario", "server", "--target-rate", "-1"))

    def test_a_suite_is_not_looked_for_with_two_extensions(self):
        self.assertNotIn(".toml.toml", self.error("run", "nowhere.toml"))
        self.assertIn("suites/nowhere.toml'", self.error("run", "nowhere"))

    def test_what_needs_no_store_needs_no_home(self):
        self.plumb("model", "export", "lenet", "-o", self.folder / "m.onnx")
        suite = self.tiny()
        samples, series = self.folder / "samples.json", self.folder / "series.json"
        samples.write_text(json.dumps({"comparisons": [{"id": "a", "end_to_end": {"baseline": [1.0] * 8, "candidate": [1.0] * 8}}]}))
        series.write_text(json.dumps({"series": [{"id": "a", "values": [1.0] * 20}]}))
        for name in ("HOME", "XDG_DATA_HOME"):
            self.environment.pop(name, None)
        for command in (["model", "list"], ["model", "show", self.folder / "m.onnx"], ["model", "show", "lenet"], ["suite", "show", suite],
                        ["model", "export", "lenet", "-o", self.folder / "again.onnx"], ["compare", "--samples", samples], ["detect", "--input", series],
                        ["env"], ["layer", CONV], ["stacks", "probe", "default"], ["runs", "--store", f"sqlite:{self.folder}/here.db"]):
            self.plumb(*command)
        self.assertIn("--store sqlite:PATH", self.error("runs", expect=3))
        self.assertIn("neither XDG_DATA_HOME nor HOME is set", self.error("run", suite, "--stack", "mine", expect=3))
        self.plumb("run", "nowhere", expect=2)


if __name__ == "__main__":
    unittest.main()
