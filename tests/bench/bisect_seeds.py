#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often `plumb bisect --git` names the right one of 64 commits, one of which makes a layer 3% slower, and with how many builds.

Usage: bisect_seeds.py BUILD_FOLDER [--seeds N] [--commits N] [--percent P] [--noise FILE] [--amplify X] [--pairs N]
       bisect_seeds.py BUILD_FOLDER --record FILE [--budget 4m]      wants oneDNN, and the machine as it is used

The commits build stacks of the fake worker, whose processes play back recorded noise (tests/support/recorded_noise.txt): the nth process of a search is as
slow as the nth recorded one. A recording is that of `plumb qualify` with a stack against itself: pairs of processes in turns, of five layers of oneDNN, behind
each other. Each seed begins at another place of it, at even distances, and has its culprit at another commit. So the searches see resampled blocks of the
recordings, not twenty independent ones. Exit status 1 if fewer than 95% of the seeds are right, confirmed, and built at most eight commits.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from commit_line import CommitLine
from injection import KEYS
from restarted_pairs import Workplace, share_text

NOISE = pathlib.Path(__file__).resolve().parents[1] / "support/recorded_noise.txt"
KEY = "v1:matmul;in=f32[8,8],f32[8,8]c;out=f32[8,8];acc=f32;math=strict"
SECONDS = 1e-3
MOST_BUILDS = 8
RECORDED = 200  # pairs at most: the rule's first look is after 60, so that many there are of each layer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--percent", type=float, default=3.0)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--noise", type=pathlib.Path, default=NOISE)
    parser.add_argument("--amplify", type=float, default=1.0, help="raise each factor to this power: a noisier host")
    parser.add_argument("--record", type=pathlib.Path)
    parser.add_argument("--budget", default="4m", help="of a recording")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumb-bisect-") as folder:
        if options.record:
            return record(Workplace(options.build, folder), options)
        return search_all(pathlib.Path(folder), options)


def record(workplace, options):
    """Appends the times of processes that ran the same code, as factors of their layer's median."""
    workplace.stack("base")
    (workplace.folder / "five.layers.toml").write_text("".join(f'[[layers]]\nkey = "{key}"\n' for key in KEYS))
    suite = workplace.folder / "five.toml"
    suite.write_text('[suite]\nname = "five"\nversion = 1\n[[layers]]\nfile = "five.layers.toml"\n')
    document = workplace.plumb("qualify", suite, "--baseline", "base", "--candidate", "base", "--only", "layers", "--pairs", RECORDED, "--budget", options.budget)
    with options.record.open("a") as out:
        for layer in document["layers"]:
            pairs = list(zip(layer["baseline_seconds"], layer["candidate_seconds"]))
            middle = sorted(time for pair in pairs for time in pair)[len(pairs)]
            out.write(f"# {len(pairs)} pairs of {layer['subject']}, {1e3 * middle:.3f} ms\n")
            for number, pair in enumerate(pairs):
                for seconds in pair if number % 2 == 0 else reversed(pair):
                    out.write(f"{seconds / middle:.5f}\n")
            print(f"{len(pairs)} pairs of {1e3 * middle:.3f} ms: {layer['subject']}")
    return 0


def factors_of(noise):
    return [float(line) for line in noise.read_text().splitlines() if line and not line.startswith("#")]


def search_all(folder, options):
    factors = [factor ** options.amplify for factor in factors_of(options.noise)]
    options.noise = folder / "noise.txt"
    options.noise.write_text("".join(f"{factor:.6f}\n" for factor in factors))
    ratios = sorted(abs(one / other - 1.0) for one, other in zip(factors[::2], factors[1::2]))
    print(f"{len(ratios)} recorded pairs; half of them differ by more than {ratios[len(ratios) // 2]:.2%}, a tenth by more than {ratios[len(ratios) * 9 // 10]:.2%}")
    right = 0
    for seed in range(options.seeds):
        begin = 2 * (seed * len(ratios) // options.seeds)
        found = search(folder / str(seed), seed, begin, options)
        right += found
    print(f"right, confirmed and with at most {MOST_BUILDS} builds: {share_text(right, options.seeds)}")
    return 0 if right >= 0.95 * options.seeds else 1


def search(folder, seed, begin, options):
    """Plants a slow-down in one commit of a new repository and searches for it. Returns whether it was named as asked."""
    folder.mkdir()
    culprit = random.Random(seed).randrange(1, options.commits)
    (folder / "counter").write_text(f"{begin}\n")
    noise = f'[noise]\nfactors = "{options.noise.resolve()}"\ncounter = "{folder}/counter"\n'
    scripts = [f'{noise}[[rule]]\nmatch = "v1:*"\nseconds = {SECONDS * (1.0 + (options.percent / 100 if number >= culprit else 0.0))}\n'
               for number in range(options.commits)]
    line = CommitLine(folder / "repository", scripts)
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), "PLUMB_STORE": f"sqlite:{folder}/store.db",
                   "PLUMB_WORKER_PATH": str(options.build.resolve() / "libexec/plumb")}
    start = time.monotonic()
    done = subprocess.run([options.build / "bin/plumb", "--json", "bisect", "--git", line.folder, "--good", "first", "--bad", "main", "--build", "./build.sh",
                           "--pairs", str(options.pairs), "--", KEY], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode not in (0, 75):
        sys.exit(f"seed {seed}: plumb ended with status {done.returncode}")
    document = json.loads(done.stdout)
    named = document["first_bad"] == line.hashes[culprit] and document["exact"]
    good = named and document["confirmed"] and document["builds"] <= MOST_BUILDS
    how = "named" if named else "not searched" if document["first_bad"] is None else "in the range" if line.hashes[culprit] in document["range"] else "wrong"
    pairs = [step["pairs"] for step in document["steps"]]
    print(f"seed {seed:2}: commit {culprit:2} {how}, {'confirmed' if document['confirmed'] else 'not confirmed'}, "
          f"{document['builds']} builds, {sum(pairs)} pairs {pairs}, {time.monotonic() - start:.1f} s", flush=True)
    return good


if __name__ == "__main__":
    sys.exit(main())
