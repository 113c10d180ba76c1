#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a store and an export that e3a6195 wrote, and compares with the answers of 7785a59.

tests/integration/earlier_store holds both files, made by the scripted worker: runs, a scenario, a baseline, comparisons,
a calibration and a qualification. 7785a59 is the last commit before the code was sorted into folders.

Usage: earlier_store_test.py BUILD_FOLDER [--record] [unittest arguments]. --record writes the answers anew: only after a
change that means to answer differently.
"""

import gzip
import json
import lzma
import pathlib
import re
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
RECORD = "--record" in sys.argv
if RECORD:
    sys.argv.remove("--record")
FOLDER = pathlib.Path(__file__).resolve().parent / "earlier_store"
#: Fields that depend on the moment or the machine of the question.
VOLATILE = ("oldest_row_seconds", "store")
#: Fields that later versions added.
ADDED = (
    *("unguarded_runs", "overall", "not_compared", "labels", "baseline_mode"),
    *("batches", "captured_graphs", "roofline", "critical_path_plain", "waterfall", "predicted_saving_low", "predicted_saving_high", "applies", "combination"),
    *("functions", "accuracy", "settings", "not_judged", "realised_memory_bytes", "realised_baseline_memory_bytes", "realised_difference", "profile_with"),
    *("preparation_bytes", "resident_bytes", "attributes"),
)
#: What-ifs that later versions added.
ADDED_WHAT_IFS = ("f16", "channels_last+f16", "bf16+channels_last", "tf32", "graph_capture", "micro_batch", "co_schedule", "framework", "weight_gradients", "checkpointing", "padded_channels", "folded_norms", "largest_batch", "fused_optimizer", "gemm_bias", "gemm_gelu", "gemm_relu", "conv_relu_backward")
#: What-ifs that later versions no longer predict for runs with one thread, which these are.
WITHDRAWN_WHAT_IFS = ("parallel_branches", "all")


def was_added(entry):
    """Returns whether an entry of a list is a what-if that later versions added or withdrew."""
    return entry.get("name") in ADDED_WHAT_IFS + WITHDRAWN_WHAT_IFS or entry.get("combination", False)


def steady(value):
    """Returns a document without what differs from one moment to the next."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in VOLATILE + ADDED}
    if isinstance(value, list):
        return [steady(each) for each in value if not (isinstance(each, dict) and was_added(each))]
    return value


class EarlierStore(Command):
    def setUp(self):
        super().setUp()
        self.store = self.folder / "earlier.db"

    def ask(self, *arguments):
        done = self.run_plumb("--store", f"sqlite:{self.store}", "--json", *arguments)
        return {"status": done.returncode, "document": steady(json.loads(done.stdout)) if done.stdout.strip() else None}

    def run_plumb(self, *arguments):
        return subprocess.run(
            [self.program(), *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=120)

    def questions(self):
        runs = [entry["run"] for entry in json.loads(self.run_plumb("--store", f"sqlite:{self.store}", "--json", "runs").stdout)["runs"]]
        plain = runs[::-1][:3]
        yield from (("runs",), ("baseline", "list"), ("store", "verify"), ("detect", "--look-only"))
        for run in plain:
            yield ("bound", run)
            yield ("whatif", run)
        yield ("compare", plain[0], plain[1])
        yield ("compare", plain[0], plain[2], "--vary", "stack")

    def answers(self):
        return {" ".join(question): self.ask(*question) for question in self.questions()}

    def check(self):
        path = FOLDER / "answers.json.gz"
        found = self.answers()
        if RECORD:
            path.write_bytes(gzip.compress(json.dumps(found, sort_keys=True).encode(), mtime=0))
        expected = json.loads(gzip.decompress(path.read_bytes()))
        self.assertEqual(sorted(found), sorted(expected))
        for question, answer in expected.items():
            with self.subTest(question=question):
                self.assertEqual(found[question], steady(answer))

    def test_a_store_answers_as_before(self):
        self.store.write_bytes(lzma.decompress((FOLDER / "store.db.xz").read_bytes()))
        self.run_plumb("--store", f"sqlite:{self.store}", "store", "migrate")
        self.check()

    def test_an_export_answers_as_before(self):
        export = self.folder / "export.jsonl"
        export.write_bytes(lzma.decompress((FOLDER / "export.jsonl.xz").read_bytes()))
        done = self.run_plumb("--store", f"sqlite:{self.store}", "store", "import", export)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check()

    def test_a_kept_qualification_and_comparison_are_reported(self):
        self.store.write_bytes(lzma.decompress((FOLDER / "store.db.xz").read_bytes()))
        self.run_plumb("--store", f"sqlite:{self.store}", "store", "migrate")
        kept = json.loads((FOLDER / "kept.json").read_text())
        for name, pair in kept.items():
            out = self.folder / f"{name}.json"
            done = self.run_plumb("--store", f"sqlite:{self.store}", "report", pair, "-o", out)
            self.assertEqual(done.returncode, 0, done.stderr)
            document = json.loads(out.read_text())
            self.assertTrue(re.fullmatch(r"[a-z_]+", document["verdict"]), document["verdict"])


if __name__ == "__main__":
    unittest.main()
