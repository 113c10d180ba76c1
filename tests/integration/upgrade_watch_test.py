#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the pipelines that watch for new library versions, with a folder that stands in for the package index.

Usage: upgrade_watch_test.py BUILD_FOLDER CACHE_FOLDER [unittest arguments]. Exits with 77 (skipped) without PyYAML.
"""

import hashlib
import json
import pathlib
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
try:
    from pipeline_case import PipelineCase
except ModuleNotFoundError as missing:
    if missing.name != "yaml":
        raise
    print("skipped: no PyYAML here; install python3-yaml, or run ci/setup test")
    sys.exit(77)

PipelineCase.build = pathlib.Path(sys.argv.pop(1)).resolve()
STACKS = pathlib.Path(sys.argv.pop(1)) / "cudnn/plumb/stacks"
OLD, NEW = "cudnn-9.12.0.46", "cudnn-9.26.1.1"
TINY = '[suite]\nname = "tiny"\nversion = 1\nreuse = "never"\n[[model]]\nname = "lenet"\n'
SLOW = '[[rule]]\nmatch = "v1:matmul;*"\nseconds = 0.001\n'


class UpgradeWatch(PipelineCase):
    def setUp(self):
        super().setUp()
        self.commit({"tiny.toml": TINY})

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
        self.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}
        self.settings |= {"PACKAGE": "plumb-test-library", "BASELINE_STACK": "fake"}
        return folder

    def test_the_newest_version_is_named_with_its_hash(self):
        folder = self.library("1.0", "2.1", "2.0")
        version, digest = self.step("newest-version plumb-test-library").split()
        self.assertEqual(version, "2.1")
        self.assertEqual(digest, hashlib.sha256((folder / "plumb_test_library-2.1-py3-none-any.whl").read_bytes()).hexdigest())
        self.step("newest-version no-such-library", expect=1)

    def test_upgrade_watch_ends_at_once_when_the_newest_version_was_decided(self):
        self.library("2.1")
        self.stack("plumb-test-library-2.1")
        (self.folder / "plumb/stacks/plumb-test-library-2.1/decided").write_text("rejected\n")
        self.assertIn("nothing new: plumb-test-library 2.1 was decided: rejected", self.github("upgrade-watch"))
        self.assertIn("## Plumbline: nothing new", self.summary.read_text())
        self.gitlab("upgrade-watch", event={"CI_PIPELINE_SOURCE": "schedule"})
        self.assertIsNone(self.gitlab("upgrade-watch", event={"CI_PIPELINE_SOURCE": "push"}))

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
        self.settings["BASELINE_STACK"] = OLD
        self.environment["PLUMB_PREVIEW_ONLY"] = "1"
        self.assertIn("PLUMB_GPU=H200", self.github("upgrade-watch", expect=1))
        self.environment["PLUMB_GPU"] = "H200"
        self.github("upgrade-watch")
        document = json.loads((self.reports / "preview.json").read_text())
        self.assertGreater(document["summary"]["comparisons"], 0)
        self.assertIn("libcudnn", (self.reports / "preview.txt").read_text())
        self.assertFalse((self.folder / "plumb/stacks/plumb-test-library-2.1/decided").exists(), "a preview decides nothing")


if __name__ == "__main__":
    unittest.main(verbosity=2)
