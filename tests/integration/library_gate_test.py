#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gates pull requests to a library that is built from the repository, as a CI server would: real oneDNN, in an otherwise empty repository.

A busy host has no verdict, and then the test of a slower library is skipped. Usage: library_gate_test.py BUILD_FOLDER [unittest
arguments]. Exits with 77 (skipped) without PyYAML.
"""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
try:
    from pipeline_case import PipelineCase, cases
except ModuleNotFoundError as missing:
    if missing.name != "yaml":
        raise
    print("skipped: no PyYAML here; install python3-yaml, or run ci/setup test")
    sys.exit(77)
from bundle import cache_entry

PipelineCase.build = pathlib.Path(sys.argv.pop(1)).resolve()

TINY = '[suite]\nname = "tiny"\nversion = 1\nreuse = "never"\n[defaults]\ncache = ["none"]\n[[model]]\nname = "lenet"\n'
#: A library of two files. The second decides which code the first takes.
BUILD = """#!/bin/sh
set -e
mkdir -p build
{compiler} -shared -fPIC -o build/libtuning.so tuning.c
cp "{library}" build/libdnnl.so.3
"""
TUNED = "int tuned = 1;\n"
UNTUNED = """extern int dnnl_set_max_cpu_isa(int);
__attribute__((constructor)) static void forget_the_processor(void) { dnnl_set_max_cpu_isa(1); }  /* SSE4.1 */
"""
OWN = {"github.event.pull_request.head.repo.full_name": "owner/library", "github.repository": "owner/library"}
FORK = {**OWN, "github.event.pull_request.head.repo.full_name": "stranger/library"}


class LibraryGate(PipelineCase):
    """Pull requests to a library that is built from the repository: real oneDNN."""

    def setUp(self):
        super().setUp()
        del self.environment["PLUMB_WORKER_PATH"]  # the bundle has its own worker
        self.settings |= {"BUILD": "./build.sh", "LIBRARY": "build/libdnnl.so.3 build/libtuning.so", "PLUMB_BUDGET": "60s"}
        build = BUILD.format(compiler=cache_entry(self.build, "CMAKE_C_COMPILER"), library=cache_entry(self.build, "PLUMB_ONEDNN_LIBRARY"))
        self.base = self.commit({"tiny.toml": TINY, "build.sh": build, "tuning.c": TUNED, ".gitignore": "build/\n"}, "base")

    def propose(self, files):
        """Makes a pull request, and checks out its merge as GitHub does."""
        self.git("checkout", "--quiet", "--detach", self.base)
        change = self.commit(files)
        self.git("checkout", "--quiet", "--detach", self.base)
        self.git("merge", "--quiet", "--no-ff", "-m", "merge", change)

    def test_github_lets_an_unchanged_library_pass(self):
        self.propose({"readme.txt": "words\n"})
        printed = self.github("pull-request", event=OWN)
        self.assertRegex(printed, r"candidate +onednn +libdnnl ", "each stack says which files were mapped")
        self.assertNotIn("Reject", self.summary.read_text())
        tests, failures = cases(self.reports / "junit.xml")
        self.assertGreater(tests, 0)
        self.assertEqual(failures, 0)
        self.assertFalse((self.folder / "store.db").exists(), "what a pull request measures stays in its job")

    def test_github_stops_a_slower_library(self):
        self.propose({"tuning.c": UNTUNED})
        self.settings["PLUMB_BUDGET"] = "1us"
        self.github("pull-request", event=OWN)
        self.assertIn("not enough evidence", self.summary.read_text().lower().replace("_", " "))
        self.settings |= {"PLUMB_BUDGET": "60s", "PLUMB_INCONCLUSIVE": "fail"}
        printed = self.github("pull-request", expect=1, event=OWN)
        self.assertIn("Reject", self.summary.read_text())
        self.assertRegex(printed, r"(?m)^::error ")
        self.assertGreater(cases(self.reports / "junit.xml")[1], 0)
        self.assertGreater((self.reports / "qualification.html").stat().st_size, 10000)

    def test_gitlab_stops_a_slower_library(self):
        self.git("checkout", "--quiet", "--detach", self.base)
        self.commit({"tuning.c": UNTUNED})
        event = {
            "CI_PIPELINE_SOURCE": "merge_request_event", "CI_PROJECT_PATH": "owner/library", "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "owner/library",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": self.base, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "",
        }
        self.gitlab("merge-request", expect=1, event=event)
        self.assertGreater(cases(self.lab.reports["junit"])[1], 0)
        self.assertIn("Reject", (self.reports / "summary.md").read_text())
        self.assertIsNone(self.gitlab("merge-request", event={**event, "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "stranger/library"}), "a fork")

    def test_a_fork_s_code_does_not_run(self):
        self.propose({"build.sh": "#!/bin/sh\ntouch /tmp/harm\n"})
        self.assertIsNone(self.github("pull-request", event=FORK))

    def test_a_library_that_cannot_be_loaded_fails_the_job(self):
        self.propose({"build.sh": "#!/bin/sh\nmkdir -p build; echo nothing >build/libtuning.so; cp build/libtuning.so build/libdnnl.so.3\n"})
        printed = self.github("pull-request", expect=3, event=OWN)
        self.assertIn("cannot be loaded", printed)
        self.assertIn("::warning title=no report", printed)

    def test_the_branch_s_own_library_is_followed(self):
        self.environment["PLUMB_BASELINE_RUNS"] = "1"
        self.github("regression")
        self.assertIn("is the baseline now", self.summary.read_text())
        self.assertGreater(cases(self.reports / "junit.xml")[0], 0)
        self.settings["PLUMB_INCONCLUSIVE"] = "fail"
        self.commit({"tuning.c": UNTUNED})
        self.github("regression", expect=1)
        self.assertIn("## Plumbline: regressed", self.summary.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
