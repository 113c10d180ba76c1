# SPDX-License-Identifier: Apache-2.0
"""The steps, the most valuable first. Each takes a Call and the Machine, and returns a Judgement."""

import array
import dataclasses
import json
import lzma
import os
import pathlib
import re
import shutil
from typing import Callable

from gpu_acceptance import judges, libraries
from gpu_acceptance.judges import Judgement
from gpu_acceptance.process import Broken

FULL = {
    "checks": [],
    "models": ["resnet50-v1", "mobilenet-v2"],
    "executions": 200,
    "choices": None,
    "quick": [  # a run each; the second repeats the first
        ["--model", "bvlc-alexnet", "--processes", "3"],
        ["--model", "bvlc-alexnet", "--processes", "3", "--reuse", "never"],
        ["--model", "resnet50-v1", "--processes", "3"],
        ["--model", "resnet50-v1", "--processes", "3", "--dtype", "f16"],
        ["--model", "mobilenet-v2", "--processes", "3"],
        ["--model", "bert-base", "--processes", "3", "--dtype", "f32,f16"],
    ],
    "counted": "v1:matmul;in=f16[2048,2048],f16[2048,2048]c;out=f16[2048,2048];acc=f32;math=strict",
    "peers": [  # what compiles for long comes last
        ["--dtype", "f16", "--batch", "32", "--model", "resnet50-v1", "--without", "pytorch-compile"],
        ["--dtype", "f16", "--model", "resnet50-v1", "--without", "pytorch-compile"],
        ["--model", "resnet50-v1", "--model", "mobilenet-v2", "--without", "pytorch-compile"],
        ["--model", "resnet50-v1"],
    ],
}
#: For the test double, which computes on the host.
SMALL = {
    "checks": ["--largest", "65536", "--extent", "64", "--samples", "3"],
    "models": ["lenet"],
    "executions": 5,
    "choices": ["lenet"],
    "quick": [["--model", "lenet", "--only", "models", "--mode", "plain", *words] for words in ([], ["--reuse", "never"])],
    "counted": "v1:matmul;in=f16[64,64],f16[64,64]c;out=f16[64,64];acc=f32;math=strict",
    "peers": [["--blocks", "2", "--block-seconds", "0.01", "--model", "lenet"]],
}
#: Operators by shard, by the beginning of their names; what fits none is of "others".
SHARDS = {
    "convolutions": ("conv",),
    "products": ("gemm", "matmul"),
    "sequences": ("rnn", "gru", "lstm", "attention"),
    "norms": ("batch_norm", "layer_norm", "rms_norm", "instance_norm", "group_norm", "lrn", "softmax", "log_softmax"),
}
MOST_LOST = 5  # tests of a shard that may end its process before the rest is given up


@dataclasses.dataclass
class Machine:
    """What all steps share."""

    bundle: pathlib.Path
    data: pathlib.Path
    found: dict
    sizes: dict
    identity: dict = dataclasses.field(default_factory=dict)
    shards: tuple = ()  # empty: all

    def program(self, name):
        return self.bundle / ("bin/plumb" if name == "plumb" else f"tests/{name}")

    @property
    def cudnn(self):
        return self.found["cuDNN 9"]

    def profile(self):
        """File and content of the committed profile of this GPU, or (None, None)."""
        for file in sorted((self.bundle / "share/plumb/suites/gpus").glob("*.json")):
            profile = json.loads(file.read_text())
            if profile["properties"]["deviceName"] == self.identity.get("gpu"):
                return file, profile
        return None, None


def warm(call, machine):
    count = libraries.read_once(machine.found)
    try:
        call.run("nvidia-smi", ["nvidia-smi", "-q"], 30, output=".txt").check()
        words = []
    except Broken as problem:
        words = [f"note: nvidia-smi: {problem}"]
    document = call.document("environment", [machine.program("plumb"), "env", "--stack", "gpu", "--json"], 90)
    environment = judges.environment_of(document)
    gone = environment["facts"].get("gpu.missing")
    machine.identity = environment["identity"]
    figures = {"identity": machine.identity, "libraries": {name: str(file) for name, file in machine.found.items()}, "library_bytes": count}
    if gone:
        return Judgement("unknown", [f"there is no GPU: {gone}"], figures)
    judges.field(machine.identity, "gpu")
    return Judgement("passed", words + [f"note: {note}" for note in libraries.notes(machine.found)], figures)


def checks(call, machine):
    program, sizes = machine.program("plumb_gpu_checks"), machine.sizes["checks"]
    parts = {}

    def part(name, limit, words, judged):
        try:
            document = call.document(name, [program, *sizes, name, *words], limit)
        except Broken as problem:
            parts[name] = problem.judgement
            return
        for what, function in judged.items():
            parts[what] = judges.judge(function, document)

    _, profile = machine.profile()
    part(
        "truths",
        120,
        [machine.cudnn],
        {
            "properties": lambda truths: judges.judge_properties(judges.field(truths, "properties"), profile),
            "copy": lambda truths: judges.judge_copy(truths, profile),
            "bf16 product": lambda truths: judges.judge_product(truths, profile),
            "strict f32": lambda truths: judges.judge_strict_f32(truths, judges.is_double(machine.identity)),
        },
    )
    part("clocks", 90, [], {"slopes": judges.judge_slopes})
    return judges.joined(parts)


def numbers_of(folder):
    """The outputs that model_latency wrote, as numbers, one after the other."""
    values = []
    for line in (folder / "operands").read_text().splitlines():
        name, dtype, _ = line.split()
        if name.startswith("output_"):
            if dtype != "f32":
                raise Broken("unknown", f"{name} is of {dtype}; f32 is compared")
            values += array.array("f", (folder / name).read_bytes())
    return values


def models(call, machine):
    parts = {}
    for model in machine.sizes["models"]:
        file = call.folder / f"{model}.onnx"
        runs = {}
        try:
            call.run(f"{model}-export", [machine.program("plumb"), "model", "export", model, "--weights", "-o", file], 60).check()
            for mode in ("captured", "eager", "streams"):
                folder = call.folder / f"{model}-{mode}"
                folder.mkdir(exist_ok=True)
                command = [machine.program("model_latency"), "cuda", machine.cudnn, file, "f32", folder, mode]
                try:
                    call.run(f"{model}-{mode}", command, 60, text=f"0 3\n0 {machine.sizes['executions']}\n").check()
                    lines = (call.folder / f"{model}-{mode}.out").read_text().splitlines()
                    runs[mode] = {"outputs": numbers_of(folder), "seconds": [float(word) for word in lines[2].split()]}
                except (Broken, OSError, ValueError, IndexError) as problem:
                    runs[mode] = {"failure": str(problem)}
                for operand in folder.glob("input_*"):
                    operand.unlink()
            parts[model] = judges.judge(judges.judge_models, runs)
        except Broken as problem:
            parts[model] = problem.judgement
        file.unlink(missing_ok=True)
    return judges.joined(parts)


def listed_tests(text):
    """Full names of GoogleTest's listing with the operator of each, where its parameter is a layer's key."""
    suite, tests = "", []
    for line in text.splitlines():
        if line and not line.startswith(" "):
            suite = line.split()[0]
        elif line.strip() and suite.endswith("."):
            key = re.search(r"v1:(\w+)", line)
            tests.append((suite + line.split()[0], key.group(1) if key else None))
    return tests


def tests_of(call, program, tests):
    call.run("list", [program, "--gtest_list_tests", f"--gtest_filter={tests}"], 60).check()
    return listed_tests((call.folder / "list.out").read_text())


def shard_of(operator):
    if operator is None:
        return "models"
    return next((shard for shard, begins in SHARDS.items() if operator.startswith(begins)), "others")


def with_skip_reasons(suites, out):
    """Adds the reasons, which GoogleTest prints and leaves out of its document."""
    reasons = {name: reason for reason, name in re.findall(r": Skipped\n(.*)\n(?:(?!\[).*\n)*\[  SKIPPED \] (\S+)", out)}
    for case in (case for suite in suites for case in suite["testsuite"]):
        if case.get("result") == "SKIPPED":
            case["skipped"] = [{"message": reasons.get(f"{case['classname']}.{case['name']}", "")}]
    return suites


def run_shard(call, name, command, tests, limit, prefix=()):
    """Runs tests in a process of their own. One that ends the process is noted, and the rest is run without it."""
    lost, unfinished, suites = [], None, []
    left = list(tests)
    while left and not unfinished:
        file = call.folder / f"{name}-{len(lost)}.json"
        try:
            ended = call.run(f"{name}-{len(lost)}", [*prefix, *command, f"--gtest_filter={':'.join(left)}", f"--gtest_output=json:{file}"], limit)
        except Broken as problem:
            unfinished = str(problem)
            break
        out = (call.folder / f"{ended.name}.out").read_text(errors="replace")
        if file.exists():
            suites += with_skip_reasons(call.parsed(file.name).get("testsuites", []), out)
            if prefix and ended.status not in (0, 1):
                lost.append(f"{prefix[0]} found errors, see {ended.name}.out")
            break
        begun = re.findall(r"^\[ RUN      \] (\S+)", out, re.MULTILINE)
        if ended.status is None or not begun or len(lost) == MOST_LOST:
            at = f" in {begun[-1]}" if begun else ""
            unfinished = f"stopped at its limit{at}" if ended.status is None else f"the process ended with {ended.status}{at}: {ended.last_words}"
            break
        # What ran before it has no document: GoogleTest writes at the end.
        finished = re.findall(r"^\[       OK \] (\S+)", out, re.MULTILINE)
        wrong = [test for test in re.findall(r"^\[  FAILED  \] (\S+?),? ", out, re.MULTILINE) if test in left]
        suites.append(
            {
                "testsuite": [
                    {"name": test, "classname": "", "status": "RUN", "result": "COMPLETED", **({"failures": [{}]} if test in wrong else {})}
                    for test in {*finished, *wrong}
                ]
            }
        )
        lost.append(begun[-1])
        left = [test for test in left if test not in begun]
    return {"document": {"testsuites": suites}, "lost": lost, "unfinished": unfinished}


def contract(call, machine, prefix=(), limit=150):
    program = machine.program("plumb_backend_contract_test")
    by_shard = {}
    for test, operator in tests_of(call, program, "*cuda*:-*onnx_operator*"):
        by_shard.setdefault(shard_of(operator), []).append(test)
    done = {}
    for name, tests in by_shard.items():
        kept = call.folder / f"{name}.shard"
        if machine.shards and name not in machine.shards:
            continue
        if not kept.exists():
            shard = run_shard(call, name, [program], tests, limit, prefix)
            if not (shard["unfinished"] or "").startswith("no time"):
                kept.write_text(json.dumps(shard))
            else:
                done[name] = shard
    for kept in sorted(call.folder.glob("*.shard")):
        done[kept.stem] = json.loads(kept.read_text())
    judgement = judges.judge_tests(done)
    if absent := sorted({*by_shard} - {*done}):
        judgement.reasons.append(f"not run: {', '.join(absent)}")
        judgement.state = "failed" if judgement.state == "failed" else "unknown"
    return judgement


def sanitizer(call, machine):
    found = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=os.environ.get("CUDA_HOME", "/usr/local/cuda") + "/bin")
    if not found:
        return Judgement("skipped", ["compute-sanitizer is not installed"])
    return contract(call, machine, [found, "--tool", "memcheck", "--error-exitcode", "86", "--report-api-errors", "no"], 240)


def units(call, machine):
    shards = {}
    for name, program, tests, limit in (
        ("onnx", "plumb_backend_contract_test", "*onnx_operator*cuda*", 240),
        ("device", "plumb_cuda_test", "Driver*:Device*", 60),
    ):
        if not machine.shards or name in machine.shards:
            shards[name] = run_shard(
                call, name, [machine.program(program)], [test for test, _ in tests_of(call, machine.program(program), tests)], limit
            )
    return judges.judge_tests(shards)


def counters(call, machine):
    return judges.judge(
        judges.judge_counters,
        call.document("metrics", [machine.program("plumb"), "layer", machine.sizes["counted"], "--stack", "gpu", "--metrics", "--json"], 120),
    )


def choices(call, machine):
    file, _ = machine.profile()
    plumb = machine.program("plumb")
    wanted = machine.sizes["choices"]
    suite = (
        [{"name": name, "dims": {}} for name in wanted]
        if wanted
        else call.document("suite", [plumb, "suite", "show", "vision30", "--json"], 30)["models"]
    )
    uses = {}
    for model in suite:
        dims = [word for name, value in model["dims"].items() for word in ("--dim", f"{name}={value}")]
        shown = call.document("model", [plumb, "model", "show", model["name"], *dims, "--json"], 30)
        for layer in shown["layer_list"]:
            if layer["key"] and re.match(r"v1:conv;", layer["key"]):
                uses.setdefault(layer["key"], set()).add(model["name"])
    (call.folder / "keys.txt").write_text("".join(f"{key}\n" for key in uses))
    (call.folder / "uses.json").write_text(json.dumps({key: sorted(models) for key, models in uses.items()}, indent=1))
    # Without a profile the choices here are kept all the same, and the comparison is unknown.
    described = file or call.folder / "none.json"
    if not file:
        described.write_text("{}")
    judgement = judges.judge(
        judges.judge_choices,
        call.document(
            "choices",
            [machine.program("plumb_gpu_checks"), "choices", machine.cudnn, described, call.folder / "keys.txt", "--seconds", int(call.left()) - 20],
            call.left(),
        ),
    )
    judgement.figures["models"] = len(suite)
    return judgement


def quick(call, machine):
    plumb = machine.program("plumb")
    judgements, runs = {}, []
    for number, words in enumerate(machine.sizes["quick"]):
        name = f"run-{number}"
        budget = int(call.left()) - 100  # a run ends itself and keeps what it has; time for documents stays
        if budget < 20:
            break
        ended = call.run(name, [plumb, "run", *words, "--stack", "gpu", "--budget", f"{budget}s"], call.left() - 60)
        if ended.status not in (None, 75):
            ended.check()
        bound = call.document(f"bound-{number}", [plumb, "bound", "@latest", "--json"], 60)
        judgements[name] = judges.judge(judges.judge_suite, ended.status, bound)
        runs.append(judges.field(bound, "run"))
    if (machine.data / "plumb/store.db").exists():
        with open(machine.data / "plumb/store.db", "rb") as store, lzma.open(call.folder / "store.db.xz", "wb", preset=3) as packed:
            shutil.copyfileobj(store, packed)
    if len(runs) > 1 and not judges.is_double(machine.identity):
        compared = call.document("unchanged", [plumb, "compare", *runs[:2], "--json"], 60)
        judgements["unchanged"] = judges.judge(judges.judge_unchanged, compared)
    call.run("report", [plumb, "report", runs[0], "-o", call.folder / "report.html"], 60).check()
    return judges.joined(judgements)


def peers(call, machine):
    documents, unsure = [], []
    for number, words in enumerate(machine.sizes["peers"]):
        file = f"peers-{number}.json"
        command = [
            "python3",
            machine.program("peers"),
            "--plumb",
            machine.program("plumb"),
            "--latency",
            machine.program("model_latency"),
            "--backend",
            "cuda",
            "--library",
            machine.cudnn,
        ]
        try:
            call.run(f"peers-{number}", [*command, *words, "--json", call.folder / file], 100).check()
            documents.append(call.parsed(file))
        except Broken as problem:
            unsure.append(str(problem))
    judgement = judges.judge(judges.judge_peers, documents)
    if unsure:
        judgement.reasons += unsure
        judgement.state = "failed" if judgement.state == "failed" else "unknown"
    return judgement


@dataclasses.dataclass
class Step:
    name: str
    least: int  # seconds that must be left to begin it
    most: int  # seconds after which it is ended
    work: Callable
    what: str


STEPS = (
    Step("warm", 20, 180, warm, "libraries found and read once, the GPU described"),
    Step("checks", 40, 210, checks, "properties, copy rate, bf16 product, TF32 and slopes against known truths"),
    Step("models", 60, 240, models, "whole models captured, eager and on streams: outputs compared, times"),
    Step("contract", 90, 420, contract, "every variant of every operator against the reference, a process for each group"),
    Step("counters", 30, 120, counters, "the GPU's counters of an f16 product"),
    Step("choices", 60, 300, choices, "cuDNN's choices here against the preview without a GPU, for thirty models"),
    Step("units", 60, 300, units, "ONNX operators, driver and device"),
    Step("quick", 120, 520, quick, "whole models with their layers: times, bounds, two unchanged runs, report, store"),
    Step("sanitizer", 120, 520, sanitizer, "the contract under compute-sanitizer"),
    Step("peers", 60, 460, peers, "beside PyTorch and ONNX Runtime, where they are installed"),
)
