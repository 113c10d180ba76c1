#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the time of the reorders in traces of eager PyTorch with what another mode gains where it removes them.

Usage: reorder_gain.py BUILD_FOLDER STACK [MODE=channels_last] [MODEL…] (default: resnet50-v1 and mobilenet-v2). MODE may be fusion, which is
torch.compile. Wants a quiet machine, and `plumb stacks fetch pytorch==2.15.0`.

Each round traces both modes in processes of their own, and the order of the two alternates. A mode removes the reorders of a layer where its
trace leaves less than a tenth of them. Of these layers, the script prints the reorders' time and what the layers gain in the same traces, each
as a median over the rounds with its 95 % interval, and the ratio of the two round by round. Beside them stands the gain of the whole model
without the profiler, in which layers count that keep their reorders, too. Asked: a ratio within 15 % of 1.
"""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

from rounds import summary

BUILD, STACK, *REST = sys.argv[1:]
MODE, MODELS = (REST[0].partition("=")[2], REST[1:]) if REST and REST[0].startswith("MODE=") else ("channels_last", REST)
ROUNDS = 15
EXECUTIONS = 21
LEFT = 0.1  # share of a layer's reorders in eager execution


def trace(model, before, after):
    """Returns the document of a difference: of two executions, each in a process of its own."""
    command = [pathlib.Path(BUILD) / "bin/plumb", "--json", "trace", model, "--stack", STACK, "--mode", before, "--against", STACK,
               "--against-mode", after, "--executions", str(EXECUTIONS)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def sides(document, eager_first):
    """Returns what a document or a part of it says of eager execution, then of the other mode."""
    return (document["before"], document["after"]) if eager_first else (document["after"], document["before"])


def measure(model):
    """Returns the figures of each round, in seconds, and how many layers are freed of their reorders in the first."""
    rounds = []
    for number in range(ROUNDS):
        eager_first = number % 2 == 0
        document = trace(model, *(("plain", MODE) if eager_first else (MODE, "plain")))
        reorders = gain = 0.0
        freed = 0
        for layer in document["layers"]:
            eager, other = sides(layer, eager_first)
            if eager["moving_seconds"] > 0 and other["moving_seconds"] < LEFT * eager["moving_seconds"]:
                freed += 1
                reorders += eager["moving_seconds"] - other["moving_seconds"]
                gain += sum(eager[part] - other[part] for part in ("computing_seconds", "moving_seconds"))
        eager, other = sides(document, eager_first)
        rounds.append({"reorders": reorders, "gain": gain, "whole": eager["untraced_seconds"] - other["untraced_seconds"], "freed": freed})
        print(f"{model}: round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
    return rounds


def text(figure):
    return f"{figure['median'] * 1e3:.3f} ms ({figure['low'] * 1e3:.3f} to {figure['high'] * 1e3:.3f})"


def main():
    for model in MODELS or ["resnet50-v1", "mobilenet-v2"]:
        rounds = measure(model)
        figures = {name: summary([each[name] for each in rounds]) for name in ("reorders", "gain", "whole")}
        print(f"{model}, {STACK}, plain against {MODE}, {len(rounds)} rounds: {sorted({each['freed'] for each in rounds})} layers lose their reorders")
        print(f"  reorders of these layers        {text(figures['reorders'])}")
        print(f"  gain of these layers            {text(figures['gain'])}")
        print(f"  gain end to end, not traced     {text(figures['whole'])}")
        ratios = [each["gain"] / each["reorders"] for each in rounds if each["reorders"] > 0]
        figures["gain_per_reorders"] = ratio = summary(ratios) if ratios else None
        if ratio:
            verdict = "within" if 0.85 <= ratio["low"] and ratio["high"] <= 1.15 else "not shown to be within"
            print(f"  gain ÷ reorders                 {ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}): {verdict} 15 % of 1", flush=True)
        else:
            print("  no layer loses its reorders", flush=True)
        print(json.dumps({"model": model, "mode": MODE, **figures}), file=sys.stderr)


main()
