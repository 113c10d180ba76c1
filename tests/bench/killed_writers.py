#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Do writers that are killed lose or double rows of a store on a PostgreSQL server?

    killed_writers.py BUILD [--writers 8] [--kills 100] [--seed 1]

Each writer measures a suite of its own with the fake worker, is killed with SIGKILL at random moments, and goes on with
--resume until all kills are spent. Then each ends in peace. Every finished run must have the rows of an undisturbed one.
Exit status 1 if a row is lost or doubled. The server's settings are those of its package (fsync on)."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from postgresql_server import PostgresqlServer

SUITE = """[suite]
name = "writer-{}"
version = 1
reuse = "never"
[[model]]
name = "lenet"
batch = [1, 2]
"""
#: The rows of each finished run, but for those of races, which a killed process may repeat.
ROWS = """select r.id, r.suite, k.text, v.text, m.cache, m.outcome, sum(case when m.purpose = 'full' then 1 else 0 end)
from measurements m join runs r on r.number = m.run join layer_keys k on k.id = m.layer_key join variants v on v.id = m.variant
where m.purpose <> 'race' and r.state = 'finished' group by 1, 2, 3, 4, 5, 6"""
MODELS = "select r.id, d.subject, d.payload::json->>'mode' from derived d join runs r on r.number = d.run where d.kind = 'execution'"


class Writers:
    def __init__(self, options, server, folder):
        self.options, self.server, self.folder = options, server, folder
        self.lock, self.kills, self.failures = threading.Lock(), 0, []
        stack = folder / "plumb/stacks/fake"
        stack.mkdir(parents=True)
        (stack / "script.toml").write_text("[[rule]]\ndelay_seconds = 0.005\n")
        (stack / "stack.toml").write_text(f'backend = "fake"\nvariables = {{ PLUMB_FAKE_SCRIPT = "{stack}/script.toml" }}\n')
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder), "PLUMB_STORE": server.url(),
                            "PLUMB_WORKER_PATH": str(options.build / "libexec/plumb")}

    def start(self, number, *more):
        suite = self.folder / f"writer-{number}.toml"
        suite.write_text(SUITE.format(number))
        return subprocess.Popen([self.options.build / "bin/plumb", "--json", "run", suite, "--stack", "fake", *more], env=self.environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def write(self, number):
        """Runs one writer until all kills are spent and its last run is finished."""
        moments = random.Random(f"{self.options.seed} {number}")
        while True:
            process = self.start(number, "--resume")
            with self.lock:
                spent = self.kills >= self.options.kills
            if not spent:
                try:
                    process.communicate(timeout=moments.uniform(0.02, self.length))
                except subprocess.TimeoutExpired:
                    with self.lock:
                        if self.kills < self.options.kills:
                            self.kills += 1
                            process.kill()
            _, errors = process.communicate(timeout=300)
            if process.returncode == 0 and spent:
                return
            if process.returncode not in (0, -9):
                self.failures.append(f"writer {number} ended with {process.returncode}: {errors[-500:]}")
                return

    def run(self):
        begin = time.monotonic()
        out, errors = self.start(0).communicate(timeout=300)
        assert json.loads(out)["run"], errors
        self.length = 1.2 * (time.monotonic() - begin)
        threads = [threading.Thread(target=self.write, args=(number,)) for number in range(1, self.options.writers + 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def check(self):
        """Returns how many rows are lost, how many doubled, and of how many finished runs."""
        runs, suites = {}, {}
        for line in self.server.psql(ROWS).splitlines():
            run, suite, *row, times = line.split("|")
            runs.setdefault(run, {})[tuple(row)] = int(times)
            suites[run] = suite
        for line in self.server.psql(MODELS).splitlines():
            run, *row = line.split("|")
            if run in runs:
                runs[run][tuple(row)] = 1
        whole = next(rows for run, rows in runs.items() if suites[run] == "writer-0")
        lost = sum(len(whole.keys() - rows.keys()) for rows in runs.values())
        doubled = sum(times > 1 for rows in runs.values() for times in rows.values())
        return lost, doubled, len(runs), sum(len(rows) for rows in runs.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.build = options.build.resolve()
    with PostgresqlServer() as server, tempfile.TemporaryDirectory(prefix="plumb-") as folder:
        writers = Writers(options, server, pathlib.Path(folder))
        begin = time.monotonic()
        writers.run()
        lost, doubled, runs, rows = writers.check()
        sound = subprocess.run([options.build / "bin/plumb", "store", "verify"], env=writers.environment, capture_output=True, text=True)
        print(f"{options.writers} writers, {writers.kills} of them killed in {time.monotonic() - begin:.0f} s: {runs} finished runs with {rows} "
              f"different rows; lost: {lost}, doubled: {doubled}; {sound.stdout.strip()}")
        for failure in writers.failures:
            print(failure)
    return 1 if lost or doubled or writers.failures or sound.returncode or writers.kills < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
