# SPDX-License-Identifier: Apache-2.0
"""A test case that runs the pipeline templates of a bundle in a repository of its own. Needs PyYAML."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree

import yaml

from bundle import make_bundle
from ci_server import GitHub, GitLab, bash
from plumb_command import Command

#: Who commits, whatever the machine's configuration says.
GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull,
       **{f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "Test"), ("EMAIL", "test@example.invalid"))}}


def cases(junit):
    """Returns how many test cases a JUnit file has, and how many of them failed."""
    root = xml.etree.ElementTree.parse(junit).getroot()
    return len(list(root.iter("testcase"))), len(list(root.iter("failure")))


class PipelineCase(Command):
    """Has a bundle, an empty git repository `project`, and both servers. Nothing in the repository is Plumbline's but a copied template."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="plumb-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.bundle = make_bundle(cls.build, cls.shared / "plumb-bundle.tar")
        subprocess.run(["tar", "-C", cls.shared, "-xf", cls.bundle], check=True)
        cls.templates = cls.shared / "plumb/share/plumb/ci"

    def setUp(self):
        super().setUp()
        self.project = self.folder / "project"
        self.project.mkdir()
        self.environment |= {
            **GIT,
            "HOME": str(self.folder / "home"),
            "XDG_CACHE_HOME": str(self.shared / "cache"),  # the installer of newest-version is made once
            "PATH": os.environ["PATH"],
        }
        self.environment.pop("XDG_DATA_HOME")
        self.git("init", "--quiet", "--initial-branch=main")
        self.settings = {
            "PLUMB_BUNDLE": str(self.bundle),
            "PLUMB_HOME": str(self.folder / "nowhere"),
            "PLUMB_STORE": f"sqlite:{self.folder}/store.db",
            "XDG_DATA_HOME": str(self.folder),
            "PLUMB_SUITE": "tiny.toml",
        }
        self.reports = self.project / "plumb-reports"
        self.server = GitHub(self.folder)
        self.summary = self.server.summary
        self.lab = GitLab()

    def git(self, *arguments):
        return subprocess.run(["git", *arguments], cwd=self.project, env={**os.environ, **GIT}, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, files, message="change"):
        """Commits files, given by their texts, and returns the commit."""
        for name, text in files.items():
            path = self.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if text.startswith("#!") else 0o644)
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")

    def template(self, name):
        return yaml.safe_load((self.templates / name).read_text())

    def settings_of(self, job):
        """Leaves out what the template has no line for, as an editing user must."""
        return {name: value for name, value in self.settings.items() if name in job.get("env", job.get("variables"))}

    def github(self, name, expect=0, event=None, job=None):
        """Runs a workflow's job, the first unless it is named, and returns what it printed. `event` are the contexts of the event."""
        workflow = self.template(f"github/{name}.yml")
        job = job or next(iter(workflow["jobs"]))
        settings = self.settings_of(workflow["jobs"][job])
        return self.check(self.server.run(workflow, self.project, self.environment, settings, event or {}, job), expect)

    def gitlab(self, name, expect=0, event=None, job=None):
        pipeline = self.template(f"gitlab/{name}.gitlab-ci.yml")
        job = job or next(iter(pipeline))
        return self.check(self.lab.run(pipeline, self.project, self.environment, self.settings_of(pipeline[job]), event or {}, job), expect)

    def check(self, result, expect):
        """Expects a status of a job, and returns what it printed, or None if its rules left it out."""
        if result.script_status == 75 and expect == 1:
            self.skipTest("the host is too busy for a verdict")
        self.assertEqual(result.status, expect, result.printed)
        return None if result.skipped else result.printed

    def step(self, line, expect=0):
        """Runs one of the bundle's steps by itself, in the repository."""
        environment = {**self.environment, **self.settings, "GITHUB_STEP_SUMMARY": str(self.summary)}
        done = bash(f"{self.templates}/steps/{line}", self.project, environment)
        self.assertEqual(done.returncode, expect, f"{line}\n{done.stdout}")
        return done.stdout
