#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Walks through docs/start/first-day.md: every block of commands, in order, in one shell, with nothing there but a bundle of the build.

Usage: first_day_test.py BUILD_FOLDER [unittest arguments]. `Scripted` has the fake worker in oneDNN's place, so that its verdicts
are certain. `Measured` measures the whole page with oneDNN, for minutes, and `FirstResult` the part of it before the first baseline.
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from bundle import make_bundle
from local_server import free_address
from page_commands import output_faults, read_page, shell_script, walked_blocks

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
PAGE = ROOT / "docs/start/first-day.md"
FIRST_GATE = "## 4. Accept a baseline"
#: With oneDNN limited to SSE4.1, convolutions and the models that have them are slower: for the fake worker.
SLOW = '[[rule]]\nmatch = "v1:conv;*"\nseconds = 0.001\n[[rule]]\nmatch = "model:*"\nseconds = 0.003\n'
STAND_IN = """#!/bin/sh
export PLUMB_FAKE_BACKEND=onednn
if [ "$ONEDNN_MAX_CPU_ISA" = SSE41 ]; then export PLUMB_FAKE_SCRIPT="{folder}/slow.toml"; fi
exec "{worker}" "$@"
"""


class Walk(unittest.TestCase):
    """Gives each test an empty folder with the bundle, an empty home, and free ports in the place of the page's."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="plumb-"))
        cls.addClassCleanup(shutil.rmtree, cls.shared, ignore_errors=True)
        cls.bundle = make_bundle(BUILD, cls.shared / "plumb-bundle.tar.xz")

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="plumb-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("home", "work", "tmp"):
            (self.folder / name).mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLUMB_", "XDG_", "ONEDNN_"))}
        self.environment = {**kept, "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp"), "USER": "ann"}
        self.ports = {address: free_address() for address in ("127.0.0.1:9779", "127.0.0.1:9090")}
        self.pack()

    def pack(self):
        """Puts the bundle into the working folder. Its Prometheus scrapes the free port, and does not wait a minute for it."""
        subprocess.run(["tar", "-C", self.folder / "tmp", "-xf", self.bundle], check=True)
        configuration = self.folder / "tmp/plumb/share/plumb/dashboards/prometheus/prometheus.yml"
        text = configuration.read_text()
        self.prepare(self.folder / "tmp/plumb")
        self.assertIn("127.0.0.1:9779", text)
        self.assertIn("scrape_interval: 1m", text)
        text = text.replace("scrape_interval: 1m", "scrape_interval: 1s")
        configuration.write_text(text.replace("127.0.0.1:9779", self.ports["127.0.0.1:9779"]))
        subprocess.run(["tar", "-C", self.folder / "tmp", "-cf", self.folder / "work/plumb-bundle.tar.xz", "plumb"], check=True)
        shutil.rmtree(self.folder / "tmp/plumb")

    def prepare(self, bundle):
        """Changes the unpacked bundle before it is packed again."""

    def walk(self, blocks):
        """Runs blocks of the page, expects the exit statuses that it says, and returns the blocks with what they printed."""
        script = self.folder / "walk.sh"
        text = shell_script(blocks)
        for address, free in self.ports.items():
            text = text.replace(address, free)
        script.write_text(text)
        log = self.folder / "walk.log"
        with log.open("wb") as stream:
            shell = subprocess.Popen(["bash", script], cwd=self.folder / "work", env=self.environment, stdin=subprocess.DEVNULL, stdout=stream,
                                     stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = shell.wait(1500)
            finally:
                try:
                    os.killpg(shell.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        if "FIRST_DAY_LOG" in os.environ:
            shutil.copy(log, os.environ["FIRST_DAY_LOG"])
        printed = log.read_text(errors="replace")
        walked = walked_blocks(blocks, printed)
        for block in walked:
            at_fault = block.ended and not block.ended_as_said
            self.assertFalse(at_fault, f"line {block.line} of the page says {block.statuses}, but it ended with {block.ended}\n{block.printed}")
        self.assertEqual(status, 0, f"line {walked[-1].line} of the page\n{printed[-6000:]}")
        self.assertEqual([block.line for block in walked], [block.line for block in blocks])
        return walked

    def printed_by(self, walked, command):
        """Returns what the only block with a command printed."""
        (block,) = [block for block in walked if command in block.commands]
        return block.printed


class Scripted(Walk):
    def prepare(self, bundle):
        """Lets the fake worker answer for oneDNN's."""
        worker = bundle / "libexec/plumb/plumb-worker-onednn"
        worker.unlink()
        worker.write_text(STAND_IN.format(folder=self.folder, worker=BUILD / "libexec/plumb/plumb-worker-fake"))
        worker.chmod(0o755)
        (self.folder / "slow.toml").write_text(SLOW)

    def test_every_command_ends_as_the_page_says(self):
        blocks = read_page(PAGE.read_text())
        walked = self.walk(blocks)
        gates = [block for block in walked if "--gate" in block.commands]
        self.assertEqual([block.ended for block in gates][:2], [[0], [1]], "first nothing changed, then the stack is slower")
        self.assertIn("equivalent", gates[0].printed)
        self.assertRegex(gates[1].printed, r"regressed +layer .*plumb layer 'v1:conv;")
        self.assertIn("plumb_model_latency_seconds", self.printed_by(walked, "/metrics"))


class Measured(Walk):
    def expect_output_as_shown(self, walked):
        faults = [f"line {block.line}: {line}" for block in walked if block.ended_as_shown for line in output_faults(block)]
        self.assertEqual(faults, [], "the page shows lines that the program does not print")


class FirstResult(Measured):
    def test_an_own_model_has_its_bound_and_its_report(self):
        text = PAGE.read_text()
        self.assertIn(FIRST_GATE, text)
        walked = self.walk(read_page(text.split(FIRST_GATE)[0]))
        self.expect_output_as_shown(walked)
        self.assertGreater((self.folder / "work/report.html").stat().st_size, 100000)


class WholeDay(Measured):
    def test_the_page_is_as_measured(self):
        self.expect_output_as_shown(self.walk(read_page(PAGE.read_text())))


if __name__ == "__main__":
    unittest.main(verbosity=2)
