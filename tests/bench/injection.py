#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often a slow-down of one layer by 3% is found, and blamed on that layer.

Usage: injection.py BUILD_FOLDER [--budget 4m] [--injections N] [--percent P]. Wants a quiet machine.

`plumb qualify` measures five layers of 1 to 4 ms in rounds of restarted processes, with the stack as it is (A) and with all layers slowed (B,
PLUMB_TEST_SLOW_LAYERS), in the order A B, B A, A B… until the budget ends. Two rounds, B A A B, hold neighbours of both kinds: the A's are a pair without a change, and
each A with the B beside it a pair with one. An injection draws as many of these at random, in order of time, as qualify measures at most; the pairs of one layer
are changed ones, those of the others are not. Its answer is that of qualify's sequential rule with qualify's floor. Exit status 1 if fewer than 90% are found and blamed on that
layer alone.
"""

import argparse
import pathlib
import random
import sys
import tempfile

from restarted_pairs import PAIRS, Workplace, share_text

SUFFIX = "acc=f32;math=strict"
CONV = "dilations=[1,1];group=1;pads=[1,1,1,1];strides=[1,1]"
KEYS = [
    f"v1:conv;in=f32[1,64,112,112],f32[64,64,3,3]c;out=f32[1,64,112,112];{SUFFIX};{CONV}",
    f"v1:conv;in=f32[1,128,56,56],f32[128,128,3,3]c;out=f32[1,128,56,56];{SUFFIX};{CONV}",
    f"v1:conv;in=f32[1,256,28,28],f32[256,256,3,3]c;out=f32[1,256,28,28];{SUFFIX};{CONV}",
    f"v1:matmul;in=f32[256,768],f32[768,768]c;out=f32[256,768];{SUFFIX}",
    f"v1:matmul;in=f32[128,768],f32[768,3072]c;out=f32[128,3072];{SUFFIX}",
]
ROUNDS = 200  # at most; the rule's first look is after a third of them, so the budget ends it before any layer is decided


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--budget", default="4m", help="of measuring the pool of processes")
    parser.add_argument("--injections", type=int, default=300)
    parser.add_argument("--percent", type=float, default=3.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plumb-injection-") as folder:
        workplace = Workplace(options.build, folder)
        return judge(workplace, measure(workplace, options), options)


def measure(workplace, options):
    """Returns blocks in time order: of each layer two times as it is and two slowed ones, each beside one of them."""
    workplace.stack("base")
    workplace.stack("slow", f'variables = {{ PLUMB_TEST_SLOW_LAYERS = "v1:={options.percent}" }}\n')
    (workplace.folder / "five.layers.toml").write_text("".join(f'[[layers]]\nkey = "{key}"\n' for key in KEYS))
    suite = workplace.folder / "five.toml"
    suite.write_text('[suite]\nname = "five"\nversion = 1\n[[layers]]\nfile = "five.layers.toml"\n')
    document = workplace.plumb("qualify", suite, "--baseline", "base", "--candidate", "slow", "--only", "layers", "--pairs", ROUNDS, "--budget", options.budget)
    base, slow = (workplace.times(document[side]["run"]) for side in ("baseline", "candidate"))
    invalid = {each["round"] for each in document["invalid_rounds"]}
    print(f"{document['rounds']} rounds, {len(invalid)} of them invalid by their controls")
    for key in KEYS:
        middle = sorted(base[key].values())[len(base[key]) // 2]
        print(f"median {1e3 * middle:.3f} ms: {key}")
    blocks = []
    for first in range(2, document["rounds"], 2):
        pair = (first, first + 1)
        if not invalid & set(pair) and all(number in times[key] for key in KEYS for times in (base, slow) for number in pair):
            blocks.append({key: ([base[key][number] for number in pair], [slow[key][number] for number in pair]) for key in KEYS})
    if len(blocks) < PAIRS:
        sys.exit(f"{len(blocks)} whole blocks, and {PAIRS} are needed: give it a larger --budget, or a quieter machine")
    return blocks


def judge(workplace, blocks, options):
    draw = random.Random(1)
    questions = []
    for number in range(options.injections):
        slowed = draw.choice(KEYS)
        layers = {key: {"baseline": [], "candidate": []} for key in KEYS}
        for index in sorted(draw.sample(range(len(blocks)), PAIRS)):
            before = draw.randrange(2)  # which of both neighbours stands for the baseline
            for key, (base, slow) in blocks[index].items():
                layers[key]["baseline"].append(base[before])
                layers[key]["candidate"].append(slow[before] if key == slowed else base[1 - before])
        questions.append({"id": f"{number} {slowed}", "layers": layers})
    found = blamed = 0
    for answer in workplace.judge(questions, "--sequential", "--layer-floor", 0.02):
        layer = "layers/" + answer["id"].split(" ", 1)[1]
        changed = {row["series"] for row in answer["metrics"] if row["verdict"] in ("regressed", "improved")}
        found += layer in changed
        blamed += changed == {layer}
    print(f"{len(blocks)} blocks; {options.injections} injections of {options.percent}% in up to {PAIRS} pairs")
    print(f"found: {share_text(found, options.injections)}")
    print(f"blamed on that layer alone: {share_text(blamed, options.injections)}; limit 90%")
    return 0 if blamed >= 0.9 * options.injections else 1


if __name__ == "__main__":
    sys.exit(main())
