#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flips bits in stores, their logs and exports, and shows that each flip is noticed or changes nothing.

Usage: damage_test.py BUILD_FOLDER [--places N] [--seed N] [unittest arguments]. Each of the three kinds of file is damaged
at N places (default 25), one at a time. "Noticed" means: `plumb store verify` lists it, the next command says so, or the
import is refused. "Harmless" means: all is verified, and an export is the same byte for byte. Nothing else may happen.
Commands that read must exit as before or with 3: a damaged store is no bug (70) and no wrong input (2).
"""

import collections
import concurrent.futures
import json
import lzma
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from plumb_command import Command, option

Command.build = pathlib.Path(sys.argv.pop(1)).resolve()
PLACES = option("--places", 25)
SEED = option("--seed", 20261123)
FIXTURE = pathlib.Path(__file__).resolve().parent / "earlier_store"
#: What depends on the moment of the question.
VOLATILE = ("oldest_row_seconds", "store", "generated", "now")


def steady(value):
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in VOLATILE}
    return [steady(each) for each in value] if isinstance(value, list) else value


class Damage(Command):
    def setUp(self):
        super().setUp()
        self.sound = self.folder / "sound.db"
        self.sound.write_bytes(lzma.decompress((FIXTURE / "store.db.xz").read_bytes()))
        self.ask(self.sound, "store", "migrate")
        with sqlite3.connect(self.sound) as store:
            store.execute("pragma journal_mode = delete")
        store.close()
        done = self.ask(self.sound, "store", "verify")
        self.assertEqual(done.returncode, 0, done.stdout)
        runs = json.loads(self.ask(self.sound, "--json", "runs").stdout)["runs"]
        self.run_id = runs[-1]["run"]
        self.questions = [("runs",), ("bound", self.run_id), ("whatif", self.run_id), ("compare", runs[-1]["run"], runs[-2]["run"])]
        self.answers = [self.answer(self.sound, question) for question in self.questions]
        self.exported = self.ask(self.sound, "store", "export").stdout
        self.assertGreater(len(self.exported), 10000)

    def ask(self, store, *arguments):
        return subprocess.run([self.program(), "--store", f"sqlite:{store}", *map(str, arguments)],
                              env=self.environment, capture_output=True, text=True, errors="replace", timeout=300)

    def answer(self, store, question):
        """Returns the status of a command and what it says apart from the moment, and its messages."""
        done = self.ask(store, "--json", *question)
        try:
            return done.returncode, steady(json.loads(done.stdout)), done.stderr
        except ValueError:
            return done.returncode, None, done.stderr

    def damaged(self, number, *files):
        """Returns a folder with copies of the files, one bit flipped in the first of them, and where."""
        chance = random.Random(SEED * 1000003 + number)
        folder = self.folder / f"place-{number}"
        folder.mkdir()
        for file in files:
            shutil.copy(file, folder / file.name)
        content = bytearray(files[0].read_bytes())
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        content[at] ^= 1 << bit
        (folder / files[0].name).write_bytes(content)
        return folder, f"place {number}: byte {at}, bit {bit}"

    def everywhere(self, kind, look):
        """Looks at all places, and prints how many damages there were of each outcome."""
        with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
            outcomes = list(pool.map(look, range(PLACES)))
        counts = collections.Counter(outcome for outcome, fault in outcomes)
        print(f"{kind}: {PLACES} places, " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())), file=sys.stderr)
        faults = [fault for outcome, fault in outcomes if fault]
        self.assertFalse(faults, "\n".join(faults))

    def judge(self, store, where):
        """Returns the outcome for a damaged store, and the fault if there is one."""
        faults = []
        wrong = False
        for question, (status, document, _) in zip(self.questions, self.answers):
            done, found, messages = self.answer(store, question)
            wrong = wrong or done == status and found != document
            if done not in (3, status):
                faults.append(f"{where}: {question} exits {done}: {messages.strip()[:300]}")
        verified = self.ask(store, "store", "verify")
        if verified.returncode in (1, 3):
            return ("noticed by verify alone" if wrong else "noticed"), "; ".join(faults)
        if verified.returncode != 0:
            faults.append(f"{where}: verify exits {verified.returncode}: {verified.stderr.strip()[:300]}")
        elif self.ask(store, "store", "export").stdout != self.exported:
            faults.append(f"{where}: the store is verified, but its export differs")
        elif wrong:
            faults.append(f"{where}: the store is verified, but an answer differs")
        return ("harmless" if not faults else "unnoticed"), "; ".join(faults)

    def test_a_bit_of_a_store(self):
        def look(number):
            folder, where = self.damaged(number, self.sound)
            outcome = self.judge(folder / "sound.db", where)
            shutil.rmtree(folder)
            return outcome

        self.everywhere("store", look)

    def test_a_bit_of_an_export(self):
        export = self.folder / "export.jsonl"
        export.write_text(self.exported)

        def look(number):
            folder, where = self.damaged(number, export)
            done = self.ask(folder / "new.db", "store", "import", folder / export.name)
            fault = ""
            outcome = "noticed"
            if done.returncode == 0:
                outcome = "harmless"
                if self.ask(folder / "new.db", "store", "export").stdout != self.exported:
                    outcome, fault = "unnoticed", f"{where}: was imported"
            elif done.returncode != 2:
                outcome, fault = "error", f"{where}: exits {done.returncode}: {done.stderr.strip()[:300]}"
            shutil.rmtree(folder)
            return outcome, fault

        self.everywhere("export", look)

    def test_a_bit_of_the_log_of_a_killed_run(self):
        store = self.folder / "logged.db"
        export = self.folder / "export.jsonl"
        export.write_text(self.exported)
        self.ask(store, "store", "migrate")
        with sqlite3.connect(store) as reader:  # While somebody reads, the log stays.
            reader.execute("begin")
            reader.execute("select * from runs").fetchall()
            self.assertEqual(self.ask(store, "store", "import", export).returncode, 0)
            for tag in ("one", "two", "three"):
                self.assertEqual(self.ask(store, "baseline", "set", self.run_id, "--name", tag).returncode, 0, tag)
            kept = self.folder / "kept"
            kept.mkdir()
            for name in ("logged.db", "logged.db-wal"):
                shutil.copy(self.folder / name, kept / name)
        reader.close()
        exported = self.ask(store, "store", "export").stdout
        self.assertIn('"three"', exported)

        def look(number):
            folder, where = self.damaged(number, kept / "logged.db-wal", kept / "logged.db")
            done = self.ask(folder / "logged.db", "store", "export")
            if "rows may be lost" in done.stderr or done.returncode == 3:
                outcome = "noticed", ""
            elif done.returncode == 0 and done.stdout == exported:
                outcome = "harmless", ""
            else:
                outcome = "unnoticed", f"{where}: exits {done.returncode}: {done.stderr.strip()[:300]}"
            shutil.rmtree(folder)
            return outcome

        self.everywhere("log", look)


if __name__ == "__main__":
    unittest.main()
