#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ci/gpu-acceptance over little programs that misbehave: they hang, crash, print garbage, fill their log, and are killed.

Usage: gpu_acceptance_test.py [unittest arguments].
"""

import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "ci"))
from gpu_acceptance import evidence, libraries, process, run, steps, summary  # noqa: E402
from gpu_acceptance.judges import Judgement  # noqa: E402

IDENTITY = {"gpu": "A fake", "driver": "1"}
ENVIRONMENT = json.dumps({"environment": "e", "environments": {"e": {"identity": IDENTITY, "facts": {}}}})


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, path, text):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/bash\n{text}\n")
        file.chmod(0o755)
        return file

    def until(self, condition, what):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)


class Programs(Case):
    def call(self, seconds=60):
        return process.Call(self.folder, dict(os.environ), time.monotonic() + seconds)

    def broken(self, text, limit=10, **more):
        with self.assertRaises(process.Broken) as caught:
            self.call().document("one", [self.script("program", text)], limit, **more)
        return caught.exception.judgement

    def test_hangs(self):
        """Neither the program nor what it started outlives its limit, though both ignore the request to end."""
        with mock.patch.object(process, "GRACE_SECONDS", 0.2):
            judgement = self.broken(f"trap '' TERM\n(trap '' TERM; sleep 300) & echo $! $$ > {self.folder}/pids\nwait; sleep 300", limit=4)
        self.assertEqual(judgement.state, "unknown")
        self.assertRegex(judgement.reasons[0], "one was stopped at its limit of 4 s")
        pids = [int(word) for word in (self.folder / "pids").read_text().split()]
        self.until(lambda: not any(map(alive, pids)), "what a program started is ended with it")

    def test_leaves_something_behind(self):
        self.script("program", f"sleep 300 & echo $! > {self.folder}/pid; echo '{{}}'")
        self.assertEqual(self.call().document("one", [self.folder / "program"], 10), {})
        pid = int((self.folder / "pid").read_text())
        self.until(lambda: not alive(pid), "a program's child is ended after it")

    def test_crashes(self):
        judgement = self.broken("kill -SEGV $$")
        self.assertEqual((judgement.state, judgement.reasons), ("failed", ["one was ended by SIGSEGV"]))

    def test_ends_badly(self):
        judgement = self.broken("echo first >&2; echo 'an illegal address' >&2; exit 70")
        self.assertEqual((judgement.state, judgement.reasons), ("failed", ["one ended with 70: an illegal address"]))
        self.assertEqual(self.broken("exit 77").state, "unknown", "what says that it lacks something")
        self.assertEqual(self.broken("exit 3").state, "unknown")

    def test_prints_garbage(self):
        for text in ("echo '{\"half\":'", "echo text", "true", "echo '[1]'", "head -c 100 /dev/urandom"):
            judgement = self.broken(text)
            self.assertEqual(judgement.state, "failed", text)
            self.assertRegex(judgement.reasons[0], "one.json is not a JSON")

    def test_fills_its_log(self):
        with mock.patch.object(process, "MOST_WRITTEN", 1 << 20):
            judgement = self.broken("yes word >&2; yes word")
        self.assertEqual(judgement.state, "failed")
        self.assertLessEqual((self.folder / "one.log").stat().st_size, 1 << 20)

    def test_is_not_there(self):
        with self.assertRaisesRegex(process.Broken, "one does not start"):
            self.call().run("one", [self.folder / "nothing"], 5)

    def test_has_no_time(self):
        with self.assertRaisesRegex(process.Broken, "no time is left for one"):
            self.call(0.5).run("one", [self.script("program", "true")], 5)


class Tests(Case):
    """A program of GoogleTest that loses its process at one test; a fake, in shell."""

    FAKE = r'''
for word in "$@"; do case $word in
  --gtest_filter=*) filter=${word#*=} ;;
  --gtest_output=json:*) file=${word#*:} ;;
esac; done
cases=
for test in ${filter//:/ }; do
  echo "[ RUN      ] $test"
  [[ $test == *lost* ]] && kill -SEGV $$
  [[ $test == *hangs* ]] && sleep 300
  echo "[       OK ] $test (1 ms)"
  cases="$cases${cases:+,}{\"name\": \"${test#*.}\", \"classname\": \"${test%%.*}\", \"status\": \"RUN\", \"result\": \"COMPLETED\"}"
done
echo "{\"testsuites\": [{\"testsuite\": [$cases]}]}" > "$file"'''

    def shard(self, *tests, limit=20):
        call = process.Call(self.folder, dict(os.environ), time.monotonic() + 60)
        return steps.run_shard(call, "conv", [self.script("tests", self.FAKE)], list(tests), limit)

    def test_an_illegal_address_costs_one_test(self):
        shard = self.shard("A.a", "A.lost", "A.b", "B.lost_too", "B.c")
        self.assertEqual(shard["lost"], ["A.lost", "B.lost_too"])
        self.assertIsNone(shard["unfinished"])
        names = {case["name"].rpartition(".")[2] for suite in shard["document"]["testsuites"] for case in suite["testsuite"]}
        self.assertEqual(names, {"a", "b", "c"})

    def test_a_shard_that_hangs_says_where(self):
        shard = self.shard("A.a", "A.hangs", "A.b", limit=4)
        self.assertEqual(shard["unfinished"], "stopped at its limit in A.hangs")

    def test_the_listing_is_parted_by_operators(self):
        listing = "Running main()\nLayers.\n  x/cuda_conv  # GetParam() = (cuda, v1:conv;in=f32[1])\n  x/cuda_gemm  # GetParam() = (cuda, v1:gemm_bias_gradient;in)\nModels.\n  whole/cuda\n"
        tests = steps.listed_tests(listing)
        self.assertEqual(tests, [("Layers.x/cuda_conv", "conv"), ("Layers.x/cuda_gemm", "gemm_bias_gradient"), ("Models.whole/cuda", None)])
        self.assertEqual([steps.shard_of(operator) for _, operator in tests], ["convolutions", "products", "models"])
        self.assertEqual([steps.shard_of(name) for name in ("softmax", "eltwise", "lstm")], ["norms", "others", "sequences"])

    def test_reasons_of_skips_come_from_the_log(self):
        suites = [{"testsuite": [{"classname": "A", "name": "b", "result": "SKIPPED"}]}]
        out = "[ RUN      ] A.b\nx.cpp:1: Skipped\nunsupported: nothing\nmore\n[  SKIPPED ] A.b (1 ms)\n"
        self.assertEqual(steps.with_skip_reasons(suites, out)[0]["testsuite"][0]["skipped"], [{"message": "unsupported: nothing"}])


class Kept(Case):
    def keep(self, kept, step, content=b"x", state="passed"):
        (kept.folder(step) / "data.bin").write_bytes(content)
        kept.keep(
            {"step": step, "state": state, "reasons": [], "figures": {"n": 1}, "seconds": 1.0}, lambda results: summary.text_of(results, run.NAMES)
        )

    def members(self, out):
        names = []
        for file in sorted(out.glob("evidence-*.tar")):
            with tarfile.open(file) as tar:
                for member in tar.getmembers():
                    with tarfile.open(fileobj=io.BytesIO(tar.extractfile(member).read()), mode="r:xz") as inner:
                        names += inner.getnames()
        return names

    @mock.patch.object(evidence, "MOST_BYTES", 1 << 20)
    def test_out_has_at_most_eight_files_of_a_size(self):
        kept = evidence.Evidence(self.folder / "work", self.folder / "out")
        for name in run.NAMES:  # 10 steps of 400 KiB that no packer makes smaller
            self.keep(kept, name, os.urandom(400 << 10))
            files = list(kept.out.iterdir())
            self.assertLessEqual(len(files), 8)
            self.assertLessEqual(max(file.stat().st_size for file in files), (1 << 20) + (64 << 10))
        self.assertEqual(len([name for name in self.members(kept.out) if name.endswith("data.bin")]), len(run.NAMES))

    def test_the_size_is_sixteen_mebibytes(self):
        self.assertLessEqual(evidence.MOST_BYTES + (64 << 10), 16 << 20)
        self.assertEqual(evidence.MOST_ARCHIVES + len(("summary.md", "results.json")), 8)

    @mock.patch.object(evidence, "MOST_BYTES", 1 << 20)
    def test_what_is_too_large_is_left_out_and_said(self):
        kept = evidence.Evidence(self.folder / "work", self.folder / "out")
        (kept.folder("quick") / "huge.bin").write_bytes(os.urandom(2 << 20))
        self.keep(kept, "quick")
        self.assertEqual(kept.results["quick"]["reasons"], ["evidence left out, too large: huge.bin"])
        self.assertEqual([name for name in self.members(kept.out) if name.endswith(".bin")], ["quick/data.bin"])

    def test_more_than_six_archives_have_no_place(self):
        parted, left_out = evidence.groups([(str(i), 15 << 20) for i in range(8)])
        self.assertEqual((len(parted), left_out), (6, ["6", "7"]))

    def test_long_logs_keep_both_ends(self):
        log = self.folder / "a.log"
        log.write_bytes(b"begin" + b"." * (5 << 20) + b"end")
        evidence.shorten(log)
        text = log.read_bytes()
        self.assertTrue(text.startswith(b"begin") and text.endswith(b"end") and b"bytes are left out" in text)
        self.assertLess(len(text), 3 << 20)

    def test_a_machine_that_lost_its_work_takes_it_up_from_out(self):
        self.keep(evidence.Evidence(self.folder / "work", self.folder / "out"), "warm")
        again = evidence.Evidence(self.folder / "fresh", self.folder / "out")
        self.assertEqual(again.results["warm"]["state"], "passed")
        self.keep(again, "checks")
        self.assertEqual(sorted(name.split("/")[0] for name in self.members(again.out) if name.endswith("data.bin")), ["checks", "warm"])

    def test_half_written_results_are_none(self):
        out = self.folder / "out"
        out.mkdir()
        (out / "results.json").write_text('{"steps": [{"step": "warm"')
        self.assertEqual(evidence.Evidence(self.folder / "work", out).results, {})


class Libraries(Case):
    def test_the_path_of_the_loader_is_extended(self):
        found = {"cuDNN 9": self.folder / "a/libcudnn.so.9", "cuBLASLt": self.folder / "b/libcublasLt.so.13"}
        variables = libraries.environment(found, self.folder / "plumb", {"LD_LIBRARY_PATH": "/driver:/more", "A": "1"})
        self.assertEqual(variables["LD_LIBRARY_PATH"], f"{self.folder}/a:{self.folder}/b:{self.folder}/plumb/lib/plumb:/driver:/more")
        self.assertEqual((variables["A"], variables["PLUMB_TEST_CUDNN"]), ("1", str(found["cuDNN 9"])))
        self.assertFalse(libraries.environment(found, self.folder, {})["LD_LIBRARY_PATH"].endswith(":"), "an empty entry is the current folder")

    def test_named_folders_come_first(self):
        for folder in ("one", "two"):
            (self.folder / folder).mkdir()
            (self.folder / folder / "libcudnn.so.9").touch()
        folders = libraries.places({"PLUMB_GPU_LIBRARIES": f"{self.folder}/one:{self.folder}/two", "CUDA_HOME": "/cuda"})
        self.assertEqual(libraries.find(folders)["cuDNN 9"], self.folder / "one/libcudnn.so.9")
        self.assertIn("/cuda/extras/CUPTI/lib64", folders)
        self.assertEqual(libraries.missing({}), ["cuDNN 9 (libcudnn.so.9)", "cuBLASLt (libcublasLt.so.1[23])"])


class Calls(Case):
    """Whole calls over a bundle of fake programs."""

    def setUp(self):
        super().setUp()
        for name in ("libcudnn.so.9", "libcublasLt.so.13"):
            (self.folder / "nvidia" / name).parent.mkdir(exist_ok=True)
            (self.folder / "nvidia" / name).touch()
        self.plumb(ENVIRONMENT)
        self.checks("exit 1")
        (self.folder / "plumb/share/plumb/suites/gpus").mkdir(parents=True)

    def plumb(self, environment):
        (self.folder / "environment.json").write_text(environment)
        self.script("plumb/bin/plumb", f'[ "$1" = env ] && cat {self.folder}/environment.json || {{ echo "fake: $*" >&2; exit 70; }}')

    def checks(self, text):
        self.script("plumb/tests/plumb_gpu_checks", text)

    def command(self, *words, folders=None):
        variables = {"PATH": os.environ["PATH"], "PLUMB_GPU_LIBRARIES": folders or f"{self.folder}/nvidia", "CUDA_HOME": "/nowhere"}
        command = [
            sys.executable,
            ROOT / "ci/gpu-acceptance",
            "run",
            self.folder / "plumb",
            self.folder / "out",
            "--work",
            self.folder / "work",
            *words,
        ]
        return [str(word) for word in command], variables

    def run_call(self, *words, expect, **more):
        command, variables = self.command(*words, **more)
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def results(self):
        return {one["step"]: one for one in json.loads((self.folder / "out/results.json").read_text())["steps"]}

    @unittest.skipIf("cuDNN 9" in libraries.find(libraries.places({"CUDA_HOME": "/nowhere"})), "there is a cuDNN here")
    def test_without_libraries(self):
        (self.folder / "nvidia/libcudnn.so.9").unlink()
        self.assertRegex(self.run_call(expect=3).stderr, r"not found: .*cuDNN 9 \(libcudnn.so.9\)")

    def test_without_a_gpu(self):
        self.plumb(json.dumps({"environment": "e", "environments": {"e": {"identity": {}, "facts": {"gpu.missing": "no NVIDIA driver"}}}}))
        self.assertIn("there is no GPU: no NVIDIA driver", self.run_call(expect=3).stderr)
        self.assertEqual(self.results()["warm"]["state"], "unknown")

    def test_a_failed_step_does_not_stop_the_next(self):
        self.run_call("checks", "counters", expect=1)
        results = self.results()
        self.assertEqual({name: one["state"] for name, one in results.items()}, {"warm": "passed", "checks": "failed", "counters": "failed"})
        self.assertIn("| counters | failed |", (self.folder / "out/summary.md").read_text())
        self.assertEqual(sorted(file.name for file in (self.folder / "out").iterdir()), ["evidence-1.tar", "results.json", "summary.md"])

    def test_a_call_goes_on_where_the_last_one_ended(self):
        self.run_call("checks", expect=1)
        done = self.run_call("--minutes", "0.5", expect=1)  # 15 s: nothing fits
        self.assertIn("counters   not run: ", done.stdout)
        self.assertNotIn("checks ", done.stdout)

    def test_a_wrong_step(self):
        self.assertIn("no step 'check': the steps are warm checks", self.run_call("check", expect=1).stderr)

    def test_killed_in_a_step(self):
        """Of a call that is killed all that ended before is in OUT, and the next one begins with what was not tried."""
        self.checks(f"touch {self.folder}/begun; sleep 300")
        for number, expect in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
            (self.folder / "begun").unlink(missing_ok=True)
            command, variables = self.command("checks")
            with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True) as call:
                self.until((self.folder / "begun").exists, "the step begins")
                call.send_signal(number)
                self.assertEqual(call.wait(20), expect)
            results = self.results()
            self.assertEqual((results["warm"]["state"], results["checks"]["state"]), ("passed", "unknown"))
            self.assertEqual(results["checks"]["reasons"], [run.CUT_OFF])
        order = [name for name, _ in run.steps_of([], results, fresh=False)]
        self.assertEqual((order[0], order[-1]), ("models", "checks"))

    def test_a_defect_of_a_step_costs_one_step(self):
        step = steps.Step("checks", 1, 9, lambda call, machine: 1 / 0, "")
        kept = evidence.Evidence(self.folder / "work", self.folder / "out")
        judgement = run.run_step(step, None, kept, {}, 9, False)
        self.assertEqual(judgement, Judgement("unknown", ["a defect of this script: ZeroDivisionError: division by zero"]))

    def test_the_page_says_that_a_double_is_none(self):
        text = summary.text_of(
            {"warm": {"state": "passed", "seconds": 1.0, "reasons": [], "figures": {"identity": {"gpu": "Plumbline test double (no GPU)"}}}},
            run.NAMES,
        )
        self.assertIn("No figure below is a time.", text)
        self.assertNotIn(
            "test double", summary.text_of({"warm": {"state": "passed", "seconds": 1.0, "reasons": [], "figures": {"identity": IDENTITY}}}, run.NAMES)
        )


if __name__ == "__main__":
    unittest.main()
