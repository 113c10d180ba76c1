#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often does a gate find what became slower, and how often does it fail without reason?

    planted_gates.py BUILD [--model squeezenet1.1] [--percent 5] [--gates 10] [--least 0.95] [--controls 10] [--layer] [--busy]

A baseline is measured once. Then gates take turns: one with every execution of the model slowed by so many per cent
(PLUMB_TEST_SLOW_LAYERS), one with a variable that nothing reads. Both are compared with the baseline as `plumb run
--baseline --gate` does: suspects are measured in pairs beside the baseline's stack. With --layer it is one layer that
becomes slower, whose share of the model is closest to 5 %, with its fused forms: found means that the gate fails, blamed
that it names one of these and no other layer. --busy keeps one core busy meanwhile. Intervals are Wilson's.

Exit status 1 if a smaller share than --least of the slowed gates exits 1 (with --layer: blames the layer), or any other
gate does."""
import argparse
import collections
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from restarted_pairs import Workplace, share_text


def layer_near(workplace, run, model, share=0.05):
    """Returns the key whose part of the model's time is closest to a share, and that part."""
    keys = [layer["key"] for layer in workplace.plumb("model", "show", model)["layer_list"]]
    times = {key: statistics.median(of.values()) for key, of in workplace.times(run).items()}
    count = collections.Counter(key for key in keys if key in times)
    whole = sum(times[key] * number for key, number in count.items())
    parts = {key: times[key] * number / whole for key, number in count.items()}
    return min(parts.items(), key=lambda part: abs(part[1] - share))


def regressed_layers(workplace, baseline):
    """Returns the keys that the newest run's comparison with the baseline calls regressed."""
    newest = max(entry["run"] for entry in workplace.plumb("runs")["runs"])
    document = workplace.plumb("compare", baseline, newest, "--vary", "stack")
    return {
        metric["series"].removeprefix("layers/")
        for metric in document["metrics"]
        if metric["kind"] == "layer" and metric["verdict"] in ("regressed", "broken")
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--model", default="squeezenet1.1")
    parser.add_argument("--percent", type=float, default=5.0)
    parser.add_argument("--gates", type=int, default=10, help="of what became slower")
    parser.add_argument("--controls", type=int, help="gates of unchanged code (default: as many)")
    parser.add_argument("--least", type=float, default=0.95, help="share of the slowed gates that must find it")
    parser.add_argument("--layer", action="store_true", help="slow one layer, not the whole model")
    parser.add_argument("--busy", action="store_true", help="keep one core busy meanwhile")
    options = parser.parse_args()
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if options.busy else None
    try:
        with tempfile.TemporaryDirectory(prefix="plumb-planted-") as folder:
            return examine(Workplace(options.build, folder), options)
    finally:
        if busy:
            busy.kill()


def examine(workplace, options):
    run = ["run", "--model", options.model, "--reuse", "never"] + ([] if options.layer else ["--only", "models"])
    baseline = workplace.plumb(*run)["run"]
    slowed = "model:"
    if options.layer:
        slowed, share = layer_near(workplace, baseline, options.model)
        print(f"the slowed layer takes {share:.1%} of the model: {slowed}")
    workplace.stack("slowed", f'variables = {{ PLUMB_TEST_SLOW_LAYERS = "{slowed}={options.percent}" }}\n')
    workplace.stack("innocent", 'variables = { INNOCENT = "1" }\n')
    statuses, seconds, blamed = collections.defaultdict(collections.Counter), [], 0
    controls = options.gates if options.controls is None else options.controls
    for turn in range(max(options.gates, controls)):
        for stack in ["slowed"] * (turn < options.gates) + ["innocent"] * (turn < controls):
            start = time.monotonic()
            gate = [*run, "--stack", stack, "--baseline", baseline, "--vary", "stack", "--gate"]
            done = subprocess.run(
                [workplace.build / "bin/plumb", *gate], env=workplace.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            statuses[stack][done.returncode] += 1
            seconds.append(time.monotonic() - start)
            print(f"{stack}: exit status {done.returncode} after {seconds[-1]:.0f} s", file=sys.stderr, flush=True)
            if options.layer and stack == "slowed":
                named = regressed_layers(workplace, baseline)
                right = bool(named) and all(key.startswith(slowed) for key in named)
                blamed += done.returncode == 1 and right
                if not right:
                    print(f"named: {sorted(named)}", file=sys.stderr, flush=True)
    for stack, counts in statuses.items():
        print(f"{options.model}, {stack}: exit statuses {dict(counts)}; failed {share_text(counts[1], counts.total())}")
    if options.layer:
        print(f"blamed on the slowed layer alone: {share_text(blamed, options.gates)}")
    print(f"a gate took {statistics.median(seconds):.1f} s in the median")
    found = blamed if options.layer else statuses["slowed"][1]
    return 0 if found >= options.least * options.gates and statuses["innocent"][1] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
