#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often the gate alarms where nothing changed, on real pairs of a real suite.

Usage: false_alarms.py BUILD_FOLDER [SUITE] [--pairs N] [--comparisons N]. Wants a quiet machine.

`plumb calibrate` measures a stack against itself in pairs of restarted processes. From these many comparisons are drawn: pairs at random, in order of time, each turned round at
random. Each metric is a question of its own without a floor, judged at nominal 5% and 1% by the test over all pairs and by qualify's sequential rule. A comparison as a user
runs it, with floors and over all layers, is counted too. Exit status 1 if the 95% interval of a rate, over layers, lies outside its band: 2 to 7%, 0.3 to 1.7%.
"""

import argparse
import math
import pathlib
import random
import statistics
import sys
import tempfile

from restarted_pairs import PAIRS, Workplace, share_text

BANDS = {0.05: (0.02, 0.07), 0.01: (0.003, 0.017)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("suite", nargs="?", default="suites/smoke.toml")
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--comparisons", type=int, default=1000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumb-false-alarms-") as folder:
        workplace = Workplace(options.build, folder)
        document = workplace.plumb("calibrate", options.suite, "--pairs", options.pairs, "--only", "layers")
        first, second = (workplace.times(document[side]) for side in ("run", "second_run"))
        rounds = range(1, options.pairs + 1)
        pairs = {key: [(first[key][number], second[key][number]) for number in rounds] for key in first
                 if all(number in first[key] and number in second.get(key, {}) for number in rounds)}
        print(f"{options.pairs} pairs of {len(pairs)} layers measured whole, of {len(first)}")
        if not pairs:
            sys.exit("no layer was measured in every process")
        return judge(workplace, pairs, options)


def drawn(pairs, draw):
    """Returns one comparison's samples, by key: the same pairs, turned round alike, for all of them."""
    count = len(next(iter(pairs.values())))
    turns = [(index, draw.randrange(2)) for index in sorted(draw.sample(range(count), min(PAIRS, count)))]
    return {key: {"baseline": [values[index][turn] for index, turn in turns],
                  "candidate": [values[index][1 - turn] for index, turn in turns]} for key, values in pairs.items()}


def changed(answer):
    return any(row["verdict"] in ("regressed", "improved") for row in answer["metrics"])


def judge(workplace, pairs, options):
    draw = random.Random(1)
    comparisons = [drawn(pairs, draw) for _ in range(options.comparisons)]
    alone = [{"id": f"{number} {key}", "end_to_end": samples} for number, layers in enumerate(comparisons) for key, samples in layers.items()]
    kept = True
    for level, (low, high) in BANDS.items():
        for rule in ((), ("--sequential",)):
            alarms = {key: 0 for key in pairs}
            for answer in workplace.judge(alone, "--alpha", level, *rule):
                alarms[answer["id"].split(" ", 1)[1]] += changed(answer)
            rates = [count / options.comparisons for count in alarms.values()]
            # Draws from the same pairs are no new evidence: the layers are.
            share, reach = statistics.mean(rates), 1.96 * statistics.stdev(rates) / math.sqrt(len(rates))
            within = share + reach >= low and share - reach <= high
            kept = kept and within
            print(f"nominal {level:.0%}, {'sequential rule' if rule else 'all pairs at once'}: {share:.2%} ({max(0, share - reach):.2%} to {share + reach:.2%} over "
                  f"{len(rates)} layers of {options.comparisons} draws each); band of {low:.1%} to {high:.1%}: {'kept' if within else 'NOT KEPT'}")
    family = [{"id": str(number), "layers": layers} for number, layers in enumerate(comparisons)]
    alarms = sum(map(changed, workplace.judge(family, "--sequential", "--layer-floor", 0.02)))
    print(f"comparisons of all {len(pairs)} layers as qualify judges them, in which any changed: {share_text(alarms, len(family))}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
