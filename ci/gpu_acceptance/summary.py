# SPDX-License-Identifier: Apache-2.0
"""Writes what all steps found as one page of text: nothing but what their results say."""

from gpu_acceptance.judges import is_double

MOST_REASONS = 12
LONGEST = 300
ORDER = ("failed", "unknown", "skipped", "passed")


def figure_text(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict) and "median_seconds" in value:
        low, high = value.get("low_seconds"), value.get("high_seconds")
        rest = {name: one for name, one in value.items() if name not in ("median_seconds", "low_seconds", "high_seconds", "n")}
        interval = f" [{figure_text(low)}, {figure_text(high)}]" if low is not None and high is not None else ""
        return f"{figure_text(value['median_seconds'])} s{interval} (n={value.get('n')})" + (f", {figure_text(rest)}" if rest else "")
    if isinstance(value, dict):
        return ", ".join(f"{name} {figure_text(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "; ".join(figure_text(one) for one in value)
    return str(value)


def short(text, most=LONGEST):
    text = " ".join(str(text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def verdict(results, wanted):
    """Exit status: 1 where a step failed, 75 where one is unknown or was not run, else 0."""
    states = [results[name]["state"] if name in results else "unknown" for name in wanted]
    return 1 if "failed" in states else 75 if "unknown" in states else 0


def text_of(results, names):
    """The page. `names` are all steps, in order."""
    identity = results.get("warm", {}).get("figures", {}).get("identity", {})
    lines = ["# GPU acceptance", ""]
    lines += [f"- {name}: {identity[name]}" for name in ("gpu", "driver", "library") if name in identity]
    if is_double(identity):
        lines += ["", "**This device is a test double. There is no GPU. No figure below is a time.**"]
    elif not identity:
        lines += ["- gpu: unknown"]
    counted = {state: sum(result["state"] == state for result in results.values()) for state in ORDER}
    lines += ["", ", ".join(f"{count} {state}" for state, count in counted.items() if count) or "no step has run", ""]
    lines += ["| step | state | seconds |", "| --- | --- | --- |"]
    for name in names:
        result = results.get(name)
        lines.append(f"| {name} | {result['state']} | {result['seconds']:.1f} |" if result else f"| {name} | not run | |")
    for name in names:
        result = results.get(name)
        if not result or not (result["reasons"] or result["figures"]):
            continue
        lines += ["", f"## {name}: {result['state']}", ""]
        lines += [f"- {short(reason)}" for reason in result["reasons"][:MOST_REASONS]]
        if len(result["reasons"]) > MOST_REASONS:
            lines.append(f"- and {len(result['reasons']) - MOST_REASONS} more in results.json")
        lines += [f"- {what} = {short(figure_text(value), 4 * LONGEST)}" for what, value in result["figures"].items() if what != "identity"]
    return "\n".join(lines) + "\n"
