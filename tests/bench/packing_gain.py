#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times steps of BERT-base on padded and on packed samples in turns, and prints the gain of packing as predicted and as realised.

Usage: packing_gain.py BUILD_FOLDER ONEDNN_LIBRARY LENGTHS [TOKENS [SEQUENCES [OPTIMISER]]]
LENGTHS is a file of `plumb training packing`: lines of a length and a count. A sample has TOKENS (128) and at most SEQUENCES (3). Predicted is the
number of sequences a sample, as if a step with packed samples took no longer. Realised counts the time that it takes: positions and sequences are
inputs then, and masks are of pairs of tokens. Times do not depend on which tokens are padding, because all are computed. One thread, batch 1.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIBRARY, LENGTHS = sys.argv[2:4]
GIVEN = sys.argv[4:7]
TOKENS, SEQUENCES, OPTIMISER = GIVEN + ["128", "3", "adamw"][len(GIVEN) :]
PLUMB = BUILD / "bin/plumb"
BLOCKS = 5
BLOCK_SECONDS = 2.0
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))

from plumb_side import Plumb  # noqa: E402
from rounds import ratios, timed_in_turns  # noqa: E402


def output_of(*command):
    return subprocess.run([str(word) for word in (PLUMB, *command)], check=True, capture_output=True, text=True).stdout


def step_of(model, sizes, folder):
    """Returns a process that executes steps of a model, and their times on request."""
    folder.mkdir()
    dims = [word for size in sizes for word in ("--dim", size)]
    output_of("model", "export", model, "--weights", *dims, "-o", folder / "model.onnx")
    module = BUILD / "libexec/plumb/plumb-onednn-backend.so"
    return Plumb(BUILD / "tests/bench/model_latency", module, LIBRARY, folder / "model.onnx", folder, ["plain"], f"f32:{OPTIMISER}")


def main():
    found = json.loads(output_of("training", "packing", LENGTHS, "--tokens", TOKENS, "--sequences", SEQUENCES, "--json"))
    best = max(found["packers"], key=lambda packing: packing["sequences_per_sample"])
    with tempfile.TemporaryDirectory(prefix="plumb-") as name:
        folder = pathlib.Path(name)
        padded = step_of("bert-base", [f"sequence={TOKENS}"], folder / "padded")
        packed = step_of("bert-base-packed", [f"sequence={TOKENS}", f"packed={SEQUENCES}"], folder / "packed")
        blocks = timed_in_turns({"padded": lambda count: padded.times(0, count), "packed": lambda count: packed.times(0, count)}, BLOCKS, BLOCK_SECONDS)
        padded.close()
        packed.close()
    pairs = ratios(blocks["padded"], blocks["packed"])
    predicted = best["sequences_per_sample"]
    realised = [predicted * ratio for ratio in pairs]
    times = {side: statistics.median(blocks[side]) for side in blocks}
    print(f"bert-base, {TOKENS} tokens, up to {SEQUENCES} sequences a sample ({best['packer']}), training by {OPTIMISER}")
    for side, each in (("padded", 1.0), ("packed", predicted)):
        print(f"{side}: {times[side] * 1e3:9.2f} ms a step, {each / times[side]:7.3f} sequences a second")
    middle = statistics.median(realised)
    print(f"gain: predicted {predicted:.3f}, realised {middle:.3f} [{min(realised):.3f}, {max(realised):.3f}], off by {predicted / middle - 1:+.1%}")


if __name__ == "__main__":
    main()
