#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the pipeline templates and runs their steps as a CI server would, with the fake worker.

Usage: pipelines_test.py BUILD_FOLDER CACHE_FOLDER [unittest arguments]. Exits with 77 (skipped) without PyYAML.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
import zipfile

try:
    import yaml
except ImportError:
    print("skipped: no PyYAML here; install python3-yaml, or run ci/setup test")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "ci/templates"
sys.path.insert(0, str(ROOT / "tests/support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
STACKS = pathlib.Path(sys.argv.pop(1)) / "cudnn/plumb/stacks"
OLD, NEW = "cudnn-9.12.0.46", "cudnn-9.26.1.1"
SLOW = '[[rule]]\nmatch = "v1:matmul;*"\nseconds = 0.001\n'


def read(name):
    return yaml.safe_load((TEMPLATES / name).read_text())


class Pipelines(Command):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.mkdtemp(prefix="plumb-")  # the installer is made once
        cls.addClassCleanup(shutil.rmtree, cls.cache, ignore_errors=True)

    def setUp(self):
        super().setUp()
        self.reports = self.folder / "plumb-reports"
        self.summary = self.folder / "summary.md"
        self.environment |= {
            "PATH": f"{self.program().parent}:{os.environ['PATH']}",
            "PLUMB_STORE": f"sqlite:{self.folder}/store.db",
            "XDG_CACHE_HOME": self.cache,
            "PLUMB_STACK": "fake",
            "PLUMB_SUITE": str(self.tiny("never")),
            "PLUMB_REPORTS": str(self.reports),
            "GITHUB_STEP_SUMMARY": str(self.summary),
        }

    def shell(self, line, expect=0):
        """Runs one step's line in the project's folder, as both servers do."""
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, expect, f"{line}\n{done.stdout}\n{done.stderr}")
        return done

    def github(self, name, expect=0):
        """Runs the steps of a workflow's only job: after a failure those that say always(). Returns what they printed."""
        (job,) = read(f"github/{name}.yml")["jobs"].values()
        job_environment = {key: str(value) for key, value in job["env"].items()}
        self.environment = {**job_environment, **self.environment}
        printed, status = "", 0
        for step in job["steps"]:
            if "run" not in step or (status and step.get("if") != "always()"):
                continue
            done = subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=300)
            printed += done.stdout + done.stderr
            status = status or done.returncode
        self.assertEqual(status, expect, printed)
        return printed

    def gitlab(self, name, expect=0):
        (job,) = read(f"gitlab/{name}.gitlab-ci.yml").values()
        self.environment = {**{key: str(value) for key, value in job["variables"].items()}, **self.environment}
        status = 0
        for line in job["script"]:
            status = status or subprocess.run(["bash", "-eo", "pipefail", "-c", line], cwd=ROOT, env=self.environment, capture_output=True, timeout=300).returncode
        self.assertEqual(0 if status in job["allow_failure"]["exit_codes"] else status, expect)
        return job["artifacts"]["reports"]

    def test_every_step_that_a_template_calls_is_there(self):
        called = set()
        for path in [*TEMPLATES.glob("github/*.yml"), *TEMPLATES.glob("gitlab/*.yml")]:
            steps = re.findall(r"ci/templates/steps/[a-z-]+", path.read_text())
            self.assertTrue(steps, path)
            called |= set(steps)
        for step in called:
            self.assertTrue(os.access(ROOT / step, os.X_OK), step)
        self.assertEqual(called - {"ci/templates/steps/newest-version"},
                         {f"ci/templates/steps/{path.name}" for path in (TEMPLATES / "steps").iterdir()} - {"ci/templates/steps/newest-version"})

    def test_github_regression_first_run_then_same_then_slower(self):
        self.github("regression")
        self.assertIn("is the baseline now", self.summary.read_text())
        self.summary.unlink()
        self.github("regression")
        self.assertIn("## Plumbline: equivalent", self.summary.read_text())
        self.stack("fake", SLOW)
        printed = self.github("regression", expect=1)
        self.assertIn("## Plumbline: regressed", self.summary.read_text())
        annotations = [line for line in printed.splitlines() if line.startswith("::error ")]
        self.assertTrue(annotations and len(annotations) <= 10)
        for name in ("comparison.html", "run.html", "junit.xml", "metrics.txt"):
            self.assertGreater((self.reports / name).stat().st_size, 100, name)
        self.assertEqual(len(self.json("baseline", "list")["baselines"]), 1, "a regression never becomes the baseline by itself")

    def test_gitlab_regression_leaves_what_its_reports_name(self):
        self.gitlab("regression")
        self.stack("fake", SLOW)
        reports = self.gitlab("regression", expect=1)
        junit = xml.etree.ElementTree.parse(self.folder / reports["junit"])
        self.assertGreater(len(list(junit.iter("failure"))), 0)
        metrics = (self.folder / reports["metrics"]).read_text()
        self.assertTrue(metrics.endswith("# EOF\n"))
        self.assertIn("plumb_", metrics)

    def test_unlike_environments_fail_the_pipeline_by_their_own_status(self):
        self.github("regression")
        self.stack("fake", '[identity]\nlibrary = "fake 2.0"\n')
        self.github("regression", expect=4)

    def test_missing_evidence_fails_or_passes_as_it_is_told(self):
        self.shell('ci/templates/steps/measure "$PLUMB_SUITE"')
        self.shell('ci/templates/steps/measure "$PLUMB_SUITE" --vary suite --budget 1us', expect=75)
        self.environment["PLUMB_INCONCLUSIVE"] = "pass"
        done = self.shell('ci/templates/steps/measure "$PLUMB_SUITE" --vary suite --budget 1us')
        self.assertIn("not enough evidence", done.stderr)

    def library(self, *versions):
        """Writes wheels of a library into a folder that stands in for the package index."""
        folder = self.folder / "index"
        folder.mkdir(exist_ok=True)
        for version in versions:
            info = f"plumb_test_library-{version}.dist-info"
            with zipfile.ZipFile(folder / f"plumb_test_library-{version}-py3-none-any.whl", "w") as wheel:
                wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: plumb-test-library\nVersion: {version}\n")
                wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
                wheel.writestr(f"{info}/RECORD", "")
        self.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PACKAGE": "plumb-test-library", "BASELINE_STACK": "fake"}
        return folder

    def test_the_newest_version_is_named_with_its_hash(self):
        folder = self.library("1.0", "2.1", "2.0")
        version, digest = self.shell("ci/templates/steps/newest-version plumb-test-library").stdout.split()
        self.assertEqual(version, "2.1")
        self.assertEqual(digest, hashlib.sha256((folder / "plumb_test_library-2.1-py3-none-any.whl").read_bytes()).hexdigest())
        self.shell("ci/templates/steps/newest-version no-such-library", expect=1)

    def test_upgrade_watch_ends_at_once_when_the_newest_version_was_decided(self):
        self.library("2.1")
        self.stack("plumb-test-library-2.1")
        (self.folder / "plumb/stacks/plumb-test-library-2.1/decided").write_text("rejected\n")
        self.assertIn("nothing new: plumb-test-library 2.1 was decided: rejected", self.github("upgrade-watch"))
        self.assertIn("## Plumbline: nothing new", self.summary.read_text())
        self.gitlab("upgrade-watch")

    def test_upgrade_watch_refuses_a_stack_of_another_file(self):
        self.library("2.1")
        self.stack("plumb-test-library-2.1")
        self.assertIn("does not hold the wheel with SHA-256", self.github("upgrade-watch", expect=3))

    def test_upgrade_watch_qualifies_what_is_new(self):
        folder = self.library("2.1")
        digest = hashlib.sha256((folder / "plumb_test_library-2.1-py3-none-any.whl").read_bytes()).hexdigest()
        self.stack("plumb-test-library-2.1", '[identity]\nlibrary = "fake 2.1"\n' + SLOW)  # as `stacks fetch` would leave it, with the fake worker
        toml = self.folder / "plumb/stacks/plumb-test-library-2.1/stack.toml"
        toml.write_text(f"# sha256 {digest}\n" + toml.read_text())
        self.github("upgrade-watch", expect=1)
        self.assertIn("Reject", self.summary.read_text())
        self.assertEqual((toml.parent / "decided").read_text(), "rejected\n")
        self.assertIn("nothing new", self.github("upgrade-watch"))

    def cuda_stack(self, files=None):
        """A new version as `stacks fetch` would leave it: a stack of real cuDNN's files, or of none."""
        folder = self.library("2.1")
        digest = hashlib.sha256((folder / "plumb_test_library-2.1-py3-none-any.whl").read_bytes()).hexdigest()
        stack = self.folder / "plumb/stacks/plumb-test-library-2.1"
        stack.mkdir(parents=True)
        text = 'backend = "cuda"\n'
        if files:
            text = (files / "stack.toml").read_text()
            (stack / "nvidia").symlink_to(files / "nvidia")
        (stack / "stack.toml").write_text(f"# sha256 {digest}\n{text}")

    def test_upgrade_watch_says_what_a_cuda_stack_lacks(self):
        self.cuda_stack()
        self.environment["PLUMB_GPU"] = "H200"
        self.assertIn("plumb stacks fetch", self.github("upgrade-watch", expect=3), "a stack without its library")

    @unittest.skipUnless((STACKS / OLD).exists() and (STACKS / NEW).exists(), "ci/fetch-cudnn fetches the two versions")
    def test_upgrade_watch_previews_a_cudnn_version(self):
        self.cuda_stack(STACKS / NEW)
        (self.folder / "plumb/stacks" / OLD).symlink_to(STACKS / OLD)
        self.environment |= {"BASELINE_STACK": OLD, "PLUMB_PREVIEW_ONLY": "1"}
        self.assertIn("PLUMB_GPU=H200", self.github("upgrade-watch", expect=1))
        self.environment["PLUMB_GPU"] = "H200"
        self.github("upgrade-watch")
        document = json.loads((self.reports / "preview.json").read_text())
        self.assertGreater(document["summary"]["comparisons"], 0)
        self.assertIn("libcudnn", (self.reports / "preview.txt").read_text())
        self.assertFalse((self.folder / "plumb/stacks/plumb-test-library-2.1/decided").exists(), "a preview decides nothing")

    def test_a_summary_that_github_would_drop_is_an_error(self):
        self.reports.mkdir()
        (self.reports / "summary.md").write_text("x" * (1 << 20))
        self.assertIn("::error title=summary too long", self.shell("ci/templates/steps/github-summary", expect=1).stdout)
        self.assertFalse(self.summary.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
