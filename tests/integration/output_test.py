#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What becomes of a command's output: lost output is told, and `-o` leaves links and devices as they are.

Usage: output_test.py BUILD_FOLDER [unittest arguments]. Times come from the fake worker.
"""

import json
import os
import pathlib
import pty
import re
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

#: Commands that are not executed here, and why.
NOT_EXECUTED = {
    "serve": "runs until it is stopped",
    "stacks fetch": "needs a package index",
    "preview": "needs two versions of cuDNN",
    **dict.fromkeys(("issue", "triage accept", "triage invalid", "triage assign", "triage note"), "needs a change: history_test"),
}

#: Commands that end with 0 or 75 as the host is quiet or busy at that moment.
LOOKS_AT_THE_HOST = {"doctor"}


class Output(Command):
    def help_of(self, *command):
        return self.plumb(*command, "--help").stdout

    def commands(self, *command):
        """Returns the words of every command that has none below it, and of every group of commands."""
        listed = self.help_of(*command).partition("\nSubcommands:\n")[2].partition("\n\n")[0]
        below = re.findall(r"^  ([a-z]\S*)", listed, re.MULTILINE)
        groups, leaves = ([command] if below else []), ([] if below else [command])
        for name in below:
            inner_groups, inner_leaves = self.commands(*command, name)
            groups += inner_groups
            leaves += inner_leaves
        return groups, leaves

    def with_output(self, output, *arguments, store=None):
        """Runs a command on a copy of the store, with its standard output in an open file."""
        environment = dict(self.environment)
        if store:
            shutil.copy(store, self.folder / "copy.db")
            environment["PLUMB_STORE"] = f"sqlite:{self.folder}/copy.db"
        return subprocess.run(
            [self.program(), *map(str, arguments)], env=environment, stdout=output, stderr=subprocess.PIPE, text=True, timeout=120
        )

    def assert_lost(self, arguments, store=None):
        normal = self.with_output(subprocess.PIPE, *arguments, store=store)
        with open("/dev/full", "w") as full:
            lost = self.with_output(full, *arguments, store=store)
        if normal.stdout == "":
            self.assertEqual(lost.returncode, normal.returncode, (arguments, lost.stderr))
            return False
        expected = {normal.returncode or 3} | ({3, 75} if arguments[0] in LOOKS_AT_THE_HOST else set())
        self.assertIn(lost.returncode, expected, (arguments, lost.stderr))
        self.assertIn("standard output could not be written: No space left on device", lost.stderr, arguments)
        self.assertEqual(normal.returncode in (0, 3, 75), True, (arguments, normal.stderr))
        return normal.returncode == 0

    def test_every_help_says_that_it_is_lost(self):
        groups, leaves = self.commands()
        self.assertGreater(len(leaves), 30)
        for command in [*groups, *leaves]:
            self.assertTrue(self.assert_lost([*command, "--help"]), command)
        self.assertTrue(self.assert_lost(["--version"]))

    def test_every_command_says_that_its_output_is_lost(self):
        self.stack("new")
        trained = self.json("run", "--model", "lenet", "--training", "sgd", "--stack", "fake", "--mode", "plain")["run"]
        lengths = self.folder / "lengths.txt"
        lengths.write_text("512 10\n128 30\n")
        first = self.run_tiny()["run"]
        second = self.run_tiny("--resume", reuse="never")["run"]
        store = self.folder / "plumb/store.db"
        rounds = {"baseline": [1.0] * 8, "candidate": [1.0] * 8}
        samples = self.folder / "samples.json"
        samples.write_text(json.dumps({"comparisons": [{"id": "a", "end_to_end": rounds}]}))
        series = self.folder / "series.json"
        series.write_text(json.dumps({"series": [{"id": "a", "values": [1.0] * 20}]}))
        foreign = self.folder / "google.json"
        foreign.write_text(json.dumps({"context": {}, "benchmarks": [{"name": "a", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns", "iterations": 9}]}))
        log = self.folder / "onednn.log"
        log.write_text("onednn_verbose,exec,cpu,convolution,jit:avx2,forward,src_f32::blocked:abcd:f0,,,,0.5\n")
        profile = self.folder / "profile.json"
        empty = {key: [] for key in ("problems", "steps", "functions", "blocks", "cells")}
        numbers = {"asked_hertz": 1000, "hertz": 999, "threads": 1, "lost_samples": 0}
        profile.write_text(json.dumps({"model": "lenet", "mode": "fusion", "stack": "default", "clock": "timer", "refused": "", **numbers, **empty}))
        export = self.folder / "runs.jsonl"
        self.plumb("store", "export", "-o", export)
        fake = ("--stack", "fake")
        pair = ("--baseline", "fake", "--candidate", "new", "--pairs", 6)
        examples = {
            "doctor": [[]],
            "explain": [["bound"]],
            "env": [fake, [*fake, "--json"]],
            "model list": [[], ["--json"]],
            "model show": [["lenet"], ["lenet", "--json"], ["lenet", "--training"], ["lenet", "--training", "--json"],
                           ["lenet", "--training", "--optimizer", "adamw"],
                           ["resnet18-v1", "--training", "--loss", "mean_squared_error", "--freeze", "batch_norm"]],
            "training last-batch": [["--samples", "1000", "--batch", "64"], ["--samples", "1000", "--batch", "64", "--json"]],
            "training packing": [[lengths], [lengths, "--json"]],
            "training largest-batch": [["lenet", "--memory", "64MiB"], ["lenet", "--memory", "64MiB", "--json"]],
            **{f"training {name}": [[*words], [*words, "--json"]] for name, words in (
                ("checkpoints", [trained]), ("exchange", [trained, "--rate", "1e9"]), ("time", [trained, "--samples", "1000"]))},
            "model export": [["lenet", "-o", self.folder / "m.onnx"], ["lenet", "-o", "/dev/stdout"]],
            "suite show": [[self.tiny()]],
            "run": [[self.tiny(), *fake], [self.tiny(), *fake, "--json"]],
            "runs": [[], ["--json"]],
            "bound": [[], ["--json"], ["--all"]],
            "whatif": [[], ["--json"], ["--all"], ["--measure"]],
            "layer": [[CONV, *fake], [CONV, *fake, "--all"]],
            "calibrate": [[self.tiny(), *fake, "--pairs", 5, "--only", "layers"]],
            "compare": [[first, second], ["--samples", samples], ["--json", "--samples", samples]],
            "baseline set": [["@latest", "--reason", "first"]],
            "baseline list": [[]],
            "qualify": [[self.tiny(), *pair]],
            "bisect": [[CONV, "--good", "fake", "--bad", "new", "--pairs", 6]],
            "detect": [[], ["--input", series]],
            "import": [["google-benchmark", foreign, "--name", "mine"], ["google-benchmark", foreign, "--name", "mine", "--json"]],
            "report": [["@latest", "-o", self.folder / "r.md"]],
            "push": [["--textfile", self.folder / "m.prom"]],
            "export": [["--openmetrics"], ["--otava"], ["--benchmark-action"], ["--openmetrics", "-o", "/dev/stdout"]],
            "stacks list": [[]],
            "stacks probe": [["fake"]],
            "stacks diff": [["fake", "new"]],
            "store migrate": [[]],
            "store sync": [[]],
            "store verify": [[]],
            "store export": [[], ["-o", "-"]],
            "store import": [[export]],
            "store gc": [[]],
            "regret": [[]],
            "alternate": [["lenet", "--batch", "1,2", "--executions", 1], ["lenet", "--batch", "1,2", "--executions", 1, "--json"]],
            "trace": [["lenet", "--file", log], ["lenet", "--file", log, "--json"]],
            "profile diff": [[profile, profile], [profile, profile, "--json"], [profile, profile, "--all"]],
            "matrix": [[], ["--json"], ["--list-views"]],
            "submit slurm": [[self.tiny(), "--dry-run"], [self.tiny(), "--dry-run", "--json"]],
            "comment": [[f"{first}..{second}", "--dry-run"]],
        }
        known = {" ".join(command) for command in self.commands()[1]}
        self.assertEqual(known, {*examples, *NOT_EXECUTED}, "every command is here, or says why not")
        told = 0
        for command, variants in examples.items():
            for arguments in variants:
                if "/dev/stdout" in arguments:
                    with open("/dev/full", "w") as full:
                        lost = self.with_output(full, *command.split(), *arguments, store=store)
                    self.assertEqual(lost.returncode, 3, (command, lost.stderr))
                    self.assertIn("'/dev/stdout': No space left on device", lost.stderr)
                else:
                    told += self.assert_lost([*command.split(), *arguments], store=store)
        self.assertGreater(told, 25)

    def test_a_closed_pipe_is_no_fault(self):
        for command in (["model", "list"], ["--help"]):
            reading, writing = os.pipe()
            os.close(reading)
            with os.fdopen(writing, "w") as pipe:
                done = self.with_output(pipe, *command)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_closed_standard_output_is_a_fault_and_no_file_gets_its_number(self):
        self.run_tiny()
        done = subprocess.run(["sh", "-c", f"'{self.program()}' runs >&-"], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard output could not be written: Bad file descriptor", done.stderr)
        done = subprocess.run(["sh", "-c", f"'{self.program()}' runs 2>&- <&-"], env=self.environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.plumb("store", "verify")

    def test_o_writes_through_links_and_into_what_is_no_file(self):
        self.run_tiny()
        target, link, again = (self.folder / name for name in ("target.md", "link.md", "again.md"))
        target.write_text("old")
        target.chmod(0o640)
        link.symlink_to("target.md")
        again.symlink_to(link)
        self.plumb("report", "@latest", "-o", again)
        self.assertIn("lenet", target.read_text())
        self.assertEqual((link.is_symlink(), again.is_symlink(), target.is_symlink()), (True, True, False))
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o640)
        for command in (["export", "--openmetrics"], ["store", "export"], ["model", "export", "lenet"]):
            dangling, later = self.folder / "dangling", self.folder / "later"
            dangling.symlink_to("later")
            self.plumb(*command, "-o", dangling)
            self.assertTrue(dangling.is_symlink())
            self.assertGreater(later.stat().st_size, 0, command)
            text = later.read_bytes()
            later.unlink()
            dangling.unlink()

            to_output = self.folder / "output"
            to_output.symlink_to("/dev/stdout")
            done = subprocess.run([self.program(), *command, "-o", to_output], env=self.environment, capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(done.stdout), len(text), command)
            appended = self.folder / "appended"
            appended.write_text("before\n")
            with appended.open("a") as output:
                done = subprocess.run([self.program(), *command, "-o", "/dev/stdout"], env=self.environment, stdout=output, stderr=subprocess.PIPE, timeout=60)
            self.assertTrue(appended.read_bytes().startswith(b"before\n"), "what a shell appends to is no file to replace")
            to_output.unlink()
            os.mkfifo(self.folder / "pipe")
            with subprocess.Popen([self.program(), *command, "-o", self.folder / "pipe"], env=self.environment, stderr=subprocess.DEVNULL) as writer:
                self.assertEqual(len((self.folder / "pipe").read_bytes()), len(text))
            self.assertEqual(writer.returncode, 0)
            self.assertTrue((self.folder / "pipe").is_fifo())
            (self.folder / "pipe").unlink()
        self.assertIn("No space left on device", self.plumb("model", "export", "lenet", "-o", "/dev/full", expect=3).stderr)


#: What may not reach a terminal: a line of its own, an escape sequence, a control of direction.
HOSTILE = "a\nINJECTED \x1b[7m\u202e"
#: The same in TOML.
HOSTILE_TOML = "a\\nINJECTED \\u001b[7m\\u202e"


class Names(Command):
    def raw(self, *arguments, statuses=(0,)):
        """Runs a command. Returns its output and messages, in which nothing drives a terminal."""
        done = subprocess.run([self.program(), *arguments], env=self.environment, capture_output=True, timeout=120)
        self.assertIn(done.returncode, statuses, (arguments, done.stdout, done.stderr))
        for text in (done.stdout, done.stderr):
            self.assert_safe(text, arguments)
        return (done.stdout + done.stderr).decode()

    def assert_safe(self, text, what):
        self.assertNotIn(b"\x1b", text, what)
        self.assertNotIn("\u202e".encode(), text, what)
        text.decode()  # or else it is no UTF-8
        self.assertEqual([line for line in text.split(b"\n") if line.startswith(b"INJECTED")], [], what)

    def hostile_model(self):
        """Writes a model with a hostile file name, in which a layer and a tensor have hostile names too."""
        self.plumb("model", "export", "lenet", "-o", self.folder / "m.onnx")
        model = (self.folder / "m.onnx").read_bytes()
        model = model.replace(b"relu0_out", b"\n\x1b[7m\xff\xe2\x80\xae").replace(b"\x1a\x05conv0", b"\x1a\x05\n\x1b[7m")
        path = os.fsencode(self.folder) + b"/" + HOSTILE.encode() + b"\xff.onnx"
        pathlib.Path(os.fsdecode(path)).write_bytes(model)
        return path

    def test_of_models_and_their_layers(self):
        path = self.hostile_model()
        self.raw("model", "show", path)
        self.raw("model", "show", path, "--batch", "3", statuses=(2,))
        self.raw("model", "show", path, "--dim", HOSTILE + "=1", statuses=(0, 2))
        run = ("run", "--model", path, "--stack", "fake")
        self.assertIn("INJECTED", self.raw(*run))
        for command in (["bound"], ["whatif"], ["runs"], ["regret"], ["detect"], ["store", "verify"], ["bound", "--model", HOSTILE]):
            self.raw(*command, statuses=(0, 2))
        for extension in ("md", "html", "json", "xml"):
            self.raw("report", "@latest", "-o", os.fsencode(self.folder) + b"/" + HOSTILE.encode() + b"." + extension.encode())
        self.raw(*run)
        runs = [run["run"] for run in self.json("runs")["runs"]]
        self.assertIn("INJECTED", self.raw("compare", *runs))
        self.raw("baseline", "set", "@latest", "--name", "base/" + HOSTILE, "--reason", HOSTILE, "--who", HOSTILE, statuses=(0, 2))
        self.raw("baseline", "list")
        self.raw(*run, "--baseline", runs[-1])

    def test_of_files_that_are_not_there_or_wrong(self):
        evil = HOSTILE.encode() + b"\xff"
        wrong = os.fsencode(self.folder) + b"/" + evil
        pathlib.Path(os.fsdecode(wrong)).write_text('{"a": nonsense')
        for command in (["model", "show", evil], ["model", "show", evil + b".onnx"], ["run", evil], ["suite", "show", evil + b".toml"],
                        ["run", self.tiny(), "--stack", evil], ["run", self.tiny(), "--model", evil], ["bound", evil], ["layer", evil],
                        ["report", "@latest", "-o", evil], ["compare", "--samples", wrong], ["detect", "--input", wrong], ["runs", "--" + HOSTILE],
                        ["run", self.tiny(), "--only", evil], ["import", "google-benchmark", wrong, "--name", "a"], ["store", "import", wrong],
                        ["--store", b"sqlite:" + wrong + b"/x", "runs"], ["--store", evil, "runs"], ["run", wrong]):
            text = self.raw(*command, statuses=(2, 3))
            self.assertIn("INJECTED", text, command)

    def test_of_suites_and_stacks(self):
        self.stack("fake")
        stack = self.folder / "plumb/stacks/fake/stack.toml"
        stack.write_text(f'backend = "fake"\nvariables = {{ EVIL = "{HOSTILE_TOML}" }}\n')
        folder = self.folder / "plumb/stacks" / HOSTILE
        folder.mkdir()
        (folder / "stack.toml").write_text(f'backend = "{HOSTILE_TOML}"\n')
        suite = self.suite(f'[suite]\nname = "{HOSTILE_TOML}"\nversion = 1\n[[model]]\nname = "lenet"\n')
        self.raw("env", "--stack", "fake", "--explain")
        self.raw("stacks", "list", statuses=(0, 2, 3))
        self.raw("stacks", "probe", statuses=(0, 2, 3))
        self.raw("run", suite, "--stack", "none", statuses=(2,))
        self.raw("suite", "show", suite, statuses=(0, 2))
        if self.raw("run", suite, "--stack", "fake", statuses=(0, 2)).startswith("error"):
            self.fail("the suite was to be measured")
        for command in (["runs"], ["bound"], ["detect"], ["baseline", "set", "@latest", "--reason", "first"], ["baseline", "list"], ["export", "--openmetrics", "-o", "/dev/null"]):
            self.raw(*command, statuses=(0, 2))
        unknown = self.suite(f'[[model]]\nname = "{HOSTILE_TOML}"\n["{HOSTILE_TOML}"]\nx = 1\n', name="unknown")
        self.raw("run", unknown, statuses=(2,))

    def test_of_imported_results(self):
        path = self.folder / "google.json"
        row = {"name": HOSTILE, "run_type": "iteration", "real_time": 1.0, "cpu_time": 1.0, "time_unit": "ns", "iterations": 9}
        path.write_text(json.dumps({"context": {}, "benchmarks": [row]}))
        self.raw("import", "google-benchmark", path, "--name", "mine", statuses=(0, 2))
        row["name"] = "plain"
        path.write_text(json.dumps({"context": {}, "benchmarks": [row]}))
        self.assertIn("INJECTED", self.raw("import", "google-benchmark", path, "--name", HOSTILE, "--version", HOSTILE, "--system", HOSTILE, statuses=(0, 2)))
        self.plumb("import", "google-benchmark", path, "--name", "mine")
        for command in (["runs"], ["detect"], ["store", "verify"], ["baseline", "set", "@latest", "--reason", "first"]):
            self.raw(*command, statuses=(0, 2))

    def test_json_and_files_keep_every_byte(self):
        suite = self.suite(f'[suite]\nname = "{HOSTILE_TOML}"\nversion = 1\n[[model]]\nname = "lenet"\n')
        self.plumb("run", suite, "--stack", "fake", "--only", "layers")
        self.assertEqual(self.json("runs")["runs"][0]["suite"], HOSTILE)
        exported = subprocess.run([self.program(), "store", "export"], env=self.environment, capture_output=True, timeout=60).stdout
        self.plumb("store", "export", "-o", self.folder / "runs.jsonl")
        self.assertEqual(exported, (self.folder / "runs.jsonl").read_bytes())
        self.assertIn("\u202e".encode(), exported)

    def test_progress_moves_the_cursor_and_names_do_not(self):
        path = self.hostile_model()
        leader, follower = pty.openpty()
        done = subprocess.Popen([self.program(), "run", "--model", path, "--stack", "fake"],
                                env={**self.environment, "TERM": "xterm"}, stdout=subprocess.DEVNULL, stderr=follower)
        os.close(follower)
        text = b""
        try:
            while piece := os.read(leader, 65536):
                text += piece
        except OSError:
            pass  # the end of a terminal
        os.close(leader)
        self.assertEqual(done.wait(), 0, text)
        self.assertIn(b"\r\x1b[K", text)
        self.assertIn(b"\x1b[32minfo", text)
        self.assertNotIn(b"[7m", text.replace(b"?[7m", b""))
        self.assert_safe(re.sub(rb"\x1b\[[0-9]*[mK]", b"", text).replace(b"\r", b""), "progress")


if __name__ == "__main__":
    unittest.main()
