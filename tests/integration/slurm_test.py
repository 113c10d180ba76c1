#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a real Slurm measure a suite in an array whose tasks share a run on a real PostgreSQL server.

Usage: slurm_test.py BUILD_FOLDER [unittest arguments]. Needs Debian's slurm-wlm, munge and postgresql."""

import pathlib
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from local_server import wait_until
from plumb_command import Command
from postgresql_server import PostgresqlServer
from slurm_cluster import SlurmCluster, is_installed

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Scripts(Command):
    """What is submitted; no cluster is needed."""

    def setUp(self):
        super().setUp()
        self.environment["PLUMB_STORE"] = "postgresql://plumb_writer@db.example.org/plumb"

    def dry_run(self, *arguments, expect=0):
        return self.plumb("submit", "slurm", self.tiny(), "--stack", "fake", "--name", "nightly", "--dry-run", *arguments, expect=expect)

    def test_each_task_joins_the_run_and_the_report_follows(self):
        array, report = self.dry_run("--tasks", "4", "--gres", "gpu:h100:1", "--cpus", "8", "--time", "2:00:00").stdout.split("\n\n")
        for line in ("--array=0-3", "--gres=gpu:h100:1", "--cpus-per-task=8", "--time=2:00:00", "--requeue", "--open-mode=append"):
            self.assertIn(f"#SBATCH {line}\n", array)
        self.assertIn(f"run {self.folder}/mine.toml --stack fake --join nightly --threads 8", array)
        self.assertIn("export PLUMB_STORE='postgresql://plumb_writer@db.example.org/plumb'", array)
        self.assertIn("report nightly -o report.html", report)
        for script in (array, report):
            subprocess.run(["sh", "-n"], input=script, text=True, check=True)

    def test_files_are_named_as_every_node_finds_them(self):
        self.plumb("model", "export", "lenet", "-o", self.folder / "own.onnx")
        array = self.plumb("submit", "slurm", "--model", "own.onnx", "--name", "own", "--dry-run", cwd=self.folder).stdout
        self.assertIn(f"run --model {self.folder.resolve()}/own.onnx --stack default", array)

    def test_what_would_break_a_directive_is_refused(self):
        for option, value in (("--gres", "gpu:1\n#SBATCH --uid=0"), ("--partition", "a b"), ("--time", "1%")):
            self.assertIn("Slurm script", self.dry_run(option, value, expect=2).stderr)

    def test_a_file_is_no_shared_store(self):
        done = self.plumb("submit", "slurm", self.tiny(), "--name", "x", "--folder", self.folder / "x",
                          "--store", f"sqlite:{self.folder}/s.db", expect=2)
        self.assertIn("PostgreSQL", done.stderr)


@unittest.skipUnless(is_installed(), "slurm-wlm and munge are not installed")
class Cluster(Command):
    @classmethod
    def setUpClass(cls):
        cls.server = PostgresqlServer()
        cls.addClassCleanup(cls.server.__exit__)
        cls.cluster = SlurmCluster(cpus=4)
        cls.addClassCleanup(cls.cluster.stop)

    def setUp(self):
        super().setUp()
        self.environment["PLUMB_STORE"] = self.server.url()
        self.plumb("store", "migrate")
        self.hold = self.folder / "hold"  # no layer is measured while it is there
        self.hold.touch()
        self.stack("fake", f'[[rule]]\nmatch = "v1:*"\nhold = "{self.hold}"\ndelay_seconds = 0.05\n')
        self.cluster.environment.update({name: self.environment[name] for name in ("XDG_DATA_HOME", "PLUMB_WORKER_PATH", "PLUMB_STORE")})

    def submit(self, name, *arguments):
        return self.cluster.run(self.program(), "submit", "slurm", self.tiny("never"), "--stack", "fake", "--name", name,
                                "--folder", self.folder / name, "--tasks", "4", "--run-option=--processes=2",
                                "--run-option=--lease=2s", "--run-option=--row-timeout=10m", *arguments, timeout=600)

    def wait_for_tasks(self, name, count):
        """Waits until so many tasks have begun a layer of a run."""
        begun = ("select count(distinct w.member) from work w join shared_runs s on s.run = w.run "
                 f"where s.name = '{name}' and w.stage = 1 and w.progress < 2")
        wait_until(lambda: int(self.server.psql(begun)) >= count, lambda: f"{count} tasks measure: {self.logs(name)}")

    def release(self, name, count):
        try:
            self.wait_for_tasks(name, count)
        finally:
            self.hold.unlink(missing_ok=True)

    def logs(self, name):
        return "\n".join(path.read_text() for path in sorted((self.folder / name).glob("*.log")))

    def test_four_tasks_measure_one_run_and_a_report_is_made(self):
        release = threading.Thread(target=self.release, args=("together", 2), daemon=True)
        release.start()
        out = self.submit("together", "--wait")
        release.join()
        self.assertIn("array", out)
        runs = {run["run"]: run for run in self.json("runs")["runs"]}
        bound = self.json("bound", "together")
        self.assertEqual(runs[bound["run"]]["state"], "finished", self.logs("together"))
        members = self.server.psql("select count(*) from members m join runs r on r.number = m.run "
                                   f"where r.id = '{bound['run']}'")
        self.assertGreater(int(members), 1, self.logs("together"))
        self.assertIn("</html>", (self.folder / "together/report.html").read_text())

    def test_a_requeued_task_joins_again(self):
        self.submit("again")
        self.wait_for_tasks("again", 1)
        job = self.cluster.run("squeue", "--noheader", "--format=%i", "--states=RUNNING").split()[0]
        self.cluster.run("scontrol", "requeue", job)
        self.hold.unlink()
        deadline = time.monotonic() + 600
        while self.cluster.run("squeue", "--noheader").strip():
            self.assertLess(time.monotonic(), deadline, self.logs("again"))
            self.cluster.run("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
            time.sleep(1)
        bound = self.json("bound", "again")["run"]
        states = {run["run"]: run["state"] for run in self.json("runs")["runs"]}
        self.assertEqual(states[bound], "finished", self.logs("again"))


if __name__ == "__main__":
    unittest.main()
