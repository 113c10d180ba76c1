#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the pipeline templates as a CI server would, in a repository that has nothing of Plumbline but them: what they install is a bundle.

The fake worker measures; library_gate_test.py has real libraries. Usage: pipelines_test.py BUILD_FOLDER [unittest arguments]. Exits
with 77 (skipped) without PyYAML.
"""

import pathlib
import re
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
from review_server import TOKEN, ReviewServer

PipelineCase.build = pathlib.Path(sys.argv.pop(1)).resolve()

TINY = '[suite]\nname = "tiny"\nversion = 1\nreuse = "never"\n[defaults]\ncache = ["none"]\n[[model]]\nname = "lenet"\n'
#: Every product is slower, and so is the model: for the fake worker.
SLOW = '[[rule]]\nmatch = "v1:matmul;*"\nseconds = 0.001\n'


class Templates(PipelineCase):
    def texts(self):
        return {path: path.read_text() for path in [*self.templates.glob("github/*.yml"), *self.templates.glob("gitlab/*.yml")]}

    def test_a_template_stands_alone(self):
        self.assertEqual(len(self.texts()), 8)
        for path, text in self.texts().items():
            self.assertNotRegex(text, r"ci/templates|\bsuites/|\.\./", f"{path} has a path into this repository")
            self.assertNotRegex(text, r"\b[\w-]+\.(io|com|org|net)\b", f"{path} names a host")
            for name in ("PLUMB_BUNDLE", "PLUMB_HOME", "PLUMB_SUITE"):
                self.assertIn(name, text)

    def test_every_step_that_is_called_is_in_the_bundle_and_every_step_is_called(self):
        steps = {path.name: path for path in (self.templates / "steps").iterdir()}
        callers = "\n".join([*self.texts().values(), *(path.read_text() for path in steps.values())])
        called = set(re.findall(r"(?:PLUMB_STEPS|PLUMB_STEPS:\?[^}]*\}|here)/([a-z-]+)\"", callers))
        self.assertEqual(called, set(steps))
        for path in steps.values():
            self.assertTrue(path.stat().st_mode & 0o111, path)

    def test_a_job_without_a_bundle_says_so(self):
        self.commit({"tiny.toml": TINY})
        self.settings["PLUMB_BUNDLE"] = str(self.folder / "missing.tar.xz")
        self.assertRegex(self.github("regression", expect=2), r"missing.tar.xz[\s\S]*Plumbline is not installed")
        self.gitlab("regression", expect=2, event={"CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"})


class Stacks(PipelineCase):
    """The step that makes libraries a stack."""

    def test_a_library_becomes_a_stack_with_its_variables(self):
        del self.environment["PLUMB_WORKER_PATH"]
        library = cache_entry(self.build, "PLUMB_ONEDNN_LIBRARY")
        printed = self.step(f'stack mine "{library}" ONEDNN_MAX_CPU_ISA=AVX2')
        self.assertIn(f"{self.folder}/plumb/stacks/mine/lib/libdnnl.so.3", printed)
        (listed,) = [stack for stack in self.json_of("stacks", "list")["stacks"] if stack["name"] == "mine"]
        self.assertEqual(listed["problems"], [])
        self.assertIn("ONEDNN_MAX_CPU_ISA = 'AVX2'", (self.folder / "plumb/stacks/mine/stack.toml").read_text())
        self.step(f'stack mine "{library}"')
        self.assertNotIn("AVX2", (self.folder / "plumb/stacks/mine/stack.toml").read_text(), "it was replaced")
        self.assertEqual([path.name for path in (self.folder / "plumb/stacks").iterdir() if path.name.startswith(".")], [])

    def json_of(self, *arguments):
        self.environment["XDG_DATA_HOME"] = str(self.folder)
        return self.json(*arguments)

    def test_what_is_wrong_is_said(self):
        (self.project / "lib.so").write_text("")
        (self.project / "other").mkdir()
        (self.project / "other/lib.so").write_text("")
        for arguments, expected in (
            ("", "usage"),
            ("../x lib.so", "cannot be called '../x'"),
            ("default lib.so", "cannot be called 'default'"),
            ("mine", "usage"),
            ("mine nowhere.so", "there is no library 'nowhere.so'"),
            ("mine lib.so other/lib.so", "two libraries are called 'lib.so'"),
            ("mine lib.so \"A=it's\"", "a quote"),
        ):
            with self.subTest(arguments):
                status = 1 if arguments == "" else 2
                self.assertIn(expected, self.step(f"stack {arguments}", expect=status))
        self.assertFalse((self.folder / "plumb/stacks/mine").exists())


class History(PipelineCase):
    """The branch's pipeline, with the fake worker."""

    EVENT = {"CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}

    def setUp(self):
        super().setUp()
        self.commit({"tiny.toml": TINY})
        self.environment["PLUMB_STACK"] = "fake"

    def test_github_first_runs_then_same_then_slower(self):
        self.github("regression")
        self.assertIn("is the baseline now", self.summary.read_text())
        self.assertGreater(cases(self.reports / "junit.xml")[0], 0)
        listed = self.baselines()
        self.assertEqual(len(listed), 1)
        self.github("regression")
        self.assertIn("## Plumbline: equivalent", self.summary.read_text())
        self.stack("fake", SLOW)
        printed = self.github("regression", expect=1)
        self.assertIn("## Plumbline: regressed", self.summary.read_text())
        annotations = [line for line in printed.splitlines() if line.startswith("::error ")]
        self.assertTrue(annotations and len(annotations) <= 10)
        for name in ("comparison.html", "run.html", "junit.xml", "metrics.txt"):
            self.assertGreater((self.reports / name).stat().st_size, 100, name)
        self.assertEqual(self.baselines(), listed, "a regression never becomes the baseline by itself")

    def baselines(self):
        return self.json("--store", self.settings["PLUMB_STORE"], "baseline", "list")["baselines"]

    def test_the_first_baseline_is_the_middle_of_several_runs(self):
        self.github("regression")
        runs = self.json("--store", self.settings["PLUMB_STORE"], "runs")["runs"]
        self.assertEqual(len(runs), 5)
        self.assertEqual({run["state"] for run in runs}, {"finished"})

    def test_gitlab_leaves_what_its_reports_name(self):
        self.assertIsNone(self.gitlab("regression", event={**self.EVENT, "CI_COMMIT_BRANCH": "topic"}))
        self.gitlab("regression", event=self.EVENT)
        self.assertEqual(set(self.lab.reports), {"junit", "metrics"})
        self.stack("fake", SLOW)
        self.gitlab("regression", expect=1, event=self.EVENT)
        self.assertGreater(cases(self.lab.reports["junit"])[1], 0)
        metrics = self.lab.reports["metrics"].read_text()
        self.assertTrue(metrics.endswith("# EOF\n"))
        self.assertIn("plumb_", metrics)

    def test_two_stacks_are_compared_and_the_slower_one_is_rejected(self):
        self.stack("slower", SLOW)
        self.step("qualify fake fake tiny.toml")
        self.assertEqual(cases(self.reports / "junit.xml")[1], 0)
        self.assertIn("Approve", (self.reports / "summary.md").read_text())
        self.environment["PLUMB_INCONCLUSIVE"] = "pass"
        self.step("qualify fake slower tiny.toml", expect=1)
        self.assertGreater(cases(self.reports / "junit.xml")[1], 0)
        self.assertIn("Reject", (self.reports / "summary.md").read_text())
        self.step("qualify fake slower tiny.toml --budget 1us")
        self.environment["PLUMB_INCONCLUSIVE"] = "fail"
        self.step("qualify fake slower tiny.toml --budget 1us", expect=75)
        self.step("qualify fake nonesuch tiny.toml", expect=2)
        self.assertRegex((self.reports / "summary.md").read_text(), "no verdict[\\s\\S]*exit status 2")
        self.assertFalse((self.reports / "junit.xml").exists(), "of an earlier job")

    def test_a_container_image_brings_plumbline(self):
        self.settings |= {"PLUMB_BUNDLE": str(self.folder / "missing.tar.xz"), "PLUMB_HOME": str(self.shared / "plumb")}
        self.github("regression")
        self.gitlab("regression", event=self.EVENT)

    def test_unlike_environments_fail_the_job_by_their_own_status(self):
        self.github("regression")
        self.stack("fake", '[identity]\nlibrary = "fake 2.0"\n')
        self.github("regression", expect=4)
        self.assertRegex(self.summary.read_text(), "no verdict[\\s\\S]*exit status 4")

    def test_missing_evidence_fails_or_passes_as_it_is_told(self):
        self.step('measure "$PLUMB_SUITE"')
        self.step('measure "$PLUMB_SUITE" --vary suite --budget 1us', expect=75)
        self.environment["PLUMB_INCONCLUSIVE"] = "pass"
        self.assertIn("not enough evidence", self.step('measure "$PLUMB_SUITE" --vary suite --budget 1us'))

    def test_a_suite_that_is_wrong_leaves_no_old_report(self):
        self.step('measure "$PLUMB_SUITE"')
        self.assertTrue((self.reports / "junit.xml").exists())
        self.step('measure "$PLUMB_SUITE" --threads none', expect=2)
        self.assertEqual([path.name for path in self.reports.iterdir()], ["summary.md"])
        self.assertIn("exit status 2", (self.reports / "summary.md").read_text())

    def test_a_summary_that_github_would_drop_is_an_error(self):
        self.reports.mkdir()
        (self.reports / "summary.md").write_text("x" * (1 << 20))
        self.assertIn("::error title=summary too long", self.step("github-summary", expect=1))
        self.assertFalse(self.summary.exists())


class Gpu(PipelineCase):
    """The branch's pipeline on a GPU: without one, and over the test doubles of NVIDIA's libraries. No figure of theirs is a time."""

    EVENT = History.EVENT
    LAYER = "v1:eltwise;in=f32[3,50];out=f32[3,50];acc=f32;math=strict;fn=relu;parameters=[]"

    def setUp(self):
        super().setUp()
        doubles = self.build / "tests/cuda_stand_in"
        if not doubles.exists():
            self.skipTest("the build has no CUDA worker")
        del self.environment["PLUMB_WORKER_PATH"]
        self.environment["PLUMB_BASELINE_RUNS"] = "1"
        self.commit({"one.toml": '[suite]\nname = "one"\nversion = 1\nreuse = "never"\n[defaults]\ncache = ["none"]\n[[layers]]\nfile = "layer.toml"\n',
                     "layer.toml": f'[[layers]]\nkey = "{self.LAYER}"\ncount = 1\n'})
        self.settings |= {"PLUMB_SUITE": "one.toml", "PLUMB_STACK": "gpu", "TMPDIR": str(self.folder)}
        self.libraries = self.folder / "libraries"
        self.libraries.mkdir()
        for library in doubles.iterdir():
            (self.libraries / library.name).symlink_to(library)
        folder = self.folder / "plumb/stacks/gpu"
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(
            f'backend = "cuda"\nlibraries = ["{self.libraries}/libcudnn.so.9"]\nfolders = ["{self.libraries}"]\nvariables = {{ PLUMB_STAND_IN = "seed=1,memory=3145728" }}\n')

    def test_both_servers_measure_where_there_is_a_gpu(self):
        self.assertRegex(self.github("gpu"), r"measuring on Plumbline test double \(no GPU\)[\s\S]*")
        self.assertIn("is the baseline now", self.summary.read_text())
        self.gitlab("gpu", event=self.EVENT)
        self.assertGreater(cases(self.lab.reports["junit"])[0], 0)

    def test_without_a_driver_the_job_says_what_is_missing(self):
        if pathlib.Path("/dev/nvidiactl").exists():
            self.skipTest("there is a GPU here")
        (self.libraries / "libcuda.so.1").unlink()
        for printed in (self.github("gpu", expect=3), self.gitlab("gpu", expect=3, event=self.EVENT)):
            self.assertIn("no NVIDIA driver", printed)
            self.assertIn("run on a machine with an NVIDIA GPU", printed)

    def test_exclusive_mode_is_asked_for(self):
        self.settings["PLUMB_GPU_EXCLUSIVE"] = "1"
        self.assertRegex(self.github("gpu", expect=3), r"not in exclusive mode: .*nvidia-smi -i GPU-\S+ -c EXCLUSIVE_PROCESS")

    def test_a_stack_of_another_backend_has_no_gpu(self):
        self.stack("fake")
        self.environment["PLUMB_WORKER_PATH"] = str(self.build / "libexec/plumb")
        self.assertIn("the worker of the stack fake measures on no GPU", self.step("gpu fake", expect=3))

    def test_a_container_has_one_gpu_and_what_reads_its_clocks(self):
        job = self.template("github/gpu.yml")["jobs"]["gpu"]
        self.assertIn("--gpus device=0", job["container"]["options"])
        self.assertEqual(job["container"]["env"]["NVIDIA_DRIVER_CAPABILITIES"], "compute,utility")
        lab = self.template("gitlab/gpu.gitlab-ci.yml")["plumbline-gpu"]
        self.assertEqual(lab["variables"]["NVIDIA_DRIVER_CAPABILITIES"], "compute,utility")
        for variables in (job["env"], lab["variables"]):
            self.assertEqual(variables["TMPDIR"], variables["XDG_DATA_HOME"], "the lock lies where all containers see it")


class Comments(PipelineCase):
    """The jobs that put a result on the pull request, against a server that records what it is asked."""

    OWN = {"github.event.pull_request.head.repo.full_name": "team/repo", "github.repository": "team/repo"}
    MERGE = {"CI_PIPELINE_SOURCE": "merge_request_event", "CI_PROJECT_PATH": "group/sub/project", "CI_PROJECT_ID": "group/sub/project",
             "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "group/sub/project", "CI_MERGE_REQUEST_IID": "5",
             "CI_PIPELINE_URL": "https://example.org/pipelines/12"}

    def setUp(self):
        super().setUp()
        self.commit({"tiny.toml": TINY})
        self.stack("slower", SLOW)
        self.environment["PLUMB_INCONCLUSIVE"] = "pass"
        self.step("qualify fake slower tiny.toml", expect=1)
        self.settings |= {"GITHUB_TOKEN": TOKEN, "PULL_REQUEST": "5", "HEAD_COMMIT": "4f2a9c01d3b7e8f0"}

    def test_github_changes_one_comment(self):
        server = ReviewServer(self, of_a_job=True)
        self.environment["GITHUB_API_URL"] = server.url
        for _ in range(2):
            self.github("pull-request", event=self.OWN, job="comment")
        (comment,) = server.comments
        self.assertIn("## Plumbline: reject", comment["body"])
        self.assertIn("[4f2a9c01d3b7](https://example.org/team/repo/commit/4f2a9c01d3b7e8f0)", comment["body"])
        self.assertIn("(https://example.org/team/repo/actions/runs/12)", comment["body"])
        (self.reports / "qualification.json").unlink()
        self.github("pull-request", event=self.OWN, job="comment")
        self.assertIn("no verdict", comment["body"])
        fork = {**self.OWN, "github.event.pull_request.head.repo.full_name": "stranger/repo"}
        self.assertIsNone(self.github("pull-request", event=fork, job="comment"))
        self.settings["GITHUB_TOKEN"] = ""
        self.assertIn("no token", self.github("pull-request", event=self.OWN, job="comment"))

    def test_gitlab_changes_one_comment(self):
        server = ReviewServer(self, gitlab=True)
        self.environment |= {"CI_API_V4_URL": server.url, "GITLAB_TOKEN": TOKEN, "CI_COMMIT_SHA": "4f2a9c01d3b7e8f0"}
        for _ in range(2):
            self.gitlab("merge-request", event=self.MERGE, job="plumbline-comment")
        (comment,) = server.comments
        self.assertIn("[4f2a9c01d3b7](https://example.org/team/repo/-/commit/4f2a9c01d3b7e8f0)", comment["body"])
        self.assertIsNone(self.gitlab("merge-request", event={**self.MERGE, "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH": "stranger/x"},
                                      job="plumbline-comment"))

    def test_only_the_job_that_comments_may_write(self):
        jobs = self.template("github/pull-request.yml")["jobs"]
        self.assertEqual({name: job.get("permissions") for name, job in jobs.items()}, {"library": None, "comment": {"pull-requests": "write"}})
        self.assertNotEqual(jobs["library"]["runs-on"], jobs["comment"]["runs-on"])
        self.assertNotIn("checkout", str(jobs["comment"]))
        self.assertEqual(self.template("github/pull-request.yml")["permissions"], {"contents": "read"})
        comment = self.template("gitlab/merge-request.gitlab-ci.yml")["plumbline-comment"]
        self.assertEqual(comment["variables"]["GIT_STRATEGY"], "none")


if __name__ == "__main__":
    unittest.main(verbosity=2)
