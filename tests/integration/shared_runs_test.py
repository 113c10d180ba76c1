#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs several `plumb run --join` processes on one run of a real PostgreSQL server.

Usage: shared_runs_test.py BUILD_FOLDER [unittest arguments]."""

import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from local_server import wait_until
from plumb_command import Command
from postgresql_server import PostgresqlServer

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()

FAST, SLOW = "[[rule]]\ndelay_seconds = 0.005\n", "[[rule]]\ndelay_seconds = 0.1\n"
#: How many processes have begun a layer of a run, and not ended it.
MEASURING = ("select count(distinct w.member) from work w join shared_runs s on s.run = w.run "
             "where s.name = '{}' and w.stage = 1 and w.progress < 2")
#: Everything that a run measured, without times and numbers of processes.
MEASURED = ("select k.text, v.text, m.cache, m.purpose, m.outcome, count(*) from measurements m "
            "join runs r on r.number = m.run "
            "join layer_keys k on k.id = m.layer_key join variants v on v.id = m.variant "
            "where r.id = '{}' and m.purpose <> 'race' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5")


class Shared(Command):
    @classmethod
    def setUpClass(cls):
        cls.server = PostgresqlServer()
        cls.addClassCleanup(cls.server.__exit__)
        cls.databases = 0

    def setUp(self):
        super().setUp()
        type(self).databases += 1
        self.database = f"d{self.databases}"
        self.server.psql(f"create database {self.database}")
        self.environment["PLUMB_STORE"] = self.server.url(database=self.database)
        self.stack("fake", FAST)
        self.hold = self.folder / "hold"
        # Written once: others read it while a process starts.
        self.shared_suite = self.tiny("never", "shared")

    def tiny(self, reuse="always", name="mine"):
        return self.suite(f'[suite]\nname = "tiny"\nversion = 1\nreuse = "{reuse}"\n[defaults]\ncache = ["none"]\n'
                          '[[model]]\nname = "lenet"\n', name)

    def sql(self, text):
        return self.server.psql(text, database=self.database)

    def start(self, name, *arguments, **environment):
        return subprocess.Popen(
            [self.program(), "run", self.shared_suite, "--stack", "fake", "--processes", "2", "--row-timeout", "10m", "--join", name, *arguments],
            env={**self.environment, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def hold_back(self, match, rest=FAST):
        """Has workers wait before what matches, while the file `hold` is there."""
        self.hold.touch()
        self.stack("fake", f'[[rule]]\nmatch = "{match}"\nhold = "{self.hold}"\n{rest}')

    def finish(self, process, expect=0):
        out, err = process.communicate(timeout=600)
        self.assertEqual(process.returncode, expect, out + err)
        return err

    def measured(self, run):
        return self.sql(MEASURED.format(run))

    def bounds(self, run):
        """Returns the bounds of a run. Those of the fake worker's times are the same each time."""
        bounds = self.json("bound", run)["models"][0]["bounds"]
        self.assertTrue([bound for bound in bounds if bound["kind"] == "library" and bound["complete"]])
        return [(bound["kind"], bound["mode"], bound["seconds"], bound["complete"]) for bound in bounds]

    whole = None  #: What one process measures. It is the same in each database.

    def alone(self):
        self.plumb("store", "migrate")
        if Shared.whole is None:
            Shared.whole = self.measured(self.run_tiny("--processes", "2", reuse="never")["run"])
            self.assertGreater(len(Shared.whole.splitlines()), 5)
        return Shared.whole

    def wait_for(self, sql, value):
        deadline = time.monotonic() + 180
        while self.sql(sql) != value:
            self.assertLess(time.monotonic(), deadline, f"{sql} is not {value}")
            time.sleep(0.02)


class Together(Shared):
    def test_two_and_four_processes_measure_what_one_does(self):
        alone = self.run_tiny("--processes", "2", reuse="never")["run"]
        whole = self.measured(alone)
        self.assertGreater(len(whole.splitlines()), 5)
        for count in (2, 4):
            with self.subTest(processes=count):
                name = f"nightly-{count}"
                self.hold_back("v1:*")
                processes = [self.start(name) for _ in range(count)]
                self.wait_for(MEASURING.format(name), str(count))
                self.hold.unlink()
                for process in processes:
                    self.finish(process)
                run = self.json("bound", name)
                self.assertEqual(self.measured(run["run"]), whole)
                self.assertEqual([each["state"] for each in self.json("runs")["runs"] if each["run"] == run["run"]], ["finished"])
                self.assertEqual(self.bounds(run["run"]), self.bounds(alone))
                members = self.sql("select count(distinct m.process / 1000000) from measurements m join runs r on r.number = m.run "
                                   f"where r.id = '{run['run']}'")
                self.assertGreater(int(members), 1, "the work was shared")
        self.assertIn("sound", self.plumb("store", "verify").stdout)

    def test_who_comes_late_finds_the_run_finished(self):
        self.finish(self.start("done"))
        self.assertIn("is finished", self.finish(self.start("done")))

    def test_each_row_has_its_host(self):
        self.finish(self.start("hosts"))
        self.assertEqual(self.sql("select count(*) from measurements m left join attribute_sets a on a.id = m.attributes "
                                  "where a.text is null or a.text not like '%\"host\"%'"), "0")


class Losses(Shared):
    def test_the_keys_of_a_killed_process_are_measured_by_another(self):
        whole = self.alone()
        self.stack("fake", SLOW)
        before = int(self.sql("select count(*) from measurements"))
        lost = self.start("nightly", "--lease", "2s")
        self.wait_for(f"select count(*) > {before} from measurements", "t")
        held = self.sql("select count(*) from work where member = 1 and progress < 2")
        lost.send_signal(signal.SIGKILL)
        lost.communicate()
        self.assertNotEqual(held, "0")
        self.stack("fake", FAST)
        self.assertIn("left a layer unfinished", self.finish(self.start("nightly", "--lease", "2s")))
        run = self.json("bound", "nightly")["run"]
        self.assertEqual(self.measured(run), whole)
        self.assertEqual(self.sql("select count(*) from work where progress < 2"), "0")

    def test_a_process_that_was_stopped_for_too_long_stores_nothing_stale(self):
        whole = self.alone()
        self.stack("fake", SLOW)
        before = int(self.sql("select count(*) from measurements"))
        slow = self.start("nightly", "--lease", "1s")
        self.wait_for(f"select count(*) > {before} from measurements", "t")
        slow.send_signal(signal.SIGSTOP)
        self.stack("fake", FAST)
        self.finish(self.start("nightly", "--lease", "1s"))
        slow.send_signal(signal.SIGCONT)
        self.finish(slow)
        self.assertEqual(self.measured(self.json("bound", "nightly")["run"]), whole)

    def test_an_interrupted_run_goes_on_with_who_joins_it(self):
        whole = self.alone()
        self.stack("fake", SLOW)
        before = int(self.sql("select count(*) from measurements"))
        first = self.start("nightly")
        self.wait_for(f"select count(*) > {before} from measurements", "t")
        first.send_signal(signal.SIGTERM)
        self.assertIn("--join nightly", self.finish(first, expect=143))
        self.assertEqual(self.json("runs")["runs"][0]["state"], "interrupted")
        self.stack("fake", FAST)
        self.finish(self.start("nightly"))
        self.assertEqual(self.measured(self.json("bound", "nightly")["run"]), whole)


    def test_an_outage_of_the_server_loses_and_doubles_nothing(self):
        whole = self.alone()
        self.hold_back("model:*", SLOW)
        before = int(self.sql("select count(*) from measurements"))
        processes = [self.start("nightly") for _ in range(2)]
        self.wait_for(f"select count(*) > {before} from measurements", "t")
        self.server.stop("immediate")
        self.hold.unlink()
        wait_until(lambda: list((self.folder / "plumb/spool").glob("*.db")), "a result waits for the server")
        self.server.start()
        errors = [self.finish(process) for process in processes]
        self.assertIn("what is measured meanwhile is kept", "".join(errors))
        self.assertEqual(self.measured(self.json("bound", "nightly")["run"]), whole)
        self.assertIn("sound", self.plumb("store", "verify").stdout)


class Refusals(Shared):
    def test_unlike_environments_are_not_mixed(self):
        self.finish(self.start("nightly"))
        error = self.finish(self.start("nightly", "--threads", "2"), expect=4)
        self.assertIn("threads: '1' there and '2' here", error)

    def test_another_suite_is_refused(self):
        self.finish(self.start("nightly"))
        other = self.suite('[suite]\nname = "other"\nversion = 1\nreuse = "never"\n[[model]]\nname = "lenet"\nbatch = 2\n', "other")
        done = self.plumb("run", other, "--stack", "fake", "--join", "nightly", expect=4)
        self.assertIn("suite: 'tiny'", done.stderr)

    def test_a_file_and_wrong_options_are_refused(self):
        done = self.plumb("run", self.tiny(), "--stack", "fake", "--join", "x", "--store", f"sqlite:{self.folder}/s.db", expect=2)
        self.assertIn("PostgreSQL", done.stderr)
        self.assertIn("--lease", self.plumb("run", self.tiny(), "--join", "x", "--lease", "2m", expect=2).stderr)
        self.plumb("run", self.tiny(), "--join", "x", "--shard", "1/2", expect=2)


if __name__ == "__main__":
    unittest.main()
