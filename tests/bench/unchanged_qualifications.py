#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often is a library rejected that did not change? Qualifies a stack against a copy of itself again and again.

    unchanged_qualifications.py BUILD [--stack FOLDER] [--model lenet --model …] [--qualifications 20] [--pairs 20] [--store PATH]

The copy differs in a variable that nothing reads. Without --stack it is the oneDNN of the build. With --store an examination is
added to. A qualification alarms if it calls an end-to-end time or a layer regressed, improved or broken. The nominal rates of a
whole qualification are those of `plumb qualify`: 1 % for all end-to-end times together, and 5 % for all layers.

Exit status 1 if the alarms are more than a rate allows: the lower end of their interval (Clopper and Pearson) is above it."""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from restarted_pairs import Workplace
from unchanged_runs import CHANGED, clopper_pearson

MODELS = ("squeezenet1.1", "mobilenet-v2", "shufflenet", "emotion-ferplus")
#: Rate of false alarms in a whole qualification, by the kind of its metrics.
NOMINAL = {"models": 0.01, "layers": 0.05}


def copy_stack(workplace, folder):
    """Makes the two stacks `same` and `innocent` of a stack's files."""
    for name, variable in (("same", None), ("innocent", 'INNOCENT = "1"')):
        target = workplace.folder / "plumb/stacks" / name
        target.mkdir(parents=True, exist_ok=True)
        for entry in folder.iterdir():
            if entry.name != "stack.toml" and not (target / entry.name).exists():
                (target / entry.name).symlink_to(entry.resolve())
        text = (folder / "stack.toml").read_text()
        if variable and "[variables]" in text:
            text = text.replace("[variables]", f"[variables]\n{variable}")
        elif variable:
            text += f"\n[variables]\n{variable}\n"
        (target / "stack.toml").write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--stack", type=pathlib.Path, help="folder of the stack to copy")
    parser.add_argument("--model", action="append", help=f"a model to qualify with (default: {', '.join(MODELS)})")
    parser.add_argument("--qualifications", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--store", help="a store to add to; default: a new one")
    options = parser.parse_args()
    workplace = Workplace(options.build, tempfile.mkdtemp(prefix="unchanged-"))
    if options.store:
        workplace.environment["PLUMB_STORE"] = f"sqlite:{options.store}"
    if options.stack:
        copy_stack(workplace, options.stack)
    else:
        workplace.stack("same")
        workplace.stack("innocent", 'variables = { INNOCENT = "1" }\n')
    models = [word for name in options.model or MODELS for word in ("--model", name)]
    verdicts, alarms, seconds = collections.Counter(), collections.Counter(), []
    metrics = {kind: collections.Counter() for kind in NOMINAL}
    for number in range(options.qualifications):
        begin = time.monotonic()
        done = subprocess.run(
            [workplace.build / "bin/plumb", "qualify", *models, "--baseline", "same", "--candidate", "innocent", "--pairs", str(options.pairs),
             "--profile-budget", "0", "--json"], capture_output=True, text=True, env=workplace.environment, check=False)
        if done.returncode != 0:
            sys.exit(f"qualification {number + 1} exited {done.returncode}: {done.stderr[-500:]}")
        seconds.append(time.monotonic() - begin)
        document = json.loads(done.stdout)
        verdicts[document["verdict"]] += 1
        for kind in NOMINAL:
            found = [metric["test"]["verdict"] for metric in document[kind]]
            metrics[kind].update(found)
            alarms[kind] += any(verdict in CHANGED for verdict in found)
        print(f"{number + 1} of {options.qualifications}: {document['verdict']} in {seconds[-1]:.0f} s", flush=True)
    shutil.rmtree(workplace.folder)
    print(f"verdicts: {dict(verdicts)}")
    status = 0
    for kind, nominal in NOMINAL.items():
        low, high = clopper_pearson(alarms[kind], options.qualifications)
        print(f"{kind}: {alarms[kind]} of {options.qualifications} qualifications alarm ({100 * low:.1f} to {100 * high:.1f} %; nominal "
              f"{100 * nominal:g} %), {dict(metrics[kind])}")
        status |= low > nominal
    return status


if __name__ == "__main__":
    sys.exit(main())
