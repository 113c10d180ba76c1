# SPDX-License-Identifier: Apache-2.0
"""Measures pairs of restarted worker processes with `plumb` in a folder of its own, and judges samples drawn from them as `plumb qualify` would."""

import json
import math
import os
import pathlib
import sqlite3
import subprocess

#: The sequential rule's most pairs by default: what a user runs.
PAIRS = 20


class Workplace:
    """Is an empty store with stacks of the oneDNN that a build found."""

    def __init__(self, build, folder):
        self.build, self.folder = build.resolve(), pathlib.Path(folder)
        self.environment = {**os.environ, "XDG_DATA_HOME": str(folder), "PLUMB_STORE": f"sqlite:{folder}/store.db",
                            "PLUMB_WORKER_PATH": str(self.build / "libexec/plumb")}

    def plumb(self, *arguments):
        done = subprocess.run([self.build / "bin/plumb", "--json", *map(str, arguments)], env=self.environment, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def stack(self, name, variables=""):
        library = self.plumb("stacks", "probe", "default")["stacks"][0]["libraries"][0]["path"]
        folder = self.folder / "plumb/stacks" / name
        folder.mkdir(parents=True)
        (folder / "stack.toml").write_text(f'backend = "onednn"\nlibraries = ["{library}"]\n{variables}')

    def times(self, run):
        """Returns a layer's time by key and round: floor-corrected, of the processes of one run."""
        times = {}
        with sqlite3.connect(self.folder / "store.db") as store:
            for key, number, seconds in store.execute(
                    "select k.text, m.process, m.median_seconds - m.floor_seconds from measurements m join runs r on r.number = m.run "
                    "join layer_keys k on k.id = m.layer_key where r.id = ? and m.outcome in ('ok', 'unstable') and m.purpose = 'full' "
                    "and k.text not like 'control:%' order by m.id", (run,)):
                times.setdefault(key, {})[number] = seconds
        return times

    def judge(self, questions, *options):
        """Returns the answers of `plumb compare --samples`."""
        samples = self.folder / "samples.json"
        samples.write_text(json.dumps({"comparisons": questions}))
        return self.plumb("compare", "--samples", samples, *options)["comparisons"]


def interval(found, of):
    """Returns a share's 95% interval (Wilson, JASA 22, 1927)."""
    z, share = 1.96, found / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    reach = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return middle - reach, middle + reach


def share_text(found, of):
    low, high = interval(found, of)
    return f"{found / of:.2%} ({low:.2%} to {high:.2%}; {found} of {of})"
