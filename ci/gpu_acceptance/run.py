# SPDX-License-Identifier: Apache-2.0
"""Runs steps one after the other, and keeps each result the moment it is there."""

import argparse
import os
import pathlib
import shutil
import signal
import sys
import tarfile
import tempfile
import time
import traceback

from gpu_acceptance import bundle, libraries, summary
from gpu_acceptance.evidence import Evidence
from gpu_acceptance.judges import Judgement, Missing
from gpu_acceptance.process import Broken, Call
from gpu_acceptance.steps import FULL, SMALL, STEPS, Machine

PACKING_SECONDS = 15  # kept at the end of a call
NAMES = [step.name for step in STEPS]
CUT_OFF = "the step was cut off before it ended"


class Stopped(Exception):
    """The call was asked to end."""


def unpacked(file, work):
    """The folder of the bundle, and whether it is new here."""
    if file.is_dir():
        folder, mark = file, work / "warmed"
    else:
        folder, mark = work / "plumb", work / "warmed"
        stamp = f"{file.stat().st_size} {file.stat().st_mtime_ns}"
        if not mark.exists() or mark.read_text() != stamp:
            shutil.rmtree(folder, ignore_errors=True)
            mark.unlink(missing_ok=True)
            with tarfile.open(file) as tar:
                tar.extractall(work)
            mark.write_text(stamp)
            return folder, True
    fresh = not mark.exists()
    mark.touch()
    return folder, fresh


def judgement_of(step, call, machine):
    try:
        return step.work(call, machine)
    except Broken as problem:
        return problem.judgement
    except Missing as reason:
        return Judgement("unknown", [str(reason)])
    except Stopped:
        raise
    except Exception:  # noqa: BLE001: a defect of this script must not cost the evidence of other steps
        (call.folder / "defect.log").write_text(traceback.format_exc())
        return Judgement("unknown", [f"a defect of this script: {traceback.format_exc().splitlines()[-1]}"])


def run_step(step, machine, evidence, environment, left, partly):
    """Runs a step and keeps its result. A cut is noted before, so that it shows even if the whole call is killed."""

    def keep(judgement, seconds):
        result = {
            "step": step.name,
            "state": judgement.state,
            "reasons": judgement.reasons,
            "figures": judgement.figures,
            "seconds": round(seconds, 3),
        }
        evidence.keep(result, lambda results: summary.text_of(results, NAMES))

    before = evidence.results.get(step.name)
    if before and CUT_OFF not in before["reasons"] and not partly:
        shutil.rmtree(evidence.folder(step.name))
    begin = time.monotonic()
    call = Call(evidence.folder(step.name), environment, begin + min(step.most, left))
    keep(Judgement("unknown", [CUT_OFF]), 0.0)
    judgement = judgement_of(step, call, machine)
    keep(judgement, time.monotonic() - begin)
    reason = summary.short(judgement.reasons[0], 110) if judgement.reasons else ""
    print(f"{step.name:10} {judgement.state:8} {time.monotonic() - begin:6.1f} s  {reason}", flush=True)
    return judgement


def steps_of(asked, results, fresh):
    """The steps of a call with the shards of each: those named, else those not done yet; what was cut off comes last."""
    if asked:
        unknown = [name for name in asked if name.partition(":")[0] not in NAMES]
        if unknown:
            raise SystemExit(f"error: no step '{unknown[0]}': the steps are {' '.join(NAMES)}")
        wanted = {}
        for name in asked:
            wanted.setdefault(name.partition(":")[0], []).extend(filter(None, [name.partition(":")[2]]))
    else:
        cut = [name for name in NAMES if name in results and CUT_OFF in results[name]["reasons"]]
        wanted = {name: [] for name in [*(name for name in NAMES if name not in results), *cut]}
    if fresh or "warm" not in results or results["warm"]["state"] != "passed":
        wanted = {"warm": [], **wanted}
    return sorted(wanted.items(), key=lambda item: item[0] != "warm")


def measure(options):
    deadline = time.monotonic() + 60.0 * options.minutes - PACKING_SECONDS
    work = pathlib.Path(options.work or pathlib.Path(tempfile.gettempdir()) / f"plumb-gpu-acceptance-{os.getuid()}").absolute()
    work.mkdir(parents=True, exist_ok=True)
    folder, fresh = unpacked(pathlib.Path(options.file).absolute(), work)
    places = libraries.places()
    found = libraries.find(places)
    if absent := libraries.missing(found):
        print(f"error: not found: {', '.join(absent)}; looked in:\n  " + "\n  ".join(places), file=sys.stderr)
        return 3
    evidence = Evidence(work, options.out)
    data = work / "data"
    libraries.write_stack(found, data)
    environment = {**libraries.environment(found, folder), "XDG_DATA_HOME": str(data)}
    environment.pop("PLUMB_STORE", None)
    machine = Machine(folder, data, found, SMALL if options.small else FULL, evidence.results.get("warm", {}).get("figures", {}).get("identity", {}))
    asked = steps_of(options.step, evidence.results, fresh)
    for name, shards in asked:
        step = STEPS[NAMES.index(name)]
        left = deadline - time.monotonic()
        if left < step.least:
            print(f"{name:10} not run: {left:.0f} s are left, but the step needs {step.least:.0f} s; call again", flush=True)
            continue
        machine.shards = tuple(shards)
        judgement = run_step(step, machine, evidence, environment, left, bool(shards))
        if name == "warm" and any("there is no GPU" in reason for reason in judgement.reasons):
            print(f"error: {judgement.reasons[0]}", file=sys.stderr)
            return 3
    evidence.publish(lambda results: summary.text_of(results, NAMES))
    print(f"\n{evidence.out / 'summary.md'}")
    return summary.verdict(evidence.results, [name for name, _ in asked] if options.step else NAMES)


def stop(*_):
    raise Stopped


def options_of(words):
    parser = argparse.ArgumentParser(prog="gpu-acceptance run")
    parser.add_argument("file")
    parser.add_argument("out")
    parser.add_argument("step", nargs="*", help="STEP or STEP:SHARD, as contract:products (default: those not done yet)")
    parser.add_argument("--minutes", type=float, default=9.0, help="time limit of this call (default: %(default)s)")
    parser.add_argument("--small", action="store_true", help="small arrays and LeNet: for the test double")
    parser.add_argument("--work", help="folder that is kept between calls (default: in the folder for temporary files)")
    return parser.parse_intermixed_args(words)


def main(words, usage):
    if words[:1] == ["bundle"] and len(words) <= 3:
        return bundle.make(*words[1:])
    if words == ["steps"]:
        print("\n".join(f"{step.name:10} {step.most:4} s  {step.what}" for step in STEPS))
        return 0
    if words[:1] != ["run"]:
        print(usage, file=sys.stderr)
        return 2
    options = options_of(words[1:])
    signal.signal(signal.SIGTERM, stop)
    try:
        return measure(options)
    except (Stopped, KeyboardInterrupt):
        print("stopped; OUT has the results of the steps that ended", file=sys.stderr)
        return 143
