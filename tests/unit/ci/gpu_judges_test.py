#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the judges of ci/gpu-acceptance documents with numbers: each passes, fails, and is unknown where a field is missing.

Usage: gpu_judges_test.py [unittest arguments].
"""

import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "ci"))
from gpu_acceptance import judges, summary  # noqa: E402

PROFILE = {
    "data_sheet": {
        "memory_bytes_per_second": {"figure": 3.35e12, "least_share": 0.85},
        "bf16_flops_per_second": {"figure": 989.4e12, "least_share": 0.70},
    },
    "properties": {
        "deviceVer": 900,
        "multiProcessorCount": 132,
        "smClockRateKHz": 1980000,
        "totalGlobalMem": 84942979072,
        "maxBlockSize": [1024, 1024, 64],
        "pciDeviceId": 0,
        "driverVer": 13000,
    },
}


def seconds(median, n=50):
    return {"median_seconds": median, "low_seconds": median * 0.99, "high_seconds": median * 1.01, "min_seconds": median * 0.98, "samples": n}


def row(variant, outcome="ok", median=None, error=1e-6, cores="yes", reason=""):
    return {
        "variant": variant,
        "outcome": outcome,
        "seconds": None if median is None else seconds(median),
        "maximum_error": error,
        "tensor_cores": cores,
        "reason": reason,
    }


class Judges(unittest.TestCase):
    def verdict(self, state, function, *arguments, reason=None):
        result = judges.judge(function, *arguments)
        self.assertEqual(result.state, state, result)
        if reason:
            self.assertRegex(" | ".join(result.reasons), reason)
        return result

    def unknown_without(self, function, document, *paths, more=()):
        """Without any of the fields the judgement is unknown and says which field."""
        for path in paths:
            lacking = copy.deepcopy(document)
            inner = lacking
            for name in path[:-1]:
                inner = inner[name]
            del inner[path[-1]]
            self.verdict("unknown", function, lacking, *more, reason=str(path[-1]))

    def test_properties(self):
        live = dict(PROFILE["properties"], deviceName="NVIDIA H100 80GB HBM3", pciDeviceId=7, driverVer=13010)
        self.verdict("passed", judges.judge_properties, live, PROFILE)
        near = self.verdict("passed", judges.judge_properties, dict(live, smClockRateKHz=1900000, totalGlobalMem=84000000000), PROFILE)
        self.assertEqual(near.figures["differences"]["smClockRateKHz"], {"profile": 1980000, "device": 1900000})
        self.verdict("failed", judges.judge_properties, dict(live, smClockRateKHz=1755000), PROFILE, reason="smClockRateKHz is 1755000")
        self.verdict("failed", judges.judge_properties, dict(live, multiProcessorCount=131), PROFILE, reason="multiProcessorCount is 131")
        self.verdict("failed", judges.judge_properties, dict(live, maxBlockSize=[1024, 1024, 32]), PROFILE)
        self.verdict("unknown", judges.judge_properties, live, None, reason="no profile of 'NVIDIA H100")
        self.unknown_without(judges.judge_properties, live, ["deviceVer"], more=(PROFILE,))

    def test_copy(self):
        def copied(rate):  # 256 MiB read and 256 MiB written
            return {"copy": {"array_bytes": 1 << 28, "seconds": seconds(2 * (1 << 28) / rate)}}

        good = self.verdict("passed", judges.judge_copy, copied(3.0e12), PROFILE)
        self.assertAlmostEqual(good.figures["share_of_data_sheet"], 3.0 / 3.35)
        self.assertEqual(good.figures["n"], 50)
        self.verdict("failed", judges.judge_copy, copied(2.8e12), PROFILE, reason="0.836 of the data sheet")
        self.verdict("failed", judges.judge_copy, copied(3.5e12), PROFILE, reason="the clock is wrong")
        self.verdict("failed", judges.judge_copy, {"copy": {"array_bytes": 1 << 28, "seconds": seconds(0.0)}}, PROFILE, reason="no time")
        self.verdict("unknown", judges.judge_copy, copied(3.0e12), None, reason="suites/gpus has no ")
        self.verdict("unknown", judges.judge_copy, copied(3.0e12), {"properties": {}}, reason="suites/gpus has no ")
        self.unknown_without(
            judges.judge_copy,
            copied(3e12),
            ["copy"],
            ["copy", "array_bytes"],
            ["copy", "seconds", "median_seconds"],
            ["copy", "seconds", "samples"],
            more=(PROFILE,),
        )
        broken = copied(3e12)
        broken["copy"]["seconds"]["median_seconds"] = float("nan")
        self.verdict("unknown", judges.judge_copy, broken, PROFILE, reason="not a number")

    def test_product(self):
        flops = 2.0 * 8192**3
        truths = {
            "product": {
                "flops": flops,
                "rows": [row("slow", median=flops / 400e12), row("fast", median=flops / 798e12), row("refused", "unsupported", reason="no")],
            }
        }
        good = self.verdict("passed", judges.judge_product, truths, PROFILE)
        self.assertEqual(good.figures["variant"], "fast")
        self.assertAlmostEqual(good.figures["share_of_data_sheet"], 798 / 989.4)
        slow = {"product": {"flops": flops, "rows": [row("slow", median=flops / 400e12)]}}
        self.verdict("failed", judges.judge_product, slow, PROFILE, reason="0.404 of the data sheet")
        wrong = {"product": {"flops": flops, "rows": [*truths["product"]["rows"], row("bad", "wrong_result", reason="output 0 at [1,2]")]}}
        self.verdict("failed", judges.judge_product, wrong, PROFILE, reason=r"bad: output 0 at \[1,2\]")
        self.verdict(
            "failed",
            judges.judge_product,
            {"product": {"flops": flops, "rows": [row("a", "out_of_memory", reason="2 bytes are free")]}},
            PROFILE,
            reason="2 bytes are free",
        )
        self.verdict("unknown", judges.judge_product, truths, {"data_sheet": {"memory_bytes_per_second": {}}}, reason="suites/gpus has no bf16")
        self.unknown_without(
            judges.judge_product,
            truths,
            ["product", "rows"],
            ["product", "flops"],
            ["product", "rows", 0, "outcome"],
            ["product", "rows", 1, "variant"],
            more=(PROFILE,),
        )

    def test_strict_f32(self):
        f32, tf32 = [row("f32", error=4e-6, cores="no")], [row("tf32", "wrong_result", error=2.7e-4), row("simt", error=4e-6, cores="no")]
        truths = {"strict_f32": {"tolerance": 5e-5, "f32": f32, "tf32": tf32}}
        good = self.verdict("passed", judges.judge_strict_f32, truths, False)
        self.assertEqual((good.figures["f32_error"], good.figures["tf32_error"]), (4e-6, 2.7e-4))
        loose = {"strict_f32": {"tolerance": 6.8e-4, "f32": f32, "tf32": [row("tf32", "ok", error=2.7e-4)]}}
        self.verdict("failed", judges.judge_strict_f32, loose, False, reason="TF32 is accepted as f32: tf32")
        tight = {"strict_f32": {"tolerance": 1e-7, "f32": [row("f32", "wrong_result", reason="an error")], "tf32": tf32}}
        self.verdict("failed", judges.judge_strict_f32, tight, False, reason="an f32 variant is rejected: f32: an error")
        self.verdict(
            "unknown", judges.judge_strict_f32, {"strict_f32": {"tolerance": 5e-5, "f32": f32, "tf32": []}}, False, reason="no variant with TF32"
        )
        self.verdict("unknown", judges.judge_strict_f32, loose, True, reason="test double")
        self.unknown_without(
            judges.judge_strict_f32,
            truths,
            ["strict_f32"],
            ["strict_f32", "tf32"],
            ["strict_f32", "tolerance"],
            ["strict_f32", "tf32", 0, "tensor_cores"],
            more=(False,),
        )

    def test_slopes(self):
        def clocks(slope, kernel):
            return {
                "null_graphs": [{"nodes": 1, **seconds(6e-6)}, {"nodes": 256, **seconds(6e-6 + 255 * 1e-6)}],
                "profiled_slopes": {
                    "rows": [
                        {
                            "elements": 4096,
                            "slope": seconds(0.9 * slope),
                            "slope_profiled": seconds(slope),
                            "kernel_seconds": {"median": kernel, "low": kernel, "high": kernel},
                        }
                    ]
                },
            }

        good = self.verdict("passed", judges.judge_slopes, clocks(21.9e-6, 20e-6))  # 5 % are 1 µs, a node is another
        self.assertAlmostEqual(good.figures["node_seconds"], 1e-6)
        self.verdict("failed", judges.judge_slopes, clocks(22.1e-6, 20e-6), reason="copy of 4096 elements")
        self.verdict("passed", judges.judge_slopes, clocks(19.1e-6, 20e-6))
        self.verdict("failed", judges.judge_slopes, clocks(18.9e-6, 20e-6))  # no launch is faster than its kernel
        self.verdict("unknown", judges.judge_slopes, {"profiled_slopes": {"missing": "no CUPTI", "rows": []}}, reason="no CUPTI")
        self.unknown_without(
            judges.judge_slopes,
            clocks(20e-6, 20e-6),
            ["null_graphs"],
            ["profiled_slopes"],
            ["profiled_slopes", "rows", 0, "kernel_seconds"],
            ["profiled_slopes", "rows", 0, "slope", "median_seconds"],
            ["profiled_slopes", "rows", 0, "slope_profiled", "median_seconds"],
        )

    def test_models(self):
        runs = {mode: {"outputs": [3.0, 4.0], "seconds": [1e-3] * 9} for mode in ("captured", "eager", "streams")}
        good = self.verdict("passed", judges.judge_models, runs)
        self.assertEqual(good.figures["eager"], {"median_seconds": 1e-3, "low_seconds": 1e-3, "high_seconds": 1e-3, "n": 9, "difference": 0.0})
        runs["eager"]["outputs"] = [3.0, 4.0 + 4e-5]  # of a norm of 5: 8e-6
        self.verdict("passed", judges.judge_models, runs)
        runs["eager"]["outputs"] = [3.0, 4.0 + 6e-5]
        self.verdict("failed", judges.judge_models, runs, reason="eager: outputs differ from captured's by 1.2e-05")
        for outputs in ([3.0], [3.0, float("nan")], []):
            runs["eager"]["outputs"] = outputs
            self.verdict("failed", judges.judge_models, runs, reason="eager")
        runs["eager"] = {"failure": "ended by SIGSEGV"}
        self.verdict("failed", judges.judge_models, runs, reason="eager: ended by SIGSEGV")
        self.verdict("unknown", judges.judge_models, {"eager": {"outputs": [1.0], "seconds": [1.0]}}, reason="captured")

    def test_choices(self):
        def document(*rows):
            return {
                "keys": len(rows),
                "asked": len(rows),
                "preview_refusal": "",
                "rows": [
                    {"key": f"v1:conv;{i}", "layout": "NCHW", "live": live, "preview": preview, "same_plan": live == preview}
                    for i, (live, preview) in enumerate(rows)
                ],
            }

        good = self.verdict("passed", judges.judge_choices, document(("engine=1", "engine=1"), (None, None)))
        self.assertEqual(
            {name: good.figures[name] for name in ("keys", "n", "same_engine", "same_plan")}, {"keys": 2, "n": 1, "same_engine": 1, "same_plan": 1}
        )
        other = self.verdict(
            "failed",
            judges.judge_choices,
            document(("engine=1", "engine=1"), ("engine=2", "engine=7"), ("engine=3", None)),
            reason="2 of 3 choices differ",
        )
        self.assertIn("NCHW v1:conv;1: live engine=2, preview engine=7", other.reasons)
        self.verdict("unknown", judges.judge_choices, dict(document(("engine=1", None)), preview_refusal="BAD_PARAM"), reason="BAD_PARAM")
        self.verdict("unknown", judges.judge_choices, document(), reason="no layer has an engine")
        self.verdict("unknown", judges.judge_choices, dict(document(("a", "a")), keys=9), reason="1 of 9 keys were asked for")
        self.unknown_without(judges.judge_choices, document(("a", "a")), ["preview_refusal"], ["rows"], ["keys"], ["asked"], ["rows", 0, "same_plan"])

    def test_tests(self):
        def case(name, **more):
            return {"name": name, "classname": "Layers", "status": "RUN", "result": "COMPLETED", **more}

        def shard(*cases, lost=(), unfinished=None):
            return {"document": {"testsuites": [{"testsuite": list(cases)}]}, "lost": list(lost), "unfinished": unfinished}

        skipped = case("c", result="SKIPPED", skipped=[{"message": "no engine\nmore"}])
        good = self.verdict("passed", judges.judge_tests, {"conv": shard(case("a"), case("b"), skipped, {"status": "NOTRUN"})})
        self.assertEqual(good.figures["conv"], {"n": 3, "skipped": 1, "failed": 0, "lost": 0})
        self.assertEqual(good.figures["skip_reasons"], {"no engine": 1})
        self.verdict("failed", judges.judge_tests, {"conv": shard(case("a"), case("b", failures=[{"failure": "x"}]))}, reason="conv: Layers.b")
        self.verdict(
            "failed", judges.judge_tests, {"conv": shard(case("a")), "gemm": shard(lost=["Layers.d"])}, reason="gemm: ended its process: Layers.d"
        )
        self.verdict(
            "unknown", judges.judge_tests, {"conv": shard(case("a")), "gemm": shard(unfinished="stopped at its limit")}, reason="gemm: stopped"
        )
        self.verdict("unknown", judges.judge_tests, {"conv": shard(skipped)}, reason="no test was executed: no engine")
        self.verdict("unknown", judges.judge_tests, {})

    def test_counters(self):
        def counted(instructions):
            return {
                "variant": "v",
                "attributes": {"metrics": "CUPTI 13", "tensor_cores": "yes"},
                "readings": {"tensor_pipe_instructions": {"median": instructions}, "power_watts": {"median": 1.0}},
            }

        good = self.verdict("passed", judges.judge_counters, {"rows": [counted(4096.0), {"attributes": {}}]})
        self.assertEqual(good.figures["v"], {"tensor_pipe_instructions": 4096.0, "tensor_cores": "yes", "n": 1})
        self.verdict("failed", judges.judge_counters, {"rows": [counted(0.0)]}, reason="no tensor cores")
        self.verdict("unknown", judges.judge_counters, {"rows": [{"attributes": {"metrics_missing": "privileges"}}]}, reason="privileges")
        self.verdict("unknown", judges.judge_counters, {"rows": []})
        self.verdict("unknown", judges.judge_counters, {})

    def test_suite(self):
        model = {
            "model": "lenet",
            "dtype": "f32",
            "batch": 1,
            "executions": [{"mode": "plain", "median_seconds": 2e-3, "low": 1.9e-3, "high": 2.1e-3, "samples": 40}],
            "bounds": [{"kind": "library", "mode": "plain", "seconds": 1e-3, "complete": True}],
        }
        good = self.verdict("passed", judges.judge_suite, 0, {"models": [model]})
        self.assertEqual(good.figures["lenet, f32, batch 1, plain"]["n"], 40)
        model["bounds"][0]["seconds"] = 3e-3
        self.verdict("failed", judges.judge_suite, 0, {"models": [model]}, reason="the bound 0.003 s exceeds")
        model["bounds"][0]["low"] = 2.05e-3
        self.verdict("passed", judges.judge_suite, 0, {"models": [model]})
        model["bounds"][0]["low"] = 2.5e-3
        self.verdict("failed", judges.judge_suite, 0, {"models": [model]}, reason="the bound 0.003 s exceeds")
        model["bounds"][0]["complete"] = False
        self.verdict("passed", judges.judge_suite, 0, {"models": [model]})
        self.verdict("failed", judges.judge_suite, 70, {"models": [model]}, reason="ended with 70")
        self.verdict("unknown", judges.judge_suite, 75, {"models": [model]}, reason="try again")
        self.assertEqual(self.verdict("unknown", judges.judge_suite, None, {"models": [model]}, reason="stopped at its limit").figures, good.figures)
        self.verdict("unknown", judges.judge_suite, 0, {"models": []}, reason="no model")
        del model["executions"][0]["median_seconds"]
        self.verdict("unknown", judges.judge_suite, 0, {"models": [model]}, reason="median_seconds")

    def test_peers(self):
        ours, theirs = {"name": "plumb plain", "seconds": {"median": 1e-3, "n": 9}, "ratio": None}, {
            "name": "pytorch-eager",
            "seconds": {"median": 2e-3, "n": 9},
            "ratio": {"median": 2.0},
        }
        entry = {"model": "lenet", "dtype": "f32", "batch": 1, "sides": [ours, theirs], "missing": {}}
        good = self.verdict("passed", judges.judge_peers, [{"models": [entry]}])
        self.assertEqual(good.figures["lenet, f32, batch 1: pytorch-eager"], {"median_seconds": 2e-3, "n": 9, "ratio": 2.0})
        alone = dict(entry, sides=[ours], missing={"pytorch-eager": "PyTorch is not installed"})
        self.verdict("skipped", judges.judge_peers, [{"models": [alone]}], reason="not installed")
        self.verdict(
            "failed",
            judges.judge_peers,
            [{"models": [dict(alone, missing={"pytorch-eager": "its outputs differ from plumb's by 1"})]}],
            reason="outputs differ",
        )
        self.verdict("unknown", judges.judge_peers, [{}])

    def test_joined(self):
        one = {
            state: judges.Judgement(state, [f"{state}!"] if state != "passed" else [], {"n": 1})
            for state in ("passed", "failed", "unknown", "skipped")
        }
        self.assertEqual(judges.joined({"a": one["passed"], "b": one["unknown"], "c": one["failed"]}).state, "failed")
        both = judges.joined({"a": one["passed"], "b": one["unknown"]})
        self.assertEqual((both.state, both.reasons), ("unknown", ["b: unknown!"]))
        self.assertEqual(judges.joined({"a": one["passed"], "b": one["skipped"]}).state, "passed")
        self.assertEqual(judges.joined({}).state, "unknown")

    def test_medians_have_the_interval_of_their_ranks(self):
        # Conover's table: of 9 values the 2nd and 8th, of 100 the 40th and 61st; of 5 their range.
        for n, low, high in ((9, 2, 8), (100, 40, 61), (5, 1, 5)):
            figure = judges.median_of([float(value) for value in range(1, n + 1)])
            self.assertEqual((figure["low_seconds"], figure["high_seconds"], figure["n"]), (low, high, n))

    def test_the_status_of_a_call(self):
        def status(*states):
            return summary.verdict({str(i): {"state": state} for i, state in enumerate(states)}, [str(i) for i in range(len(states))])

        self.assertEqual([status("passed", "skipped"), status("passed", "unknown"), status("unknown", "failed")], [0, 75, 1])
        self.assertEqual(summary.verdict({}, ["warm"]), 75, "what has not run is not green")


if __name__ == "__main__":
    unittest.main()
