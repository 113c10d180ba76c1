#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the Kubernetes templates: their structure, and by Kubernetes' own schemas where PyPI's kubernetes-validate is installed.

Usage: kubernetes_test.py BUILD_FOLDER [unittest arguments]. Exits with 77 (skipped) without PyYAML."""

import pathlib
import shlex
import subprocess
import sys
import unittest

try:
    import yaml
except ModuleNotFoundError:
    print("skipped: no PyYAML here; install python3-yaml, or run ci/setup test")
    sys.exit(77)
try:
    import kubernetes_validate
except ModuleNotFoundError:
    kubernetes_validate = None

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "ci/templates/kubernetes"
#: A resource of the Prometheus operator, which is no part of Kubernetes.
FOREIGN = {"PodMonitor"}


def documents():
    """Returns all documents of the templates, with their file's name."""
    return [(path.name, document) for path in sorted(FOLDER.glob("*.yaml")) for document in yaml.safe_load_all(path.read_text())]


def pods(document):
    """Returns the specifications of pods in a document, however deep."""
    if isinstance(document, dict):
        if "containers" in document:
            yield document
        for value in document.values():
            yield from pods(value)


class Templates(unittest.TestCase):
    def test_all_kinds_are_there(self):
        kinds = {document["kind"] for _, document in documents()}
        self.assertEqual(kinds, {"CronJob", "Deployment", "Job", "PodMonitor", "Secret"})

    def test_each_file_says_what_it_was_checked_with(self):
        for path in FOLDER.glob("*.yaml"):
            self.assertIn("It has not run on a cluster.", path.read_text(), path.name)

    @unittest.skipUnless(kubernetes_validate, "kubernetes-validate is not installed")
    def test_documents_match_the_schemas(self):
        for name, document in documents():
            if document["kind"] not in FOREIGN:
                with self.subTest(file=name, kind=document["kind"]):
                    kubernetes_validate.validate(document, "1.31", strict=True)

    def test_pods_run_without_rights(self):
        found = [(name, pod) for name, document in documents() for pod in pods(document)]
        self.assertEqual(len(found), 3)
        for name, pod in found:
            with self.subTest(file=name):
                self.assertTrue(pod["securityContext"]["runAsNonRoot"])
                self.assertFalse(pod["automountServiceAccountToken"])
                for container in pod["containers"]:
                    self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
                    self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
                    self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})
                    volumes = {volume["name"] for volume in pod["volumes"]}
                    self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, volumes)

    def test_what_measures_has_a_gpu_alone_and_whole_processors(self):
        for name, document in documents():
            if document["kind"] in ("Job", "CronJob"):
                for pod in pods(document):
                    resources = pod["containers"][0]["resources"]
                    self.assertEqual(resources["requests"], resources["limits"], name)
                    self.assertEqual(resources["limits"]["nvidia.com/gpu"], "1", name)

    def test_no_password_is_in_a_url(self):
        for name, document in documents():
            if document["kind"] == "Secret":
                self.assertNotRegex(document["stringData"].get("PLUMB_STORE", ""), r"://[^/@]*:[^/@]*@|password=", name)

    def test_plumb_knows_the_options(self):
        for name, document in documents():
            for pod in pods(document):
                arguments = pod["containers"][0]["args"]
                if len(arguments) == 1:
                    arguments = shlex.split(arguments[0])[2:]
                command = [word for word in arguments[:1]]
                usage = subprocess.run([BUILD / "bin/plumb", *command, "--help"], capture_output=True, text=True, check=True).stdout
                for word in arguments:
                    if word.startswith("--"):
                        self.assertIn(word, usage, name)


if __name__ == "__main__":
    unittest.main()
