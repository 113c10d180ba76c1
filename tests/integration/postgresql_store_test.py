#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs whole commands on a store of a real PostgreSQL server: rights, secrets, outages, copies and back-ups.

Usage: postgresql_store_test.py BUILD_FOLDER [--outage SECONDS] [unittest arguments]."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from dashboard_files import store_queries
from local_server import free_address, wait_until
from plumb_command import Command, option
from postgresql_server import PostgresqlServer, program

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs/guides/share-a-store.md"
PASSWORD = "hunter2-of-the-test"
OUTAGE = option("--outage", 2)  # seconds


class OnServer(Command):
    """A server for all tests of a class, with a database for each."""

    hba = None

    @classmethod
    def make_server(cls):
        return PostgresqlServer(cls.hba)

    @classmethod
    def setUpClass(cls):
        cls.server = cls.make_server()
        cls.addClassCleanup(cls.server.__exit__)
        cls.databases = 0

    def setUp(self):
        super().setUp()
        self.database = self.new_database()
        self.url = self.server.url(database=self.database)
        self.environment["PLUMB_STORE"] = self.url

    @classmethod
    def new_database(cls):
        cls.databases += 1
        cls.server.psql(f"create database d{cls.databases}")
        return f"d{cls.databases}"

    def sql(self, text):
        return self.server.psql(text, database=self.database)

    def export(self, url):
        return self.plumb("store", "export", "--store", url).stdout

    def verify(self, url=None):
        self.assertIn("sound", self.plumb("store", "verify", "--store", url or self.url).stdout)


class ShortRuns(OnServer):
    """Runs whose rows do not matter are measured hot alone."""

    def tiny(self, reuse="always"):
        return self.suite(f'[suite]\nname = "tiny"\nversion = 1\nreuse = "{reuse}"\n[defaults]\ncache = ["none"]\n'
                          '[[model]]\nname = "lenet"\n')


class Whole(OnServer):
    def test_runs_are_kept_listed_analysed_and_checked(self):
        run = self.run_tiny()["run"]
        again = self.run_tiny()["run"]
        runs = self.json("runs")["runs"]
        self.assertEqual([each["run"] for each in runs], [again, run])
        self.assertGreater(runs[0]["rows"]["reused"], 0)
        self.assertEqual(self.json("bound", run)["run"], run)
        self.assertEqual(self.json("store", "migrate")["store_schema_version"], int(self.sql("select max(number) from migrations")))
        self.verify()

    def test_an_export_is_the_same_from_either_database(self):
        self.run_tiny()
        self.run_tiny()
        lines = self.export(self.url)
        file = self.folder / "export.jsonl"
        file.write_text(lines)
        sqlite = f"sqlite:{self.folder}/copy.db"
        self.plumb("store", "import", file, "--store", sqlite)
        self.assertEqual(self.export(sqlite), lines)
        second = self.server.url(database=self.new_database())
        file.write_text(self.export(sqlite))
        self.plumb("store", "import", file, "--store", second)
        self.assertEqual(self.export(second), lines)
        self.assertEqual(self.json("store", "import", file, "--store", second)["new_runs"], 0)
        for url in (sqlite, second):
            self.verify(url)

    def test_damage_is_found(self):
        self.run_tiny()
        self.sql("update measurements set median_seconds = median_seconds * 2 where id = (select min(id) from measurements)")
        found = self.plumb("store", "verify", expect=1).stdout
        self.assertIn("checksum", found)
        self.assertIn("pg_restore", found)
        self.assertNotIn("-wal", found)

    def test_old_runs_are_collected(self):
        self.run_tiny()
        self.run_tiny(reuse="never")
        collected = self.json("store", "gc", "--older-than", "1ms")
        self.assertEqual(collected["removed_runs"], 1)
        self.assertGreater(collected["after_bytes"], 0)
        self.assertIn("its server, which keeps the room", self.plumb("store", "gc", "--older-than", "1ms").stdout)
        self.verify()

    def test_a_restored_dump_is_the_same_store(self):
        self.run_tiny()
        dump = self.folder / "store.dump"
        subprocess.run([program("pg_dump"), "--format=custom", f"--file={dump}", self.url], check=True)
        restored = self.server.url(database=self.new_database())
        subprocess.run([program("pg_restore"), f"--dbname={restored}", dump], check=True)
        self.verify(restored)
        self.assertEqual(self.export(restored), self.export(self.url))


class Rights(OnServer):
    """The statements of the guide, and what each role may do then."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        superuser, owner = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL)[:2]
        for statement in superuser.split(";"):
            if statement.strip():
                cls.server.psql(statement)
        cls.server.psql(owner, user="plumb_owner", database="plumb")

    def setUp(self):
        super().setUp()
        self.plumb("store", "migrate", "--store", self.of("plumb_owner"))

    def of(self, role):
        return self.server.url(user=role, database="plumb")

    def test_each_role_may_do_its_part(self):
        self.environment["PLUMB_STORE"] = self.of("plumb_writer")
        self.run_tiny()
        self.assertIn("right", self.plumb("store", "gc", "--older-than", "1us", expect=3).stderr)
        self.environment["PLUMB_STORE"] = self.of("plumb_reader")
        self.assertGreater(len(self.json("runs")["runs"]), 0)
        self.assertIn("right", self.plumb("run", self.tiny(), "--stack", "fake", expect=3).stderr)
        self.environment["PLUMB_STORE"] = self.of("plumb_owner")
        self.verify(self.of("plumb_owner"))
        self.plumb("store", "gc", "--older-than", "1d")


    def test_each_query_of_the_dashboard_has_an_answer_for_a_reader(self):
        self.run_tiny("--store", self.of("plumb_writer"))
        queries = store_queries()
        self.assertGreater(len(queries), 8)
        for place, query, form in queries:
            for suites in ("'tiny'", "select suite from runs"):
                with self.subTest(place=place, suites=suites):
                    sql = query.replace("$suite", suites).replace("$__unixEpochFrom()", "0").replace("$__unixEpochTo()", "4102444800")
                    self.assertNotIn("$", sql)
                    done = subprocess.run([program("psql"), self.of("plumb_reader"), "-XAq", "-v", "ON_ERROR_STOP=1", "-c", sql],
                                          capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    head, *rows, _ = done.stdout.splitlines()
                    if "Unfinished" not in place:
                        self.assertTrue(rows and rows[0], sql)
                    if form == "time_series":
                        self.assertEqual(head, "time|metric|value")


class Secrets(ShortRuns):
    """A role that needs a password."""

    hba = "local all owner trust\nlocal all all scram-sha-256\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.psql(f"create role ci login superuser password '{PASSWORD}'")

    def setUp(self):
        super().setUp()
        self.url = self.server.url(user="ci", database=self.database)
        self.environment["PLUMB_STORE"] = self.url

    def password_file(self, password=PASSWORD):
        file = self.folder / "pgpass"
        file.write_text(f"*:*:*:ci:{password}\n")
        file.chmod(0o600)
        self.environment["PGPASSFILE"] = str(file)

    def test_a_password_file_and_a_service_file_are_read(self):
        self.password_file()
        self.run_tiny()
        service = self.folder / "services"
        service.write_text(f"[results]\nhost={self.server.folder}\ndbname={self.database}\nuser=ci\n")
        self.environment["PGSERVICEFILE"] = str(service)
        self.assertEqual(len(self.json("runs", "--store", "postgresql://?service=results")["runs"]), 1)

    def test_no_password_is_stored_or_printed(self):
        self.password_file()
        self.run_tiny("--store", self.url)
        dump = subprocess.run([program("pg_dump"), "--data-only", self.server.url(database=self.database)], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("--stack", dump, "the command is stored")
        self.assertNotIn(PASSWORD, dump)
        for url in (self.url.replace("ci@", f"ci:{PASSWORD}@"), f"{self.url}&password={PASSWORD}"):
            for arguments in (["runs", "--store", url], ["run", self.tiny(), "--stack", "fake", "--store", url],
                              ["store", "sync", "--store", url]):
                done = self.plumb(*arguments, expect=2)
                self.assertIn("password", done.stderr)
                self.assertNotIn(PASSWORD, done.stdout + done.stderr)
        self.password_file(PASSWORD + "x")
        done = self.plumb("runs", expect=3)
        self.assertIn("pgpass", done.stderr)
        self.assertNotIn(PASSWORD, done.stdout + done.stderr)

    def test_the_list_of_processes_holds_no_password(self):
        self.stack("fake", "[[rule]]\ndelay_seconds = 0.02\n")
        self.password_file()
        process = subprocess.Popen([self.program(), "run", self.tiny("never"), "--stack", "fake"], env=self.environment,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = set()
        while process.poll() is None:
            seen.update(line for line in subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True)
                        .stdout.splitlines())
            time.sleep(0.05)
        self.assertEqual(process.returncode, 0)
        self.assertTrue([line for line in seen if "plumb-worker-fake" in line])
        self.assertFalse([line for line in seen if PASSWORD in line])


class Encrypted(ShortRuns):
    """A server that takes encrypted connections only, with a certificate of its own."""

    hba = "local all owner trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"

    @classmethod
    def make_certificate(cls, folder):
        """Makes a key and a certificate that names localhost, and is its own root."""
        folder.mkdir()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"], check=True,
                       capture_output=True)
        return folder

    @classmethod
    def make_server(cls):
        cls.certificates = pathlib.Path(tempfile.mkdtemp(prefix="plumb-tls-"))
        cls.addClassCleanup(shutil.rmtree, cls.certificates)
        cls.make_certificate(cls.certificates / "other")
        cls.port = int(free_address().split(":")[1])
        return PostgresqlServer(cls.hba, ["log_statement = all", "log_connections = on"], cls.port,
                                cls.make_certificate(cls.certificates / "own"))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.psql(f"create role ci login superuser password '{PASSWORD}'")
        cls.log_before = (cls.server.folder / "log").stat().st_size

    def setUp(self):
        super().setUp()
        file = self.folder / "pgpass"
        file.write_text(f"*:*:*:ci:{PASSWORD}\n")
        file.chmod(0o600)
        self.environment["PGPASSFILE"] = str(file)
        self.environment["PLUMB_STORE"] = self.of()

    def of(self, mode="verify-full", root="own", host="localhost"):
        return f"postgresql://ci@{host}:{self.port}/{self.database}?sslmode={mode}&sslrootcert={self.certificates}/{root}/cert.pem"

    def test_the_certificate_is_verified_and_no_password_is_told(self):
        self.stack("fake", "[[rule]]\ndelay_seconds = 0.01\n")
        process = subprocess.Popen([self.program(), "run", self.tiny("never"), "--stack", "fake"], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        seen = set()
        while process.poll() is None:
            for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(path.read_text())
                except OSError:
                    pass  # It ended.
            time.sleep(0.02)
        printed = process.communicate()[0]
        self.assertEqual(process.returncode, 0, printed)
        self.assertTrue([line for line in seen if "plumb-worker-fake" in line])
        with (self.server.folder / "log").open() as log:
            log.seek(self.log_before)
            logged = log.read()
        self.assertIn("SSL enabled", logged)
        self.assertIn("begin", logged.lower(), "statements are logged")
        dump = subprocess.run([program("pg_dump"), "--data-only", self.server.url(database=self.database)], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn("--stack", dump, "the command is stored")
        for text in (printed, logged, dump, *seen):
            self.assertNotIn(PASSWORD, text)
        self.assertEqual(len(self.json("runs")["runs"]), 1)

    def test_a_wrong_root_a_wrong_name_and_an_open_connection_are_refused(self):
        for url, said in ((self.of(root="other"), "certificate verify failed"),
                          (self.of(host="127.0.0.1"), "does not match host name"),
                          (self.of(root="none"), "none/cert.pem")):
            error = self.plumb("runs", "--store", url, expect=3).stderr
            self.assertIn(said, error)
            self.assertIn("check sslmode and sslrootcert", error)
        self.assertIn("no pg_hba.conf entry", self.plumb("runs", "--store", self.of("disable"), expect=3).stderr)


DOUBLED = ("select count(*) from (select 1 from measurements where purpose = 'full' "
           "group by layer_key, variant, cache having count(*) > 1) as doubled")
ROWS = "select count(*) from measurements"


class Outages(ShortRuns):
    """Servers and runs that die in the middle of a run."""

    whole = None  #: What an undisturbed run has. It is the same in each database.

    def setUp(self):
        super().setUp()
        self.hold = self.folder / "hold"
        self.unhurried()
        self.plumb("store", "migrate")
        if Outages.whole is None:
            self.run_tiny(reuse="never")
            Outages.whole = self.outcome()
            self.assertTrue(Outages.whole[0])

    def unhurried(self, delay=0.01):
        """Has the worker take its time, and wait before models while the file `hold` is there: no run ends before its server does."""
        self.stack("fake", f'[[rule]]\nmatch = "model:*"\nhold = "{self.hold}"\ndelay_seconds = 0.5\n[[rule]]\ndelay_seconds = {delay}\n')

    def outcome(self):
        """Returns what the newest run has: its rows without times, and its models' modes."""
        rows = self.sql("select k.text, v.text, m.cache, m.purpose, m.outcome, count(*) from measurements m "
                        "join layer_keys k on k.id = m.layer_key join variants v on v.id = m.variant "
                        "where m.run = (select max(number) from runs) and m.purpose <> 'race' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5")
        return rows.count("|ok|") > 0, len(rows.splitlines())

    def start(self, *arguments):
        return subprocess.Popen([self.program(), "run", self.tiny("never"), "--stack", "fake", *arguments], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop_amid_a_run(self, how):
        """Starts a run, and stops the server when it has two rows. Returns the run's process."""
        before = int(self.sql(ROWS))
        self.hold.touch()
        process = self.start()
        wait_until(lambda: int(self.sql(ROWS)) >= before + 2, "rows are stored")
        if how == "kill":
            os.kill(self.server.process(), signal.SIGKILL)
            time.sleep(0.3)
        else:
            self.server.stop(how)
        self.hold.unlink()
        return process

    def wait_for_spool(self):
        """Waits until a result waits for the server. The run does not end before the file `hold` goes."""
        wait_until(lambda: list((self.folder / "plumb/spool").glob("*.db")), "a result waits for the server")
        self.hold.touch()

    def restart(self):
        deadline = time.monotonic() + 180
        while True:
            try:
                return self.server.start()
            except RuntimeError:  # Processes of the killed one still end.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.3)

    def check(self):
        self.verify()
        self.assertEqual(self.outcome(), self.whole)
        newest = "and run = (select max(number) from runs) "
        self.assertEqual(self.sql(DOUBLED.replace("group by", newest + "group by")), "0")
        states = self.sql("select state from runs order by number")
        self.assertEqual(set(states.splitlines()), {"finished"})

    def test_a_run_outlives_its_server_and_sync_stores_the_rest(self):
        process = self.stop_amid_a_run("fast")
        _, errors = process.communicate(timeout=600)
        self.assertEqual(process.returncode, 75, errors)
        self.assertIn("plumb store sync", errors)
        self.assertIn("is away", self.plumb("store", "sync", expect=75).stderr)
        self.restart()
        runs = self.json("store", "sync")["runs"]
        self.assertEqual(len(runs), 1)
        self.assertGreater(runs[0]["stored_rows"], 0)
        self.assertEqual(self.json("store", "sync")["runs"], [])
        self.check()

    def test_a_server_that_is_killed_and_comes_back_is_sent_what_waited(self):
        process = self.stop_amid_a_run("kill")
        self.restart()
        _, errors = process.communicate(timeout=600)
        # A run that ends while the server recovers leaves the rest to `sync`, if there is a rest: its bounds are read last.
        self.assertIn(process.returncode, (0, 75), errors)
        self.assertLessEqual(len(self.json("store", "sync")["runs"]), 1 if process.returncode else 0, errors)
        self.check()

    def test_a_run_goes_on_while_its_server_is_away_and_sends_what_waited(self):
        self.unhurried(OUTAGE / 60)
        process = self.stop_amid_a_run("fast")
        self.wait_for_spool()
        time.sleep(OUTAGE)
        self.assertIsNone(process.poll(), "the run was shorter than the outage")
        self.restart()
        self.hold.unlink()
        _, errors = process.communicate(timeout=600 + 10 * OUTAGE)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.json("store", "sync")["runs"], [])
        self.check()

    def test_a_run_that_is_killed_while_its_server_is_away_is_resumed(self):
        process = self.stop_amid_a_run("immediate")
        self.wait_for_spool()
        time.sleep(1)
        process.kill()
        process.communicate()
        self.restart()
        self.hold.unlink()
        resumed = self.start("--resume")
        _, errors = resumed.communicate(timeout=600)
        self.assertEqual(resumed.returncode, 0, errors)
        self.assertIn("that waited for the server are stored", errors)
        self.check()


if __name__ == "__main__":
    unittest.main()
