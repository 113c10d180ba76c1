# SPDX-License-Identifier: Apache-2.0
"""Times a small model in turns with ONNX Runtime on the CPU by tests/bench/peers, and checks what comes out. Skipped (77) without ONNX Runtime."""

import json
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = sys.argv[2]
PEERS = pathlib.Path(__file__).resolve().parents[1] / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import onnxruntime_side  # noqa: E402
from rounds import median_ranks, ratios, summary, timed_in_turns  # noqa: E402


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def peers(*words):
    command = [sys.executable, PEERS, "--plumb", BUILD / "bin/plumb", "--latency", BUILD / "tests/bench/model_latency", "--backend", BUILD / "libexec/plumb/plumb-onednn-backend.so"]
    return subprocess.run([*command, "--library", LIBRARY, *words], capture_output=True, text=True, timeout=300)


# Conover's table: of 6 values the 1st and 6th, of 9 the 2nd and 8th, of 100 the 40th and 61st.
check([median_ranks(n) for n in (1, 5, 6, 9, 100)] == [(0, 0), (0, 4), (0, 5), (1, 7), (39, 60)], "ranks of the median's interval")
check(summary([3.0, 1.0, 2.0]) == {"median": 2.0, "low": 1.0, "high": 3.0, "n": 3}, "a summary of few values is their range")
check(ratios([2.0, 3.0], [1.0, 2.0]) == [2.0, 1.5], "ratios are taken block by block")
order = []
blocks = timed_in_turns({name: lambda count, name=name: order.append(name) or [0.5] * count for name in "ab"}, 2, 1.0)
check(order == list("ab" "aabb" "bbaa"), f"there and back after a warm-up: {order}")
check(blocks == {"a": [0.5, 0.5], "b": [0.5, 0.5]}, "a median a block")

try:
    import onnxruntime
except ImportError:
    print("skipped: ONNX Runtime is not installed")
    sys.exit(77)

with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "peers.json"
    done = peers("--model", "lenet", "--blocks", "6", "--block-seconds", "0.02", "--json", str(file))
    check(done.returncode == 0, done.stderr)
    document = json.loads(file.read_text())
    [entry] = document["models"]
    sides = {side["name"]: side for side in entry["sides"]}
    check(set(sides) >= {"plumb plain", "plumb fusion", "onnxruntime-cpu"}, f"sides: {sorted(sides)}")
    for side in sides.values():
        seconds = side["seconds"]
        check(seconds["n"] == 6 and 0.0 < seconds["low"] <= seconds["median"] <= seconds["high"] < 30.0, f"{side['name']}: {seconds}")
    theirs = sides["onnxruntime-cpu"]
    check(0.0 <= theirs["maximum_error"] <= 1e-3, "both compute the same")
    check(theirs["ratio"]["low"] <= theirs["ratio"]["median"] <= theirs["ratio"]["high"], "the ratio has an interval")
    check(entry["compared_with"] in sides and sides[entry["compared_with"]]["ratio"] is None, "plumb is compared with nobody")
    check("| lenet | 1 | f32 | onnxruntime-cpu |" in done.stdout, done.stdout)
    check("pytorch-cuda-graph" in entry["missing"] and "not compared: pytorch-cuda-graph: " in done.stdout, "what is missing is said")

    check("f16 was asked for" in onnxruntime_side.missing("cpu", "f16"), "a type that a side has not")
    check(peers("--model", "lenet", "--blocks", "0").returncode == 2, "no block is no comparison")
    check(peers("--model", "no-such-model").returncode not in (0, 2), "a model that there is not")
print("passed")
