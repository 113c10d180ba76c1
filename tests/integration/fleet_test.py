#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Watches several systems and hosts of one store on a real PostgreSQL server: exporters, pages, and hosts that left their class.

Usage: fleet_test.py BUILD_FOLDER [unittest arguments]."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from local_server import LocalServer, fetch, free_address, wait_until
from plumb_command import Command
from postgresql_server import PostgresqlServer
from run_history import rule

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
#: What an exporter says of itself.
OWN = re.compile(r"(?m)^plumb_store_(last_success_timestamp|rebuild)_seconds .*\n")
SLOW_MACHINE = rule("control:*", seconds=0.002) + rule("v1:*", seconds=0.0004) + rule("model:*", seconds=0.01)


def can_name_hosts():
    """Whether this user may start a process in a namespace with another host name."""
    return subprocess.run(["unshare", "--uts", "hostname", "probe"], capture_output=True).returncode == 0


class Fleet(Command):
    @classmethod
    def setUpClass(cls):
        cls.server = PostgresqlServer()
        cls.addClassCleanup(cls.server.__exit__)

    def setUp(self):
        super().setUp()
        self.database = self._testMethodName[:60]
        self.server.psql(f"create database {self.database}")
        self.environment["PLUMB_STORE"] = self.server.url(database=self.database)

    def measure(self, host=None, rules="", stack="fake", board="one", options=()):
        """Measures a run on a system, as a host of this name; returns its id."""
        self.stack(stack, f'[identity]\n"board" = "{board}"\n{rules}')
        program = self.program()
        if host:
            plumb, name = self.folder / "on-host", host
            plumb.write_text(f'#!/bin/sh\nexec unshare --uts sh -c \'hostname {name} && exec "$@"\' plumb {program} "$@"\n')
            plumb.chmod(0o755)
            self.program = lambda: plumb
        try:
            return self.json("run", self.tiny("never"), "--stack", stack, *options)["run"]
        finally:
            self.program = lambda: program

    def serve(self):
        address = free_address()
        return LocalServer(self, f"exporter-{address}", [self.program(), "serve", "--listen", address, "--refresh", "0.1"], address, "/healthz",
                           self.environment)

    def scrape(self, exporter):
        return OWN.sub("", fetch(f"{exporter.url}/metrics"))

    def test_two_exporters_of_many_systems_give_the_same_series(self):
        for board in ("one", "two", "three"):
            for stack in ("current", "next"):
                self.measure(stack=stack, board=board)
        first, second = self.serve(), self.serve()
        systems = set(re.findall(r'plumb_run_info\{.*system="(\w+)"', self.scrape(first)))
        self.assertEqual(len(systems), 3)
        self.assertEqual(self.scrape(first), self.scrape(second))
        before = self.scrape(first)
        self.measure(stack="next", board="two", rules=rule("model:lenet", seconds=0.01))
        wait_until(lambda: 'state="suspected"} 1' in self.scrape(first), "the new run is served")
        wait_until(lambda: self.scrape(first) == self.scrape(second), "the other one serves it too")
        self.assertNotEqual(self.scrape(first), before)
        third = self.serve()
        self.assertEqual(self.scrape(first), self.scrape(third), "one that starts later, too")

    def test_a_host_that_left_its_class_is_marked_and_not_compared(self):
        if not can_name_hosts():
            self.skipTest("this user may not start processes under another host name")
        for host in ("node-a", "node-b", "node-a", "node-b"):
            self.measure(host)
        good = self.measure("node-a")
        drifted = self.measure("node-b", SLOW_MACHINE)
        exporter = self.serve()
        shown = self.scrape(exporter)
        states = dict(re.findall(r'plumb_host_drifted\{host="([\w-]+)".*\} (\d)', shown))
        self.assertEqual(states, {"node-a": "0", "node-b": "1"})
        self.assertIn('metric="latency",state="inconclusive"} 1', shown)
        page = fetch(f"{exporter.url}/hosts")
        self.assertIn("node-b left its class.", page)
        self.assertRegex(page, r"<td>node-a</td>.*in its class")
        self.assertIn("Not compared", fetch(f"{exporter.url}/models/lenet"))

        compared = self.json("compare", good, drifted, "--gate", expect=75)
        self.assertEqual(compared["verdict"], "inconclusive")
        reasons = {metric.get("reason", "") for metric in compared["metrics"] if metric["kind"] == "end_to_end"}
        self.assertEqual(len(reasons), 1, reasons)
        self.assertRegex(reasons.pop(), r"not equally fast in both runs: the control 'product'.*\(node-a and node-b\)")

        # Back in its class, its runs are compared again, and not with those of meanwhile.
        self.measure("node-b", rule("model:lenet", seconds=0.01))
        wait_until(lambda: 'metric="latency",state="suspected"} 1' in self.scrape(exporter), "it is compared")
        self.assertNotIn("plumb_host_drifted{host=\"node-b\"", "".join(line for line in self.scrape(exporter).splitlines() if line.endswith("} 1")))

    def start_on_gpu(self, gpu, rules):
        """Starts a process of one shared run, by a copy of plumb whose worker says that it has this GPU."""
        folder = self.folder / gpu
        for part in ("bin", "libexec/plumb"):
            (folder / part).mkdir(parents=True)
        shutil.copy(self.program(), folder / "bin")
        (folder / "script.toml").write_text(f'[identity]\n"gpu.uuid" = "{gpu}"\n[[rule]]\nmatch = "v1:*"\nhold = "{self.folder}/hold"\n{rules}')
        worker = folder / "libexec/plumb/plumb-worker-fake"
        worker.write_text(f'#!/bin/sh\nPLUMB_FAKE_SCRIPT={folder}/script.toml exec {self.build}/libexec/plumb/plumb-worker-fake "$@"\n')
        worker.chmod(0o755)
        return subprocess.Popen([folder / "bin/plumb", "run", self.mine, "--stack", "fake", "--row-timeout", "10m", "--join", "both"], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_unequal_gpus_of_one_host_are_told_apart(self):
        self.mine = self.tiny("never")
        self.plumb("store", "migrate")
        (self.folder / "hold").touch()
        processes = [self.start_on_gpu("GPU-1", ""), self.start_on_gpu("GPU-2", rule("control:*", seconds=0.002))]
        begun = "select count(distinct member) from work where stage = 1 and progress < 2"
        wait_until(lambda: self.server.psql(begun, database=self.database) == "2", "both measure a layer")
        (self.folder / "hold").unlink()
        for process in processes:
            out, err = process.communicate(timeout=600)
            self.assertEqual(process.returncode, 0, out + err)
        bounds = self.json("bound", "both")["models"][0]["bounds"]
        lacks = {text for bound in bounds if bound["kind"] == "library" for text in bound.get("lacks", [])}
        self.assertTrue([text for text in lacks if re.search(r"GPU-1, \S+ GPU-2, whose controls differ", text)], bounds)


if __name__ == "__main__":
    unittest.main(verbosity=2)
