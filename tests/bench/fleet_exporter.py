#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What does an exporter over many systems of one PostgreSQL store cost?

    fleet_exporter.py BUILD RUNS.jsonl [--systems 20] [--series 5000] [--models 35]

Imports RUNS.jsonl into a store, starts `plumb serve`, and prints how long its first look took, its series, its memory and
the time of a scrape. If RUNS.jsonl is not there, it is made first: one run of the fake worker for each system, with LeNet at
so many batches. Exit status 1 if there are fewer series, if the process takes more than 300 MB or a scrape more than 50 ms."""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from local_server import free_address
from postgresql_server import PostgresqlServer

class Exporter:
    def __init__(self, options, server, folder):
        self.options, self.server, self.folder = options, server, folder
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder), "PLUMB_STORE": server.url(),
                            "PLUMB_WORKER_PATH": str(options.build / "libexec/plumb")}

    def plumb(self, *arguments):
        return subprocess.run([self.options.build / "bin/plumb", *map(str, arguments)], env=self.environment, check=True,
                              capture_output=True, text=True).stdout

    def make_runs(self):
        suite = self.folder / "suite.toml"
        suite.write_text('[suite]\nname = "nightly"\nversion = 1\nreuse = "never"\n[defaults]\ncache = ["none"]\n[[model]]\nname = "lenet"\n'
                         f"batch = {list(range(1, self.options.models + 1))}\n")
        for system in range(self.options.systems):
            stack = self.folder / "plumb/stacks/fake"
            stack.mkdir(parents=True, exist_ok=True)
            (stack / "script.toml").write_text(f'[identity]\n"board" = "{system}"\n')
            (stack / "stack.toml").write_text(f'backend = "fake"\nvariables = {{ PLUMB_FAKE_SCRIPT = "{stack}/script.toml" }}\n')
            self.plumb("run", suite, "--stack", "fake")
            print(f"run {system + 1} of {self.options.systems}", file=sys.stderr)
        self.plumb("store", "export", "-o", self.options.runs)

    def fetch(self, address, **headers):
        begin = time.monotonic()
        with urllib.request.urlopen(urllib.request.Request(f"http://{address}/metrics", headers=headers), timeout=60) as answer:
            body = answer.read()
        return time.monotonic() - begin, body

    def serve(self):
        address = free_address()
        begin = time.monotonic()
        process = subprocess.Popen([self.options.build / "bin/plumb", "serve", "--listen", address], env=self.environment,
                                   stderr=subprocess.DEVNULL)
        try:
            while True:
                try:
                    body = self.fetch(address)[1].decode()
                except OSError:
                    body = ""
                if "plumb_run_info" in body:
                    break
                time.sleep(0.05)
            look = time.monotonic() - begin
            series = int(float(re.search(r"(?m)^plumb_store_series (\S+)", body)[1]))
            systems = set(re.findall(r'plumb_run_info\{.*?system="(\w+)"', body))
            scrapes = [self.fetch(address, **{"Accept-Encoding": "gzip"})[0] for _ in range(50)]
            plain = [self.fetch(address)[0] for _ in range(50)]
            pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            return look, series, len(systems), statistics.median(scrapes), statistics.median(plain), pages * os.sysconf("SC_PAGESIZE") / 1e6
        finally:
            process.terminate()
            process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--series", type=int, default=5000)
    parser.add_argument("--models", type=int, default=35)
    options = parser.parse_args()
    options.build = options.build.resolve()
    with PostgresqlServer() as server, tempfile.TemporaryDirectory(prefix="plumb-") as folder:
        exporter = Exporter(options, server, pathlib.Path(folder))
        if options.runs.exists():
            exporter.plumb("store", "import", options.runs)
        else:
            exporter.make_runs()
        look, series, systems, gzip, plain, memory = exporter.serve()
    print(f"{systems} systems, {series} series; first look in {look:.1f} s; resident {memory:.0f} MB (limit 300); "
          f"scrape {1e3 * gzip:.1f} ms with gzip, {1e3 * plain:.1f} ms plain (limit 50; medians of 50)")
    return 0 if series >= options.systems * options.series and systems == options.systems and memory <= 300 and max(gzip, plain) <= 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
