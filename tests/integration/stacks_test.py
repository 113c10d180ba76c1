#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists, probes, fetches and measures stacks: real wheels from a folder that stands in for the package index.

Usage: stacks_test.py BUILD_FOLDER [unittest arguments].
"""

import hashlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import CONV, Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Stacks(Command):
    def wheel(self, version, files):
        """Writes a wheel of the package `plumb-test-library` into a folder that the installer looks into instead of the index."""
        folder = self.folder / "index"
        folder.mkdir(exist_ok=True)
        info = f"plumb_test_library-{version}.dist-info"
        content = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: plumb-test-library\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
            **files,
        }
        with zipfile.ZipFile(folder / f"plumb_test_library-{version}-py3-none-any.whl", "w") as wheel:
            for name, data in content.items():
                wheel.writestr(name, data)
        self.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}

    def debian_release(self, name, version, files):
        """Writes a release of one package, and lets apt take it for Debian's mirror; unsigned, as only a test may be."""
        mirror = self.folder / "mirror"
        tree = self.folder / "package"
        for path, data in {**files, "DEBIAN/control": f"Package: plumb-test\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: test\n"}.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_bytes(data if isinstance(data, bytes) else data.encode())
        lists = mirror / f"dists/{name}/main/binary-amd64"
        lists.mkdir(parents=True)
        package = mirror / "plumb-test.deb"
        subprocess.run(["dpkg-deb", "--build", "-Znone", tree, package], check=True, capture_output=True)
        control = (tree / "DEBIAN/control").read_text()
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        (lists / "Packages").write_text(f"{control}Filename: plumb-test.deb\nSize: {package.stat().st_size}\nSHA256: {digest}\n")
        architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout.strip()
        if architecture != "amd64":
            lists.rename(lists.with_name(f"binary-{architecture}"))
            lists = lists.with_name(f"binary-{architecture}")
        content = (lists / "Packages").read_bytes()
        (mirror / f"dists/{name}/Release").write_text(
            f"Codename: {name}\nComponents: main\nArchitectures: {architecture}\nSHA256:\n"
            f" {hashlib.sha256(content).hexdigest()} {len(content)} main/binary-{architecture}/Packages\n"
        )
        (self.folder / "sources.list").write_text(f"deb file:{mirror} {name} main\n")
        (self.folder / "apt.conf").write_text(
            f'Dir::Etc::sourcelist "{self.folder}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
            'Acquire::AllowInsecureRepositories "1";\nAPT::Get::AllowUnauthenticated "1";\n'
        )
        self.environment["APT_CONFIG"] = str(self.folder / "apt.conf")

    def default_library(self):
        listed = {stack["name"]: stack for stack in self.json("stacks", "list")["stacks"]}
        return pathlib.Path(listed["default"]["libraries"][0]["path"])

    def test_list_and_probe(self):
        self.stack("broken")
        (self.folder / "plumb/stacks/broken/stack.toml").write_text('backend = "onednn"\nlibraries = ["nowhere.so"]\n')
        stacks = {stack["name"]: stack for stack in self.json("stacks", "list")["stacks"]}
        self.assertEqual(list(stacks), ["default", "broken", "fake"])
        self.assertIn("nowhere.so", stacks["broken"]["problems"][0])
        self.assertEqual(stacks["fake"]["problems"], [])
        probed = self.json("stacks", "probe", expect=3)["stacks"]
        self.assertEqual([bool(stack["problems"]) for stack in probed], [False, True, False])
        library = probed[0]["libraries"][0]
        self.assertEqual(library["name"], "libdnnl")
        self.assertRegex(library["version"], r"^3\.")
        self.assertEqual(library["sha256"], hashlib.sha256(pathlib.Path(library["path"]).read_bytes()).hexdigest())
        self.plumb("stacks", "probe", "default")
        self.plumb("stacks", "probe", "nonesuch", expect=2)

    def test_a_fetched_stack_is_measured_beside_the_default(self):
        library = self.default_library().read_bytes()
        self.wheel("1.0", {"data/lib/libdnnl.so": library, "data/lib/libdnnl.so.3": library})
        stack = self.json("stacks", "fetch", "plumb-test-library==1.0", "--name", "other")["stacks"][0]
        self.assertEqual((stack["name"], stack["backend"], stack["problems"]), ("other", "onednn", []))
        self.assertIn(str(self.folder), stack["libraries"][0]["path"])
        folder = self.folder / "plumb/stacks/other"
        self.assertIn("# sha256 ", (folder / "stack.toml").read_text())
        self.assertEqual(sum(not path.is_symlink() for path in folder.rglob("libdnnl.so*")), 1, "equal files are linked")
        suite = self.suite('[suite]\nname = "one"\n[[layers]]\nfile = "one_layer.toml"\n', "one")
        (self.folder / "one_layer.toml").write_text(f'[[layers]]\nkey = "{CONV}"\n')
        runs = self.json("run", suite, "--stack", "default", "--stack", "other")["runs"]
        self.assertEqual(len(runs), 2)
        self.assertEqual({run["stack"] for run in self.json("runs")["runs"]}, {"default", "other"})
        difference = self.json("stacks", "diff", "default", "other", suite)
        self.assertEqual((difference["same_libraries"] > 0, difference["libraries"], difference["layers"]), (True, [], []), "equal files")
        self.assertEqual(difference["kinds"]["conv"]["layers"], 1)
        self.assertIn("the same in both", self.plumb("stacks", "diff", "default", "other").stdout)
        (folder / "stack.toml").write_text((folder / "stack.toml").read_text() + 'variables = { ONEDNN_MAX_CPU_ISA = "SSE41" }\n')
        difference = self.json("stacks", "diff", "default", "other", suite)
        self.assertIn("sse41", difference["layers"][0]["to_choice"])
        self.assertNotEqual(difference["layers"][0]["variants_removed"], [])
        (self.folder / "products.toml").write_text('[[layers]]\nkey = "v1:matmul;in=f32[64,256],f32[256,128]c;out=f32[64,128];acc=f32;math=strict"\n')
        matmul = self.suite('[suite]\nname = "matmul"\n[[layers]]\nfile = "products.toml"\n', "matmul")
        changed = self.json("stacks", "diff", "other", "default", matmul)["layers"]  # none on a CPU whose products are gemm:jit anyway
        added = [variant for layer in changed for variant in layer["variants_added"] if "kind=" not in variant]  # of matmul itself
        if "avx2" in " ".join(added):
            reasons = self.json("stacks", "diff", "default", "other", matmul)["layers"][0]["passed_over_by_to"]
            self.assertIn("unsupported isa", reasons.values(), "oneDNN says why")
            self.assertIn("unsupported isa", self.plumb("stacks", "diff", "default", "other", matmul).stdout)
        self.plumb("stacks", "diff", "default", "nonesuch", expect=2)
        self.assertIn("exists", self.plumb("stacks", "fetch", "plumb-test-library==1.0", "--name", "other", expect=2).stderr)

    def test_versions_share_the_files_that_are_equal(self):
        library = self.default_library().read_bytes()
        for version in ("1.0", "2.0"):
            self.wheel(version, {"data/lib/libdnnl.so.3": library, "data/lib/libother.so": version * 1000})
            self.plumb("stacks", "fetch", f"plumb-test-library=={version}", "--name", version)
        one, two = (self.folder / "plumb/stacks" / version / "data/lib" for version in ("1.0", "2.0"))
        self.assertTrue((one / "libdnnl.so.3").samefile(two / "libdnnl.so.3"))
        self.assertFalse((one / "libother.so").samefile(two / "libother.so"))
        self.assertEqual((two / "libother.so").read_text(), "2.0" * 1000)

    def test_a_wheel_of_pytorch_is_a_stack_with_its_interpreter(self):
        self.wheel("1.0", {"torch/lib/libtorch_cpu.so": "x", "nvidia/lib/libcudnn.so.9": "y"})
        # A file that is no library cannot be probed, but the stack's file is written before.
        self.plumb("stacks", "fetch", "plumb-test-library==1.0", "--name", "torch", expect=3)
        [stack] = [stack for stack in self.json("stacks", "list")["stacks"] if stack["name"] == "torch"]
        folder = self.folder / "plumb/stacks/torch"
        self.assertEqual((stack["backend"], stack["libraries"][0]["path"]), ("pytorch", str(folder / "torch/lib/libtorch_cpu.so")))
        text = (folder / "stack.toml").read_text()
        self.assertIn(f'PYTHONPATH = "{folder}"', text)
        self.assertRegex(text, r'PLUMB_PYTHON = "/.+/python3"')
        self.assertNotIn("nvidia", text)

    def test_the_stack_of_the_start_page_is_the_same_machine_with_another_stack(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs/start/first-run.md").read_text()
        (example,) = [block for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "libraries" in block]
        folder = self.folder / "plumb/stacks/limited"
        folder.mkdir()
        (folder / "stack.toml").write_text(example)
        (probed,) = self.json("stacks", "probe", "limited")["stacks"]
        self.assertEqual((probed["problems"], probed["libraries"][0]["path"]), ([], str(self.default_library())))
        (self.folder / "one_layer.toml").write_text(f'[[layers]]\nkey = "{CONV}"\n')
        suite = self.suite('[suite]\nname = "one"\nreuse = "never"\n[[layers]]\nfile = "one_layer.toml"\n', "one")
        base = self.json("run", suite, "--processes", 1)["run"]
        refused = self.plumb("run", suite, "--stack", "limited", "--baseline", base, expect=4).stderr
        self.assertIn("ONEDNN_MAX_CPU_ISA: '' and 'AVX2'", refused)
        self.assertEqual(len(self.json("runs")["runs"]), 1, "nothing was measured")
        other = self.json("run", suite, "--stack", "limited", "--processes", 1, "--baseline", base, "--vary", "stack")
        self.assertIn("comparison", other)
        systems = {}
        for run in (base, other["run"]):
            self.plumb("push", run, "--textfile", self.folder / "run.prom")
            systems[run] = set(re.findall(r'system="([0-9a-f]+)"', (self.folder / "run.prom").read_text()))
        self.assertEqual(systems[base], systems[other["run"]])
        self.assertEqual(len(systems[base]), 1)

    def test_a_stack_that_changes_while_in_use_invalidates_the_run(self):
        folder = self.folder / "plumb/stacks/mine"
        folder.mkdir()
        library = folder / "libdnnl.so.3"
        shutil.copy(self.default_library(), library)
        (folder / "stack.toml").write_text('backend = "onednn"\nlibraries = ["libdnnl.so.3"]\n')
        suite = self.suite('[suite]\nname = "long"\n[[model]]\nname = "resnet50-v1"\n', "long")
        command = [self.program(), "run", suite, "--stack", "mine", "--only", "layers"]
        run = subprocess.Popen(command, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while run.poll() is None and not any(row["rows"]["ok"] for row in self.json("runs")["runs"]):
            time.sleep(0.05)
        worker = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()[0]
        self.assertIn(f"CUDA_CACHE_PATH={self.folder}/plumb/kernels/mine", pathlib.Path(f"/proc/{worker}/environ").read_text().split("\0"))
        (folder / "new").write_bytes(library.read_bytes() + b"another build")
        os.replace(folder / "new", library)
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate(timeout=600)
        self.assertEqual(run.returncode, 3, errors)
        self.assertRegex(errors, "(replaced|changed) while")
        self.assertNotIn("--resume", errors)
        row = self.json("runs")["runs"][0]
        self.assertEqual(row["state"], "interrupted")
        self.assertGreater(row["rows"]["ok"], 0, "the rows are kept")

    def test_a_debian_release_s_package_is_a_stack(self):
        self.debian_release("later", "3.9-1", {"usr/lib/libdnnl.so.3": self.default_library().read_bytes()})
        self.assertIn("plumb-test==3.9-1", self.plumb("stacks", "fetch", "--debian", "later", "plumb-test==1", expect=2).stderr)
        self.plumb("stacks", "fetch", "--debian", "nonesuch", "plumb-test==3.9-1", expect=2)
        self.assertIn("not a release", self.plumb("stacks", "fetch", "--debian", "../x", "plumb-test==3.9-1", expect=2).stderr)
        self.assertFalse((self.folder / "plumb/stacks/plumb-test-3.9-1").exists())
        stack = self.json("stacks", "fetch", "--debian", "later", "plumb-test==3.9-1")["stacks"][0]
        self.assertEqual((stack["name"], stack["problems"]), ("plumb-test-3.9-1", []))
        self.assertIn("Debian later: plumb-test==3.9-1", (self.folder / "plumb/stacks/plumb-test-3.9-1/stack.toml").read_text())

    def test_what_cannot_be_fetched_leaves_nothing(self):
        abandoned = self.folder / "plumb/stacks/.fetch-999999999-killed"
        abandoned.mkdir()
        (abandoned / "half.whl").write_text("half")
        self.wheel("2.0", {"data/readme.txt": "no library"})
        for package, expected in (("plumb-test-library==9.9", "check that the version exists"), ("plumb-test-library==2.0", "do not contain a library"),
                                  ("plumb-test-library", "PACKAGE==VERSION"), ("x==1; touch /tmp/y", "PACKAGE==VERSION"),
                                  ("--index-url=http://x==1", "")):
            self.assertIn(expected, self.plumb("stacks", "fetch", package, expect=2).stderr)
        self.assertIn("called", self.plumb("stacks", "fetch", "plumb-test-library==2.0", "--name", "../up", expect=2).stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "plumb/stacks").iterdir()), ["fake"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
