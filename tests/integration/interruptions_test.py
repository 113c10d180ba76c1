#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Interrupts, kills and damages runs of the real program. Usage: interruptions_test.py BUILD_FOLDER [unittest arguments]."""

import json
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()


class Interruption(Command):
    def start_slow(self):
        self.stack("fake", "[[rule]]\ndelay_seconds = 0.2\n")
        process = subprocess.Popen([self.program(), "run", self.tiny("never"), "--stack", "fake"], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            try:
                if self.store_rows("select count(*) from measurements")[0][0] > 3:
                    return process
            except sqlite3.OperationalError:
                pass
            time.sleep(0.05)
        self.fail("nothing was stored in three minutes")

    def resume(self):
        self.stack("fake")
        self.plumb("run", self.tiny("never"), "--stack", "fake", "--resume")
        runs = self.json("runs")["runs"]
        self.assertEqual([run["state"] for run in runs], ["finished"])
        twice = self.store_rows("select count(*) from (select count(*) as times from measurements where purpose = 'full' "
                                "group by layer_key, variant, cache having times > 1)")
        self.assertEqual(twice[0][0], 0, "a layer was measured twice")
        self.assertIn("sound", self.plumb("store", "verify").stdout)

    def test_ctrl_c_leaves_a_usable_partial_run(self):
        process = self.start_slow()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 130, error)
        self.assertEqual(self.json("runs")["runs"][0]["state"], "interrupted")
        self.json("bound")
        self.resume()

    def test_a_live_run_is_not_taken_over_by_another_user_of_its_store(self):
        process = self.start_slow()
        process.send_signal(signal.SIGSTOP)
        self.stack("fake")
        store = f"sqlite:{self.folder / 'plumb/store.db'}"
        another = self.folder / "another"
        (another / "plumb").mkdir(parents=True)
        (another / "plumb/stacks").symlink_to(self.folder / "plumb/stacks")
        self.environment["XDG_DATA_HOME"] = str(another)
        self.plumb("run", self.tiny("never"), "--stack", "fake", "--resume", "--store", store)
        self.assertEqual(len(self.json("runs", "--store", store)["runs"]), 2, "a run of its own")
        process.kill()
        process.communicate(timeout=600)
        self.plumb("run", self.tiny("never"), "--stack", "fake", "--resume", "--store", store)
        self.assertEqual([run["state"] for run in self.json("runs", "--store", store)["runs"]], ["finished", "finished"])

    def test_a_run_that_was_taken_over_ends_and_says_so(self):
        process = self.start_slow()
        process.send_signal(signal.SIGSTOP)
        (self.folder / "plumb/store.db-lease").unlink()
        self.resume()
        process.send_signal(signal.SIGCONT)
        _, messages = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 3, messages)
        self.assertIn("was taken over by process", messages)
        self.assertEqual([run["state"] for run in self.json("runs")["runs"]], ["finished"])

    def test_a_store_that_is_deleted_under_a_run_is_said(self):
        process = self.start_slow()
        for file in (self.folder / "plumb").glob("store.db*"):
            file.unlink()
        _, messages = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 3, messages)
        self.assertIn("deleted, moved or replaced", messages)

    def test_a_lowered_position_is_a_damaged_store_and_no_bug(self):
        process = self.start_slow()
        process.kill()
        process.communicate(timeout=600)
        with sqlite3.connect(self.folder / "plumb/store.db") as store:
            store.execute("update runs set next_position = next_position - 1")
        store.close()
        done = self.plumb("run", self.tiny("never"), "--stack", "fake", "--resume", expect=3)
        self.assertIn("-wal and -shm", done.stderr)
        self.assertIn("run ", self.plumb("store", "verify", expect=1).stdout)

    def test_a_damaged_log_of_a_killed_run_is_said_once_and_the_run_resumes(self):
        process = self.start_slow()
        process.kill()
        process.communicate(timeout=600)
        log = self.folder / "plumb/store.db-wal"
        content = bytearray(log.read_bytes())
        content[len(content) // 2] ^= 1
        log.write_bytes(content)
        self.assertIn("rows may be lost", self.plumb("runs").stderr)
        self.assertNotIn("rows may be lost", self.plumb("runs").stderr)
        self.resume()

    def test_a_mode_without_a_time_is_not_executed_again(self):
        arguments = ["run", "--model", "lenet", "--batch", "1,2", "--training", "sgd", "--mode", "plain", "--mode", "fusion+int8",
                     "--only", "models", "--processes", 1]
        count = "select count(*) from derived where kind = 'execution'"
        self.plumb(*arguments)  # makes the store, and calibrates
        before = self.store_rows(count)[0][0]
        self.change_store(f"create trigger full before insert on derived when new.kind = 'execution' and ({count}) >= {before + 2} "
                          "begin select raise(abort, 'full'); end")
        ended = subprocess.run([self.program(), *map(str, arguments)], env=self.environment, capture_output=True, timeout=self.seconds)
        self.assertNotEqual(ended.returncode, 0)
        self.change_store("drop trigger full")
        self.plumb(*arguments, "--resume")
        runs = self.json("runs")["runs"]
        self.assertEqual([run["state"] for run in runs], ["finished", "finished"])
        rows = self.store_rows("select cast(d.payload as text) from derived d join runs r on r.number = d.run "
                               f"where d.kind = 'execution' and r.id = '{runs[0]['run']}' order by d.subject, d.id")
        modes = [(row["mode"], row["row"]["outcome"]) for row in (json.loads(payload) for payload, in rows)]
        self.assertEqual([mode for mode, _ in modes], ["plain", "fusion+int8"] * 2, "the first batch was not executed again")
        self.assertEqual([outcome for mode, outcome in modes if mode == "fusion+int8"], ["unsupported"] * 2)

    def test_a_fault_of_the_device_ends_the_run_which_is_never_resumed(self):
        self.stack("fake", '[[rule]]\nmatch = "v1:matmul;*"\noutcome = "crashed"\n'
                   'reason = "Xid 48"\nattributes = { device_fault = "the driver reported Xid 48" }\n')
        done = self.plumb("run", self.tiny("never"), "--stack", "fake", expect=3)
        self.assertIn("the driver reported Xid 48: the measurements of run", done.stderr)
        self.assertEqual(self.json("runs")["runs"][0]["state"], "interrupted")
        self.assertEqual(self.store_rows("select kind, payload from derived where kind = 'device_fault'"),
                         [("device_fault", '"the driver reported Xid 48"')])
        self.assertIn("sound", self.plumb("store", "verify").stdout)
        self.stack("fake")
        self.plumb("run", self.tiny("never"), "--stack", "fake", "--resume")
        self.assertEqual(sorted(run["state"] for run in self.json("runs")["runs"]), ["finished", "interrupted"], "a run of its own")

    def test_kill_9_loses_nothing_stored_and_leaves_no_worker(self):
        process = self.start_slow()
        kept = self.store_rows("select count(*) from measurements")[0][0]
        process.kill()
        process.communicate(timeout=600)
        self.assert_no_worker_is_left()
        self.assertGreaterEqual(self.store_rows("select count(*) from measurements")[0][0], kept)
        self.assertEqual(self.json("runs")["runs"][0]["state"], "running")
        self.resume()


if __name__ == "__main__":
    unittest.main(verbosity=2)
