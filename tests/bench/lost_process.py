#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long are the layers of a killed process of a shared run without an owner who measures them?

    lost_process.py BUILD [--times 3] [--lease 30s]

Two processes share a run on a PostgreSQL server. One is killed while it has a layer; the clock stops when another has
measured what it had. Exit status 1 if that took a minute or more, or if the run has other rows than one of one process."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from postgresql_server import PostgresqlServer

SUITE = '[suite]\nname = "tiny"\nversion = 1\nreuse = "never"\n[defaults]\ncache = ["none"]\n[[model]]\nname = "lenet"\n'
#: Layers that a process had begun and not measured.
HELD = ("select item from work w join runs r on r.number = w.run join shared_runs s on s.run = w.run "
        "where s.name = '{}' and w.member = 1 and w.progress = 0")
MEASURED = ("select k.text, v.text, m.cache, m.purpose, m.outcome, count(*) from measurements m join layer_keys k on k.id = m.layer_key "
            "join variants v on v.id = m.variant join runs r on r.number = m.run left join shared_runs s on s.run = m.run "
            "where coalesce(s.name, 'alone') = '{}' and m.purpose <> 'race' group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5")


class SharedRuns:
    def __init__(self, options, server, folder):
        self.options, self.server = options, server
        self.suite = folder / "suite.toml"
        self.suite.write_text(SUITE)
        stack = folder / "plumb/stacks/fake"
        stack.mkdir(parents=True)
        (stack / "script.toml").write_text("[[rule]]\ndelay_seconds = 0.05\n")
        (stack / "stack.toml").write_text(f'backend = "fake"\nvariables = {{ PLUMB_FAKE_SCRIPT = "{stack}/script.toml" }}\n')
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder), "PLUMB_STORE": server.url(),
                            "PLUMB_WORKER_PATH": str(options.build / "libexec/plumb")}

    def start(self, *more):
        return subprocess.Popen([self.options.build / "bin/plumb", "run", self.suite, "--stack", "fake", "--processes", "2", *more],
                                env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def wait(self, question):
        deadline = time.monotonic() + 120
        while not (answer := question()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return answer

    def lose_one(self, name):
        """Returns how long the layer of a killed process took to be measured."""
        lost = self.start("--join", name, "--lease", self.options.lease)
        held = self.wait(lambda: self.server.psql(HELD.format(name)))
        other = self.start("--join", name, "--lease", self.options.lease)
        self.wait(lambda: self.server.psql("select 1 from members m join shared_runs s on s.run = m.run "
                                           f"where s.name = '{name}' and m.member = 2"))
        held = self.wait(lambda: self.server.psql(HELD.format(name)))
        lost.kill()
        begin = time.monotonic()
        lost.communicate()
        items = ", ".join("'" + item.replace("'", "''") + "'" for item in held.splitlines())
        self.wait(lambda: self.server.psql("select count(*) from work w join shared_runs s on s.run = w.run "
                                           f"where s.name = '{name}' and w.item in ({items}) and w.progress = 0") == "0")
        took = time.monotonic() - begin
        errors = other.communicate(timeout=200)[1]
        assert other.returncode == 0, errors
        return took


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--lease", default="30s")
    options = parser.parse_args()
    options.build = options.build.resolve()
    with PostgresqlServer() as server, tempfile.TemporaryDirectory(prefix="plumb-") as folder:
        runs = SharedRuns(options, server, pathlib.Path(folder))
        assert runs.start().wait() == 0
        whole = server.psql(MEASURED.format("alone"))
        times = [runs.lose_one(f"run-{i}") for i in range(options.times)]
        same = [server.psql(MEASURED.format(f"run-{i}")) == whole for i in range(options.times)]
        print(f"layers of a killed process were measured by another after {statistics.median(times):.1f} s (median of {len(times)}: "
              f"{', '.join(f'{each:.1f}' for each in times)}; lease {options.lease}); {sum(same)} of {len(same)} runs have the rows of one process")
    return 1 if max(times) >= 60 or not all(same) else 0


if __name__ == "__main__":
    sys.exit(main())
