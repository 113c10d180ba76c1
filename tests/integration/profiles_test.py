#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiles models live with oneDNN and ONNX Runtime, and finds planted changes.

Usage: profiles_test.py BUILD_FOLDER ONNXRUNTIME_LIBRARY [unittest arguments]. Without that library, oneDNN alone is profiled.
"""

import gzip
import json
import pathlib
import sys
import unittest
import xml.dom.minidom

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = pathlib.Path(sys.argv.pop(1))
MODEL = "squeezenet1.1"
#: A product whose kernel keeps data below the stack pointer where oneDNN has no faster one (gemm:jit).
PRODUCT = """<ir_version: 8, opset_import: ["" : 17]>
product (float[N, 256, 256] x, float[256, 256] w) => (y) {
  y = MatMul(x, w)
}
"""


def pprof_strings(message):
    """Returns the texts of a message of pprof's profile.proto, whose field 6 is its table of texts."""

    def varint(at):
        value, shift = 0, 0
        while True:
            byte = message[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    texts, at = [], 0
    while at < len(message):
        key, at = varint(at)
        assert key & 7 in (0, 2), "pprof has numbers and messages only"
        value, at = varint(at)
        if key & 7 == 2:
            if key >> 3 == 6:
                texts.append(message[at : at + value].decode())
            at += value
    assert texts[0] == "", "the first text is empty"
    return texts


class Profiles(Command):
    calibrated = True

    def profile(self, *arguments, budget="2s", model=MODEL):
        return self.json("profile", model, "--budget", budget, *arguments)

    def profile_until(self, is_enough, *arguments, seconds=2, model=MODEL):
        """Profiles a model until it is enough. Beside other programs that takes longer than on an idle machine."""
        for budget in (seconds, 4 * seconds, 16 * seconds, 64 * seconds):
            document = self.profile(*arguments, budget=f"{budget}s", model=model)
            if is_enough(document):
                break
        return document

    def profile_in_full(self, *arguments, seconds=2):
        """Profiles the model until intervals are known, and no share is an accident of a few samples."""
        return self.profile_until(lambda document: document["interval_of"] and document["samples"] > 200, *arguments, seconds=seconds)

    def assert_found(self, is_found, before, after):
        """Expects a function in the difference of two profiles, with more samples until it is certain. Returns the later profile."""
        files = self.folder / "before.json", self.folder / "after.json"
        for budget in ("2s", "8s", "32s", "128s"):
            self.profile(*before, "-o", files[0], budget=budget)
            document = self.profile(*after, "-o", files[1], budget=budget)
            functions = self.json("profile", "diff", *files)["functions"]
            if any(map(is_found, functions)):
                break
        self.assertTrue(any(map(is_found, functions)), functions[:5])
        return document

    def check_shares(self, document):
        self.assertGreater(document["samples"], 50)
        self.assertEqual(document["lost_samples"], 0)
        self.assertAlmostEqual(sum(cell["share"] for cell in document["cells"]), 1.0, delta=1e-9)
        self.assertEqual(sum(cell["samples"] for cell in document["cells"]), document["samples"])
        for cell in document["cells"]:
            low, high = cell["interval"]
            self.assertLessEqual(low, cell["share"] + 1e-12)
            self.assertGreaterEqual(high, cell["share"] - 1e-12)

    def test_samples_belong_to_steps_and_functions(self):
        files = {kind: self.folder / f"profile.{kind}" for kind in ("json", "svg", "folded")}
        document = self.profile_in_full("-o", files["json"])
        self.check_shares(document)
        self.assertIn(document["clock"], ("cycles", "thread", "cpu-clock", "timer"))
        self.assertGreaterEqual(document["share_in_steps"], 0.95)
        self.assertGreaterEqual(document["share_in_functions"], 0.90)
        generated = [function for function in document["functions"] if function["image"] == "generated"]
        self.assertTrue(any(function["name"] for function in generated), generated)
        self.assertTrue(all(step["layers"] and step["key"] for step in document["steps"] if step["name"] != "(outputs)"))
        self.assertGreaterEqual(document["cost_pairs"], 6)
        self.assertEqual(json.loads(files["json"].read_text())["cells"], document["cells"])
        same = self.json("profile", "diff", files["json"], files["json"])
        self.assertEqual((same["change_seconds"], same["unexplained_seconds"]), (0, 0))
        self.profile("-o", files["svg"], budget="0.2s")
        titles = xml.dom.minidom.parse(str(files["svg"])).getElementsByTagName("title")
        self.assertIn(MODEL, titles[0].firstChild.data)
        self.profile("-o", files["folded"], budget="0.2s")
        self.assertTrue(all(line.count(";") == 2 for line in files["folded"].read_text().splitlines()))

    def test_other_programs_read_what_is_exported(self):
        def export(ending):
            file = self.folder / f"profile.{ending}"
            self.profile_in_full("-o", file)
            return file

        messages = pprof_strings(gzip.decompress(export("pb.gz").read_bytes()))
        self.assertIn("nanoseconds", messages)
        self.assertTrue(any("conv0" in text for text in messages), messages)
        trace = json.loads(export("trace").read_text())["traceEvents"]
        steps = [event for event in trace if event["ph"] == "X"]
        self.assertAlmostEqual(steps[0]["dur"], sum(event["dur"] for event in steps if "conv" in event["name"]), delta=steps[0]["dur"])
        script = export("perf").read_text()
        samples = sum(script.count(f"{clock}:u:") for clock in ("cycles", "thread", "cpu-clock", "timer"))
        self.assertGreater(samples, 10)
        self.assertEqual(script.count("(step)"), samples)

    def test_calls_lead_to_functions(self):
        document = self.profile_in_full("--chains", "--rate", "10kHz", seconds=1)
        if document["clock"] == "timer":
            self.skipTest("a timer has no chains of calls")
        self.assertEqual(sum(stack["samples"] for stack in document["stacks"]), document["samples"])
        self.assertTrue(any(len(stack["functions"]) > 1 for stack in document["stacks"]))
        self.assertTrue(all(len(stack["functions"]) <= 33 for stack in document["stacks"]))
        self.assertEqual(self.profile(budget="0.2s")["stacks"], [])

    def test_the_hottest_function_is_listed_with_its_samples(self):
        listing = self.profile_in_full("--listing", "hottest", seconds=1)["listing"]
        self.assertFalse(listing["exact"] and listing["samples"] == 0)
        self.assertEqual(sum(each["samples"] for each in listing["instructions"]), listing["samples"])
        self.assertEqual(listing["bytes"], listing["bytes_listed"])
        self.assertGreater(len(listing["instructions"]), 10)
        text = self.plumb("profile", MODEL, "--budget", "1s", "--listing", "hottest").stdout
        self.assertIn("instruction", text)
        refused = self.plumb("profile", MODEL, "--budget", "0.2s", "--listing", "absent_function", expect=2).stderr
        self.assertIn("name one of the hottest", refused)

    def test_each_clock_of_this_machine_samples(self):
        for clock in ("thread", "cpu-clock", "timer"):
            document = self.profile_until(lambda document: document["samples"] > 20, "--clock", clock, "--rate", "500Hz", seconds=1)
            self.assertEqual((document["clock"], document["asked_hertz"], document["refused"]), (clock, 500, ""))
            self.assertGreater(document["samples"], 20)

    def test_signals_leave_the_data_of_generated_code(self):
        model = self.folder / "product.onnxtxt"
        model.write_text(PRODUCT)
        for clock in ("thread", "timer"):
            document = self.profile_until(lambda document: document["samples"] > 100, "--clock", clock, "--rate", "10kHz", model=model)
            if not any(step["variant"].startswith("impl=gemm:jit") for step in document["steps"]):
                self.skipTest(f"another kernel computes the product: {document['steps']}")
            self.assertGreater(document["samples"], 100)

    def test_the_kernels_of_another_instruction_set_are_named(self):
        folder = self.folder / "plumb/stacks/slow"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text('backend = "onednn"\nlibraries = ["libdnnl.so.3"]\n[variables]\nONEDNN_MAX_CPU_ISA = "SSE41"\n')

        def appeared(function):
            return function["certain"] and function["in_candidate"] and not function["in_baseline"] and function["image"] == "generated"

        self.assert_found(appeared, (), ("--stack", "slow"))
        self.assertIn("not in the", self.plumb("profile", "diff", self.folder / "before.json", self.folder / "after.json").stdout)

    def test_a_variant_can_be_forced_and_is_named(self):
        steps = self.profile("--mode", "plain", budget="0.2s")["steps"]
        chosen = next(step for step in steps if step["name"] == "conv25")
        rows = self.json("layer", chosen["key"])["rows"]
        timed = [row["variant"] for row in rows if row["outcome"] in ("ok", "unstable")]
        others = [variant for variant in timed if variant.split(";")[0] != chosen["variant"].split(";")[0]]
        if not others:
            self.skipTest(f"oneDNN has one implementation alone: {rows}")

        def of_the_forced(function):
            return function["certain"] and function["step"].startswith("conv25")

        document = self.assert_found(of_the_forced, ("--mode", "plain"), ("--force", f"conv25={others[0]}"))
        self.assertEqual(document["mode"], "best_variant")
        self.assertEqual({step["variant"] for step in document["steps"] if step["name"] == "conv25"}, {others[0]})

    def test_what_cannot_be_profiled_is_refused(self):
        def refusal(*arguments, expect=2):
            return self.plumb("profile", *arguments, expect=expect).stderr

        self.assertIn("which model", refusal())
        self.assertIn("--run", refusal("lenet", "--mode", "best_variant"))
        self.assertIn(".svg", refusal("lenet", "-o", self.folder / "profile.txt"))
        self.assertIn("LAYER=VARIANT", refusal(MODEL, "--force", "conv99=impl=ref:any"))
        self.assertIn("--mode", refusal(MODEL, "--force", "conv0=impl=ref:any", "--mode", "plain"))
        self.assertIn("impl=none", refusal(MODEL, "--budget", "0.2s", "--force", "conv0=impl=none"))
        self.assertIn("cannot be sampled", refusal("lenet", "--stack", "fake"))
        self.assertIn("20000", refusal("lenet", "--rate", "30kHz"))
        words = self.folder / "words.json"
        words.write_text("words")
        self.assertIn("words.json", refusal("diff", words, words))
        self.assertIn("absent.json", refusal("diff", "absent.json", words))

    @unittest.skipUnless(LIBRARY.is_file(), "no ONNX Runtime in this Python")
    def test_a_runtime_without_steps_has_functions(self):
        document = self.profile_in_full("--stack", f"{LIBRARY.parent}/")
        self.check_shares(document)
        self.assertEqual((document["steps"], document["share_in_steps"]), ([], 0))
        (library,) = [each for each in document["functions"] if each["image"].startswith("libonnxruntime") and not each["name"]]
        self.assertGreater(library["share"], 0.3, "a stripped library is one entry")


if __name__ == "__main__":
    unittest.main(verbosity=2)
