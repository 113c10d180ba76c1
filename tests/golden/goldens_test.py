#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what whole commands print, byte for byte, with the files beside this one. The fake worker gives the times.

Usage: goldens_test.py BUILD_FOLDER [--update | unittest arguments]. --update writes the files anew: read the difference before committing.

What differs between machines and runs stands as a name in capitals: ULIDs, moments, environments, folders, versions, the time a command took.
"""

import json
import pathlib
import re
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
UPDATE = "--update" in sys.argv and not sys.argv.remove("--update")

SUITE = """[suite]
name = "tiny"
version = 3
reuse = "always"

[[model]]
name = "lenet"
dtype = ["f32", "bf16"]

[[model]]
name = "squeezenet1.1"
"""
#: One kind of layer unsupported, one variant wrong, the calibration said: every kind of row shows.
SCRIPT = """[facts]
profiler = "fake"

[calibration]
peak_f32_flops_per_second = 1e11
peak_bf16_flops_per_second = 2e11
memory_bytes_per_second = 2e10
last_level_cache_bytes = 33554432
floor_seconds = 1e-7

[[rule]]
match = "v1:average_pool;*"
outcome = "unsupported"
reason = "no average pooling here"

[[rule]]
match = "v1:conv;*"
variant = "algorithm=winograd"
outcome = "wrong_result"
reason = "differs by 3"

[[rule]]
match = "v1:conv;in=f32[1,8,14,14]*"
variant = "algorithm=gemm"
attributes = { engine = "62", plan = '{"engine":{"engineId":62,"knobChoices":{"TILE_SIZE":5,"STAGES":3,"SPLIT_K":1,"SWIZZLE":0,"EDGE":0}}}', tensor_cores = "unknown" }
profiled = { kernels = '[{"name":"fake_gemm","grid":[32,8,1],"block":[128,1,1],"registers":168,"shared_bytes":81920}]', tensor_cores = "no" }
readings = { power_watts = [309.0, 310.0, 312.0], temperature_celsius = [61.0] }
"""


#: Two batches, and a version that is faster in one of them and crashes in the other.
MATRIX_SUITE = """[suite]
name = "batches"
version = 1
reuse = "never"

[defaults]
batch = [1, 8]

[[model]]
name = "lenet"

[[model]]
name = "squeezenet1.1"
"""
MATRIX_RULES = """[[rule]]
match = "model:squeezenet1.1"
variant = "fusion"
outcome = "unsupported"
reason = "no fusion here"

[[rule]]
match = "model:squeezenet1.1"
seconds = 0.02

[[rule]]
match = "model:lenet"
outcome = "out_of_memory"
reason = "8 GiB wanted"
"""


def saved_profile(seconds, reorder):
    """Returns what `plumb profile -o` saves: ten blocks of five executions, perhaps with a function more."""
    functions = [("jit_kernel", "generated", 40), ("plumb::onednn::copy", "plumb-onednn-backend.so", 9), ("jit_reorder", "generated", reorder)]
    counts = [[[block, count + (block + at) % 2] for block in range(10)] for at, (_, _, count) in enumerate(functions) if count]
    return {
        "schema_version": 1, "model": "lenet, batch 1, f32", "mode": "fusion", "stack": "default", "clock": "cpu-clock", "refused": "",
        "asked_hertz": 1000, "hertz": 998.5, "threads": 1, "lost_samples": 0, "problems": [],
        "steps": [{"name": "conv1", "layers": [0], "key": "v1:conv", "variant": "implementation=jit", "reorder": False}],
        "functions": [{"name": name, "image": image} for name, image, count in functions if count],
        "blocks": [{"executions": 5, "sampled_seconds": seconds * 1.001, "unsampled_seconds": seconds}] * 10,
        "cells": [{"step": 0, "function": at, "counts": each} for at, each in enumerate(counts)],
    }


def rounded(value):
    """Keeps 12 digits of every number: sums may differ in the last of 17 between compilers."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {name: rounded(item) for name, item in value.items()} if isinstance(value, dict) else value


class Golden(Command):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.stack("fake", SCRIPT)

    def anonymous(self, text):
        """Puts names where runs differ. Ages become AGE, for a slow machine's are longer."""
        for known, name in ((str(self.folder), "FOLDER"), (str(self.build), "BUILD")):
            text = text.replace(known, name)
        for pattern, name in (
            (r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "RUN"),
            (r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(\.\d+)?Z?", "MOMENT"),
            (r'("(?:environment|suite_hash|resolved_hash)": ")[0-9a-f]+"', r'\1HASH"'),
            (r'("oldest_row_seconds": )[0-9.e+-]+', r"\1AGE"),
            (r"(?m) +\d+ d( *)((?: [a-z].*)?)$", r" AGE\2"),
            (r"(?<![\w.])[0-9a-f]{16}(?![\w.])", "ENVIRONMENT"),
        ):
            text = re.sub(pattern, name, text)
        return text

    def compare(self, name, text):
        path = HERE / name
        text = self.anonymous(text)
        if UPDATE:
            path.write_text(text)
        self.assertEqual(text, path.read_text(), f"{name} differs; goldens_test.py BUILD --update writes it anew")

    def show(self, name, *arguments):
        """Compares the text and the JSON of one command; the JSON without the machine's facts."""
        self.compare(f"{name}.txt", self.plumb(*arguments).stdout)
        document = self.json(*arguments)
        document.pop("environments", None)
        self.compare(f"{name}.json", json.dumps(rounded(document), indent=1, ensure_ascii=False) + "\n")

    def test_model_show(self):
        self.show("model_show", "model", "show", "lenet")

    def test_suite_show(self):
        self.show("suite_show", "suite", "show", self.suite(SUITE, "tiny"))

    def test_layer(self):
        self.show("layer", "layer", CONV, "--stack", "fake")

    def test_run_bound_and_whatif(self):
        self.compare("run.txt", self.plumb("run", self.suite(SUITE, "tiny"), "--stack", "fake").stdout)
        self.show("runs", "runs")
        self.show("bound", "bound", "@latest")
        self.compare("bound_all.txt", self.plumb("bound", "@latest", "--all").stdout)
        self.show("whatif", "whatif", "@latest")
        for extension in ("md", "xml"):
            path = self.folder / f"report.{extension}"
            self.plumb("report", "@latest", "-o", path)
            self.compare(f"report.{extension}", path.read_text())

    def test_the_glossary_has_every_word_of_the_documents(self):
        entries = self.json("explain")["words"]
        known = {word.lower().replace("-", "_").replace(" ", "_") for entry in entries for word in (entry["word"], *entry["other_names"])}
        said = {"broken", "regressed", "improved", "equivalent", "inconclusive"}
        for document in ("bound", "whatif", "runs", "layer", "regret", "model_show", "suite_show"):
            text = (HERE / f"{document}.json").read_text()
            said |= {field for field in re.findall(r'"(\w+)": ', text) if not field[0].isupper()}  # operators are ONNX's
            said |= set(re.findall(r'"(?:kind|outcome|verdict|state)": "(\w+)"', text))
            said |= {word for mode in re.findall(r'"(?:mode|execution_mode)": "([a-z_0-9+]+)"', text) for word in mode.split("+")}
        self.assertGreater(len(said), 100)
        self.assertEqual(sorted(said - known), [])
        self.assertIn("predicted: the estimate", self.plumb("explain", "predicted", "library_parallel").stdout)
        self.assertIn("did you mean 'predicted'?", self.plumb("explain", "predictd", expect=2).stderr)

    def test_regret(self):
        self.plumb("run", self.suite(SUITE, "tiny"), "--stack", "fake")
        (environment,) = self.json("env", "--stack", "fake")["environments"].values()
        machine = environment["identity"]["cpu.model"]
        text = self.plumb("regret").stdout
        self.assertIn(machine, text)
        # A wide column stands last, and how wide the machine's is depends on the machine: without it all tables are alike.
        text = re.sub(rf"(?m) +(device|{re.escape(machine)})$", "", re.sub(rf"{re.escape(machine)} +|(?<=  )device +", "", text))
        self.compare("regret.txt", text.rstrip("\n") + "\n")
        document = json.dumps(rounded(self.json("regret")), indent=1, ensure_ascii=False)
        self.compare("regret.json", document.replace(machine, "CPU ") + "\n")

    def test_matrix(self):
        self.stack("newer", '[identity]\nlibrary = "fake 2.0"\n' + MATRIX_RULES)
        (environment,) = self.json("env", "--stack", "fake")["environments"].values()
        system = environment["identity"]["cpu.model"].split(", family")[0]
        runs = [self.json("run", self.suite(MATRIX_SUITE, "batches"), "--stack", stack, "--only", "models", "--mode", "plain", "--mode", "fusion",
                          expect=status)["run"] for stack, status in (("fake", 0), ("newer", 0))]
        for name, *arguments in (("matrix", *runs), ("matrix_views", "--list-views"), ("matrix_front", runs[0], "--limit-ms", "30")):
            self.compare(f"{name}.txt", self.plumb("matrix", *arguments).stdout.replace(system, "SYSTEM"))
        document = json.loads(json.dumps(self.json("matrix", *runs, "--relative-to", "fake")).replace(json.dumps(system), '"SYSTEM"'))
        self.compare("matrix.json", json.dumps(rounded(document), indent=1, ensure_ascii=False) + "\n")

    def test_profile_diff(self):
        files = []
        for name, seconds, reorder in (("base", 0.05, 0), ("cand", 0.0625, 12)):
            files.append(self.folder / f"{name}.json")
            files[-1].write_text(json.dumps(saved_profile(seconds, reorder)))
        self.show("profile_diff", "profile", "diff", *files)

    def test_scenarios(self):
        scenarios = [word for name in ("single_stream", "multi_stream", "server", "offline") for word in ("--scenario", name)]
        options = ("--only", "models", "--latency-limit", "5ms", "--duration", "20s", "--max-batch", "2")
        self.plumb("run", "--model", "lenet", "--stack", "fake", *scenarios, *options)
        self.show("scenarios", "bound", "@latest")


if __name__ == "__main__":
    unittest.main(verbosity=2)
