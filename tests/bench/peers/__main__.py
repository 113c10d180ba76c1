# SPDX-License-Identifier: Apache-2.0
"""Times the project's models on this machine in turns with PyTorch and ONNX Runtime, as far as they are installed here, and says what is missing.

Usage: python3 tests/bench/peers --plumb BUILD/bin/plumb --latency BUILD/tests/bench/model_latency --backend MODULE|cuda --library FILE [--model M]… [--json FILE]
Nothing is installed or fetched. Every side has the same weights and inputs, which lie on the device before the timed part; outputs are compared with plumb's, and a side that differs is not compared in time.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import onnxruntime_side
import pytorch_side
from plumb_side import Plumb, export
from rounds import ratios, summary, timed_in_turns

TOLERATED = {"f32": 1e-3, "f16": 5e-2, "bf16": 5e-2}


def arguments():
    parser = argparse.ArgumentParser(prog="peers", description=__doc__.splitlines()[0])
    parser.add_argument("--plumb", required=True, help="the program plumb")
    parser.add_argument("--latency", required=True, help="the program model_latency of the same build")
    parser.add_argument("--backend", required=True, help="oneDNN's module (plumb-onednn-backend.so), or the word cuda")
    parser.add_argument("--library", required=True, help="oneDNN's or cuDNN's library file")
    parser.add_argument("--model", action="append", help="a built-in name or a file; several (default: resnet50-v1, mobilenet-v2, bert-base)")
    parser.add_argument("--mode", action="append", help="plumb's modes; the fastest is compared (default: plain, fusion)")
    parser.add_argument("--without", action="append", default=[], metavar="PEER", help="leave a peer out, such as pytorch-compile; several")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--dtype", choices=sorted(TOLERATED), default="f32")
    parser.add_argument("--threads", type=int, default=1, help="of each side on the CPU")
    parser.add_argument("--blocks", type=int, default=9, help="of each side, in turns")
    parser.add_argument("--block-seconds", type=float, default=0.2)
    parser.add_argument("--json", help="file for the document with all numbers")
    asked = parser.parse_args()
    if not (1 <= asked.blocks <= 1000 and 0.0 < asked.block_seconds <= 60.0 and asked.threads >= 1 and asked.batch >= 1):
        parser.error("1 to 1000 blocks of up to 60 seconds, and at least one thread and one sample")
    asked.model = asked.model or ["resnet50-v1", "mobilenet-v2", "bert-base"]
    asked.mode = asked.mode or ["plain", "fusion"]
    return asked


def makers(asked, device):
    """What makes each peer of a file and inputs, by name, and why a peer is not there."""
    known = {f"onnxruntime-{device}": (onnxruntime_side.missing(device, asked.dtype), lambda file, inputs: onnxruntime_side.OnnxRuntime(file, inputs, device, asked.threads))}
    for way in pytorch_side.WAYS:
        known[f"pytorch-{way}"] = (
            pytorch_side.missing(way, device),
            lambda file, inputs, way=way: pytorch_side.PyTorch(file, inputs, asked.dtype, device, way, asked.threads),
        )
    for name in asked.without:
        if name not in known:
            raise RuntimeError(f"--without: no peer '{name}': the peers are {', '.join(known)}")
        known[name] = ("left out by --without", known[name][1])
    return {name: make for name, (reason, make) in known.items() if reason is None}, {name: reason for name, (reason, _) in known.items() if reason is not None}


def largest_difference(theirs, ours):
    """Relative to our largest magnitude; infinite where shapes or counts differ, or a value is none."""
    import numpy

    worst = 0.0 if len(theirs) == len(ours) else float("inf")
    for one, other in zip(theirs, (operand.array() for operand in ours)):
        if one.shape != other.shape:
            return float("inf")
        difference = numpy.abs(one.astype("float64") - other.astype("float64"))
        scale = float(numpy.max(numpy.abs(other.astype("float64")), initial=0.0)) or 1.0
        worst = max(worst, float(numpy.max(difference, initial=0.0)) / scale) if numpy.isfinite(difference).all() else float("inf")
    return worst


def compared(asked, device, model):
    makes, missing = makers(asked, device)
    entry = {"model": model, "batch": asked.batch, "dtype": asked.dtype, "missing": missing}
    with tempfile.TemporaryDirectory(prefix="plumb-") as name:
        folder = pathlib.Path(name)
        file = folder / "model.onnx"
        export(asked.plumb, model, file, asked.batch)
        ours = Plumb(asked.latency, asked.backend, asked.library, file, folder, asked.mode, asked.dtype, asked.threads)
        try:
            runs = {f"plumb {mode}": (lambda count, number=number: ours.times(number, count)) for number, mode in enumerate(asked.mode)}
            errors = {}
            for peer, make in makes.items():
                try:
                    made = make(file, ours.inputs)
                    errors[peer] = largest_difference(made.outputs(), ours.outputs)
                except Exception as problem:  # noqa: BLE001: another project's words; the others are compared all the same
                    missing[peer] = f"{type(problem).__name__}: {str(problem)[:500]}"
                    continue
                if errors[peer] <= TOLERATED[asked.dtype]:
                    runs[peer] = made.times
                else:
                    missing[peer] = f"its outputs differ from plumb's by {errors[peer]:.3g} of the largest magnitude; up to {TOLERATED[asked.dtype]:g} counts as rounding"
            blocks = timed_in_turns(runs, asked.blocks, asked.block_seconds)
        finally:
            ours.close()
    fastest = min((f"plumb {mode}" for mode in asked.mode), key=lambda mode: summary(blocks[mode])["median"])
    entry["compared_with"] = fastest
    entry["sides"] = [
        {"name": side, "seconds": summary(times), "blocks_seconds": times, "maximum_error": errors.get(side), "ratio": summary(ratios(times, blocks[fastest])) if side in errors else None}
        for side, times in blocks.items()
    ]
    return entry


def rows(entry):
    for side in entry["sides"]:
        seconds, ratio = side["seconds"], side["ratio"]
        by = f"{ratio['median']:.3f} [{ratio['low']:.3f}, {ratio['high']:.3f}]" if ratio else ("1" if side["name"] == entry["compared_with"] else "")
        yield f"| {entry['model']} | {entry['batch']} | {entry['dtype']} | {side['name']} | {seconds['median'] * 1e3:.4g} | [{seconds['low'] * 1e3:.4g}, {seconds['high'] * 1e3:.4g}] | {seconds['n']} | {by} |"


def main():
    asked = arguments()
    device = "cuda" if asked.backend == "cuda" else "cpu"
    document = {"schema_version": 1, "device": device, "threads": asked.threads, "blocks": asked.blocks, "versions": [], "models": []}
    for side in (onnxruntime_side, pytorch_side):
        try:
            document["versions"].append(side.version())
        except ImportError:
            pass
    print(f"{', '.join(document['versions']) or 'no peer is installed'}; {device}, {asked.threads} thread(s), {asked.blocks} blocks in turns\n")
    print("| model | batch | type | side | median ms | 95 % | blocks | ÷ plumb's fastest |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for model in asked.model:
        try:
            document["models"].append(compared(asked, device, model))
        except subprocess.CalledProcessError as refusal:
            print(f"error: {model}: {refusal.stderr.strip()}", file=sys.stderr)
            return 3
        except RuntimeError as refusal:
            print(f"error: {refusal}", file=sys.stderr)
            return 3
        print("\n".join(rows(document["models"][-1])), flush=True)
        if asked.json:
            pathlib.Path(asked.json).write_text(json.dumps(document, indent=1))
    absent = {(name, reason) for entry in document["models"] for name, reason in entry["missing"].items()}
    print("".join(f"\nnot compared: {name}: {reason}" for name, reason in sorted(absent)))
    return 0


sys.exit(main())
