# SPDX-License-Identifier: Apache-2.0
"""Judges parsed documents against known truths. Pure: no file, clock or process. What a document lacks makes a judgement unknown, never passed."""

import dataclasses
import math
import statistics

#: Properties of a device that say where it is, not what it is.
OF_THE_PLACE = ("pciDeviceId", "cudaDeviceId", "driverVer", "isTccDriver")
#: Properties that may differ a little: boards are sold with other clocks, and drivers keep some memory.
TOLERATED = {"smClockRateKHz": 0.05, "memClockRateKHz": 0.05, "totalGlobalMem": 0.05}
SLOPE_TOLERANCE = 0.05  # of the profiler's time, plus what a node of a graph costs
SAME_OUTPUTS = 1e-5  # ‖a − b‖ ÷ ‖b‖ in f32: launches in another order, the same arithmetic
TIMED = ("ok", "unstable")  # outcomes of what computed the right thing and has a time
FASTER_THAN_SOLD = 1.02  # above the data sheet by more than this, the clock is wrong


@dataclasses.dataclass
class Judgement:
    state: str  # passed, failed, unknown or skipped
    reasons: list = dataclasses.field(default_factory=list)
    figures: dict = dataclasses.field(default_factory=dict)


class Missing(Exception):
    """A document lacks what a judgement needs."""


def field(document, *path):
    """Returns a value deep in a document."""
    for depth, name in enumerate(path):
        try:
            document = document[name]
        except (KeyError, IndexError, TypeError):
            raise Missing(f"no {'.'.join(map(str, path[: depth + 1]))} in the document") from None
    if document is None:
        raise Missing(f"{'.'.join(map(str, path))} is null")
    return document


def number(document, *path):
    value = field(document, *path)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise Missing(f"{'.'.join(map(str, path))} is not a number: {value!r}")
    return value


def judge(function, *arguments):
    """Calls a judge; what is missing makes it unknown."""
    try:
        return function(*arguments)
    except Missing as reason:
        return Judgement("unknown", [str(reason)])


def joined(judgements):
    """One judgement of several by name: failed before unknown before passed."""
    states = [one.state for one in judgements.values()]
    state = next((name for name in ("failed", "unknown", "passed") if name in states), "skipped" if states else "unknown")
    reasons = [f"{name}: {reason}" for name, one in judgements.items() for reason in one.reasons]
    return Judgement(state, reasons, {name: one.figures for name, one in judgements.items() if one.figures})


def median_of(values):
    """Median with its 95 % interval by ranks (Conover), and n."""
    ordered = sorted(values)
    n = len(ordered)
    below, rank = 0.0, 0
    while rank < n // 2 and 2.0 * (below + math.comb(n, rank) / 2**n) <= 0.05:
        below += math.comb(n, rank) / 2**n
        rank += 1
    low = max(rank - 1, 0)
    return {"median_seconds": statistics.median(ordered), "low_seconds": ordered[low], "high_seconds": ordered[n - 1 - low], "n": n}


def environment_of(document):
    """Identity and facts of the one environment of a document of plumb."""
    return field(document, "environments", field(document, "environment"))


def is_double(identity):
    """Tells whether the device is the project's test double, none of whose figures is a time."""
    return "no GPU" in identity.get("gpu", "") or identity.get("driver") == "test double"


def judge_properties(live, profile):
    """Compares a device's properties with its committed profile."""
    if profile is None:
        return Judgement("unknown", [f"suites/gpus has no profile of '{live.get('deviceName')}'"])
    wrong, noted = [], {}
    for name, expected in field(profile, "properties").items():
        if name in OF_THE_PLACE:
            continue
        actual = field(live, name)
        if actual != expected:
            noted[name] = {"profile": expected, "device": actual}
            if name not in TOLERATED or abs(number(live, name) - expected) > TOLERATED[name] * expected:
                wrong.append(f"{name} is {actual}, the profile says {expected}")
    return Judgement("failed" if wrong else "passed", wrong, {"differences": noted})


def judge_rate(what, rate, n, profile):
    """Compares a rate with the GPU's data sheet. `what` is the figure's name there."""
    figures = {what: rate, "n": n}
    entry = (profile or {}).get("data_sheet", {}).get(what)
    if entry is None:
        return Judgement("unknown", [f"suites/gpus has no {what} from the data sheet of this GPU"], figures)
    share = rate / number(entry, "figure")
    least = number(entry, "least_share")
    figures["share_of_data_sheet"] = share
    if share > FASTER_THAN_SOLD:
        return Judgement("failed", [f"{share:.3f} of the data sheet's figure, which is impossible: the clock is wrong"], figures)
    return Judgement(
        "passed" if share >= least else "failed",
        [] if share >= least else [f"{share:.3f} of the data sheet's figure; at least {least} is expected"],
        figures,
    )


def judge_copy(truths, profile):
    seconds = number(truths, "copy", "seconds", "median_seconds")
    if seconds <= 0:
        return Judgement("failed", ["a copy takes no time"])
    return judge_rate(
        "memory_bytes_per_second", 2.0 * number(truths, "copy", "array_bytes") / seconds, number(truths, "copy", "seconds", "samples"), profile
    )


def judge_product(truths, profile):
    """The fastest variant of the bf16 product that computed the right thing. A wrong one fails."""
    rows = field(truths, "product", "rows")
    wrong = [f"{field(row, 'variant')}: {field(row, 'reason')}" for row in rows if field(row, "outcome") == "wrong_result"]
    timed = [row for row in rows if field(row, "outcome") in TIMED and row.get("seconds")]
    if wrong or not timed:
        return Judgement("failed", wrong or [f"no variant was executed: {field(rows, 0, 'reason')}" if rows else "no variant"])
    best = min(timed, key=lambda row: number(row, "seconds", "median_seconds"))
    seconds = number(best, "seconds", "median_seconds")
    if seconds <= 0:
        return Judgement("failed", ["a product takes no time"])
    result = judge_rate("bf16_flops_per_second", number(truths, "product", "flops") / seconds, number(best, "seconds", "samples"), profile)
    result.figures["variant"] = field(best, "variant")
    return result


def judge_strict_f32(truths, double):
    """What computes in TF32 must be rejected where f32 is promised, and what computes in f32 accepted."""
    accepted = field(truths, "strict_f32", "f32")
    tf32 = [
        row for row in field(truths, "strict_f32", "tf32") if field(row, "tensor_cores") == "yes" and field(row, "outcome") in (*TIMED, "wrong_result")
    ]
    figures = {
        "tolerance": number(truths, "strict_f32", "tolerance"),
        "f32_variants": len(accepted),
        "tf32_variants": len(tf32),
        "f32_error": max((row["maximum_error"] for row in accepted if row.get("maximum_error") is not None), default=None),
        "tf32_error": min((row["maximum_error"] for row in tf32 if row.get("maximum_error") is not None), default=None),
    }
    wrong = [f"an f32 variant is rejected: {row['variant']}: {row['reason']}" for row in accepted if field(row, "outcome") == "wrong_result"]
    if not wrong and double:
        return Judgement("unknown", ["a test double has no TF32"], figures)
    wrong += [f"TF32 is accepted as f32: {row['variant']}" for row in tf32 if row["outcome"] in TIMED]
    if wrong:
        return Judgement("failed", wrong, figures)
    if not tf32 or not any(field(row, "outcome") in TIMED for row in accepted):
        return Judgement("unknown", ["no variant with TF32 in tensor cores, or none in f32, was executed"], figures)
    return Judgement("passed", [], figures)


def judge_slopes(clocks):
    """The slope of replays beside the profiler lies within 5 % of the profiler's time of the kernel, plus what a node of a graph costs.

    The profiler slows the kernels themselves (8 % on an H200), so both times are taken while it watches. What it costs is a figure.
    """
    profiled = field(clocks, "profiled_slopes")
    if "missing" in profiled:
        return Judgement("unknown", [f"no profiler: {profiled['missing']}"])
    nodes = {number(row, "nodes"): number(row, "median_seconds") for row in field(clocks, "null_graphs")}
    few, many = min(nodes), max(nodes)
    gap = max(0.0, (nodes[many] - nodes[few]) / (many - few)) if many > few else 0.0
    wrong, figures = [], []
    for row in field(profiled, "rows"):
        kernel, slope = number(row, "kernel_seconds", "median"), number(row, "slope_profiled", "median_seconds")
        alone = number(row, "slope", "median_seconds")
        figures.append(
            {
                "elements": number(row, "elements"),
                "kernel_seconds": kernel,
                "slope_seconds": slope,
                "slope_alone_seconds": alone,
                "n": number(row, "slope_profiled", "samples"),
            }
        )
        if not (1 - SLOPE_TOLERANCE) * kernel <= slope <= (1 + SLOPE_TOLERANCE) * kernel + gap:
            wrong.append(f"copy of {row['elements']} elements: slope beside the profiler {slope:.4g} s, the profiler's kernel {kernel:.4g} s, a node {gap:.3g} s")
    if not figures:
        return Judgement("unknown", ["no kernel was profiled"])
    return Judgement("failed" if wrong else "passed", wrong, {"node_seconds": gap, "rows": figures})


def difference(one, other):
    """‖one − other‖ ÷ ‖other‖ of two lists of numbers; infinite where lengths differ or a value is none."""
    if len(one) != len(other) or not all(map(math.isfinite, [*one, *other])):
        return math.inf
    norm = math.sqrt(math.fsum(value * value for value in other))
    distance = math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(one, other)))
    return distance / norm if norm > 0 else (0.0 if distance == 0 else math.inf)


def judge_models(runs):
    """Runs of one model by mode: {"outputs": [...], "seconds": [...]} or {"failure": text}. All modes must give captured's outputs."""
    wrong = [f"{mode}: {run['failure']}" for mode, run in runs.items() if "failure" in run]
    figures = {mode: median_of(run["seconds"]) for mode, run in runs.items() if run.get("seconds")}
    first = field(runs, "captured").get("outputs")
    for mode, run in runs.items():
        if "failure" in run or first is None:
            continue
        apart = difference(field(run, "outputs"), first)
        figures.setdefault(mode, {})["difference"] = apart if math.isfinite(apart) else None
        if not run["outputs"] or apart > SAME_OUTPUTS:
            wrong.append(f"{mode}: outputs differ from captured's by {apart:.3g}; allowed is {SAME_OUTPUTS:g}")
    return Judgement("failed" if wrong else "passed", wrong, figures)


def judge_choices(document):
    """cuDNN's choices on the device against the preview without one."""
    rows = field(document, "rows")
    if field(document, "preview_refusal"):
        figures = {"keys": number(document, "keys"), "n": len(rows), "live_engines": sum(bool(row.get("live")) for row in rows)}
        return Judgement("unknown", [f"the preview is refused: {document['preview_refusal']}"], figures)
    compared = [row for row in rows if row.get("live") or row.get("preview")]
    other = [row for row in compared if row.get("live") != row.get("preview")]
    figures = {
        "keys": number(document, "keys"),
        "n": len(compared),
        "same_engine": len(compared) - len(other),
        "same_plan": sum(bool(field(row, "same_plan")) for row in compared),
    }
    if not compared:
        return Judgement("unknown", ["no layer has an engine"], figures)
    if number(document, "asked") < number(document, "keys"):
        return Judgement(
            "failed" if other else "unknown", [f"{document['asked']} of {document['keys']} keys were asked for, {len(other)} choices differ"], figures
        )
    reasons = [f"{row['layout']} {row['key']}: live {row.get('live')}, preview {row.get('preview')}" for row in other[:10]]
    return Judgement(
        "failed" if other else "passed", [f"{len(other)} of {len(compared)} choices differ from the preview", *reasons] if other else [], figures
    )


def judge_tests(shards):
    """Shards of GoogleTest by name: {"document": its JSON or None, "lost": tests that ended their process, "unfinished": text or None}."""
    failed, unknown, figures = [], [], {}
    skipped_all = {}
    for name, shard in shards.items():
        cases = [case for suite in (shard["document"] or {}).get("testsuites", []) for case in suite.get("testsuite", [])]
        run = [case for case in cases if case.get("status") == "RUN"]
        skipped = [case for case in run if case.get("result") == "SKIPPED"]
        wrong = [f"{case.get('classname')}.{case.get('name')}" for case in run if case.get("failures")]
        figures[name] = {"n": len(run), "skipped": len(skipped), "failed": len(wrong), "lost": len(shard["lost"])}
        failed += [f"{name}: {case}" for case in wrong] + [f"{name}: ended its process: {case}" for case in shard["lost"]]
        for case in skipped:
            reason = str((case.get("skipped") or [{}])[0].get("message", "")).splitlines()
            skipped_all.setdefault(reason[0] if reason else "no reason", []).append(case.get("name"))
        if shard["unfinished"]:
            unknown.append(f"{name}: {shard['unfinished']}")
        elif not [case for case in run if case not in skipped] and not shard["lost"]:
            unknown.append(f"{name}: no test was executed" + (f": {next(iter(skipped_all))}" if skipped_all else ""))
    figures["skip_reasons"] = {reason: len(names) for reason, names in skipped_all.items()}
    if not shards:
        unknown.append("there are no shards")
    return Judgement("failed" if failed else "unknown" if unknown else "passed", failed[:50] + unknown, figures)


def judge_counters(document):
    """Counters of an f16 product: a reading must say that it ran in the tensor cores."""
    rows = field(document, "rows")
    counted = [row for row in rows if "metrics" in row.get("attributes", {})]
    if not counted:
        reasons = sorted({row["attributes"]["metrics_missing"] for row in rows if "metrics_missing" in row.get("attributes", {})})
        return Judgement("unknown", reasons or ["no row has counters, and no row has a reason"])
    figures = {}
    for row in counted[:3]:
        readings = {
            name: number(reading, "median") for name, reading in field(row, "readings").items() if name.endswith(("_ratio", "_bytes", "instructions"))
        }
        figures[field(row, "variant")] = {**readings, "tensor_cores": row["attributes"].get("tensor_cores"), "n": len(counted)}
    used = [row for row in counted if number(row, "readings", "tensor_pipe_instructions", "median") > 0]
    return Judgement("passed" if used else "failed", [] if used else ["an f16 product used no tensor cores by any count"], figures)


def judge_suite(status, bound):
    """A run of a suite: its exit status (None: stopped), and the document of `plumb bound`.

    A bound above an execution is a finding, by their intervals where both have one: two moments of a machine differ.
    """
    if status not in (0, 75, None):
        return Judgement("failed", [f"the run ended with {status}"])
    wrong, figures = [], {}
    for model in field(bound, "models"):
        name = f"{field(model, 'model')}, {field(model, 'dtype')}, batch {field(model, 'batch')}"
        for one in field(model, "executions"):
            seconds = number(one, "median_seconds")
            figures[f"{name}, {field(one, 'mode')}"] = {
                "median_seconds": seconds,
                "low_seconds": one.get("low"),
                "high_seconds": one.get("high"),
                "n": one.get("samples"),
            }
            for limit in field(model, "bounds"):
                if (
                    field(limit, "kind") == "library"
                    and limit.get("mode") == one["mode"]
                    and limit.get("complete")
                    and limit.get("seconds") is not None
                    and (limit.get("low") or limit["seconds"]) > (one.get("high") or seconds)
                ):
                    wrong.append(f"{name}, {one['mode']}: the bound {limit['seconds']:.4g} s exceeds the execution's {seconds:.4g} s")
    unsure = {75: ["the run ended with status 75: try again"], None: ["the run was stopped at its limit"]}.get(
        status, [] if figures else ["no model was executed"]
    )
    return Judgement("failed" if wrong else "unknown" if unsure else "passed", wrong + unsure, figures)


def judge_unchanged(document):
    """Compares two runs of the same models one after the other. A change that is reported there is a false alarm."""
    metrics = field(document, "metrics")
    counts = {}
    for metric in metrics:
        counts[field(metric, "verdict")] = counts.get(metric["verdict"], 0) + 1
    wrong = [f"{metric['series']} is {metric['verdict']}: {metric['ratio']:.4f}" for metric in metrics if metric["verdict"] in ("regressed", "improved", "broken")]
    figures = {"verdict": field(document, "verdict"), "n": len(metrics), **counts}
    return Judgement("failed" if wrong else "passed" if metrics else "unknown", wrong or ([] if metrics else ["nothing was compared"]), figures)


def judge_peers(documents):
    """Times beside other executors. Outputs that differ fail; where no executor is installed, nothing is said."""
    figures, absent, wrong = {}, set(), []
    for entry in (entry for document in documents for entry in field(document, "models")):
        name = f"{field(entry, 'model')}, {field(entry, 'dtype')}, batch {field(entry, 'batch')}"
        for side in field(entry, "sides"):
            ratio = side.get("ratio")
            figures[f"{name}: {field(side, 'name')}"] = {
                "median_seconds": number(side, "seconds", "median"),
                "n": number(side, "seconds", "n"),
                **({"ratio": number(ratio, "median")} if ratio else {}),
            }
        for side, reason in field(entry, "missing").items():
            (wrong.append if "outputs differ" in reason else absent.add)(f"{side}: {reason}")
    compared = any("ratio" in figure for figure in figures.values())
    return Judgement("failed" if wrong else "passed" if compared else "skipped", wrong + sorted(absent), figures)
